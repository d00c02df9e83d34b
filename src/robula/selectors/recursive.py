"""RobustGradientEstimate, the paper's Algorithm 2 (alg:rge), and the program of Lai, Rao and Vempala it comes from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from robula._types import FloatArray
from robula._validation import check_contamination, check_name, warn
from robula.exceptions import BreakdownWarning
from robula.selectors.lai2016 import lai_ball, lai_window
from robula.selectors.selection import Part, RobustMean, Selection, as_points
from robula.selectors.truncation import (
    interval_means,
    rows_to_keep,
    shortest_interval,
    smallest_ball,
    squared_distances,
)
from robula.theory.gradient_error import last_level_share

_FEW_ROWS = 10
# A new row counts as inside a ball or an interval up to rounding of its projection.
_EDGE = 1e-10


class _Level(NamedTuple):
    """One level of the recursion, enough to apply its rule to new rows."""

    centre: FloatArray  # (k,)
    squared_radius: float
    top: FloatArray  # (k, ceil(k / 2)), the subspace that is recursed on


@dataclass(frozen=True)
class RecursiveMean(RobustMean):
    """Robust mean by recursive halving of the space.

    At every level rows far from a robust centre are truncated; the mean of the remaining rows is trusted in the
    low-variance half of the principal components, where outliers cannot hide a large shift, and the high-variance
    half is recursed on.

    Parameters
    ----------
    variant : {"bhatia2019", "all_rows", "lai2016"}
        "bhatia2019" is Algorithms 2 and 3 of the Rob-ULA paper: the centre is the coordinate-wise mean over the
        shortest interval with a (1 - epsilon)^2 share of the rows, and the recursion goes on with the truncated rows.
        A group of bad rows that is never cut can become the majority there, and lem:rob_bound fails (docs/errata.md).
        "all_rows" is the same with one change: every level starts from all rows again, and the lemma holds, with
        constants (:func:`robula.theory.all_rows_error_bound`).
        "lai2016" is the published program of Lai, Rao and Vempala: all rows at every level, and the coordinate-wise
        median as centre.
    """

    name: ClassVar[str | None] = "recursive"
    citations: ClassVar[tuple[str, ...]] = ("bhatia2019", "lai2016")
    translation_equivariant: ClassVar[bool] = True
    truncates: ClassVar[bool] = True

    variant: Literal["bhatia2019", "all_rows", "lai2016"] = "bhatia2019"

    def __post_init__(self) -> None:
        check_name(self.variant, "variant", ("bhatia2019", "all_rows", "lai2016"))

    @property
    def nested(self) -> bool:
        """Whether a level sees only the rows that the level before it kept."""
        return self.variant == "bhatia2019"

    def last_level_share(self, contamination: float, dim: int) -> float:
        """Largest share of bad rows at the last level: as printed, it grows by 1 / (1 - epsilon)^2 a level."""
        return last_level_share(contamination, dim) if self.nested else contamination

    def select(self, points: FloatArray, contamination: float) -> Selection:
        """Return the selection for finite points (n, d): one part for each level of the recursion."""
        contamination = check_contamination(contamination)
        points = as_points(points)
        rows, dim = points.shape
        nested, published = self.nested, self.variant == "lai2016"
        _warn_if_starved(rows, dim, contamination, nested)
        if nested:
            _warn_if_outnumbered(dim, contamination)
        points_t = np.ascontiguousarray(points.T)
        flat = points_t.ravel()
        if not np.isfinite(flat @ flat):
            # A chain that meets such gradients has diverged; LAPACK alone would not always complain.
            raise np.linalg.LinAlgError("the points, or the sum of their squares, are not finite")
        kept = np.arange(rows)  # rows of the data that the current columns of points_t belong to
        path: FloatArray | None = None  # (d, k), the current subspace in the original coordinates
        parts: list[Part] = []
        levels: list[_Level] = []
        estimate = np.zeros(dim)
        while len(points_t) > 1:
            if published:
                centre, inside, squared_radius = lai_ball(points_t, contamination)
            else:
                keep = rows_to_keep(len(kept), contamination)
                centre = interval_means(points_t, keep)  # alg:ot, a[i]
                inside, squared_radius = smallest_ball(points_t, centre, keep)  # alg:ot, B(r, a)
            chosen = np.flatnonzero(inside)
            truncated = np.take(points_t, chosen, axis=1)
            mean = truncated.mean(axis=1)
            truncated -= mean[:, None]
            bottom, top = _split(truncated)  # alg:rge, W and V
            basis = bottom if path is None else path @ bottom
            parts.append(Part(_indicator(rows, kept[chosen]), basis))
            estimate += basis @ (bottom.T @ mean)  # alg:rge, the mean of P_W
            levels.append(_Level(centre, squared_radius, top))
            path = top if path is None else path @ top
            if nested:
                points_t, kept = top.T @ truncated, kept[chosen]
                points_t += (top.T @ mean)[:, None]
            else:
                points_t = top.T @ points_t
        line = points_t[0]
        if published:
            chosen, low, high = lai_window(line, contamination)
        else:
            low, high = shortest_interval(line, rows_to_keep(len(line), contamination))
            chosen = np.flatnonzero((line >= low) & (line <= high))
        parts.append(Part(_indicator(rows, kept[chosen]), path))
        middle = line[chosen].mean()
        estimate += middle if path is None else path[:, 0] * middle
        rule = _Rule(tuple(levels), (low, high), nested)
        return Selection(tuple(parts), dim, estimate=estimate, rule=rule)


@dataclass(frozen=True)
class _Rule:
    """The balls and the interval of a selection, applied to rows it never saw."""

    levels: tuple[_Level, ...]
    interval: tuple[float, float]
    nested: bool

    def __call__(self, points: FloatArray) -> Sequence[FloatArray]:
        points_t = points.T
        inside = np.ones(points_t.shape[1], dtype=bool)
        weights = []
        for level in self.levels:
            distances = squared_distances(points_t, level.centre)
            within = distances <= level.squared_radius * (1.0 + _EDGE)
            inside = inside & within if self.nested else within
            weights.append(inside.astype(np.float64))
            points_t = level.top.T @ points_t
        low, high = self.interval
        slack = _EDGE * max(abs(low), abs(high))
        within = (points_t[0] >= low - slack) & (points_t[0] <= high + slack)
        weights.append((inside & within if self.nested else within).astype(np.float64))
        return weights


def _split(centred: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Orthonormal bases of the bottom floor(d/2) and top ceil(d/2) principal components of (d, m) centred points."""
    _, vectors = np.linalg.eigh(centred @ centred.T)  # ascending order
    half = len(vectors) // 2
    return vectors[:, :half], vectors[:, half:]


