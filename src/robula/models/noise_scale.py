"""The noise scale of a linear fit that bad rows cannot own: least trimmed squares without chance."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.special import ndtri

from robula._types import FloatArray, IntArray

# Concentration steps before the beginnings are compared, how many of them go on, and at most how far.
_FIRST_STEPS, _FINALISTS, _STEPS = 2, 4, 50
# Steps towards the rows that lie most closely together.
_CENTRAL_STEPS = 5
_HUBER, _HUBER_STEPS = 1.345, 20
# Directions with less than this share of the longest are rounding.
_RANK = 1e-10
# An exact fit has this share of the spread of y as its scale: 0 is no scale.
_FLOOR = 1e-8
# Rows within this many scales count in the last, efficient steps; at most so many of them; and the variance of a
# normal cut there.
_CUT, _LAST_STEPS, _VARIANCE_WITHIN = 2.5, 10, 0.9112563609
# Shortfall of the trimmed and of the last scale on clean rows: minus their mean log is (a + b rank) / n. Measured by
# benchmarks/noise_scale_factors.py, which prints what is left of it.
_TRIMMED_SHORTFALL, _LAST_SHORTFALL = (1.7, 2.4), (1.6, 0.3)


def robust_scale(design: FloatArray, y: FloatArray) -> tuple[float, FloatArray]:
    """Standard deviation of the noise of y given the design, and the coefficients it belongs to.

    Concentration steps [rousseeuw2006]: keep the half of the rows with the smallest residuals, refit, and again until
    nothing changes. They begin at fits that need no random subsets (:func:`_beginnings`); the one whose half has the
    smallest sum of squares wins. The scale of that half, the largest of its residuals over a normal's quantile, is
    right for clean rows but half as large again with 30 % of bad ones; so rows within 2.5 of it are fitted, their
    standard deviation, corrected for the cut, is the next scale, and again while it falls.

    The order of rows has no say, not even by rounding; units and rotations of the columns, and units and level of y,
    only by rounding. Nearly half of the rows may be bad. With fewer than two rows a parameter nothing can be trimmed,
    and the scale is that of least squares.

    Parameters
    ----------
    design : ndarray, shape (n, d)
        Any rank.
    y : ndarray, shape (n,)

    Returns
    -------
    float and ndarray, shape (d,)
        The scale is above 0; the coefficients are the shortest ones where the columns are dependent.

    Notes
    -----
    Measured on clean rows of noise 1 (benchmarks/noise_scale_factors.py, 40 repeats; geometric mean / sd of the log):

    ======  ===========  ===========  ===========  ===========
    n       rank 2       rank 5       rank 10      rank 20
    ======  ===========  ===========  ===========  ===========
    12      1.00 / 0.38  1.06 / 0.53
    20      0.98 / 0.24  1.01 / 0.27
    40      1.02 / 0.16  1.02 / 0.13  0.97 / 0.20
    80      1.01 / 0.11  0.99 / 0.12  1.01 / 0.13  0.98 / 0.16
    200     0.97 / 0.07  0.98 / 0.06  1.00 / 0.06  1.01 / 0.08
    1000    0.99 / 0.03  0.99 / 0.03  1.00 / 0.03  0.99 / 0.03
    ======  ===========  ===========  ===========  ===========
    """
    order = np.lexsort((*design.T, y))
    design, y = design[order], y[order]
    lengths = np.linalg.norm(design, axis=0)
    lengths[lengths == 0.0] = 1.0
    basis, sizes, directions = np.linalg.svd(design / lengths, full_matrices=False)
    rank = int((sizes > _RANK * max(sizes[0], 1e-300)).sum())
    basis = basis[:, :rank]
    spread = float(np.abs(y - np.median(y)).mean()) or float(np.abs(y).max()) or 1.0
    scale, fit = _scale_and_fit(basis, y / spread)
    coefficients = spread * (directions[:rank].T @ (fit / sizes[:rank]) / lengths)
    return spread * max(scale, _FLOOR), coefficients


def _scale_and_fit(basis: FloatArray, y: FloatArray) -> tuple[float, FloatArray]:
    """Scale and coefficients (r,) for orthonormal columns (n, r) of full rank."""
    n, rank = basis.shape
    if n < 2 * (rank + 1):
        fit = _fit(basis, y, np.arange(n))
        return math.sqrt(float(((y - basis @ fit) ** 2).sum()) / max(n - rank, 1)), fit
    cut, fit = trimmed_scale(basis, y)
    scale = np.inf
    for _ in range(_LAST_STEPS):
        inside = np.flatnonzero(np.abs(y - basis @ fit) <= _CUT * cut)
        fit = _fit(basis, y, inside)
        squares = float(((y - basis @ fit)[inside] ** 2).sum())
        cut = math.sqrt(squares / max(len(inside) - rank, 1) / _VARIANCE_WITHIN)
        cut *= _correction(_LAST_SHORTFALL, n, rank)
        if not cut < scale:
            break
        scale = cut
    return scale, fit


def trimmed_scale(basis: FloatArray, y: FloatArray) -> tuple[float, FloatArray]:
    """Scale and coefficients (r,) of the best half of the rows, for orthonormal columns (n, r)."""
    n, rank = basis.shape
    half = (n + rank + 1) // 2
    begun = [_concentrate(basis, y, fit, half, _FIRST_STEPS) for fit in _beginnings(basis, y, half)]
    begun.sort(key=lambda found: found[0])
    _, fit = min((_concentrate(basis, y, fit, half, _STEPS) for _, fit in begun[:_FINALISTS]), key=lambda end: end[0])
    residuals = np.abs(y - basis @ fit)
    scale = float(np.partition(residuals, half - 1)[half - 1] / ndtri(0.5 + half / (2.0 * n + 1.0)))
    return scale * _correction(_TRIMMED_SHORTFALL, n, rank), fit


def _correction(shortfall: tuple[float, float], n: int, rank: int) -> float:
    return math.exp((shortfall[0] + shortfall[1] * rank) / n)


def _beginnings(basis: FloatArray, y: FloatArray, half: int) -> Iterator[FloatArray]:
    """Coefficients (r,) to begin with: each is right for some way in which rows are bad."""
    every = np.arange(len(y))
    plain = _fit(basis, y, every)
    yield plain
    yield _huber(basis, y, plain)
    joint = np.column_stack([basis, y])
    central = []
    for points in (basis, joint):
        rows = every
        for _ in range(_CENTRAL_STEPS):
            rows = _smallest(_squared_distances(points, rows), half)
        central.append(_fit(basis, y, rows))
        yield central[-1]
    # Bad rows that lie to one side: of a fit, or where the rows or their features are most skewed.
    sides = [y - basis @ fit for fit in (plain, *central)]
    for along in (y, *sides, _most_skewed(joint), _most_skewed(basis)):
        yield _fit(basis, y, _smallest(along, half))
        yield _fit(basis, y, _smallest(-along, half))
    yield _fit(basis, y, _smallest(np.abs(y - np.median(y)), half))


def _concentrate(basis: FloatArray, y: FloatArray, fit: FloatArray, half: int, steps: int) -> tuple[float, FloatArray]:
    """Sum of the ``half`` smallest squared residuals, and the fit that has it, after at most so many steps."""
    best, best_fit = np.inf, fit
    for _ in range(steps):
        squares = (y - basis @ fit) ** 2
        rows = _smallest(squares, half)
        total = float(np.sort(squares[rows])[:half].sum())
        if not total < best * (1.0 - 1e-12):
            break
        best, best_fit = total, fit
        fit = _fit(basis, y, rows)
    return best, best_fit


def _fit(basis: FloatArray, y: FloatArray, rows: IntArray, weights: FloatArray | float = 1.0) -> FloatArray:
    """Least squares on some rows; the columns are orthonormal, so their normal equations are harmless."""
    some = basis[rows]
    weighted = (some.T * weights).T
    return np.asarray(np.linalg.lstsq(weighted.T @ some, weighted.T @ y[rows], rcond=1e-12)[0], dtype=np.float64)


def _huber(basis: FloatArray, y: FloatArray, fit: FloatArray) -> FloatArray:
    """Huber's fit by reweighting, its scale the median absolute residual."""
    every = np.arange(len(y))
    for _ in range(_HUBER_STEPS):
        residuals = np.abs(y - basis @ fit)
        limit = _HUBER * float(np.median(residuals)) / float(ndtri(0.75))
        fit = _fit(basis, y, every, np.minimum(1.0, limit / np.maximum(residuals, max(limit, 1e-300))))
    return fit


