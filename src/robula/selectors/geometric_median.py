"""Geometric median: the point with the smallest sum of distances to all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from robula._types import FloatArray
from robula._validation import check_contamination
from robula.selectors.principal_direction import refuse_non_finite
from robula.selectors.selection import Part, RobustMean, Selection, as_points

_STEPS = 500
_TOLERANCE = 1e-12


@dataclass(frozen=True)
class GeometricMedian(RobustMean):
    """Weiszfeld's iteration; it ends at a mean in which each row counts by one over its distance.

    Half of the rows can be moved without carrying it away, but its error grows with sqrt(d). The level of
    contamination has no say, except that 0 means the plain mean.
    """

    name: ClassVar[str | None] = "geometric_median"
    citations: ClassVar[tuple[str, ...]] = ("weiszfeld1937",)
    translation_equivariant: ClassVar[bool] = True

    def select(self, points: FloatArray, contamination: float) -> Selection:
        """Return the selection for finite points (n, d): one part, weights 1 / distance over the largest.

        The row weights reported are over the median, at most 1.
        """
        contamination = check_contamination(contamination)
        points = as_points(points)
        refuse_non_finite(points)
        rows, dim = points.shape
        if contamination == 0.0:
            return Selection((Part(np.ones(rows)),), dim, rule=lambda new: [np.ones(len(new))])
        centre, weights, floor = weiszfeld(points)
        largest = float(weights.max())

        def rule(new: FloatArray) -> Sequence[FloatArray]:
            return [np.minimum(1.0 / np.maximum(np.linalg.norm(new - centre, axis=1), floor) / largest, 1.0)]

        weights /= largest
        # A row at the median distance counts as trusted: one row that happens to be near the centre must not make all
        # others look distrusted.
        return Selection((Part(weights),), dim, rule=rule, scales=(float(np.median(weights)),))


def weiszfeld(points: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Return the geometric median (d,) of points (n, d), one over each point's distance from it, and the least such.

    A point on the centre would take all the weight; below the least distance, distance no longer tells points apart.
    """
    centre: FloatArray = np.median(points, axis=0)
    scale = float(np.median(np.linalg.norm(points - centre, axis=1)))
    floor = 1e-3 * scale if scale > 0 else 1.0
    for _ in range(_STEPS):
        weights = 1.0 / np.maximum(np.linalg.norm(points - centre, axis=1), floor)
        moved = weights @ points / weights.sum()
        step = float(np.linalg.norm(moved - centre))
        centre = moved
        if step <= _TOLERANCE * scale:
            break
    weights = 1.0 / np.maximum(np.linalg.norm(points - centre, axis=1), floor)
    return centre, weights, floor
