"""Shared part of the regressions: a linear predictor eta_i = x_i' theta and one scalar score per row."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from copy import copy
from typing import Self

import numpy as np

from robula._types import ArrayInput, FloatArray
from robula.exceptions import InputError
from robula.models.model import Model, default_names
from robula.models.priors import Prior, resolve_prior
from robula.tables.arrays import column_names, read_only
from robula.tables.design import Design

ALL_ROWS = slice(None)


class GeneralizedLinearModel(Model):
    """Regression whose row gradient is a scalar score times the row of the design.

    Parameters
    ----------
    X : array-like, shape (n, p)
        A ``numpy.memmap`` is read in blocks and never copied whole.
    prior : Prior or None
    intercept : bool
        Add a column of ones, in front; d is then p + 1.
    """

    y: FloatArray

    def __init__(self, X: ArrayInput, prior: Prior | None, intercept: bool) -> None:
        if not isinstance(intercept, bool | np.bool_):
            raise InputError(f"intercept={intercept!r} must be True or False.")
        self._design = Design(X, bool(intercept))
        names = default_names(column_names(X), self._design.columns - bool(intercept))
        if intercept:
            names = default_names(("intercept", *names), self._design.columns)
        self.intercept = bool(intercept)
        self.parameter_names = names
        self.n_rows, self.dim = self._design.rows, self._design.columns
        self.prior = resolve_prior(prior, self.dim)

    @property
    def design(self) -> FloatArray:
        """The design matrix with the intercept column, shape (n, d); a copy if X is a memory map."""
        return self._design.matrix

    @property
    def in_memory(self) -> bool:
        """Whether the design is held in memory rather than read from a file."""
        return self._design.in_memory

    @property
    def observed_data(self) -> dict[str, np.ndarray]:
        """The response, shape (n,)."""
        return {"y": self.y}

    @abstractmethod
    def _score(self, eta: FloatArray, rows: slice = ALL_ROWS) -> FloatArray:
        """Derivative of the log-likelihood of some rows in the linear predictor, shape (..., b)."""

    @abstractmethod
    def _row_curvature(self, eta: FloatArray) -> FloatArray:
        """Negative second derivative of the log-likelihood in the linear predictor, shape (..., n)."""

    @abstractmethod
    def _row_log_likelihood(self, eta: FloatArray) -> FloatArray:
        """Log-likelihood as a function of the linear predictor, shape (..., n)."""

    #: Largest value of the row curvature over all linear predictors, or None if it has none.
    _row_curvature_bound: float | None = None

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """Yield the design in blocks of rows: their places, and the block transposed, shape (d, b)."""
        return self._design.blocks()

    def take(self, rows: np.ndarray) -> Self:
        """Return the model of these rows only, in memory."""
        part = copy(self)
        part._design = self._design.take(rows)
        part.n_rows = len(rows)
        part.y = read_only(self.y[rows])
        return part

    def predictor(self, theta: FloatArray) -> FloatArray:
        """Linear predictor of each row, shape (..., n)."""
        theta = self.check_theta(theta)
        return _joined([theta @ block for _, block in self.blocks()])

    def scores(self, theta: FloatArray) -> FloatArray:
        """Derivative of each row's log-likelihood in its linear predictor, shape (..., n)."""
        return self._score(self.predictor(theta))

    def row_curvature(self, theta: FloatArray) -> FloatArray:
        """Negative second derivative of each row's log-likelihood in its linear predictor, shape (..., n)."""
        return self._row_curvature(self.predictor(theta))

    def log_likelihood(self, theta: FloatArray) -> FloatArray:
        """Log-likelihood of each row, shape (..., n)."""
        return self._row_log_likelihood(self.predictor(theta))

    def gradients(self, theta: FloatArray) -> FloatArray:
        """Gradient of each row's log-likelihood, shape (..., n, d)."""
        theta = self.check_theta(theta)
        blocks = [block * self._score(theta @ block, rows)[..., None, :] for rows, block in self.blocks()]
        return np.swapaxes(_joined(blocks), -1, -2)

    def weighted_gradient(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Weighted sum of the rows' gradients, shape (..., d)."""
        theta = self.check_theta(theta)
        batch = np.broadcast_shapes(theta.shape[:-1], weights.shape[:-1])
        # One matrix product for the whole batch: NumPy would loop over its leading axes.
        flat = theta.reshape(-1, self.dim)
        total = np.zeros((*batch, self.dim))
        for rows, block in self.blocks():
            score = self._score((flat @ block).reshape(*theta.shape[:-1], -1), rows)
            weighted = np.broadcast_to(weights[..., rows] * score, (*batch, score.shape[-1]))
            total += (weighted.reshape(-1, score.shape[-1]) @ block.T).reshape(total.shape)
        return total

    def curvature(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Weighted sum of the rows' curvatures, shape (d, d)."""
        return self._weighted_gram(weights * self._row_curvature(self.predictor(theta)))

    def curvature_bound(self, weights: FloatArray) -> FloatArray | None:
        """Weighted Gram matrix times the largest row curvature, where there is one."""
        if self._row_curvature_bound is None:
            return None
        return self._row_curvature_bound * self._weighted_gram(weights)

    def _weighted_gram(self, weights: FloatArray) -> FloatArray:
        gram = np.zeros((self.dim, self.dim))
        for rows, block in self.blocks():
            gram += (block * weights[rows]) @ block.T
        return gram


def _joined(blocks: list[FloatArray]) -> FloatArray:
    """Blocks (..., b) one after the other, without a copy where there is one."""
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=-1)
