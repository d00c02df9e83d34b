"""Second stage: a model turns rows and a parameter into per-row log-likelihood gradients."""

from robula.models.base import Model
from robula.models.gaussian import GaussianPosterior
from robula.models.linear import LinearModel
from robula.models.linear_scale import UnknownScaleLinearModel
from robula.models.logistic import LogisticModel
from robula.models.mean import MeanModel
from robula.models.poisson import PoissonModel
from robula.models.priors import FlatPrior, NormalPrior, Prior

__all__ = [
    "FlatPrior",
    "GaussianPosterior",
    "LinearModel",
    "LogisticModel",
    "MeanModel",
    "Model",
    "NormalPrior",
    "PoissonModel",
    "Prior",
    "UnknownScaleLinearModel",
]
