"""What the leaderboard must show of the recommended method, with the cells that miss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks.leaderboard import settings
from benchmarks.leaderboard.tables import CELL, best_rival, cells, logistic_cells, usable


class Check(NamedTuple):
    """A target and what was measured; ``misses`` names the cells beyond it."""

    item: str
    method: str
    target: str
    measured: str
    passed: bool
    misses: list[str]


def all_checks(table: pd.DataFrame) -> list[Check]:
    """Check items 1 to 4 for the declared contamination and, where it could be run, for the estimated one."""
    found: list[Check] = []
    for method in ("robula", "robula_estimate"):
        found += _regression(cells(usable(table, "regression")), method)
        found += _mean(cells(usable(table, "mean")), method)
        found += _logistic(logistic_cells(usable(table, "logistic")), method)
        found += _detection(cells(usable(table, "regression")), method)
    return found


def _name(cell: pd.Series, figure: str) -> str:
    return f"{cell['attack']} d={cell['dim']:.0f} eps={cell['epsilon']:g}: {figure}"


def _share(item: str, method: str, target: str, required: float, good: pd.Series, misses: list[str]) -> Check:
    measured = f"{good.mean():.0%} of {len(good)}"
    return Check(
        item, method, f"{target} in {required:.0%} of the cells", measured, bool(good.mean() >= required), misses
    )


def _regression(table: pd.DataFrame, method: str) -> Iterator[Check]:
    ours = table[table["method"] == method]
    bad = ours[(ours["epsilon"] > 0) & (ours["epsilon"] <= 0.2)]
    clean = ours[ours["epsilon"] == 0]
    if len(bad):
        good = bad["bias"] <= bad["target"]
        misses = [
            _name(cell, f"bias {cell['bias']:.2f}, target {cell['target']:.2f}") for _, cell in bad[~good].iterrows()
        ]
        yield _share("1 regression", method, "bias at most max(1, half the bound), eps <= 0.2,", 0.95, good, misses)
        median = float(bad["bias"].median())
        yield Check("1 regression", method, "median bias at most 0.35, eps <= 0.2", f"{median:.2f}", median <= 0.35, [])
    contaminated = ours[ours["epsilon"] > 0]
    if len(contaminated):
        good = contaminated["spread"].between(0.85, 1.15)
        misses = [_name(cell, f"spread {cell['spread']:.2f}") for _, cell in contaminated[~good].iterrows()]
        yield _share("1 regression", method, "spread within 0.85-1.15", 0.95, good, misses)
    if len(clean):
        for figure, low, high in (("bias", 0.0, 0.15), ("spread", 0.97, 1.03)):
            good = clean[figure].between(low, high)
            misses = [_name(cell, f"{figure} {cell[figure]:.3f}") for _, cell in clean[~good].iterrows()]
            yield _share("1 regression", method, f"eps = 0: {figure} within {low:g}-{high:g}", 1.0, good, misses)
    pairs = contaminated.merge(best_rival(table), on=CELL)
    if len(pairs):
        yield from _against_rivals(pairs, method)


def _against_rivals(pairs: pd.DataFrame, method: str) -> Iterator[Check]:
    good = pairs["net"] <= 0.5 * pairs["rival_net"]
    yield _share("1 regression", method, "W2 at most half the best rival's", 0.5, good, [])
    error = np.hypot(pairs["net_error"], pairs["rival_error"])
    good = pairs["net"] <= 1.25 * pairs["rival_net"] + 2.0 * error
    misses = [
        _name(cell, f"W2 {cell['net']:.2f}, {cell['rival']} {cell['rival_net']:.2f}")
        for _, cell in pairs[~good].iterrows()
    ]
    yield _share("1 regression", method, "W2 at most 1.25 times the best rival's (+ 2 s.e.)", 0.95, good, misses)


def _mean(table: pd.DataFrame, method: str) -> Iterator[Check]:
    ours = table[(table["method"] == method) & (table["attack"] == settings.MEAN_ATTACKS[0])]
    if len(ours):
        good = ours["bias"] <= 0.3
        misses = [_name(cell, f"bias {cell['bias']:.2f}") for _, cell in ours[~good].iterrows()]
        yield _share("2 mean", method, "bias at most 0.3", 1.0, good, misses)


def _logistic(table: pd.DataFrame, method: str) -> Iterator[Check]:
    ours = table[(table["method"] == method) & table["gain"].notna() & table["gap"].notna()]
    if not len(ours):
        return

    def check(target: str, chosen: pd.DataFrame, good: pd.Series, figure: pd.Series) -> Check:
        misses = [f"{chosen.loc[i, 'dataset']} {chosen.loc[i, 'attack']}: {figure[i]:.3f}" for i in chosen.index[~good]]
        return _share("3 logistic", method, target, 1.0, good, misses)

    yield check("log-likelihood at least plain ULA's - 0.02", ours, ours["gain"] >= -0.02, ours["gain"])
    for low, high, closed in ((0.1, np.inf, 1 / 2), (0.05, 0.1, 1 / 3)):
        chosen = ours[(ours["gap"] > low) & (ours["gap"] <= high)]
        if len(chosen):
            share = chosen["gain"] / chosen["gap"]
            where = f"gap to the clean posterior above {low:g}" + ("" if np.isinf(high) else f", up to {high:g}")
            yield check(f"{where}: share closed at least {closed:.2f}", chosen, share >= closed, share)
    change = ours["calibration_change"]
    yield check("calibration error at most plain ULA's + 0.02", ours, change <= 0.02, change)


def _detection(table: pd.DataFrame, method: str) -> Iterator[Check]:
    areas = table[(table["epsilon"] > 0) & table["auc"].notna()].groupby(["attack", "method"])["auc"].mean().unstack()
    others = [name for name in ("isolation_forest", "pareto_k") if name in areas]
    if method not in areas or not others:
        return
    good = areas[method] >= areas[others].max(axis=1)
    misses = [
        f"{attack}: {areas.loc[attack, method]:.2f}, best of the others {areas.loc[attack, others].max():.2f}"
        for attack in areas.index[~good]
    ]
    measured = f"{good.sum()} of {len(good)} attacks"
    yield Check("4 rows", method, "AUC not below IsolationForest's and Pareto-k's", measured, bool(good.all()), misses)
