"""Prior and rows: a model turns them and a parameter into per-row log-likelihoods, gradients and curvature."""

from robula._imports import named_members
from robula.models.gamma_model import GammaModel
from robula.models.gaussian_posterior import GaussianPosterior
from robula.models.large_model import LargeModel
from robula.models.law import ModelWithLaw
from robula.models.linear_model import LinearModel, UnknownScaleLinearModel
from robula.models.logistic_model import LogisticModel
from robula.models.mean_model import MeanModel
from robula.models.model import Model
from robula.models.multinomial_model import MultinomialModel
from robula.models.negative_binomial_model import NegativeBinomialModel
from robula.models.poisson_model import PoissonModel
from robula.models.priors import FlatPrior, NormalPrior, Prior
from robula.models.student_t_model import StudentTModel

__all__ = [
    "MODELS",
    "FlatPrior",
    "GammaModel",
    "GaussianPosterior",
    "LargeModel",
    "LinearModel",
    "LogisticModel",
    "MeanModel",
    "Model",
    "ModelWithLaw",
    "MultinomialModel",
    "NegativeBinomialModel",
    "NormalPrior",
    "PoissonModel",
    "Prior",
    "StudentTModel",
    "UnknownScaleLinearModel",
]

#: The models by name: every class with a name in a file of this folder.
MODELS: dict[str, type[Model]] = named_members(__name__, __path__, Model)
