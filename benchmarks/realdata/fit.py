"""What every method hands back: coefficients, a list of rows, and predictive laws of new rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from scipy import stats

from benchmarks.realdata.reference import PlainFit

#: Ends of the 90 % predictive interval.
_LOW, _HIGH = 0.05, 0.95


class Law(Protocol):
    """The predictive laws of some new rows."""

    mean: np.ndarray

    def log_density(self, y: np.ndarray) -> np.ndarray:
        """Log density or probability of each outcome (m,)."""

    def covers(self, y: np.ndarray) -> np.ndarray:
        """Whether the 90 % interval has each outcome in it (m,); NaN where an interval says nothing."""


class StudentLaw(NamedTuple):
    """Location and scale (m,), with degrees of freedom; infinitely many are normal."""

    mean: np.ndarray
    scale: np.ndarray
    freedom: float = np.inf

    def log_density(self, y: np.ndarray) -> np.ndarray:
        """Log density of each outcome (m,)."""
        return stats.t.logpdf(y, self.freedom, self.mean, self.scale)

    def covers(self, y: np.ndarray) -> np.ndarray:
        """Whether the 90 % interval has each outcome in it (m,)."""
        return np.abs(y - self.mean) <= stats.t.ppf(_HIGH, self.freedom) * self.scale


class CountLaw(NamedTuple):
    """Counts with a mean and a variance (m,): negative binomial where the variance is larger, else Poisson."""

    mean: np.ndarray
    variance: np.ndarray

    def _law(self) -> stats.rv_discrete:
        mean = np.clip(self.mean, 1e-12, 1e12)
        # An excess this small leaves a Poisson law to many digits, and keeps the size finite.
        excess = np.maximum(self.variance - mean, 1e-6 * mean)
        size = mean**2 / excess
        return stats.nbinom(size, size / (size + mean))

    def log_density(self, y: np.ndarray) -> np.ndarray:
        """Log probability of each count (m,)."""
        return np.maximum(self._law().logpmf(y), np.log(np.finfo(float).tiny))

    def covers(self, y: np.ndarray) -> np.ndarray:
        """Whether the 90 % interval has each count in it (m,)."""
        law = self._law()
        return (law.ppf(_LOW) <= y) & (y <= law.ppf(_HIGH))


class LabelLaw(NamedTuple):
    """Probability of label 1 (m,)."""

    mean: np.ndarray

    def log_density(self, y: np.ndarray) -> np.ndarray:
        """Log probability of each label (m,)."""
        sure = np.clip(np.where(y > 0.5, self.mean, 1.0 - self.mean), 1e-12, None)
        return np.log(sure)

    def covers(self, y: np.ndarray) -> np.ndarray:
        """Two labels have no interval."""
        return np.full(len(y), np.nan)


def plain_law(plain: PlainFit, rows: np.ndarray) -> Law:
    """Predictive laws of a maximum likelihood fit: what log-likelihoods are compared with."""
    mean = plain.mean(rows)
    if plain.family == "regression":
        return StudentLaw(mean, np.full(len(rows), plain.sigma))
    return CountLaw(mean, mean) if plain.family == "count" else LabelLaw(mean)


class Fit(NamedTuple):
    """A fitted method.

    Attributes
    ----------
    intercept : float
    coef : ndarray, shape (p,)
    predict : callable
        From features (m, p) to their predictive laws.
    suspicion : ndarray, shape (n,), or None
        The higher, the more the row is held to be bad.
    listed : ndarray of bool, shape (n,), or None
        Rows the method calls bad.
    weights : ndarray, shape (n,), or None
        How much each row counted.
    widths : ndarray, shape (p,), or None
        Posterior standard deviations of the coefficients.
    verdict : str
        What the method says of its own result.
    """

    intercept: float
    coef: np.ndarray
    predict: Callable[[np.ndarray], Law]
    suspicion: np.ndarray | None = None
    listed: np.ndarray | None = None
    weights: np.ndarray | None = None
    widths: np.ndarray | None = None
    verdict: str = ""
