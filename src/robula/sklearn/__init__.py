"""Estimators for scikit-learn's pipelines, grids and cross-validation: one for every regression.

A model of :mod:`robula.models` that has no class of its own here gets one from the law of its rows, so that a model
called "weibull" brings ``robula.sklearn.RobustWeibullRegressor`` and ``robula fit --model weibull``.
"""

from robula.models import MODELS
from robula.models.regression import Regression
from robula.sklearn.glm_regressor import (
    RobustGammaRegressor,
    RobustGLMRegressor,
    RobustNegativeBinomialRegressor,
    RobustPoissonRegressor,
)
from robula.sklearn.linear_regressor import RobustBayesianRegressor, RobustStudentTRegressor
from robula.sklearn.logistic_classifier import RobustBayesianClassifier
from robula.sklearn.robust_glm import RobustBayesianGLM

__all__ = [
    "ESTIMATORS",
    "RobustBayesianClassifier",
    "RobustBayesianRegressor",
    "RobustGammaRegressor",
    "RobustNegativeBinomialRegressor",
    "RobustPoissonRegressor",
    "RobustStudentTRegressor",
]


def _derived(name: str) -> type[RobustBayesianGLM]:
    """Return a regressor on the model of this name; pickling finds it in this module."""
    own = {"model_name": name, "__module__": __name__, "__doc__": RobustGLMRegressor.__doc__}
    made = type(f"Robust{name.title().replace('_', '')}Regressor", (RobustGLMRegressor,), own)
    globals()[made.__name__] = made
    return made


_DECLARED: dict[str, type[RobustBayesianGLM]] = {
    # Two classes or more: it looks at the labels.
    "multinomial": RobustBayesianClassifier,
    **{
        estimator.model_name: estimator
        for estimator in (
            RobustBayesianClassifier,
            RobustBayesianRegressor,
            RobustGammaRegressor,
            RobustNegativeBinomialRegressor,
            RobustPoissonRegressor,
            RobustStudentTRegressor,
        )
    },
}
#: The estimator of each regression in ``robula.models.MODELS``.
ESTIMATORS: dict[str, type[RobustBayesianGLM]] = {
    name: _DECLARED.get(name) or _derived(name) for name, model in MODELS.items() if issubclass(model, Regression)
}
