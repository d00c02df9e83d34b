"""What the law's spread and mean may follow, as some rows suggest it, for these rows or for others."""

from __future__ import annotations

import numpy as np

from robula._types import FloatArray
from robula.selectors.trust.scored_rows import ScoredRows


class LawCovariates:
    """Directions and scales that are found once.

    The spread may grow with the fitted value, the distance, and the direction in which squared scores grow most. The
    mean may be off by square and cube of the fitted value, and by squares along the two directions in which scores
    curve most.

    Parameters
    ----------
    rows : ScoredRows
    theta : ndarray, shape (d,)
    scores, weights : ndarray, shape (n,)
        Of the rows at theta.
    any_place : bool
        False where the law is free in its shape only, the same in every place: nothing is followed then.
    """

    def __init__(
        self, rows: ScoredRows, theta: FloatArray, scores: FloatArray, weights: FloatArray, any_place: bool
    ) -> None:
        self._any_place = any_place
        if not any_place:
            return
        values = rows.model.fitted(theta)
        self._middle = float(np.median(values))
        self._unit = 1.4826 * float(np.median(np.abs(values - self._middle)))
        inner, z, w = rows.space.inner, np.clip(scores, -3.0, 3.0), weights
        growing = (w * (np.minimum(z * z, 9.0) - 1.0)) @ inner
        self._growing = growing / max(float(np.linalg.norm(growing)), 1e-300)
        self._curved = np.zeros((rows.space.rank, 0))
        if rows.space.rank:
            curved = np.linalg.eigh((inner.T * (z * w)) @ inner)[1]
            self._curved = curved[:, [0, -1]] if rows.space.rank > 1 else curved
        bends = self._bends(rows, self._fitted(rows, theta))
        self._mean, spread = bends.mean(axis=0), bends.std(axis=0)
        self._per_spread = (spread > 1e-6) / np.maximum(spread, 1e-9)

    def __call__(self, rows: ScoredRows, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What the log spread may grow with, (b, 3), and what the mean may be off by, (b, k); (b, 0) for nothing."""
        if not self._any_place:
            nothing = np.zeros((rows.count, 0))
            return nothing, nothing
        fitted, space = self._fitted(rows, theta), rows.space
        along = space.inner @ self._growing
        trends = np.column_stack([np.arcsinh(fitted), np.clip(space.distance, -4.0, 4.0), along])
        return trends, (self._bends(rows, fitted) - self._mean) * self._per_spread

    def _fitted(self, rows: ScoredRows, theta: FloatArray) -> FloatArray:
        """Fitted values, less their median, in units of their median deviation; 0 where they do not vary."""
        if self._unit <= 1e-12:
            return np.zeros(rows.count)
        return np.clip((rows.model.fitted(theta) - self._middle) / self._unit, -50.0, 50.0)

    def _bends(self, rows: ScoredRows, fitted: FloatArray) -> FloatArray:
        held = np.clip(fitted, -2.5, 2.5)
        squares = np.clip(rows.space.inner @ self._curved, -2.5, 2.5) ** 2
        return np.column_stack([held**2, 0.5 * held**3, squares])
