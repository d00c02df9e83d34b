"""Robust Bayesian Poisson regression as a scikit-learn regressor."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import d2_tweedie_score

from robula._types import ArrayInput, FloatArray
from robula.models.poisson_model import LARGEST_LOG_RATE, PoissonModel
from robula.models.priors import NormalPrior
from robula.sklearn.coordinates import Coordinates
from robula.sklearn.glm_regressor import RobustGLMRegressor


class RobustPoissonRegressor(RobustGLMRegressor):
    """Poisson regression with log link whose posterior is that of the good rows.

    Parameters and attributes are those of :class:`RobustGLMRegressor`. The default prior of a coefficient is in log
    rates per robust standard deviation of the column, the intercept's is around the log of the median count.

    Notes
    -----
    Unlike scikit-learn's ``PoissonRegressor`` it takes whole numbers only: rates have no Poisson law, so neither their
    spread nor their bad rows could be told from it.
    """

    model_name = "poisson"

    def score(self, X: ArrayInput, y: ArrayInput, sample_weight: ArrayInput = None) -> float:
        """Share of the Poisson deviance explained (D^2), as scikit-learn's PoissonRegressor has it."""
        return float(d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=1))

    def moments(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """A count varies by its rate."""
        rate = np.exp(np.minimum(eta, LARGEST_LOG_RATE))
        return rate, rate

    def _level(self, y: FloatArray) -> float:
        """Log of the median, of half a count where that is 0."""
        return float(np.log(max(np.median(y), 0.5)))

    def _model(self, X: FloatArray, y: FloatArray, prior: NormalPrior, coordinates: Coordinates) -> PoissonModel:
        model = _StartsAtLevel(X, y, prior=prior, intercept=coordinates.intercept)
        model.level = self._level(y)
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


class _StartsAtLevel(PoissonModel):
    """Begins at a constant rate, the median of y: chains that start at rate 1 take long to counts in the hundreds."""

    level = 0.0

    @property
    def initial(self) -> FloatArray:
        """Intercept at the level of y, shape (d,)."""
        start = np.zeros(self.dim)
        if self.intercept:
            start[0] = self.level
        return start
