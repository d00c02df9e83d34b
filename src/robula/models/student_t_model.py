"""Linear regression with Student-t noise of unknown scale: tails heavier than normal, and no rows in between."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln, stdtr

from robula._types import ArrayInput, FloatArray
from robula._validation import check_positive
from robula.models.law import Tails
from robula.models.linear_model import log_spread
from robula.models.priors import Prior
from robula.models.regression import ALL_ROWS, require_independent_columns
from robula.models.scaled_regression import Curvatures, ScaledRegression, Slopes
from robula.models.tail_scores import log_beta_cdf
from robula.tables.arrays import as_vector, refuse_misaligned


class StudentTModel(ScaledRegression):
    """Rows y_i = x_i' beta + scale t_i, t_i Student-t with known degrees of freedom; theta = (beta, log scale).

    For noise that has heavy tails in every row. Bad rows are another matter, and are found beside it: a row is called
    bad where even these tails do not reach. The prior of the log scale is that of
    :class:`~robula.models.linear_model.UnknownScaleLinearModel`. There is no offset: subtract it from y.

    Parameters
    ----------
    X : array-like, shape (n, p)
    y : array-like, shape (n,)
    degrees_of_freedom : float, optional
        4 by default, the usual choice where it is not known [lange1989]: tails with a finite variance that are clearly
        heavier than normal. It is not sampled: the tails and the share of bad rows would be told from the same few
        rows, and a chain that can lower the one explains the other away.
    prior : NormalPrior, optional
        Of the coefficients. None is flat, and then the columns must be linearly independent.
    intercept : bool, optional
        Add a column of ones in front.
    row_weights : array-like, shape (n,), optional
        How often each row counts, as for :class:`Regression`.
    """

    name = "student_t"
    scale_name = "scale"

    def __init__(
        self,
        X: ArrayInput,
        y: ArrayInput,
        *,
        degrees_of_freedom: float = 4.0,
        prior: Prior | None = None,
        intercept: bool = False,
        row_weights: ArrayInput = None,
    ) -> None:
        self.degrees_of_freedom = check_positive(degrees_of_freedom, "degrees_of_freedom", "the degrees of freedom")
        super().__init__(X, prior, intercept, row_weights=row_weights)
        refuse_misaligned(X, y)
        values = as_vector(y, "y", self.n_rows)
        self._set_rows(values, float(np.median(values)), log_spread(values))
        if not self._coefficients_prior.proper:
            require_independent_columns(self)

    def _standardized(self, eta: FloatArray, s: FloatArray, rows: slice = ALL_ROWS) -> FloatArray:
        z: FloatArray = (self.y[rows] - eta) * np.exp(-s)
        return z

    def _row_log_likelihood(self, eta: FloatArray, s: FloatArray) -> FloatArray:
        df, z = self.degrees_of_freedom, self._standardized(eta, s)
        constant = gammaln(0.5 * (df + 1.0)) - gammaln(0.5 * df) - 0.5 * math.log(df * math.pi)
        value: FloatArray = constant - s - 0.5 * (df + 1.0) * np.log1p(z**2 / df)
        return value

    def _row_slopes(self, eta: FloatArray, s: FloatArray, rows: slice = ALL_ROWS) -> Slopes:
        df, z = self.degrees_of_freedom, self._standardized(eta, s, rows)
        pull = (df + 1.0) * z / (df + z**2)
        return Slopes(pull * np.exp(-s), z * pull - 1.0)

    def _row_curvatures(self, eta: FloatArray, s: FloatArray) -> Curvatures:
        df, z = self.degrees_of_freedom, self._standardized(eta, s)
        common = (df + 1.0) / (df + z**2) ** 2
        return Curvatures(
            common * (df - z**2) * np.exp(-2.0 * s), 2.0 * df * common * z * np.exp(-s), 2.0 * df * common * z**2
        )

    def _row_information(self, eta: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        df = self.degrees_of_freedom
        about_eta = (df + 1.0) / (df + 3.0) * float(np.exp(-2.0 * s[0]))
        return np.full_like(eta, about_eta), np.full_like(eta, 2.0 * df / (df + 3.0))

    def _row_pit(self, eta: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        probability: FloatArray = stdtr(self.degrees_of_freedom, self._standardized(eta, s))
        return probability, probability

    def log_tails(self, theta: FloatArray) -> Tails:
        """Log of the tail probabilities, from P(|T| > z) = P(Beta(df / 2, 1 / 2) <= df / (df + z^2))."""
        df, z = self.degrees_of_freedom, self._standardized(*self._rows(theta))
        logit = np.log(df) - 2.0 * np.log(np.maximum(np.abs(z), 1e-150))
        near = log_beta_cdf(np.full_like(z, 0.5 * df), np.full_like(z, 0.5), logit) - math.log(2.0)
        rest = np.log1p(-np.exp(near))
        below, above = np.where(z < 0, near, rest), np.where(z < 0, rest, near)
        return Tails(below, below, above, above)

    def responses(self, eta: FloatArray, rest: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw responses for linear predictors (..., k) and log scales (k, 1)."""
        drawn: FloatArray = eta + np.exp(rest[..., 0]) * rng.standard_t(self.degrees_of_freedom, eta.shape)
        return drawn

    def moments(self, eta: FloatArray, rest: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Mean and variance of new responses, shapes (..., k); None where the variance is infinite."""
        df = self.degrees_of_freedom
        if df <= 2.0:
            return None
        return eta, np.broadcast_to(df / (df - 2.0) * np.exp(2.0 * rest[..., 0]), eta.shape)
