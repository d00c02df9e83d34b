"""Where rows are in their features: affine-invariant coordinates, distances and directions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from robula._types import FloatArray, IntArray
from robula.selectors.trust import trust_constants as constants
from robula.tables.cell_limits import CellLimits, Codes

# Directions with less than this share of the largest spread are rounding.
_RANK = 1e-8
# Squares of spreads lose half of their digits: with less than this share of the largest none is squared.
_TOLD_BY_SQUARES = 1e-6
_PURSUIT_STEPS = 20
_CONCENTRATIONS = 3
_INNER = 0.75
# Coordinates are bounded softly at six spreads, and votes at four: no row owns a direction.
_BOUND, _CLIP = 6.0, 4.0
# Least median deviation of a log distance: columns of nearly one size are not looked at more finely.
_LEAST_DEVIATION = 0.2


@dataclass(frozen=True)
class FeatureSpace:
    """Coordinates of n rows whose features have rank r.

    Attributes
    ----------
    whitened : ndarray, shape (n, r)
        Mean 0 and covariance I over all rows; a column of ones is not among them.
    inner : ndarray, shape (n, r)
        Whitened by the inner three quarters of the rows and bounded.
    distance : ndarray, shape (n,)
        Log distance from the inner rows, standardised.
    directions : ndarray, shape (n, k)
        Coordinates along the k directions in which the rows look least normal.
    apart : ndarray, shape (n,)
        Log odds that a wrong cell gives for a row to be bad, 0 for nearly all.
    """

    whitened: FloatArray
    inner: FloatArray
    distance: FloatArray
    directions: FloatArray
    apart: FloatArray

    @property
    def rank(self) -> int:
        """Rank r of the features."""
        return int(self.whitened.shape[1])

    def take(self, rows: np.ndarray) -> FeatureSpace:
        """Return the coordinates of some rows."""
        return FeatureSpace(
            self.whitened[rows], self.inner[rows], self.distance[rows], self.directions[rows], self.apart[rows]
        )


def feature_space(features: FloatArray, cell_odds: FloatArray | None = None) -> FeatureSpace:
    """Coordinates of features (n, d) that do not change when the features are mapped by an invertible affine map.

    ``cell_odds`` (n,) are the log odds that a cell of each row is a mistake; None where cells were not looked at.
    """
    own = FeatureMap(features)
    space = replace(own.space, directions=own.directions(own.space.whitened))
    return space if cell_odds is None else replace(space, apart=bounded_odds(cell_odds))


def bounded_odds(cell_odds: FloatArray) -> FloatArray:
    """What log odds (n,) of a wrong cell count for its row: nothing below 0, and no more than unmistakable."""
    odds: FloatArray = np.clip(cell_odds, 0.0, constants.MOST_FOR_APART)
    return odds


class FeatureMap:
    """The coordinates that some rows define.

    Parameters
    ----------
    features : ndarray, shape (n, d)

    Attributes
    ----------
    space : FeatureSpace
        The coordinates of these rows, without directions and without a look at their cells.
    """

    def __init__(self, features: FloatArray) -> None:
        n = len(features)
        none, nothing = np.zeros((n, 0)), np.zeros(n)
        self._mean = features.mean(axis=0)
        centred = features - self._mean
        spread = centred.std(axis=0)
        self._kept = spread > 1e-12 * np.maximum(np.abs(features).max(axis=0), 1e-300)
        self._spread = spread[self._kept]
        self.rank = 0
        self.space = FeatureSpace(none, none, nothing, none, nothing)
        if not self._kept.any():
            return
        scaled = centred[:, self._kept] / self._spread
        squares, axes = np.linalg.eigh(scaled.T @ scaled)
        singular, right = np.sqrt(np.maximum(squares, 0.0)), axes.T
        if squares[0] < _TOLD_BY_SQUARES * squares[-1]:
            _, singular, right = np.linalg.svd(np.linalg.qr(scaled, mode="r"), full_matrices=False)
        spread_out = singular > _RANK * singular.max()
        self._whitening = right[spread_out].T / singular[spread_out] * math.sqrt(n)
        whitened = scaled @ self._whitening
        self.rank = whitened.shape[1]
        far_out = whitened * np.linalg.norm(whitened, axis=1)[:, None]
        _, self._axes = np.linalg.eigh(far_out.T @ far_out / n)
        independent = whitened @ self._axes
        self._middle = _medians(independent)
        independent -= self._middle
        deviation = 1.4826 * _medians(np.abs(independent))
        self._deviation = np.where(deviation > 1e-6, deviation, 1.0)
        independent /= self._deviation
        self._centre, self._factor, inner = _concentrated(_bounded(independent))
        far = _log_distances(inner)
        self._usual_distance = _median(far)
        self._distance_unit = max(1.4826 * _median(np.abs(far - self._usual_distance)), _LEAST_DEVIATION)
        distance = (far - self._usual_distance) / self._distance_unit
        self.space = FeatureSpace(whitened, np.clip(inner, -_CLIP, _CLIP, out=inner), distance, none, nothing)

    def of_others(self) -> OtherRows | None:
        """Return the same map for rows that had no part in it; None where no column varies."""
        if not self.rank:
            return None
        whitening = self._whitening / self._spread[:, None]
        return OtherRows(
            mean=self._mean,
            columns=slice(None) if self._kept.all() else np.flatnonzero(self._kept),
            both=np.hstack([whitening, whitening @ self._axes / self._deviation]),
            shift=self._middle / self._deviation,
            factor=self._factor,
            centre=self._centre @ self._factor,
            usual_distance=self._usual_distance,
            distance_unit=self._distance_unit,
        )

    def directions(self, whitened: FloatArray) -> FloatArray:
        """Coordinates (n, k) of the rows that define the map along the directions in which they look least normal."""
        if not self.rank:
            return whitened
        skew = (whitened**2).sum(axis=1) @ whitened
        found: list[FloatArray] = []
        beginnings = ((skew, True), (skew, False), (self._axes[:, -1], False), (self._axes[:, 0], False))
        for start, by_skewness in beginnings:
            direction = _pursue(whitened, start, by_skewness)
            if all(abs(float(direction @ other)) < 0.99 for other in found):
                found.append(direction)
        along: FloatArray = whitened @ np.stack(found, axis=1)
        return along


@dataclass(frozen=True)
class OtherRows:
    """A feature map without the rows that define it: small, and of few operations a row, because passes ask it of all.

    Attributes
    ----------
    mean : ndarray, shape (d,)
    columns : slice or ndarray of int
        Those that vary.
    both : ndarray, shape (k, 2 r)
        Whitening, and what leads to the axes in units of their deviations, side by side.
    shift : ndarray, shape (r,)
        Middles on the axes in these units.
    factor : ndarray, shape (r, r)
        Whitening by the inner rows.
    centre : ndarray, shape (r,)
        Of the inner rows, whitened.
    usual_distance, distance_unit : float
        Median and median deviation of log distances.
    """

    mean: FloatArray
    columns: slice | IntArray
    both: FloatArray
    shift: FloatArray
    factor: FloatArray
    centre: FloatArray
    usual_distance: float
    distance_unit: float

    def __call__(self, features: FloatArray) -> FeatureSpace:
        """Coordinates of rows with these features (m, d), without directions and without a look at their cells."""
        none, rank = np.zeros((len(features), 0)), len(self.shift)
        both = (features - self.mean)[:, self.columns] @ self.both
        inner = _bounded(both[:, rank:] - self.shift) @ self.factor - self.centre
        distance = (_log_distances(inner) - self.usual_distance) / self.distance_unit
        cut = np.clip(inner, -_CLIP, _CLIP, out=inner)
        return FeatureSpace(both[:, :rank], cut, distance, none, np.zeros(len(features)))


class BlockMap:
    """Where rows of a block are by the coordinates of a table, and what their cells say, column by column.

    Parameters
    ----------
    features : ndarray, shape (n, d)
        Of the rows that define the coordinates.
    codes : tuple of tuple of float, d of them
        Values of each column that stand for "missing".
    """

    def __init__(self, features: FloatArray, codes: Codes) -> None:
        self._of_others, self._limits = FeatureMap(features).of_others(), CellLimits(features, codes)

    def __call__(self, features: FloatArray) -> FeatureSpace:
        """Coordinates of rows with these features (m, d); their directions are left out, (m, 0)."""
        apart = bounded_odds(self._limits(features))
        if self._of_others is None:
            none = np.zeros((len(features), 0))
            return FeatureSpace(none, none, np.zeros(len(features)), none, apart)
        return replace(self._of_others(features), apart=apart)


def _bounded(along: FloatArray) -> FloatArray:
    """Coordinates (n, r) of which none is beyond six spreads."""
    bounded: FloatArray = along / np.sqrt(1.0 + (along / _BOUND) ** 2)
    return bounded


def _log_distances(inner: FloatArray) -> FloatArray:
    """Log distances (n,) of rows from the middle of the inner ones, by their coordinates (n, r)."""
    far: FloatArray = np.log1p(np.einsum("ij,ij->i", inner, inner) / inner.shape[1])
    return far


def standardised(values: FloatArray) -> FloatArray:
    """Values (n,) less their median, in units of their median deviation, 0.2 at least."""
    middle, deviation = median_and_deviation(values)
    return (values - middle) / deviation


def median_and_deviation(values: FloatArray) -> tuple[float, float]:
    """Median of values (n,) and their median deviation in units of a normal's, 0.2 at least."""
    middle = _median(values)
    return middle, max(1.4826 * _median(np.abs(values - middle)), _LEAST_DEVIATION)


