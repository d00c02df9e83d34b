"""Poisson regression with log link."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln, pdtr

from robula._types import ArrayInput, FloatArray
from robula.models.generalized_linear_model import ALL_ROWS, GeneralizedLinearModel
from robula.models.law import Tails
from robula.models.priors import Prior, require_proper
from robula.models.tail_scores import log_gamma_cdf, log_gamma_sf
from robula.tables.arrays import as_vector, refuse_misaligned, row_labels
from robula.tables.wrong_values import refuse_values

if TYPE_CHECKING:
    import pandas as pd

#: Beyond a log-rate of 100 (2.7e43 events) the rate is held: squares of it must stay finite, and the drift guard only
#: needs the direction there. Predictions beyond it are this limit, not a forecast.
LARGEST_LOG_RATE = 100.0
# NumPy draws Poisson counts up to 9.2e18; beyond this a count is its normal approximation, wrong by 1e-9 of its sd.
_LARGEST_DRAWN = 1e18


class PoissonModel(GeneralizedLinearModel):
    """Rows y_i ~ Poisson(exposure_i exp(x_i' theta)).

    The curvature has no global bound, so the default step size comes from the curvature at a robust centre and the
    drift is guarded (:mod:`robula.target.robust_target`).

    Parameters
    ----------
    X : array-like, shape (n, p)
    y : array-like, shape (n,)
        Counts: whole numbers of at least 0.
    prior : NormalPrior
        Required: where every count of a group is 0, a flat prior has no posterior.
    intercept : bool, optional
        Add a column of ones in front.
    exposure : array-like, shape (n,), optional
        Time, area or number at risk that each count was made in; theta is of the rate per unit of it. 1 by default.
    offset : array-like, shape (n,), optional
        What is added to each log rate, on top of the log exposure.
    row_weights : array-like, shape (n,), optional
        How often each row counts, as for :class:`Regression`.
    """

    name = "poisson"
    noise = "implied"
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
        require_proper(self.prior, "PoissonModel", "a group whose counts are all 0 has no posterior under a flat one.")
        refuse_misaligned(X, y)
        self._set_response(as_counts(y, self.n_rows))

    @classmethod
    def refuse_responses(cls, y: FloatArray, labels: pd.Index | None = None) -> None:
        """Refuse responses (n,) that are no counts."""
        refuse_all_but_counts(y, labels)

    def _set_response(self, y: FloatArray) -> None:
        super()._set_response(y)
        self._log_factorial = gammaln(self.y + 1.0)

    def _rate(self, eta: FloatArray) -> FloatArray:
        return np.exp(np.minimum(eta, LARGEST_LOG_RATE))

    def _score(self, eta: FloatArray, rows: slice = ALL_ROWS) -> FloatArray:
        return self.y[rows] - self._rate(eta)

    def _row_curvature(self, eta: FloatArray) -> FloatArray:
        return self._rate(eta)

    def _row_log_likelihood(self, eta: FloatArray) -> FloatArray:
        log_likelihood: FloatArray = self.y * eta - self._rate(eta) - self._log_factorial
        return log_likelihood

    def _row_pit(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        rate = self._rate(eta)
        return np.where(self.y > 0, pdtr(np.maximum(self.y - 1.0, 0.0), rate), 0.0), pdtr(self.y, rate)

    def _row_simulation(self, eta: FloatArray, rng: np.random.Generator) -> FloatArray:
        return draw_counts(self._rate(eta), rng)

    def moments(self, eta: FloatArray, rest: FloatArray) -> tuple[FloatArray, FloatArray]:
        """A count varies by its rate."""
        rate = self._rate(eta)
        return rate, rate

    def log_tails(self, theta: FloatArray) -> Tails:
        """Log of the tail probabilities, from P(Y < y) = P(Gamma(y) > rate)."""
        rate = self._rate(self.predictor(theta))
        some = np.maximum(self.y, 1.0)
        return Tails(
            np.where(self.y > 0, log_gamma_sf(some, rate), -np.inf),
            log_gamma_sf(self.y + 1.0, rate),
            np.where(self.y > 0, log_gamma_cdf(some, rate), 0.0),
            log_gamma_cdf(self.y + 1.0, rate),
        )


def as_counts(y: ArrayInput, length: int) -> FloatArray:
    """Return responses (n,) as whole numbers of at least 0, or refuse them."""
    counts = as_vector(y, "y", length)
    refuse_all_but_counts(counts, row_labels(y))
    return counts


def refuse_all_but_counts(y: FloatArray, labels: pd.Index | None = None) -> None:
    """Refuse responses (n,) that are no whole numbers of at least 0."""
    refuse_values(
        y,
        (y < 0) | (y != np.floor(y)),
        "y",
        what="that are not counts",
        advice="counts are whole numbers of at least 0. For rates, pass the counts themselves and what they are counts "
        "of as exposure; for positive measurements, GammaModel.",
        labels=labels,
    )


def draw_counts(rate: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw a Poisson count for every rate, shape of the rates; rates beyond NumPy's range by their normal limit."""
    counts = rng.poisson(np.minimum(rate, _LARGEST_DRAWN)).astype(np.float64)
    huge = rate > _LARGEST_DRAWN
    if huge.any():
        counts[huge] = np.rint(rate[huge] + np.sqrt(rate[huge]) * rng.standard_normal(int(huge.sum())))
    return counts
