"""Poisson regression with log link."""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy.special import gammaln

from robula._types import ArrayInput, BoolArray, FloatArray
from robula.exceptions import InputError
from robula.models.generalized_linear_model import ALL_ROWS, GeneralizedLinearModel
from robula.models.priors import Prior, require_proper
from robula.tables.arrays import as_vector, read_only, refuse_misaligned

# Beyond a log-rate of 100 (2.7e43 events) the rate is held: squares of it must stay finite, and the drift guard only
# needs the direction there.
_LARGEST_LOG_RATE = 100.0


class LogLinearModel(GeneralizedLinearModel):
    """Rows y_i >= 0 with mean exp(x_i' theta) and the Poisson score; y need not be whole numbers.

    The curvature has no global bound, so the default step size comes from the curvature at a robust centre and the
    drift is guarded (:mod:`robula.target.drift`). For rates this is a quasi-likelihood: a rule that counts how many
    responses a Poisson law predicts does not apply to it.

    Parameters
    ----------
    X : array-like, shape (n, p)
    y : array-like, shape (n,)
        Numbers of at least 0.
    prior : NormalPrior
        Required: where every count of a group is 0, a flat prior has no posterior.
    intercept : bool, optional
        Add a column of ones in front.
    """

    skewed_gradients = True

    def __init__(self, X: ArrayInput, y: ArrayInput, *, prior: Prior | None = None, intercept: bool = False) -> None:
        super().__init__(X, prior, intercept)
        require_proper(
            self.prior, type(self).__name__, "a group whose counts are all 0 has no posterior under a flat one."
        )
        refuse_misaligned(X, y)
        self.y = read_only(np.array(as_vector(y, "y", self.n_rows)))
        self._refuse(self.y < 0, "numbers of at least 0")
        self._log_factorial = gammaln(self.y + 1.0)

    def _refuse(self, wrong: BoolArray, allowed: str) -> None:
        rows = np.flatnonzero(wrong)
        if len(rows):
            raise InputError(
                f"y has {len(rows)} value(s) that are not counts, first y[{rows[0]}]={self.y[rows[0]]:g}; "
                f"counts are {allowed}."
            )

    def take(self, rows: np.ndarray) -> Self:
        """Return the model of these rows only, in memory."""
        part = super().take(rows)
        part._log_factorial = self._log_factorial[rows]
        return part

    def _rate(self, eta: FloatArray) -> FloatArray:
        return np.exp(np.minimum(eta, _LARGEST_LOG_RATE))

    def _score(self, eta: FloatArray, rows: slice = ALL_ROWS) -> FloatArray:
        return self.y[rows] - self._rate(eta)

    def _row_curvature(self, eta: FloatArray) -> FloatArray:
        return self._rate(eta)

    def _row_log_likelihood(self, eta: FloatArray) -> FloatArray:
        log_likelihood: FloatArray = self.y * eta - self._rate(eta) - self._log_factorial
        return log_likelihood


class PoissonModel(LogLinearModel):
    """Rows y_i ~ Poisson(exp(x_i' theta)).

    Parameters
    ----------
    X : array-like, shape (n, p)
    y : array-like, shape (n,)
        Counts: whole numbers of at least 0.
    prior : NormalPrior
        Required: where every count of a group is 0, a flat prior has no posterior.
    intercept : bool, optional
        Add a column of ones in front.
    """

    def __init__(self, X: ArrayInput, y: ArrayInput, *, prior: Prior | None = None, intercept: bool = False) -> None:
        super().__init__(X, y, prior=prior, intercept=intercept)
        self._refuse(self.y != np.floor(self.y), "whole numbers of at least 0")
