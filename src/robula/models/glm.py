"""Shared part of the regressions: a linear predictor eta_i = x_i' theta and one scalar score per row."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from robula._types import ArrayInput, FloatArray
from robula.data.arrays import as_matrix, column_names, read_only
from robula.exceptions import InputError
from robula.models.base import Model, default_names
from robula.models.priors import Prior, resolve_prior


class GeneralizedLinearModel(Model):
    """Regression whose row gradient is a scalar score times the row of the design.

    Parameters
    ----------
    X : array-like, shape (n, p)
    prior : Prior or None
    intercept : bool
        Add a column of ones, in front; d is then p + 1.
    """

    def __init__(self, X: ArrayInput, prior: Prior | None, intercept: bool) -> None:
        features = as_matrix(X, "X")
        if not isinstance(intercept, bool | np.bool_):
            raise InputError(f"intercept={intercept!r} must be True or False.")
        names = default_names(column_names(X), features.shape[1])
        if intercept:
            features = np.column_stack([np.ones(len(features)), features])
            names = default_names(("intercept", *names), features.shape[1])
        self.intercept = bool(intercept)
        self.parameter_names = names
        self.n_rows, self.dim = features.shape
        self.prior = resolve_prior(prior, self.dim)
        # Kept as (d, n), contiguous: the gradients then come out in the layout selectors sort in.
        self._design_t = read_only(np.array(features.T, order="C"))

    @property
    def design(self) -> FloatArray:
        """The design matrix with the intercept column, shape (n, d)."""
        return self._design_t.T

    @abstractmethod
    def _score(self, eta: FloatArray) -> FloatArray:
        """Derivative of the log-likelihood in the linear predictor, shape (..., n)."""

    @abstractmethod
    def _row_curvature(self, eta: FloatArray) -> FloatArray:
        """Negative second derivative of the log-likelihood in the linear predictor, shape (..., n)."""

    @abstractmethod
    def _row_log_likelihood(self, eta: FloatArray) -> FloatArray:
        """Log-likelihood as a function of the linear predictor, shape (..., n)."""

    #: Largest value of the row curvature over all linear predictors, or None if it has none.
    _row_curvature_bound: float | None = None

    def predictor(self, theta: FloatArray) -> FloatArray:
        """Linear predictor of each row, shape (..., n)."""
        eta: FloatArray = self.check_theta(theta) @ self._design_t
        return eta

    def row_curvature(self, theta: FloatArray) -> FloatArray:
        """Negative second derivative of each row's log-likelihood in its linear predictor, shape (..., n)."""
        return self._row_curvature(self.predictor(theta))

    def log_likelihood(self, theta: FloatArray) -> FloatArray:
        """Log-likelihood of each row, shape (..., n)."""
        return self._row_log_likelihood(self.predictor(theta))

    def gradients(self, theta: FloatArray) -> FloatArray:
        """Gradient of each row's log-likelihood, shape (..., n, d)."""
        score = self._score(self.predictor(theta))
        return np.swapaxes(self._design_t * score[..., None, :], -1, -2)

    def weighted_gradient(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Weighted sum of the rows' gradients, shape (..., d)."""
        result: FloatArray = (weights * self._score(self.predictor(theta))) @ self._design_t.T
        return result

    def curvature(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Weighted sum of the rows' curvatures, shape (d, d)."""
        return self._weighted_gram(weights * self._row_curvature(self.predictor(theta)))

    def curvature_bound(self, weights: FloatArray) -> FloatArray | None:
        """Weighted Gram matrix times the largest row curvature, where there is one."""
        if self._row_curvature_bound is None:
            return None
        return self._row_curvature_bound * self._weighted_gram(weights)

    def _weighted_gram(self, weights: FloatArray) -> FloatArray:
        gram: FloatArray = (self._design_t * weights) @ self._design_t.T
        return gram
