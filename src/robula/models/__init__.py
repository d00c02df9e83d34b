"""Second stage: a model turns rows and a parameter into per-row log-likelihood gradients."""

from robula.models.gaussian_posterior import GaussianPosterior
from robula.models.linear_model import LinearModel
from robula.models.logistic_model import LogisticModel
from robula.models.mean_model import MeanModel
from robula.models.model import Model
from robula.models.poisson_model import PoissonModel
from robula.models.priors import FlatPrior, NormalPrior, Prior
from robula.models.unknown_scale import UnknownScaleLinearModel

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