def _median(values: FloatArray) -> float:
    return float(_medians(values[:, None])[0])


def _medians(values: FloatArray) -> FloatArray:
    """Medians of the columns of values (n, k), shape (k,), in a quarter of the time of numpy.median.

    One place is looked for in each column, and columns are contiguous; numpy looks for three.
    """
    rows, half = np.array(values.T, order="C"), len(values) // 2
    rows.partition(half, axis=1)
    upper: FloatArray = rows[:, half]
    return upper if len(values) % 2 else 0.5 * (rows[:, :half].max(axis=1) + upper)


def _pursue(whitened: FloatArray, start: FloatArray, by_skewness: bool) -> FloatArray:
    """One direction (r,) in which the rows look least normal: one-unit FastICA [hyvarinen1999].

    Skewness finds one group apart; the Gaussian contrast also finds two opposite ones. Both are needed: a group of 21 %
    has the kurtosis of a normal law.
    """
    direction = start / max(float(np.linalg.norm(start)), 1e-300)
    for _ in range(_PURSUIT_STEPS):
        t = whitened @ direction
        if by_skewness:
            moved = (t * t) @ whitened / len(t)
        else:
            bell = np.exp(-0.5 * t * t)
            moved = (t * bell) @ whitened / len(t) - float(((1.0 - t * t) * bell).mean()) * direction
        length = float(np.linalg.norm(moved))
        if length < 1e-12:
            break
        moved = moved / length
        settled = abs(float(direction @ moved)) > 1.0 - 1e-9
        direction = moved
        if settled:
            break
    return direction


def _concentrated(bounded: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Centre (r,) and whitening (r, r) by the rows in the middle, found by concentration steps; all rows whitened."""
    n, rank = bounded.shape
    size = max(int(_INNER * n), min(n, rank + 2))
    result = bounded
    for _ in range(_CONCENTRATIONS + 1):
        middle = bounded[np.argsort(np.einsum("ij,ij->i", result, result), kind="stable")[:size]]
        centre = middle.mean(axis=0)
        middle -= centre
        covariance = middle.T @ middle / (size - 1) + 1e-3 * np.eye(rank)
        whitening = np.linalg.inv(np.linalg.cholesky(covariance)).T
        result = bounded @ whitening
        result -= centre @ whitening
    typical = _median(np.einsum("ij,ij->i", result, result))
    unit = math.sqrt(rank / max(typical, 1e-12))
    return centre, whitening * unit, result * unit
