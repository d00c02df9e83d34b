"""Generalized linear models: a linear predictor eta_i = x_i' theta and one scalar score per row."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from robula._types import ArrayInput, FloatArray
from robula.models.model import weighted_sum
from robula.models.priors import Prior, resolve_prior
from robula.models.regression import ALL_ROWS, Regression, joined

__all__ = ["ALL_ROWS", "GeneralizedLinearModel"]


class GeneralizedLinearModel(Regression):
    """Regression whose row gradient is a scalar score times the row of the design.

    A subclass checks its responses and hands them to :meth:`_set_response`, and writes the score, curvature,
    log-likelihood, probability integral transform and simulation of a row, all given its linear predictor.

    Parameters
    ----------
    X : array-like, shape (n, p)
        A ``numpy.memmap`` is read in blocks and never copied whole.
    prior : Prior or None
    intercept : bool
        Add a column of ones, in front; d is then p + 1.
    offset, exposure, row_weights : array-like, shape (n,), optional
        As for :class:`Regression`.
    """

    by_predictor = True

    def __init__(
        self,
        X: ArrayInput,
        prior: Prior | None,
        intercept: bool,
        *,
        offset: ArrayInput = None,
        exposure: ArrayInput = None,
        row_weights: ArrayInput = None,
    ) -> None:
        super().__init__(X, intercept, offset=offset, exposure=exposure, row_weights=row_weights)
        self.prior = resolve_prior(prior, self.dim)

    @abstractmethod
    def _score(self, eta: FloatArray, rows: slice = ALL_ROWS) -> FloatArray:
        """Derivative of the log-likelihood of some rows in the linear predictor, shape (..., b)."""

    @abstractmethod
    def _row_curvature(self, eta: FloatArray) -> FloatArray:
        """Negative second derivative of the log-likelihood in the linear predictor, shape (..., n)."""

    @abstractmethod
    def _row_log_likelihood(self, eta: FloatArray) -> FloatArray:
        """Log-likelihood as a function of the linear predictor, shape (..., n)."""

    @abstractmethod
    def _row_pit(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P(Y < y) and P(Y <= y) given the linear predictor, shapes (n,)."""

    @abstractmethod
    def _row_simulation(self, eta: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw a response for each linear predictor, shape (n,)."""

    def _row_information(self, eta: FloatArray) -> FloatArray:
        """Expected value of the row curvature, shape (n,): the curvature itself under a canonical link."""
        return self._row_curvature(eta)

    #: Largest value of the row curvature over all linear predictors, or None if it has none.
    _row_curvature_bound: float | None = None

    def predictor_gradient(self, theta: FloatArray) -> FloatArray:
        """Derivative of each row's log-likelihood in its linear predictor, shape (..., n)."""
        return self._score(self.predictor(theta))

    def features(self, theta: FloatArray) -> FloatArray:
        """Rows of the design times the root of what a response tells about its linear predictor, shape (n, d)."""
        features: FloatArray = self.design * np.sqrt(self._row_information(self.predictor(theta)))[:, None]
        return features

    def information(self, theta: FloatArray, weights: FloatArray | None = None) -> FloatArray:
        """Fisher information of the rows, each times its weight, shape (d, d); in blocks."""
        counted = self.counted(np.ones(self.n_rows) if weights is None else weights)
        return self._weighted_gram(counted * self._row_information(self.predictor(theta)))

    def gradient_products(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Sum of the rows' gradients times themselves, each times its weight, shape (d, d); in blocks."""
        return self._weighted_gram(self.counted(weights) * self.predictor_gradient(theta) ** 2)

    def pit(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P(Y < y) and P(Y <= y) of each row, shapes (n,)."""
        return self._row_pit(self.predictor(theta))

    def simulate(self, theta: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw a response for every row, shape (n,)."""
        return self._row_simulation(self.predictor(theta), rng)

    def log_likelihood(self, theta: FloatArray) -> FloatArray:
        """Log-likelihood of each row, shape (..., n)."""
        return self._row_log_likelihood(self.predictor(theta))

    def gradients(self, theta: FloatArray) -> FloatArray:
        """Gradient of each row's log-likelihood, shape (..., n, d)."""
        theta = self.check_theta(theta)
        blocks = [
            block * self._score(self._moved(theta @ block, rows), rows)[..., None, :] for rows, block in self.blocks()
        ]
        return np.swapaxes(joined(blocks), -1, -2)

    def weighted_gradient(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Weighted sum of the rows' gradients, shape (..., d)."""
        theta, weights = self.check_theta(theta), self.counted(weights)
        batch = np.broadcast_shapes(theta.shape[:-1], weights.shape[:-1])
        # One matrix product for the whole batch: NumPy would loop over its leading axes.
        flat = theta.reshape(-1, self.dim)
        total = np.zeros((*batch, self.dim))
        # Of one theta the linear predictor is mostly known.
        one = theta.ndim == 1 and self.in_memory
        scores = self._score(self.predictor(theta)) if one else np.zeros(0)
        for rows, block in self.blocks():
            eta = np.zeros(0) if one else self._moved((flat @ block).reshape(*theta.shape[:-1], -1), rows)
            score = scores[rows] if one else self._score(eta, rows)
            weighted = np.broadcast_to(weights[..., rows] * score, (*batch, score.shape[-1]))
            total += (weighted.reshape(-1, score.shape[-1]) @ block.T).reshape(total.shape)
        return total

    def weighted_log_likelihood_and_gradient(
        self, theta: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Both from one linear predictor: shapes (...) and (..., d), for weights (n,)."""
        eta, weights = self.predictor(theta), self.counted(weights)
        weighted = weights * self._score(eta)
        gradient = sum((weighted[..., rows] @ block.T for rows, block in self.blocks()), np.zeros(theta.shape))
        return weighted_sum(self._row_log_likelihood(eta), weights), gradient

    def curvature(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Weighted sum of the rows' curvatures, shape (d, d)."""
        return self._weighted_gram(self.counted(weights) * self._row_curvature(self.predictor(theta)))

    def curvature_bound(self, weights: FloatArray) -> FloatArray | None:
        """Weighted Gram matrix times the largest row curvature, where there is one."""
        if self._row_curvature_bound is None:
            return None
        return self._row_curvature_bound * self._weighted_gram(self.counted(weights))

    def responses(self, eta: FloatArray, rest: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw new responses for linear predictors (..., k)."""
        return self._row_simulation(eta.ravel(), rng).reshape(eta.shape)