def _smallest(values: FloatArray, count: int) -> IntArray:
    """Places of the ``count`` smallest values, and of all that are tied with the last of them."""
    return np.flatnonzero(values <= np.partition(values, count - 1)[count - 1])


def _squared_distances(points: FloatArray, rows: IntArray) -> FloatArray:
    """Mahalanobis distances (n,) of all points from the mean of some of them, in their covariance."""
    whitened = (points - points[rows].mean(axis=0)) @ _whitener(points[rows])
    distances: FloatArray = (whitened**2).sum(axis=1)
    return distances


def _most_skewed(points: FloatArray) -> FloatArray:
    """Coordinates (n,) along the vector of third moments [mardia1970] of the whitened points."""
    whitened = (points - points.mean(axis=0)) @ _whitener(points)
    skewness = ((whitened**2).sum(axis=1)[:, None] * whitened).mean(axis=0)
    along: FloatArray = whitened @ skewness
    return along


def _whitener(points: FloatArray) -> FloatArray:
    """Matrix (d, r) that makes the covariance of points (m, d) the identity, without the directions they lack."""
    centred = points - points.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred)
    kept = values > _RANK * values.max(initial=1e-300)
    matrix: FloatArray = vectors[:, kept] / np.sqrt(values[kept])
    return matrix
