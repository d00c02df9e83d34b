"""robula: the posterior you would have got without the bad rows."""

from robula import datasets, metrics, simulate, theory
from robula._version import __version__
from robula.diagnosis.certification import Certificate, certificate
from robula.diagnosis.sensitivity import ContaminationPath, contamination_path
from robula.diagnosis.step_halving import step_bias
from robula.diagnosis.verdict import Diagnosis, diagnose
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
from robula.integrations.jax_model import from_jax
from robula.integrations.numpyro_model import from_numpyro
from robula.integrations.pymc_model import from_pymc
from robula.kernels import BAOAB, ULA, Kernel, LeimkuhlerMatthews, Preconditioned
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
    UnknownScaleLinearModel,
)
from robula.reporting.report_page import report
from robula.result import Posterior, load
from robula.run.restarts import Restarts, restarts
from robula.run.sampler import rob_ula, sample
from robula.run.step_bias import StepBias
from robula.run.step_size import StepFor
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
    SubsetSelector,
    robust_mean,
    robust_start,
)
from robula.selectors.trimmed_likelihood import TrimmedLikelihood

__all__ = [
    "BAOAB",
    "ULA",
    "BreakdownWarning",
    "Certificate",
    "ContaminationPath",
    "DatasetUnavailableError",
    "Diagnosis",
    "DivergenceError",
    "ExcessSelector",
    "FlatPrior",
    "GaussianPosterior",
    "GeometricMedian",
    "GuardWarning",
    "InputError",
    "InterruptedWarning",
    "Kernel",
    "LeimkuhlerMatthews",
    "LinearModel",
    "LogisticModel",
    "MeanModel",
    "MissingExtraError",
    "Model",
    "NormalPrior",
    "Part",
    "PoissonModel",
    "Posterior",
    "Preconditioned",
    "Prior",
    "RecursiveMean",
    "Restarts",
    "RobulaError",
    "RobulaWarning",
    "RobustMean",
    "RobustStart",
    "SampleMean",
    "Selection",
    "Selector",
    "SpectralFilter",
    "StepBias",
    "StepFor",
    "StepSizeWarning",
    "SubsetSelector",
    "TrimmedLikelihood",
    "TruncationBiasWarning",
    "UnknownScaleLinearModel",
    "__version__",
    "certificate",
    "contamination_path",
    "datasets",
    "diagnose",
    "from_jax",
    "from_numpyro",
    "from_pymc",
    "load",
    "metrics",
    "report",
    "restarts",
    "rob_ula",
    "robust_mean",
    "robust_start",
    "sample",
    "simulate",
    "step_bias",
    "theory",
]
