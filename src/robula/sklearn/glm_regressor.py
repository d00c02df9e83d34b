"""Any generalized linear model as a scikit-learn regressor: predictions come from the law of its rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import validate_data

from robula._intervals import TAILS
from robula._types import ArrayInput, FloatArray
from robula.models.large_model import read_in_blocks
from robula.sklearn.robust_glm import Predictive, RobustBayesianGLM
from robula.tables.row_source import source_of


class RobustGLMRegressor(RegressorMixin, RobustBayesianGLM):
    """Regression on a model of :mod:`robula.models` whose posterior is that of the good rows.

    A subclass names the model.

    Parameters
    ----------
    contamination : float or "estimate", default=0.1
        Upper bound on the share of bad rows, in [0, 0.5), as in :func:`robula.sample`.
    fit_intercept : bool, default=True
    prior_scale : float, default=2.5
        Prior standard deviation of every coefficient, per robust standard deviation of the column.
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
    model_ : Regression
        The model in the units of X: ``posterior_`` is its posterior.
    n_features_in_, feature_names_in_
    """

    def fit(self, X: ArrayInput, y: ArrayInput, sample_weight: ArrayInput = None) -> Self:
        """Sample the posterior of the coefficients given X (n, p) and y (n,).

        ``sample_weight`` (n,) says how often each row counts; how far it is trusted multiplies it. Rows in Dask and
        large memory maps are read in passes.
        """
        return self._fit_numbers(X, y, sample_weight=sample_weight)

    def _fit_numbers(self, X: ArrayInput, y: ArrayInput, **of_rows: ArrayInput) -> Self:
        if read_in_blocks(X):
            self._fit_by_passes(source_of(X, y), **of_rows)
            return self
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        self._fit(X, np.asarray(y, dtype=np.float64), **of_rows)
        return self

    def predict(self, X: ArrayInput, return_std: bool = False) -> Any:
        """Return the predictive mean (m,), and the standard deviation of a new response if asked for."""
        return self._predict(X, return_std)

    def _predict(self, X: ArrayInput, return_std: bool, exposure: ArrayInput = None) -> Any:
        mean, deviation = self._over_draws(X, self._mean_and_deviation, exposure)
        return (mean, deviation) if return_std else mean

    def _mean_and_deviation(
        self, eta: FloatArray, rest: FloatArray, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Of new responses, from linear predictors (rows, draws) and the other parameters (draws, k)."""
        moments = self.model_.moments(eta, rest)
        if moments is None:
            responses = self.model_.responses(eta, rest, rng)
            return responses.mean(axis=1), responses.std(axis=1)
        mean, variance = moments
        return mean.mean(axis=1), np.sqrt(variance.mean(axis=1) + mean.var(axis=1))

    def _predictive(self, eta: FloatArray, rest: FloatArray, rng: np.random.Generator) -> Predictive:
        low, high = np.quantile(self.model_.responses(eta, rest, rng), TAILS, axis=1)
        return Predictive(*self._mean_and_deviation(eta, rest, rng), low, high)
