"""The steps of the published program of Lai, Rao and Vempala (FOCS 2016) that differ from the paper's Algorithm 3.

Written from a description of the program, not from its code; shared reference outputs agree to 1e-8 (tests/reference).
"""

from __future__ import annotations

import math

import numpy as np

from robula._types import BoolArray, FloatArray, IntArray
from robula.selectors.truncation import squared_distances


def lai_ball(points_t: FloatArray, contamination: float) -> tuple[FloatArray, BoolArray, float]:
    """Centre (d,), rows kept (m,) and squared radius for points of shape (d, m), d >= 2.

    The centre is the coordinate-wise median; the radius is the (1 - epsilon)^2 quantile of the distances, read at
    position m q + 1/2 ("hazen"). Only rows strictly beyond it go.
    """
    share = (1.0 - contamination) * (1.0 - contamination)
    centre = np.median(points_t, axis=1)
    distances = squared_distances(points_t, centre)
    squared_radius = float(np.percentile(distances, 100.0 * share, method="hazen"))
    return centre, distances <= squared_radius, squared_radius


def lai_window(values: FloatArray, contamination: float) -> tuple[IntArray, float, float]:
    """Indices of the floor(m q) values (m,) in the shortest window, the lowest of equals, and its ends."""
    share = (1.0 - contamination) * (1.0 - contamination)
    keep = max(1, math.floor(len(values) * share))
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    start = int((ordered[keep - 1 :] - ordered[: len(ordered) - keep + 1]).argmin())
    return order[start : start + keep], float(ordered[start]), float(ordered[start + keep - 1])
