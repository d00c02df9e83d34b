"""Scores of probabilistic predictions, and convergence of several chains."""

from __future__ import annotations

import numpy as np

from robula._types import FloatArray
from robula.result.arviz_conversion import r_hats


def log_likelihoods(X: FloatArray, y: FloatArray, theta: FloatArray) -> FloatArray:
    """Log-likelihood of each label (n,) of 0 and 1 under logistic regression with theta = (intercept, coefficients)."""
    eta = theta[0] + X @ theta[1:]
    values: FloatArray = -np.logaddexp(0.0, np.where(y > 0.5, -eta, eta))
    return values


def calibration_error(probabilities: FloatArray, y: FloatArray, bins: int = 10) -> float:
    """Expected calibration error: mean over equal bins of |mean probability - share of ones|, weighted by rows."""
    which = np.minimum((probabilities * bins).astype(int), bins - 1)
    counts = np.bincount(which, minlength=bins)
    gaps = np.abs(np.bincount(which, probabilities, bins) - np.bincount(which, y, bins))
    return float(gaps.sum() / counts.sum())


def largest_rhat(values: FloatArray) -> float:
    """Largest R-hat over the columns of values (chains, draws, k)."""
    return float(np.nanmax(r_hats(values)))
