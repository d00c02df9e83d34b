"""What the board must show, as figures beside their targets."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks.realdata.errors import AS_THEY_COME
from benchmarks.realdata.plan import AIR, FEWEST_ROWS, OURS

CONTAMINATIONS = ("0.1", "0.2", "estimate")
#: More weight than this is never to go where no limit is declared.
_LIMIT_OF_ESTIMATE = 0.5
_LEAST_GAIN, _LEAST_COVERAGE = -0.15, 0.85
_NEXT_TO_NOTHING = 0.005


class Check(NamedTuple):
    """One demand: the figure (None where no cell has been run), whether it is met (None: no demand), how it is shown."""

    item: str
    target: str
    figure: float | None
    met: bool | None
    shown: str = "{:.3f}"

    @property
    def value(self) -> str:
        """The figure alone."""
        return "-" if self.figure is None else self.shown.format(self.figure)

    def __str__(self) -> str:
        if self.figure is None or self.met is None:
            return self.value
        return f"{self.value}, met" if self.met else f"**{self.value}, missed**"


def all_checks(table: pd.DataFrame, contamination: str, method: str = OURS) -> list[Check]:
    """The demands on a method told one contamination ("" for rivals), over the sets of ``table``."""
    ours = table[(table["method"] == method) & (table["contamination"] == contamination)]
    regression = ours[ours["family"] == "regression"]
    plain = regression[regression["kind"] == AS_THEY_COME]
    injected = regression[regression["error"].notna() & (regression["kind"] != AIR)]
    labels = ours[(ours["family"] == "binary") & (ours["kind"] == AS_THEY_COME)]
    gaps = (labels["mean_ratio"] - 1.0).abs()
    return [
        *_as_they_come(plain, float(contamination) if contamination[:1] == "0" else _LIMIT_OF_ESTIMATE),
        *_injected(injected, table),
        _check("6 labels as they come", "mean probability within 5 % of the base rate, largest gap <= .05",
               gaps, np.max, lambda gap: gap <= 0.05),
        _check("6 labels as they come", f"the same probability, sets of at least {FEWEST_ROWS} rows",
               gaps[labels["rows"] >= FEWEST_ROWS], np.max, lambda gap: gap <= 0.05),
    ]  # fmt: skip


def _as_they_come(plain: pd.DataFrame, limit: float) -> list[Check]:
    item = "1 as they come"
    large = plain[plain["rows"] >= FEWEST_ROWS]
    return [
        _check(item, "weight removed, largest <= the limit", plain["removed"], np.max, lambda x: x <= limit),
        _check(item, "weight removed, median < .01", plain["removed"], np.median, lambda x: x < 0.01),
        _check(item, "move from the plain fit in widths, median <= .3", plain["move"], np.median, lambda x: x <= 0.3),
        _check(item, "log-likelihood against least squares, mean >= -.02", plain["gain"], np.mean, lambda x: x >= -0.02),
        _check(item, "the same, smallest >= -.15", plain["gain"], np.min, lambda x: x >= _LEAST_GAIN),
        _check(item, "coverage of 90 % intervals, smallest >= .85", plain["coverage"], np.min,
               lambda x: x >= _LEAST_COVERAGE),
        _check(item, f"the same, sets of at least {FEWEST_ROWS} rows", large["coverage"], np.min,
               lambda x: x >= _LEAST_COVERAGE),
        _check(item, "silent misfits (any of these missed, no warning, \"usable\"): none", silent_misfits(plain, limit),
               np.sum, lambda x: x == 0, "{:.0f}"),
    ]  # fmt: skip


def silent_misfits(plain: pd.DataFrame, limit: float) -> pd.Series:
    """Which sets were made worse and called usable without a word; rivals without a verdict of their own say nothing."""
    worse = (plain["removed"] > limit) | (plain["gain"] < _LEAST_GAIN) | (plain["coverage"] < _LEAST_COVERAGE)
    return worse & (plain["warnings"] == "") & plain["verdict"].isin(["usable", ""])


def _injected(injected: pd.DataFrame, table: pd.DataFrame) -> list[Check]:
    item = "3 injected errors"
    gross = injected["gross"].astype(str) == "True"
    both = beside(injected, table, "mm")
    return [
        _check(item, "coefficient error, gross kinds, 90 % below 1.0", injected.loc[gross, "error"], _ninth,
               lambda x: x < 1.0, "{:.2f}"),
        _check(item, "coefficient error, subtle kinds, 90 % below 1.8", injected.loc[~gross, "error"], _ninth,
               lambda x: x < 1.8, "{:.2f}"),
        _check(item, "share of cells with at most MM's error, >= .9", both["error"] <= both["rival"], np.mean,
               lambda x: x >= 0.9, "{:.2f}"),
        _check(item, "the same, at most .1 above MM's (not a target)", both["error"] <= both["rival"] + 0.1, np.mean,
               None, "{:.2f}"),
        _check(item, "AUC of the row list, median > .95", injected["auc"], np.median, lambda x: x > 0.95),
        _check(item, "the same, gross kinds", injected.loc[gross, "auc"], np.median, lambda x: x > 0.95),
    ]  # fmt: skip


def air_checks(table: pd.DataFrame, contamination: str) -> list[Check]:
    """The three Air Quality regressions at one contamination."""
    air = table[(table["kind"] == AIR) & (table["method"] == OURS) & (table["contamination"] == contamination)]
    item = "4 Air Quality"
    return [
        _check(item, "weight of good rows, smallest >= .93", air["good_weight"], np.min, lambda x: x >= 0.93),
        _check(item, "weight of bad rows, largest: none", air["bad_weight"], np.max, lambda x: x <= _NEXT_TO_NOTHING),
        _check(item, "coefficients in standard errors, largest <= 2", air["error"], np.max, lambda x: x <= 2, "{:.2f}"),
    ]


def beside(cells: pd.DataFrame, table: pd.DataFrame, rival: str) -> pd.DataFrame:
    """Cells with the error of a rival in the same problem in column ``rival``."""
    where = ["set", "kind", "rate"]
    other = table.loc[table["method"] == rival, [*where, "error"]].rename(columns={"error": "rival"})
    return cells.merge(other.dropna(), on=where)


def _check(
    item: str,
    target: str,
    values: pd.Series,
    summary: Callable[[np.ndarray], float],
    met: Callable[[float], bool] | None,
    shown: str = "{:.3f}",
) -> Check:
    known = values.dropna().to_numpy(float)
    if not len(known):
        return Check(item, target, None, None, shown)
    figure = float(summary(known))
    return Check(item, target, figure, None if met is None else bool(met(figure)), shown)


def _ninth(values: np.ndarray) -> float:
    return float(np.quantile(values, 0.9))
