"""The published filter of Diakonikolas et al. (ICML 2017) for Gaussian points of unit covariance.

Written from a description of the program, not from its code; shared reference outputs agree to 1e-8 (tests/reference).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from robula._types import FloatArray
from robula.selectors.principal_direction import top_direction

#: The program's own settings: failure probability and the constant in front of the tail bound.
_TAU = 0.1
_CHER = 2.5


class _Cut(NamedTuple):
    direction: FloatArray  # (d,)
    median: float
    largest: float


def diakonikolas_filter(
    points: FloatArray, contamination: float
) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
    """Weights 0 or 1 (n,) for points (n, d), and the same cuts as a function of new points."""
    rows, dim = points.shape
    kept = np.arange(rows)
    cuts: list[_Cut] = []
    while contamination > 0:
        sample = points[kept]
        variance, direction = top_direction(sample, np.ones(len(kept)), sample.mean(axis=0))
        if variance < 1.0 + 3.0 * contamination * math.log(1.0 / contamination):
            break
        projections = sample @ direction
        median = float(np.median(projections))
        distances = np.abs(projections - median)
        order = np.argsort(distances, kind="stable")
        first = _first_excess(distances[order], dim, contamination)
        if first is None or first in (1, len(kept)):
            break
        cuts.append(_Cut(direction, median, float(distances[order[first - 1]])))
        kept = np.sort(kept[order[:first]])
    weights = np.zeros(rows)
    weights[kept] = 1.0

    def apply(new: FloatArray) -> FloatArray:
        inside = np.ones(len(new))
        for cut in cuts:
            inside *= np.abs(new @ cut.direction - cut.median) <= cut.largest * (1.0 + 1e-12)
        return inside

    return weights, apply


def _first_excess(ordered: FloatArray, dim: int, contamination: float) -> int | None:
    """First position, from 1, of ordered distances (N,) beyond which more rows lie than the tail bound allows."""
    count = len(ordered)
    with np.errstate(divide="ignore"):
        log_term = np.log(np.float64(dim * contamination / _TAU))
        extra = contamination / (dim * log_term)
    allowed = _CHER * count * (ndtr(-(ordered - 2.0 * contamination)) + extra)
    beyond = np.flatnonzero(count - np.arange(1, count + 1) > allowed)
    return int(beyond[0]) + 1 if len(beyond) else None
