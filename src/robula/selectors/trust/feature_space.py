"""Where rows are in their features: affine-invariant coordinates, distances, directions, and cells that stand apart."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from robula._types import FloatArray
from robula.selectors.trust import trust_constants as constants

# Directions with less than this share of the largest spread are rounding.
_RANK = 1e-8
_PURSUIT_STEPS = 20
_CONCENTRATIONS = 3
_INNER = 0.75
# Coordinates are bounded softly at six spreads, and votes at four: no row owns a direction.
_BOUND, _CLIP = 6.0, 4.0


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
        Log odds that a cell which stands apart from its column gives for a row to be bad, 0 for nearly all.
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


def feature_space(features: FloatArray, cells: FloatArray | None = None) -> FeatureSpace:
    """Coordinates of features (n, d) that do not change when the features are mapped by an invertible affine map.

    ``cells`` (n, q) are the columns as they were recorded, among which cells may stand apart; None are the features.
    """
    n = len(features)
    centred = features - features.mean(axis=0)
    spread = centred.std(axis=0)
    kept = spread > 1e-12 * np.maximum(np.abs(features).max(axis=0), 1e-300)
    odds = np.clip(cells_apart(features if cells is None else cells) - constants.APART, 0.0, constants.MOST_FOR_APART)
    if not kept.any():
        none = np.zeros((n, 0))
        return FeatureSpace(none, none, np.zeros(n), none, odds)
    left, singular, _ = np.linalg.svd(centred[:, kept] / spread[kept], full_matrices=False)
    whitened = left[:, singular > _RANK * singular[0]] * math.sqrt(n)
    squared = (whitened**2).sum(axis=1)
    _, axes = np.linalg.eigh((whitened.T * squared) @ whitened / n)
    skew = squared @ whitened
    found: list[FloatArray] = []
    for start, by_skewness in ((skew, True), (skew, False), (axes[:, -1], False), (axes[:, 0], False)):
        direction = _pursue(whitened, start, by_skewness)
        if all(abs(float(direction @ other)) < 0.99 for other in found):
            found.append(direction)
    independent = whitened @ axes
    independent = independent - np.median(independent, axis=0)
    deviation = 1.4826 * np.median(np.abs(independent), axis=0)
    independent = independent / np.where(deviation > 1e-6, deviation, 1.0)
    bounded = independent / np.sqrt(1.0 + (independent / _BOUND) ** 2)
    inner = _concentrated(bounded)
    distance = standardised(np.log1p((inner**2).mean(axis=1)))
    return FeatureSpace(whitened, np.clip(inner, -_CLIP, _CLIP), distance, whitened @ np.stack(found, axis=1), odds)


def cells_apart(features: FloatArray) -> FloatArray:
    """How far (n,) each row's oddest cell is from its column's middle: a log distance in units of that column's own."""
    worst = np.zeros(len(features))
    for column in features.T:
        away = np.abs(column - np.median(column))
        differs = away > 0.0
        if not differs.any():
            continue
        # Where most values are one and the same (a category, many zeros), the others give the unit.
        usual = away if np.median(away) > 0.0 else away[differs]
        log_away, log_usual = np.log1p(away / np.median(usual)), np.log1p(usual / np.median(usual))
        middle = np.median(log_usual)
        spread = max(1.4826 * float(np.median(np.abs(log_usual - middle))), 0.2)
        worst = np.maximum(worst, (log_away - middle) / spread)
    return worst


def standardised(values: FloatArray, least: float = 0.2) -> FloatArray:
    """Values (n,) less their median, in units of their median deviation, ``least`` at least."""
    centred = values - np.median(values)
    return centred / max(1.4826 * float(np.median(np.abs(centred))), least)


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


def _concentrated(bounded: FloatArray) -> FloatArray:
    """Coordinates (n, r) whitened by the rows in the middle, found by concentration steps."""
    n, rank = bounded.shape
    size = max(int(_INNER * n), min(n, rank + 2))
    result = bounded
    for _ in range(_CONCENTRATIONS + 1):
        middle = bounded[np.argsort((result**2).sum(axis=1), kind="stable")[:size]]
        covariance = np.cov(middle.T).reshape(rank, rank) + 1e-3 * np.eye(rank)
        factor = np.linalg.cholesky(covariance)
        result = np.linalg.solve(factor, (bounded - middle.mean(axis=0)).T).T
    typical = float(np.median((result**2).sum(axis=1)))
    return result * math.sqrt(rank / max(typical, 1e-12))
