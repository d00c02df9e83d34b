"""Outlier Truncation, the paper's Algorithm 3 (alg:ot).

Points are (d, m) here, one column a row of the data: sorting, the costly part, then runs along contiguous memory.
"""

from __future__ import annotations

import math

import numpy as np

from robula._types import BoolArray, FloatArray

# Numbers that are worked on at a time, half a MiB: temporary arrays then stay in cache, and small.
_CACHED = 2**16


def rows_to_keep(rows: int, contamination: float) -> int:
    """Number of rows in "a (1 - epsilon)^2 fraction" of ``rows``: the ceiling, at least one.

    0.8**2 * 1250 is 800, but 800.0000000000002 in floating point: the small slack keeps the ceiling at 800.
    """
    return max(1, math.ceil(rows * (1.0 - contamination) * (1.0 - contamination) - 1e-9))


def interval_means(points_t: FloatArray, keep: int) -> FloatArray:
    """Mean of each coordinate over its shortest interval that holds ``keep`` points (Algorithm 2 at d = 1).

    Every point tied with an end of the interval stays; :func:`_among_equals` chooses between equally short ones.

    Parameters
    ----------
    points_t : ndarray, shape (d, m)
    keep : int

    Returns
    -------
    ndarray, shape (d,)
    """
    means = [_interval_means(points_t[start:stop], keep) for start, stop in _coordinate_blocks(points_t.shape)]
    return means[0] if len(means) == 1 else np.concatenate(means)


def _interval_means(points_t: FloatArray, keep: int) -> FloatArray:
    dim, rows = points_t.shape
    ordered = np.sort(points_t, axis=1)
    lengths = ordered[:, keep - 1 :] - ordered[:, : rows - keep + 1]
    start = lengths.argmin(axis=1)
    stop = start + keep
    coordinate = np.arange(dim)
    rivals = rows - keep - lengths[:, ::-1].argmin(axis=1) != start
    upper = ordered[coordinate, stop - 1]
    rivals |= (stop < rows) & (ordered[coordinate, np.minimum(stop, rows - 1)] == upper)
    for index in np.flatnonzero(rivals):
        low, high = _among_equals(ordered[index], lengths[index], keep)
        start[index] = np.searchsorted(ordered[index], low, side="left")
        stop[index] = np.searchsorted(ordered[index], high, side="right")
    # Sums over [start, stop) of every row in one pass; the segments in between are computed and thrown away.
    edges = np.column_stack([start, stop]) + rows * coordinate[:, None]
    flat = edges.ravel()
    sums = np.add.reduceat(ordered.ravel(), flat[:-1] if flat[-1] == ordered.size else flat)[::2]
    means: FloatArray = sums / (stop - start)
    return means


def shortest_interval(values: FloatArray, keep: int) -> tuple[float, float]:
    """Ends of the shortest interval that holds ``keep`` of the values (m,)."""
    ordered = np.sort(values)
    return _among_equals(ordered, ordered[keep - 1 :] - ordered[: len(ordered) - keep + 1], keep)


def _among_equals(ordered: FloatArray, lengths: FloatArray, keep: int) -> tuple[float, float]:
    """Ends of the shortest interval; of equally short ones that whose middle is nearest the median.

    If two lie equally near on both sides, the interval from one to the other. Mirroring the values mirrors the answer:
    it does not depend on the sign that LAPACK gives an eigenvector.
    """
    starts = np.flatnonzero(lengths == lengths.min())
    if len(starts) > 1:
        middle = 0.5 * (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2])
        distance = np.abs(0.5 * (ordered[starts] + ordered[starts + keep - 1]) - middle)
        starts = starts[distance == distance.min()]
    return float(ordered[starts[0]]), float(ordered[starts[-1] + keep - 1])


def squared_distances(points_t: FloatArray, centre: FloatArray) -> FloatArray:
    """Squared distance of each column of (d, m) to the centre (d,), shape (m,).

    Formed elementwise, so that identical rows get bit-identical distances and ties at the edge of a ball stay together.
    """
    totals: FloatArray = np.zeros(points_t.shape[1])
    for start, stop in _coordinate_blocks(points_t.shape):
        deviations = points_t[start:stop] - centre[start:stop, None]
        np.square(deviations, out=deviations)
        totals += deviations.sum(axis=0)
    return totals


def _coordinate_blocks(shape: tuple[int, ...]) -> list[tuple[int, int]]:
    """Ranges of coordinates whose values fit in a processor's cache, for points of shape (d, m)."""
    dim, rows = shape
    size = max(1, _CACHED // max(rows, 1))
    return [(start, min(start + size, dim)) for start in range(0, dim, size)]


def smallest_ball(points_t: FloatArray, centre: FloatArray, keep: int) -> tuple[BoolArray, float]:
    """Rows inside the smallest ball around ``centre`` that holds ``keep`` of them, and its squared radius.

    Every row tied at the edge stays.
    """
    distances = squared_distances(points_t, centre)
    squared_radius = float(np.partition(distances, keep - 1)[keep - 1])
    return distances <= squared_radius, squared_radius
