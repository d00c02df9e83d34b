"""The paper's panels, drawn from the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from robula.experiments.claims import curve

_COLOURS = {"Rob-ULA": "#0072B2", "ULA": "#D55E00", "truth": "#000000"}
_AXES = {"n_clean": "number of clean points", "dim": "dimension d", "contamination": "fraction of corruption ε"}


def recovery_figure(table: pd.DataFrame, default: dict[str, Any], title: str) -> Figure:
    """Figures 1 and 3: recovery error against n, d and epsilon, mean and standard error over runs."""
    figure = Figure(figsize=(12.5, 3.8), layout="constrained")
    for axes, (letter, sweep) in zip(figure.subplots(1, 3), zip("abc", _AXES, strict=True), strict=True):
        _error_bars(axes, table, default, sweep, "error")
        _finish(axes, letter, sweep)
        axes.set_ylabel(r"recovery error $\|\hat\theta - \theta\|_2$")
        axes.set_yscale("log")
    figure.suptitle(title)
    return figure


def likelihood_figure(table: pd.DataFrame, default: dict[str, Any], title: str) -> Figure:
    """Figure 2: average held-out log-likelihood of the posterior mean beside the true parameter's."""
    figure = Figure(figsize=(12.5, 3.8), layout="constrained")
    for axes, (letter, sweep) in zip(figure.subplots(1, 3), zip("abc", _AXES, strict=True), strict=True):
        for algorithm in ("ULA", "Rob-ULA"):
            values = curve(table, default, sweep, algorithm, "test_log_likelihood")
            axes.plot(values.x, values.mean, color=_COLOURS[algorithm], marker="o", markersize=4, label=algorithm)
        clean = curve(table, default, sweep, "ULA", "test_log_likelihood_clean")
        axes.plot(clean.x, clean.mean, color="0.5", linestyle="--", label="exact clean posterior mean")
        truth = curve(table, default, sweep, "ULA", "test_log_likelihood_truth")
        axes.plot(truth.x, truth.mean, color=_COLOURS["truth"], linestyle=":", linewidth=2, label="true parameter")
        _finish(axes, letter, sweep)
        axes.set_ylabel("average test log-likelihood (nats)")
    figure.suptitle(title)
    return figure


def gap_figure(table: pd.DataFrame, default: dict[str, Any], title: str) -> Figure:
    """Beyond the paper: bias and spread against the exact clean posterior, in posterior widths."""
    figure = Figure(figsize=(12.5, 6.6), layout="constrained")
    grid = figure.subplots(2, 3)
    for row, column in enumerate(("bias", "spread")):
        for axes, (letter, sweep) in zip(grid[row], zip("abcdef"[3 * row :], _AXES, strict=False), strict=True):
            _error_bars(axes, table, default, sweep, column, f"{column}_mcse")
            _finish(axes, letter, sweep)
            axes.set_ylabel(f"{column} (clean posterior widths)" if column == "bias" else "spread (1 is right)")
            if column == "bias":
                axes.set_yscale("log")
            else:
                axes.axhline(1.0, color="0.6", linewidth=1, linestyle="--")
    figure.suptitle(title)
    return figure


def _error_bars(
    axes: Any, table: pd.DataFrame, default: dict[str, Any], sweep: str, column: str, error_column: str | None = None
) -> None:
    """Draw both algorithms' curves, with the standard error over runs or the mean of a column of errors."""
    for algorithm in ("ULA", "Rob-ULA"):
        values = curve(table, default, sweep, algorithm, column)
        errors = values.error if error_column is None else curve(table, default, sweep, algorithm, error_column).mean
        style = {"color": _COLOURS[algorithm], "marker": "o", "markersize": 4, "capsize": 2, "label": algorithm}
        axes.errorbar(values.x, values.mean, errors, **style)


def _finish(axes: Any, letter: str, sweep: str) -> None:
    axes.set_xlabel(_AXES[sweep])
    axes.set_title(f"({letter})", loc="left", fontsize=10)
    if sweep == "n_clean":
        axes.set_xscale("log")
        ticks = axes.lines[0].get_xdata()
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize=9)


def curves_figure(names: Sequence[str], points: Sequence[Mapping[str, Sequence[float]]], title: str) -> Figure:
    """Figures 4 and 5: a row a data set, sorted log-likelihoods on the left and their histogram on the right."""
    figure = Figure(figsize=(10.5, 3.4 * len(names)), layout="constrained")
    grid = np.atleast_2d(figure.subplots(len(names), 2))
    letters = iter("abcdefghij")
    for (left, right), name, values in zip(grid, names, points, strict=True):
        lowest = min(min(values["Rob-ULA"]), min(values["ULA"]))
        bins = np.linspace(lowest, 0.0, 41)
        for algorithm in ("ULA", "Rob-ULA"):
            ordered = np.sort(values[algorithm])[::-1]
            left.plot(np.arange(1, len(ordered) + 1), ordered, color=_COLOURS[algorithm], label=algorithm)
            right.hist(values[algorithm], bins=bins.tolist(), color=_COLOURS[algorithm], alpha=0.55, label=algorithm)
        left.set(xlabel="test points, sorted", ylabel="log-likelihood (nats)")
        right.set(xlabel="log-likelihood (nats)", ylabel="test points", yscale="log")
        for axes in (left, right):
            axes.set_title(f"({next(letters)}) {name}", loc="left", fontsize=10)
            axes.grid(alpha=0.25)
            axes.legend(frameon=False, fontsize=9)
    figure.suptitle(title)
    return figure
