"""Prior and rows: a model turns them and a parameter into per-row log-likelihoods, gradients and curvature."""

from robula.models.gaussian_posterior import GaussianPosterior
from robula.models.linear_model import LinearModel, UnknownScaleLinearModel
from robula.models.logistic_model import LogisticModel
from robula.models.mean_model import MeanModel
from robula.models.model import Model
from robula.models.poisson_model import PoissonModel
from robula.models.priors import FlatPrior, NormalPrior, Prior

__all__ = [
    "MODELS",
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

#: The models that the command line takes by name.
MODELS: dict[str, type[Model]] = {
    "linear": LinearModel,
    "logistic": LogisticModel,
    "poisson": PoissonModel,
    "mean": MeanModel,
}
