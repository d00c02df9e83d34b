"""Spectral filter: rows lose weight along the direction of largest variance until no direction has too much of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from robula._types import FloatArray
from robula._validation import check_contamination, check_name
from robula.selectors.diakonikolas2017 import diakonikolas_filter
from robula.selectors.principal_direction import column_scales, refuse_non_finite, top_direction
from robula.selectors.selection import Part, RobustMean, Selection, as_points

_ROUNDS = 200
#: Standard error of a squared MAD relative to the variance of normal values is 2.3 / sqrt(n); two and a half of them.
_SLACK = 6.0


class _Round(NamedTuple):
    """One round of the filter: projections on ``direction`` (d,) about ``centre`` (d,), and the largest square."""

    centre: FloatArray
    direction: FloatArray
    largest: float


@dataclass(frozen=True)
class SpectralFilter(RobustMean):
    """Robust mean by filtering along top principal directions.

    Parameters
    ----------
    variant : {"soft", "diakonikolas2017"}
        "soft": columns are scaled by their median absolute deviation. While the variance along the top principal
        direction is larger than normal values with the projections' own median absolute deviation would show in a
        sample of this size, every row's weight is multiplied by 1 - s / max(s), s its squared projection. At most
        2 epsilon of the weight goes. The mean divides by the sum of the weights.
        "diakonikolas2017": the published program for Gaussian points of unit covariance; rows are cut, not damped.
    """

    citations: ClassVar[tuple[str, ...]] = ("diakonikolas2017",)
    translation_equivariant: ClassVar[bool] = True
    truncates: ClassVar[bool] = True

    variant: Literal["soft", "diakonikolas2017"] = "soft"

    def __post_init__(self) -> None:
        check_name(self.variant, "variant", ("soft", "diakonikolas2017"))

    def select(self, points: FloatArray, contamination: float) -> Selection:
        """Return the selection for finite points (n, d): one part."""
        contamination = check_contamination(contamination)
        points = as_points(points)
        refuse_non_finite(points)
        if self.variant == "diakonikolas2017":
            weights, cut = diakonikolas_filter(points, contamination)
            return Selection((Part(weights),), points.shape[1], rule=lambda new: [cut(new)])
        rows, dim = points.shape
        middle = np.median(points, axis=0)
        scaled = points - middle
        scale = column_scales(scaled)
        scaled /= scale
        weights = np.ones(rows)
        rounds: list[_Round] = []
        threshold = 1.0 + _SLACK / math.sqrt(rows)
        for _ in range(_ROUNDS if contamination > 0 else 0):
            if rows - weights.sum() >= 2.0 * contamination * rows:
                break
            centre = weights @ scaled / weights.sum()
            variance, direction = top_direction(scaled, weights, centre)
            projections = (scaled - centre) @ direction
            deviation = 1.4826 * float(np.median(np.abs(projections - np.median(projections))))
            if variance <= threshold * deviation**2 or variance <= 1e-20:
                break
            largest = float((projections[weights > 0] ** 2).max())
            rounds.append(_Round(centre, direction, largest))
            weights = _damped(weights, scaled, rounds[-1])
        top = float(weights.max())

        def rule(new: FloatArray) -> Sequence[FloatArray]:
            moved = (new - middle) / scale
            result = np.ones(len(new))
            for one in rounds:
                result = _damped(result, moved, one)
            return [np.minimum(result / top, 1.0)]

        return Selection((Part(weights / top),), dim, rule=rule)


def _damped(weights: FloatArray, scaled: FloatArray, one: _Round) -> FloatArray:
    squares = ((scaled - one.centre) @ one.direction) ** 2
    return weights * np.maximum(1.0 - squares / one.largest, 0.0)
