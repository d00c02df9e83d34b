"""Negative binomial regression with log link: counts that vary more than a Poisson law allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betainc, digamma, expit, gammaln, log_expit, polygamma

from robula._types import ArrayInput, FloatArray
from robula.models.law import Tails
from robula.models.poisson_model import LARGEST_LOG_RATE, as_counts, draw_counts, refuse_all_but_counts
from robula.models.priors import Prior, require_proper
from robula.models.regression import ALL_ROWS
from robula.models.scaled_regression import Curvatures, ScaledRegression, Slopes
from robula.models.tail_scores import log_beta_cdf
from robula.tables.arrays import refuse_misaligned

if TYPE_CHECKING:
    import pandas as pd

# Middle of the prior of the log dispersion: e^-1 = 0.37, and 0.007 to 20 within two standard deviations.
_LOG_DISPERSION = -1.0
# Nodes of the integral of what a count tells about the dispersion, and the linear predictors it is computed at: their
# distance makes interpolation right to 3e-4.
_NODES = np.exp(np.linspace(np.log(1e-10), np.log(60.0), 160))
_STEP = float(np.log(_NODES[1] / _NODES[0]))
_FAR = 30.0
_LATTICE, _SMALLEST_LOG_RATE = 1.0 / 16.0, -40.0


class NegativeBinomialModel(ScaledRegression):
    """Rows y_i with mean mu_i = exposure_i exp(x_i' beta) and variance mu_i + dispersion mu_i^2.

    theta = (beta, log dispersion). The dispersion is statsmodels' alpha, 1 / size in R and 1 / shape in brms; at 0 the
    law is Poisson's. The prior of its logarithm is N(-1, 2^2), independent of beta's: between 0.007 and 20.

    Parameters
    ----------
    X : array-like, shape (n, p)
    y : array-like, shape (n,)
        Counts: whole numbers of at least 0.
    prior : NormalPrior
        Of the coefficients. Required: where every count of a group is 0, a flat prior has no posterior.
    intercept : bool, optional
        Add a column of ones in front.
    exposure, offset, row_weights : array-like, shape (n,), optional
        As for :class:`PoissonModel`.
    """

    name = "negative_binomial"
    scale_name = "dispersion"
    skewed_gradients = True
    # A size of e^15: beyond it differences of log gamma functions are rounding, and the law is Poisson's.
    _held = (-15.0, 15.0)

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
        reason = "a group whose counts are all 0 has no posterior under a flat one."
        require_proper(self._coefficients_prior, "NegativeBinomialModel", reason)
        refuse_misaligned(X, y)
        counts = as_counts(y, self.n_rows)
        rates = counts if self.offset is None else counts * np.exp(-self.offset)
        self._set_rows(counts, float(np.log(max(np.median(rates), 0.5))), _LOG_DISPERSION)

    @classmethod
    def refuse_responses(cls, y: FloatArray, labels: pd.Index | None = None) -> None:
        """Refuse responses (n,) that are no counts."""
        refuse_all_but_counts(y, labels)

    def _set_response(self, y: FloatArray) -> None:
        super()._set_response(y)
        self._log_factorial = gammaln(self.y + 1.0)

    def _row_log_likelihood(self, eta: FloatArray, s: FloatArray) -> FloatArray:
        size, t = np.exp(-s), eta + s
        # q = mu / (mu + size) is the logistic function of eta + s.
        chosen = gammaln(self.y + size) - gammaln(size) - self._log_factorial
        value: FloatArray = chosen + size * log_expit(-t) + self.y * log_expit(t)
        return value

    def _row_slopes(self, eta: FloatArray, s: FloatArray, rows: slice = ALL_ROWS) -> Slopes:
        y, size, t = self.y[rows], np.exp(-s), eta + s
        score = y - (y + size) * expit(t)
        return Slopes(score, score - size * (digamma(y + size) - digamma(size) + log_expit(-t)))

    def _row_curvatures(self, eta: FloatArray, s: FloatArray) -> Curvatures:
        y, size, t = self.y, np.exp(-s), eta + s
        q, left = expit(t), expit(-t)
        own = (y + size) * q * left
        middle = digamma(y + size) - digamma(size) + log_expit(-t)
        change = polygamma(1, y + size) - polygamma(1, size)
        return Curvatures(own, own - size * q, own - 2.0 * size * q - size * middle - size**2 * change)

    def _row_information(self, eta: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        size = float(np.exp(-s[0]))
        eta = np.clip(eta, _SMALLEST_LOG_RATE, LARGEST_LOG_RATE)
        # What a count tells about the dispersion is a smooth function of eta alone: on a lattice, and in between.
        grid = np.arange(np.floor(eta.min() / _LATTICE), np.ceil(eta.max() / _LATTICE) + 1.0) * _LATTICE
        about_s: FloatArray = np.exp(np.interp(eta, grid, np.log(_dispersion_information(np.exp(grid), size))))
        about_eta: FloatArray = size * expit(eta + s)
        return about_eta, about_s

    def _row_pit(self, eta: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        size, left = np.exp(-s), expit(-(eta + s))
        some = np.maximum(self.y, 1.0)
        return np.where(self.y > 0, betainc(size, some, left), 0.0), betainc(size, self.y + 1.0, left)

    def log_tails(self, theta: FloatArray) -> Tails:
        """Log of the tail probabilities, from P(Y <= y) = P(Beta(size, y + 1) <= size / (size + mu))."""
        eta, s = self._rows(theta)
        size, t = np.exp(-s), eta + s
        some = np.maximum(self.y, 1.0)
        return Tails(
            np.where(self.y > 0, log_beta_cdf(size, some, -t), -np.inf),
            log_beta_cdf(size, self.y + 1.0, -t),
            np.where(self.y > 0, log_beta_cdf(some, size, t), 0.0),
            log_beta_cdf(self.y + 1.0, size, t),
        )

    def responses(self, eta: FloatArray, rest: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw counts for linear predictors (..., k) and log dispersions (k, 1): Poisson with a Gamma rate."""
        size = np.exp(-np.clip(rest[..., 0], *self._held))
        rate = np.exp(np.minimum(eta, LARGEST_LOG_RATE))
        return draw_counts(rate * rng.gamma(np.broadcast_to(size, eta.shape)) / size, rng)

    def moments(self, eta: FloatArray, rest: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of new counts, shapes (..., k)."""
        rate = np.exp(np.minimum(eta, LARGEST_LOG_RATE))
        return rate, rate + np.exp(rest[..., 0]) * rate**2


def _dispersion_information(rate: FloatArray, size: float) -> FloatArray:
    """Fisher information of one count about the log dispersion, for each rate (m,).

    It is size^2 (trigamma(size) - E trigamma(Y + size)) - size rate / (size + rate). Written as an integral over
    trigamma(x) = int t e^(-x t) / (1 - e^(-t)) dt, the second term becomes one too, and the two are subtracted under
    the integral, where nothing cancels; then the trapezoidal rule in log t.
    """
    v, m = _NODES, (rate / size)[:, None]
    grown = -np.expm1(-v / size) * size  # about v where the size is large
    log_transform = -size * np.log1p(m * grown / size)
    limit = -m * v
    # The difference of the two transforms; far out they are both nothing, and a ratio of them could overflow.
    ratio = np.exp(limit) * -np.expm1(np.minimum(log_transform - limit, _FAR))
    apart = np.where(limit < -_FAR, np.exp(limit) - np.exp(log_transform), ratio)
    inside = (v / grown - 1.0) * -np.expm1(log_transform) + apart
    information: FloatArray = size * _STEP * (inside * np.exp(-v) * v).sum(axis=1)
    return np.maximum(information, 1e-300)
