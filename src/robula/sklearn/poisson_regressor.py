"""Robust Bayesian Poisson regression as a scikit-learn regressor."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_tweedie_score
from sklearn.utils.validation import validate_data

from robula._types import ArrayInput, FloatArray
from robula.kernels.kernel import Kernel
from robula.models.poisson_model import LogLinearModel, PoissonModel
from robula.models.priors import NormalPrior
from robula.selectors.selection import Selector
from robula.sklearn.coordinates import Coordinates
from robula.sklearn.robust_glm import RobustBayesianGLM

# Predictions beyond exp of this are the sampler's own limit, not a forecast (see PoissonModel).
_LARGEST_LOG_RATE = 100.0


class RobustPoissonRegressor(RegressorMixin, RobustBayesianGLM):
    """Poisson regression with log link whose posterior is that of the good rows.

    Parameters
    ----------
    contamination : float or "estimate", default=0.1
        Upper bound on the share of bad rows, in [0, 0.5), as in :func:`robula.sample`.
    fit_intercept : bool, default=True
    prior_scale : float, default=2.5
        Prior standard deviation of every coefficient, in log rates per robust standard deviation of the column; the
        intercept's prior is around the log of the median count.
    prior : NormalPrior, optional
        Instead of ``prior_scale``: a prior in the units of X, intercept first.
    standardize : bool, default=True
        Sample in robustly standardised columns. Results are in the units of X in any case.
    selector, kernel : str or object, optional
        As in :func:`robula.sample`; None is its default.
    draws, burn_in, chains : int
        As in :func:`robula.sample`.
    random_state : int, RandomState or None, default=0

    Attributes
    ----------
    coef_ : ndarray, shape (p,)
    intercept_ : float
    posterior_ : Posterior
        Draws in the units of X, intercept first.
    row_weights_, outlier_mask_ : ndarray, shape (n,)
        How much each training row counted; rows with a weight below one half.
    model_ : PoissonModel, or LogLinearModel for rates
        The model that was sampled, in standardised columns.
    n_features_in_, feature_names_in_

    Notes
    -----
    As in scikit-learn's ``PoissonRegressor``, y may be any numbers of at least 0: the Poisson score needs no whole
    numbers. The posterior then is a quasi-posterior, right in its mean and only as right in its width as the variance
    of y is equal to its mean.
    """

    def __init__(
        self,
        *,
        contamination: float | str = 0.1,
        fit_intercept: bool = True,
        prior_scale: float = 2.5,
        prior: NormalPrior | None = None,
        standardize: bool = True,
        selector: str | Selector | None = None,
        kernel: str | Kernel | None = None,
        draws: int = 1000,
        burn_in: int = 300,
        chains: int = 4,
        random_state: Any = 0,
    ) -> None:
        self.contamination = contamination
        self.fit_intercept = fit_intercept
        self.prior_scale = prior_scale
        self.prior = prior
        self.standardize = standardize
        self.selector = selector
        self.kernel = kernel
        self.draws = draws
        self.burn_in = burn_in
        self.chains = chains
        self.random_state = random_state

    def fit(self, X: ArrayInput, y: ArrayInput) -> Self:
        """Sample the posterior of the coefficients given X (n, p) and counts or rates y (n,)."""
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        self._fit(X, np.asarray(y, dtype=np.float64))
        return self

    def predict(self, X: ArrayInput, return_std: bool = False) -> Any:
        """Return the expected count (m,), and the standard deviation of a new count if asked for."""

        def moments(eta: FloatArray) -> tuple[FloatArray, FloatArray]:
            rate = np.exp(np.minimum(eta, _LARGEST_LOG_RATE))
            mean = rate.mean(axis=1)
            # A count given its rate varies by the rate; the rate itself is uncertain.
            return mean, np.sqrt(mean + rate.var(axis=1))

        mean, deviation = self._over_draws(X, moments)
        return (mean, deviation) if return_std else mean

    def score(self, X: ArrayInput, y: ArrayInput, sample_weight: ArrayInput = None) -> float:
        """Share of the Poisson deviance explained (D^2), as scikit-learn's PoissonRegressor has it."""
        return float(d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=1))

    def _build_model(self, columns: FloatArray, y: FloatArray, coordinates: Coordinates) -> LogLinearModel:
        prior = self._prior(coordinates, intercept_mean=_level(y))
        kind = _Counts if (y == np.floor(y)).all() else _Rates
        return kind(columns, y, prior=prior, intercept=coordinates.intercept)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


def _level(y: FloatArray) -> float:
    """Log of the median, of half a count where that is 0."""
    return float(np.log(max(np.median(y), 0.5)))


class _StartsAtLevel(LogLinearModel):
    """Begins at a constant rate, the median of y: chains that start at rate 1 take long to counts in the hundreds."""

    @property
    def initial(self) -> FloatArray:
        """Intercept at the level of y, shape (d,)."""
        start = np.zeros(self.dim)
        if self.intercept:
            start[0] = _level(self.y)
        return start


class _Counts(_StartsAtLevel, PoissonModel):
    """Whole numbers."""


class _Rates(_StartsAtLevel):
    """Any numbers of at least 0."""