def _indicator(length: int, rows: np.ndarray) -> FloatArray:
    weights = np.zeros(length)
    weights[rows] = 1.0
    return weights


def _warn_if_outnumbered(dim: int, contamination: float) -> None:
    """Tell when bad rows that are never cut can be the majority at the last level (docs/errata.md, lem:rob_bound)."""
    share = last_level_share(contamination, dim)
    if share >= 0.5:
        warn(
            f"Algorithm 2 recurses on truncated rows: at contamination={contamination:g} in {dim} dimensions up to "
            f"{share:.0%} of the rows of its last level can be bad, and no bound holds. Use "
            'RecursiveMean(variant="lai2016") or variant="all_rows", which start every level from all rows, or '
            'selector="trust".',
            BreakdownWarning,
        )


def _warn_if_starved(rows: int, dim: int, contamination: float, nested: bool) -> None:
    """Name the first level that is left with fewer than ten rows."""
    if contamination == 0.0:
        return
    level, left = 1, rows
    while True:
        kept = rows_to_keep(left, contamination)
        if kept < _FEW_ROWS:
            warn(
                f"recursion level {level} ({dim} dimension{'s' * (dim > 1)}) is left with {kept} of {rows} rows after "
                f"truncation at contamination={contamination:g}: its estimate is close to arbitrary. "
                "Use more rows, fewer parameters, a smaller contamination, or another selector.",
                BreakdownWarning,
            )
            return
        if dim == 1:
            return
        dim, level = math.ceil(dim / 2), level + 1
        left = kept if nested else rows
