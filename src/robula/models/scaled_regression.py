"""Regressions whose rows have a dispersion, shape or scale of their own: its logarithm is the last parameter."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from robula._types import ArrayInput, FloatArray
from robula.models.model import COEFFICIENTS, unique_names, weighted_sum
from robula.models.priors import LOG_SCALE_SD, CoefficientsAndLogScale, NormalPrior, Prior, resolve_prior
from robula.models.regression import ALL_ROWS, Regression, joined


class Slopes(NamedTuple):
    """Derivatives of the rows' log-likelihood in the linear predictor and in the log scale, shapes (..., b)."""

    predictor: FloatArray
    scale: FloatArray


class Curvatures(NamedTuple):
    """Negative second derivatives in the linear predictor, in it and the log scale, in the log scale, (..., n) each."""

    predictor: FloatArray
    mixed: FloatArray
    scale: FloatArray


class ScaledRegression(Regression):
    """theta = (beta, s): eta = X beta + offset, and e^s is one number of the law that all rows share.

    A subclass checks its responses and hands them to :meth:`_set_rows`, and writes what a row does given eta and s,
    which comes with shape (..., 1). What a row tells about eta and what it tells about s must not mix (orthogonal
    parameters), so that the Fisher information has no terms between them.

    Parameters
    ----------
    X, intercept, offset, exposure, row_weights
        As for :class:`Regression`.
    prior : Prior or None
        Of the coefficients.
    """

    noise = "estimated"
    variable_dims = COEFFICIENTS
    #: What e^s is called.
    scale_name: ClassVar[str]
    #: Values of s beyond which it is held: a chain that far out has left the posterior.
    _held: ClassVar[tuple[float, float]] = (-30.0, 30.0)

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
        self._coefficients_prior = resolve_prior(prior, self.dim)
        name = unique_names([f"log_{self.scale_name}"], self.parameter_names)
        self.dim, self.parameter_names = self.dim + 1, (*self.parameter_names, *name)

    def _set_rows(self, y: FloatArray, level: float, log_scale: float) -> None:
        """Take checked responses (n,), the level of eta, and the middle of the prior of s; its sd is 2."""
        self._set_response(y)
        self.level, self._log_reference = level, log_scale
        self.prior = CoefficientsAndLogScale(self._coefficients_prior, NormalPrior(log_scale, LOG_SCALE_SD**2))

    @abstractmethod
    def _row_log_likelihood(self, eta: FloatArray, s: FloatArray) -> FloatArray:
        """Log-likelihood of the rows, shape (..., n)."""

    @abstractmethod
    def _row_slopes(self, eta: FloatArray, s: FloatArray, rows: slice = ALL_ROWS) -> Slopes:
        """First derivatives of some rows' log-likelihood."""

    @abstractmethod
    def _row_curvatures(self, eta: FloatArray, s: FloatArray) -> Curvatures:
        """Negative second derivatives of the rows' log-likelihood."""

    @abstractmethod
    def _row_information(self, eta: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Expected curvature in eta and in s, shapes (n,)."""

    @abstractmethod
    def _row_pit(self, eta: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P(Y < y) and P(Y <= y), shapes (n,)."""

    @property
    def initial(self) -> FloatArray:
        """Coefficients 0, the intercept at the level and s in the middle of its prior, shape (d,)."""
        start = super().initial
        start[-1] = self._log_reference
        return start

    def _split(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Coefficients (..., c) and s (..., 1)."""
        theta = self.check_theta(theta)
        return theta[..., :-1], np.clip(theta[..., -1:], *self._held)

    def _rows(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Linear predictors (..., n) and s (..., 1)."""
        return self.predictor(theta), self._split(theta)[1]

    def pit(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P(Y < y) and P(Y <= y) of each row, shapes (n,)."""
        return self._row_pit(*self._rows(theta))

    def simulate(self, theta: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw a response for every row, shape (n,)."""
        return self.responses(self.predictor(theta), self._split(theta)[1], rng)

    def log_likelihood(self, theta: FloatArray) -> FloatArray:
        """Log-likelihood of each row, shape (..., n)."""
        return self._row_log_likelihood(*self._rows(theta))

    def gradients(self, theta: FloatArray) -> FloatArray:
        """Gradient of each row's log-likelihood, shape (..., n, d)."""
        coefficients, s = self._split(theta)
        parts = []
        for rows, block in self.blocks():
            slopes = self._row_slopes(self._moved(coefficients @ block, rows), s, rows)
            own = np.concatenate([block * slopes.predictor[..., None, :], slopes.scale[..., None, :]], axis=-2)
            parts.append(own)
        return np.swapaxes(joined(parts), -1, -2)

    def weighted_gradient(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Weighted sum of the rows' gradients, shape (..., d)."""
        (eta, s), weights = self._rows(theta), self.counted(weights)
        return self._summed(self._row_slopes(eta, s), weights)

    def _summed(self, slopes: Slopes, weights: FloatArray) -> FloatArray:
        pull, stretch = weights * slopes.predictor, weights * slopes.scale
        flat = pull.reshape(-1, self.n_rows)
        total = sum((flat[:, rows] @ block.T for rows, block in self.blocks()), np.zeros((len(flat), self.columns)))
        return np.concatenate(
            [total.reshape(*pull.shape[:-1], self.columns), stretch.sum(axis=-1, keepdims=True)], axis=-1
        )

    def weighted_log_likelihood_and_gradient(
        self, theta: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Both from one linear predictor: shapes (...) and (..., d), for weights (n,)."""
        (eta, s), weights = self._rows(theta), self.counted(weights)
        value = weighted_sum(self._row_log_likelihood(eta, s), weights)
        return value, self._summed(self._row_slopes(eta, s), weights)

    def curvature(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Negative Hessian of the weighted log-likelihood at one theta, shape (d, d); positive near the mode."""
        weights, found = self.counted(weights), self._row_curvatures(*self._rows(theta))
        result = np.empty((self.dim, self.dim))
        result[:-1, :-1] = self._weighted_gram(weights * found.predictor)
        mixed = weights * found.mixed
        result[:-1, -1] = sum((block @ mixed[rows] for rows, block in self.blocks()), np.zeros(self.columns))
        result[-1, :-1] = result[:-1, -1]
        result[-1, -1] = float(weights @ found.scale)
        return result

    def features(self, theta: FloatArray) -> FloatArray:
        """Roots of what a response tells about its linear predictor, times the design, and about s, shape (n, d)."""
        about_eta, about_s = self._row_information(*self._rows(theta))
        return np.column_stack([self.design * np.sqrt(about_eta)[:, None], np.sqrt(about_s)])

    def information(self, theta: FloatArray, weights: FloatArray | None = None) -> FloatArray:
        """Fisher information of the rows, each times its weight, shape (d, d); none between coefficients and s."""
        counted = self.counted(np.ones(self.n_rows) if weights is None else weights)
        about_eta, about_s = self._row_information(*self._rows(theta))
        result = np.zeros((self.dim, self.dim))
        result[:-1, :-1] = self._weighted_gram(counted * about_eta)
        result[-1, -1] = float(counted @ about_s)
        return result

    def variables(self, draws: FloatArray) -> dict[str, FloatArray]:
        """Coefficients, and the scale itself."""
        return {"coefficients": draws[..., :-1], self.scale_name: np.exp(draws[..., -1])}
