"""Shared part of the regressions: a linear predictor eta_i = x_i' theta and one scalar score per row."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from copy import copy
from typing import ClassVar, Self

import numpy as np

from robula._types import ArrayInput, FloatArray
from robula.exceptions import InputError
from robula.models.law import ModelWithLaw
from robula.models.model import default_names, weighted_sum
from robula.models.priors import Prior, resolve_prior
from robula.tables.arrays import column_names, read_only
from robula.tables.design import Design

ALL_ROWS = slice(None)


class GeneralizedLinearModel(ModelWithLaw):
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
    """

    #: Whether theta acts on a row through its linear predictor alone.
    by_predictor: ClassVar[bool] = True

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
    def rows_as_given(self) -> np.ndarray:
        """The features without the intercept column, shape (n, p); a memory map as it is."""
        return self._design.as_given

    @property
    def covariates(self) -> FloatArray:
        """The design matrix, shape (n, d)."""
        return self.design

    @property
    def in_memory(self) -> bool:
        """Whether the design is held in memory rather than read from a file."""
        return self._design.in_memory

    @property
    def response(self) -> FloatArray:
        """The responses, shape (n,)."""
        return self.y

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

    @abstractmethod
    def _row_pit(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P(Y < y) and P(Y <= y) given the linear predictor, shapes (n,)."""

    @abstractmethod
    def _row_simulation(self, eta: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw a response for each linear predictor, shape (n,)."""

    def _row_information(self, eta: FloatArray) -> FloatArray:
        """Expected value of the row curvature, shape (n,): the curvature itself under a canonical link."""
        return self._row_curvature(eta)

    def _set_response(self, y: FloatArray) -> None:
        """Take responses (n,) that have been checked; a subclass adds what it computes from them once."""
        self.y = read_only(np.array(y))

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
        part._set_response(self.y[rows])
        return part

    def with_rows(self, X: FloatArray, y: FloatArray) -> Self:
        """Return the same model of other rows: features (m, p), or a whole design (m, d), and responses (m,)."""
        other = copy(self)
        columns = self._design.columns
        other._design = Design(X, self._design.intercept and X.shape[1] < columns, min_rows=1)
        other.n_rows = len(X)
        other._set_response(y)
        return other

    def with_response(self, response: FloatArray) -> Self:
        """Return the same model with other responses (n,)."""
        other = copy(self)
        other._set_response(response)
        return other

    def predictor(self, theta: FloatArray) -> FloatArray:
        """Linear predictor of each row, shape (..., n)."""
        theta = self.check_theta(theta)
        return _joined([theta @ block for _, block in self.blocks()])

    def predictor_gradient(self, theta: FloatArray) -> FloatArray:
        """Derivative of each row's log-likelihood in its linear predictor, shape (..., n)."""
        return self._score(self.predictor(theta))

    def fitted(self, theta: FloatArray) -> FloatArray:
        """Linear predictor of each row, shape (n,)."""
        return self.predictor(theta)

    def features(self, theta: FloatArray) -> FloatArray:
        """Rows of the design times the root of what a response tells about its linear predictor, shape (n, d)."""
        features: FloatArray = self.design * np.sqrt(self._row_information(self.predictor(theta)))[:, None]
        return features

    def information(self, theta: FloatArray, weights: FloatArray | None = None) -> FloatArray:
        """Fisher information of the rows, each times its weight, shape (d, d); in blocks."""
        information = self._row_information(self.predictor(theta))
        return self._weighted_gram(information if weights is None else weights * information)

    def pit(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P(Y < y) and P(Y <= y) of each row, shapes (n,)."""
        return self._row_pit(self.predictor(theta))

    def simulate(self, theta: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw a response for every row, shape (n,)."""
        return self._row_simulation(self.predictor(theta), rng)

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

    def weighted_log_likelihood_and_gradient(
        self, theta: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Both from one linear predictor: shapes (...) and (..., d), for weights (n,)."""
        eta = self.predictor(theta)
        weighted = weights * self._score(eta)
        gradient = sum((weighted[..., rows] @ block.T for rows, block in self.blocks()), np.zeros(theta.shape))
        return weighted_sum(self._row_log_likelihood(eta), weights), gradient

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
