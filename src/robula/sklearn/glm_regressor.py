"""Any generalized linear model as a scikit-learn regressor: predictions come from the law of its rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_tweedie_score
from sklearn.utils.validation import validate_data

from robula._intervals import TAILS
from robula._types import ArrayInput, FloatArray
from robula.models.large_model import read_in_blocks
from robula.models.priors import NormalPrior
from robula.models.regression import Regression
from robula.sklearn.coordinates import Coordinates
from robula.sklearn.robust_glm import Predictive, RobustBayesianGLM
from robula.tables.arrays import as_vector, row_labels
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
    distrusted_ : Series
        Weights of these rows, the least first, by their labels in X (or y): ``table.loc[fit.distrusted_.index]``.
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
        labels = row_labels(X, y)
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        self._fit(X, np.asarray(y, dtype=np.float64), labels=labels, **of_rows)
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


class _LogLinkRegressor(RobustGLMRegressor):
    """Means that are exp(x' theta) times an exposure."""

    #: Of scikit-learn's Tweedie deviance: 1 is Poisson's, 2 is Gamma's.
    _power: ClassVar[int]

    def fit(self, X: ArrayInput, y: ArrayInput, sample_weight: ArrayInput = None, exposure: ArrayInput = None) -> Self:
        """Sample the posterior of the coefficients given X (n, p) and y (n,).

        ``sample_weight`` (n,) says how often each row counts; how far it is trusted multiplies it. ``exposure`` (n,)
        is the time, area or number at risk that each response is of; 1 by default.
        """
        return self._fit_numbers(X, y, sample_weight=sample_weight, exposure=exposure)

    def predict(self, X: ArrayInput, return_std: bool = False, exposure: ArrayInput = None) -> Any:
        """Return the predictive mean (m,), and the standard deviation of a new response if asked for.

        Per unit of exposure, unless ``exposure`` (m,) is given.
        """
        return self._predict(X, return_std, exposure)

    def predictive(self, X: ArrayInput, exposure: ArrayInput = None) -> Predictive:
        """Return what is known of the responses of new rows, (m,) each; the same for the same rows."""
        return self._known(X, exposure)

    def score(
        self, X: ArrayInput, y: ArrayInput, sample_weight: ArrayInput = None, exposure: ArrayInput = None
    ) -> float:
        """Share of the deviance explained (D^2), as scikit-learn's regressors of this family have it."""
        predicted = self.predict(X, exposure=exposure)
        return float(d2_tweedie_score(y, predicted, sample_weight=sample_weight, power=self._power))

    def _level(self, y: FloatArray, options: Mapping[str, Any]) -> float:
        """Log of the median response per unit of exposure; of half a count where that is 0."""
        rates = y
        if "exposure" in options:
            # An exposure of 0 or less is refused by the model.
            rates = y / np.maximum(as_vector(options["exposure"], "exposure", len(y)), 1e-300)
        middle = float(np.median(rates))
        return float(np.log(middle if self._power == 2 and middle > 0 else max(middle, 0.5)))

    def _model(
        self, X: FloatArray, y: FloatArray, prior: NormalPrior, coordinates: Coordinates, **options: Any
    ) -> Regression:
        model = super()._model(X, y, prior, coordinates, **options)
        # Chains that start at a mean of 1 take long to counts in the hundreds.
        model.level = self._level(y, options)
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


class RobustPoissonRegressor(_LogLinkRegressor):
    """Poisson regression with log link whose posterior is that of the good rows.

    Parameters and attributes are those of :class:`RobustGLMRegressor`. The default prior of a coefficient is in log
    rates per robust standard deviation of the column, the intercept's is around the log of the median count.

    Notes
    -----
    Unlike scikit-learn's ``PoissonRegressor`` it takes whole numbers only: rates have no Poisson law, so neither their
    spread nor their bad rows could be told from it. Pass the counts, and what they are counts of as ``exposure``.
    """

    model_name = "poisson"
    _power = 1


class RobustNegativeBinomialRegressor(_LogLinkRegressor):
    """Negative binomial regression with log link: counts that vary more than Poisson's, mu + dispersion mu^2.

    Parameters and attributes are those of :class:`RobustPoissonRegressor`; the last parameter of ``posterior_`` is the
    log dispersion, and ``posterior_.variables["dispersion"]`` has its draws. ``score`` is in Poisson's deviance.
    """

    model_name = "negative_binomial"
    _power = 1


class RobustGammaRegressor(_LogLinkRegressor):
    """Gamma regression with log link: positive responses whose standard deviation is in proportion to their mean.

    Parameters and attributes are those of :class:`RobustGLMRegressor`; the last parameter of ``posterior_`` is the log
    shape, and ``posterior_.variables["shape"]`` has its draws. The intercept's default prior is around the log of the
    median response.
    """

    model_name = "gamma"
    _power = 2
