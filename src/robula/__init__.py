"""robula: the posterior you would have got without the bad rows."""

from robula import datasets, metrics, simulate, theory
from robula._version import __version__
from robula.adapters.from_jax import from_jax
from robula.certification import Certificate, certificate
from robula.exceptions import (
    BreakdownWarning,
    DatasetUnavailableError,
    DivergenceError,
    GuardWarning,
    InputError,
    InterruptedWarning,
    MissingExtraError,
    RobulaError,
    RobulaWarning,
    StepSizeWarning,
    TruncationBiasWarning,
)
from robula.langevin import ULA, Kernel
from robula.models import (
    FlatPrior,
    GaussianPosterior,
    LinearModel,
    LogisticModel,
    MeanModel,
    Model,
    NormalPrior,
    PoissonModel,
    Prior,
)
from robula.result import Posterior, load
from robula.sampler import rob_ula, sample
from robula.selectors import (
    ExcessSelector,
    GeometricMedian,
    Part,
    RecursiveMean,
    RobustMean,
    RobustStart,
    SampleMean,
    Selection,
    Selector,
    SpectralFilter,
    robust_mean,
    robust_start,
)
from robula.sensitivity import ContaminationPath, contamination_path

__all__ = [
    "ULA",
    "BreakdownWarning",
    "Certificate",
    "ContaminationPath",
    "DatasetUnavailableError",
    "DivergenceError",
    "ExcessSelector",
    "FlatPrior",
    "GaussianPosterior",
    "GeometricMedian",
    "GuardWarning",
    "InputError",
    "InterruptedWarning",
    "Kernel",
    "LinearModel",
    "LogisticModel",
    "MeanModel",
    "MissingExtraError",
    "Model",
    "NormalPrior",
    "Part",
    "PoissonModel",
    "Posterior",
    "Prior",
    "RecursiveMean",
    "RobulaError",
    "RobulaWarning",
    "RobustMean",
    "RobustStart",
    "SampleMean",
    "Selection",
    "Selector",
    "SpectralFilter",
    "StepSizeWarning",
    "TruncationBiasWarning",
    "__version__",
    "certificate",
    "contamination_path",
    "datasets",
    "from_jax",
    "load",
    "metrics",
    "rob_ula",
    "robust_mean",
    "robust_start",
    "sample",
    "simulate",
    "theory",
]
