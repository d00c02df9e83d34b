"""The demonstration's picture: fits, posteriors, row weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

from robula._types import BoolArray, FloatArray
from robula.models.gaussian_posterior import GaussianPosterior
from robula.result.posterior import Posterior

# Colour-blind safe (Okabe and Ito).
_CLEAN, _PLAIN, _ROBUST = "#000000", "#D55E00", "#0072B2"


def draw_figure(
    x: FloatArray, y: FloatArray, bad: BoolArray, clean: GaussianPosterior, plain: Posterior, robust: Posterior
) -> Figure:
    """Return the three panels; ``x``, ``y``, ``bad`` have shape (n,), the posteriors are of (intercept, slope)."""
    figure = Figure(figsize=(13.0, 4.4), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=[1.25, 1.0, 1.0])
    _draw_fits(figure, left, x, y, bad, clean, plain, robust)
    _draw_posteriors(middle, clean, plain, robust)
    _draw_weights(right, bad, robust)
    return figure


def _draw_fits(
    figure: Figure,
    axes: Any,
    x: FloatArray,
    y: FloatArray,
    bad: BoolArray,
    clean: GaussianPosterior,
    plain: Posterior,
    robust: Posterior,
) -> None:
    points = axes.scatter(
        x, y, c=robust.row_weights, cmap="viridis", vmin=0, vmax=1, s=16, edgecolors="0.4", linewidths=0.3
    )
    figure.colorbar(points, ax=axes, label="row weight: how far the row was trusted", shrink=0.9)
    grid = np.linspace(x.min() - 0.3, x.max() + 0.3, 60)
    for posterior, colour, name in (
        (plain, _PLAIN, "plain Langevin, all rows"),
        (robust, _ROBUST, "robula, all rows"),
    ):
        lines = posterior.flat_draws[:, :1] + posterior.flat_draws[:, 1:] * grid
        low, middle, high = np.quantile(lines, [0.025, 0.5, 0.975], axis=0)
        axes.fill_between(grid, low, high, color=colour, alpha=0.3, linewidth=0)
        axes.plot(grid, middle, color=colour, linewidth=2, label=name)
    axes.plot(grid, clean.mean[0] + clean.mean[1] * grid, color=_CLEAN, linestyle="--", label="exact, good rows only")
    axes.set(xlabel="x", ylabel="y", title=f"{len(x)} rows, {int(bad.sum())} of them bad")
    axes.legend(loc="upper left", frameon=False, fontsize=9)
    axes.margins(y=0.12)


def _draw_posteriors(axes: Any, clean: GaussianPosterior, plain: Posterior, robust: Posterior) -> None:
    for posterior, colour, name in ((plain, _PLAIN, "plain Langevin"), (robust, _ROBUST, "robula")):
        axes.scatter(*posterior.flat_draws[::4].T, s=3, color=colour, alpha=0.25, linewidths=0)
        axes.scatter([], [], s=20, color=colour, label=name)
    values, vectors = np.linalg.eigh(clean.covariance)
    angle = np.degrees(np.arctan2(vectors[1, -1], vectors[0, -1]))
    for level, probability in ((2.448, "95 %"), (1.177, "50 %")):
        axes.add_patch(
            Ellipse(
                tuple(clean.mean),
                2 * level * np.sqrt(values[-1]),
                2 * level * np.sqrt(values[0]),
                angle=angle,
                fill=False,
                color=_CLEAN,
                linestyle="--",
                label="clean posterior, 50 % and 95 %" if probability == "95 %" else None,
            )
        )
    axes.set(xlabel="intercept", ylabel="slope", title="posterior: draws and target")
    axes.legend(loc="center right", frameon=False, fontsize=9)


def _draw_weights(axes: Any, bad: BoolArray, robust: Posterior) -> None:
    bins = np.linspace(0, 1, 21).tolist()
    axes.hist(
        [robust.row_weights[~bad], robust.row_weights[bad]],
        bins=bins,
        stacked=True,
        color=["0.75", _PLAIN],
        label=[f"{int((~bad).sum())} good rows", f"{int(bad.sum())} bad rows"],
    )
    axes.set(xlabel="row weight", ylabel="rows", title="which rows were distrusted")
    axes.legend(loc="upper center", frameon=False, fontsize=9)
