"""Robust Bayesian regressions with log link as scikit-learn regressors: counts and positive numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.metrics import d2_tweedie_score

from robula._types import ArrayInput, FloatArray
from robula.models.priors import NormalPrior
from robula.models.regression import Regression
from robula.sklearn.coordinates import Coordinates
from robula.sklearn.glm_regressor import RobustGLMRegressor
from robula.sklearn.robust_glm import Predictive
from robula.tables.arrays import as_vector


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
        if "offset" in options:
            rates = y * np.exp(-options["offset"])
        elif "exposure" in options:
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
