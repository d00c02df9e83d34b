"""The posterior without some of its rows, by Newton steps from the draws or by a refit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh

from robula._intervals import TAILS
from robula._types import FloatArray, IntArray
from robula.models.model import Model
from robula.models.posterior_mode import weighted_mode
from robula.models.precision import weighted_precision, width_factor

# Of what all rows know in a direction, a share that rounding errors alone can be.
_ROUNDING = 1e-12


class Estimate(NamedTuple):
    """Mean and the ends of the 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def text(self) -> str:
        """In digits."""
        return f"{self.mean:.4g} [{self.low:.4g}, {self.high:.4g}]"


@dataclass(frozen=True, eq=False)
class WithoutRows:
    """The posterior without some of its rows, the others' weights held, by steps from the draws.

    Attributes
    ----------
    model : Model
    theta : ndarray, shape (d,)
        Mean of the posterior of the weighted rows.
    draws : ndarray, shape (S, d), with the doubt about rows in them
    weights : ndarray, shape (n,)
    gradients : ndarray, shape (n, d)
        Of each row's log-likelihood, as often as the model counts the row, averaged over the posterior: from
        covariances of the draws.
    directions : ndarray, shape (k, d)
        Of the quantities: their regression on theta over the draws.
    linear_slopes : ndarray, shape (n, k)
        The part of the quantities' covariances with the log-likelihoods that goes through these directions.
    """

    model: Model
    theta: FloatArray
    draws: FloatArray
    weights: FloatArray
    gradients: FloatArray
    directions: FloatArray
    linear_slopes: FloatArray

    @cached_property
    def _offset(self) -> FloatArray:
        """Gradient of the log posterior at its mean, (d,): not 0 where it is skewed, nor without a few rows."""
        likelihood = self.model.weighted_gradient(self.theta, self.weights)
        offset: FloatArray = likelihood + self.model.prior.gradient(self.theta)
        return offset

    @cached_property
    def precision(self) -> FloatArray:
        """Negative Hessian (d, d) of the log posterior of all rows."""
        return weighted_precision(self.model, self.weights, self.theta)

    def _rest(self, rows: IntArray) -> list[tuple[Model, FloatArray]]:
        """Models and weights whose likelihoods add up to that of the other rows: without a pass where that can be."""
        if self._few is None:
            return [(self.model, self.left(rows))]
        if not len(rows):
            return [self._few]
        # Each set is asked about several times in a row, and many rows take as long to gather as to sum.
        if self._last.get("rows") is not rows:
            self._last.update(rows=rows, model=self.model.take(rows))
        return [self._few, (self._last["model"], -self.weights[rows])]

    @cached_property
    def _last(self) -> dict[str, Any]:
        """The set of rows that was asked about last, and its model."""
        return {}

    @cached_property
    def _few(self) -> tuple[Model, FloatArray] | None:
        return self.model.compressed(self.weights)

    def gradient_left(self, rows: IntArray, theta: FloatArray) -> FloatArray:
        """Gradient (d,) of the log posterior without these rows."""
        likelihood = sum(model.weighted_gradient(theta, weights) for model, weights in self._rest(rows))
        gradient: FloatArray = likelihood + self.model.prior.gradient(theta)
        return gradient

    def precision_left(self, rows: IntArray, theta: FloatArray) -> FloatArray:
        """Negative Hessian (d, d) of the log posterior without these rows."""
        likelihood = sum(model.curvature(theta, weights) for model, weights in self._rest(rows))
        precision: FloatArray = likelihood + self.model.prior.precision(theta)
        return precision

    def left(self, rows: IntArray) -> FloatArray:
        """Weights (n,) without these rows."""
        weights = self.weights.copy()
        weights[rows] = 0.0
        return weights

    def move(self, rows: IntArray) -> FloatArray:
        """Change of the posterior mean of theta (d,): a Newton step from the draws' gradients, and one more.

        NaN where the rows that are left determine nothing.
        """
        gradient = self.gradients[rows].T @ self.weights[rows]
        if not self.model.dense_curvature:
            centred = self.draws - self.theta
            step: FloatArray = -(centred.T @ (centred @ gradient)) / (len(centred) - 1.0)
            return step
        left = self.precision_left(rows, self.theta)
        if not self._determines(left):
            return np.full_like(gradient, np.nan)
        first = -solve(left, gradient)
        there = self.theta + first
        rest = self.gradient_left(rows, there) - self._offset
        precision = self.precision_left(rows, there)
        second = solve(precision, rest)
        # A correction that is larger than what it corrects is none: the steps have left where they are good.
        sound = np.isfinite(second).all() and second @ precision @ second < first @ precision @ first
        return first + second if sound else first

    def _determines(self, precision: FloatArray) -> bool:
        """Whether rows that are left tell every direction apart from rounding errors of the rows that went."""
        try:
            shares = eigh(precision, self.precision, eigvals_only=True)
        except np.linalg.LinAlgError:  # in a hierarchical model the precision of all rows need not be positive either
            return True
        return float(np.abs(shares).min()) > _ROUNDING

    def estimate(self, before: Estimate, place: int, rows: IntArray, moved: FloatArray) -> Estimate:
        """Predict a quantity's mean and interval, given the move of theta (d,)."""
        direction = self.directions[place]
        widening = 1.0
        if self.model.dense_curvature:
            now = self.precision_left(rows, self.theta + moved)
            variances = [float(direction @ solve(matrix, direction)) for matrix in (now, self.precision)]
            widening = float(np.sqrt(variances[0] / variances[1])) if min(variances) > 0 else np.inf
        mean = before.mean + float(direction @ moved)
        return Estimate(
            mean, mean - widening * (before.mean - before.low), mean + widening * (before.high - before.mean)
        )

    def refit(self, values: Callable[[FloatArray], FloatArray], rows: IntArray) -> Estimate:
        """Find the mode without these rows and carry the draws there, as wide as the posterior is there."""
        modes, factors = [], []
        for weights, start in ((self.weights, self.theta), (self.left(rows), self.theta + self.move(rows))):
            mode = weighted_mode(self.model, weights, start)
            modes.append(mode)
            if self.model.dense_curvature:
                factors.append(width_factor(weighted_precision(self.model, weights, mode)))
        centred = self.draws - self.theta
        if factors:
            centred = np.linalg.solve(factors[0], centred.T).T @ factors[1].T
        return interval(values(self.theta + modes[1] - modes[0] + centred))


def interval(values: FloatArray) -> Estimate:
    """Mean and the ends of the 95 % interval of draws (S,)."""
    low, high = np.quantile(values, TAILS)
    return Estimate(float(values.mean()), float(low), float(high))


def solve(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    """Solve; NaN where the rows that are left determine nothing."""
    try:
        return np.asarray(np.linalg.solve(matrix, vector), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.full_like(vector, np.nan)
