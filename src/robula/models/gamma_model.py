"""Gamma regression with log link: positive responses whose spread grows with their mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import digamma, gammainc, gammaln, polygamma

from robula._types import ArrayInput, FloatArray
from robula.models.law import Tails
from robula.models.poisson_model import LARGEST_LOG_RATE
from robula.models.priors import Prior, require_proper
from robula.models.regression import ALL_ROWS
from robula.models.scaled_regression import Curvatures, ScaledRegression, Slopes
from robula.models.tail_scores import log_gamma_cdf, log_gamma_sf
from robula.tables.arrays import as_vector, refuse_misaligned, row_labels
from robula.tables.wrong_values import refuse_values

if TYPE_CHECKING:
    import pandas as pd

# Middle of the prior of the log shape: e = 2.7, a coefficient of variation of 0.6, and 0.09 to 4.5 within two
# standard deviations.
_LOG_SHAPE = 1.0


class GammaModel(ScaledRegression):
    """Rows y_i with mean mu_i = exp(x_i' beta) and variance mu_i^2 / shape.

    theta = (beta, log shape); the prior of the log shape is N(1, 2^2), independent of beta's.

    Parameters
    ----------
    X : array-like, shape (n, p)
    y : array-like, shape (n,)
        Above 0.
    prior : NormalPrior
        Of the coefficients; required.
    intercept : bool, optional
        Add a column of ones in front.
    exposure, offset, row_weights : array-like, shape (n,), optional
        As for :class:`PoissonModel`.
    """

    name = "gamma"
    scale_name = "shape"
    skewed_gradients = True

    def __init__(
        self,
        X: ArrayInput,
        y: ArrayInput,
        *,
        prior: Prior | None = None,
        intercept: bool = False,
        exposure: ArrayInput = None,
        offset: ArrayInput = None,
        row_weights: ArrayInput = None,
    ) -> None:
        super().__init__(X, prior, intercept, offset=offset, exposure=exposure, row_weights=row_weights)
        require_proper(self._coefficients_prior, "GammaModel", "the mean has no upper limit.")
        refuse_misaligned(X, y)
        positive = as_vector(y, "y", self.n_rows)
        self.refuse_responses(positive, row_labels(y))
        self._set_rows(positive, 0.0, _LOG_SHAPE)
        self.level = float(np.median(self._log_y - (0.0 if self.offset is None else self.offset)))

    @classmethod
    def refuse_responses(cls, y: FloatArray, labels: pd.Index | None = None) -> None:
        """Refuse responses (n,) of 0 or less."""
        refuse_values(
            y,
            ~(y > 0),
            "y",
            what="of 0 or less",
            advice="a Gamma response is above 0. Zeros that mean nothing happened need a model of their own; drop "
            "them here.",
            labels=labels,
        )

    def _set_response(self, y: FloatArray) -> None:
        super()._set_response(y)
        # A simulated response of a tiny shape can underflow to 0.
        self._log_y = np.log(np.maximum(self.y, 1e-300))

    def _log_ratio(self, eta: FloatArray, rows: slice = ALL_ROWS) -> FloatArray:
        """Log of y over its mean, held where squares of the ratio would overflow, shape (..., b)."""
        ratio: FloatArray = np.minimum(self._log_y[rows] - eta, LARGEST_LOG_RATE)
        return ratio

    def _row_log_likelihood(self, eta: FloatArray, s: FloatArray) -> FloatArray:
        shape, log_ratio = np.exp(s), self._log_ratio(eta)
        value: FloatArray = shape * (s + log_ratio - np.exp(log_ratio)) - gammaln(shape) - self._log_y
        return value

    def _row_slopes(self, eta: FloatArray, s: FloatArray, rows: slice = ALL_ROWS) -> Slopes:
        shape, log_ratio = np.exp(s), self._log_ratio(eta, rows)
        excess = np.exp(log_ratio) - 1.0
        return Slopes(shape * excess, shape * (s - digamma(shape) + log_ratio - excess))

    def _row_curvatures(self, eta: FloatArray, s: FloatArray) -> Curvatures:
        shape, log_ratio = np.exp(s), self._log_ratio(eta)
        excess = np.exp(log_ratio) - 1.0
        expected = shape * (shape * polygamma(1, shape) - 1.0)
        about_s = expected - shape * (s - digamma(shape) + log_ratio - excess)
        return Curvatures(shape * (excess + 1.0), -shape * excess, about_s)

    def _row_information(self, eta: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        shape = float(np.exp(s[0]))
        return np.full_like(eta, shape), np.full_like(eta, shape * (shape * polygamma(1, shape) - 1.0))

    def _row_pit(self, eta: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        shape = np.exp(s)
        probability: FloatArray = gammainc(shape, shape * np.exp(self._log_ratio(eta)))
        return probability, probability

    def log_tails(self, theta: FloatArray) -> Tails:
        """Log of the tail probabilities, far beyond where they underflow."""
        eta, s = self._rows(theta)
        shape = np.exp(s)
        scaled = shape * np.exp(self._log_ratio(eta))
        below, above = log_gamma_cdf(shape, scaled), log_gamma_sf(shape, scaled)
        return Tails(below, below, above, above)

    def responses(self, eta: FloatArray, rest: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw responses for linear predictors (..., k) and log shapes (k, 1)."""
        shape = np.exp(np.clip(rest[..., 0], *self._held))
        drawn: FloatArray = np.exp(np.minimum(eta, LARGEST_LOG_RATE)) * rng.gamma(np.broadcast_to(shape, eta.shape))
        return drawn / shape

    def moments(self, eta: FloatArray, rest: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of new responses, shapes (..., k)."""
        mean = np.exp(np.minimum(eta, LARGEST_LOG_RATE))
        return mean, mean**2 * np.exp(-rest[..., 0])
