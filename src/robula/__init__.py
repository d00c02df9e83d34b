"""robula: the posterior you would have got without the bad rows.

What people type is here; the rest is in its room: ``robula.selectors``, ``robula.kernels``, ``robula.models``,
``robula.diagnosis``, ``robula.exceptions``, ``robula.integrations``, ``robula.sklearn``.
"""

from robula import datasets, exceptions, kernels, metrics, models, selectors, simulate, theory
from robula._version import __version__
from robula.diagnosis import certificate, contamination_path, diagnose, flag, influence, odd_rows, step_bias
from robula.integrations import from_jax, from_numpyro, from_pymc, weighted
from robula.models import (
    GammaModel,
    LargeModel,
    LinearModel,
    LogisticModel,
    MeanModel,
    MultinomialModel,
    NegativeBinomialModel,
    NormalPrior,
    PoissonModel,
    StudentTModel,
)
from robula.reporting.report_page import report
from robula.result import Posterior, load
from robula.run.repeat import resume
from robula.run.rob_ula import rob_ula
from robula.run.sampler import sample
from robula.run.starts import restarts
from robula.run.step_choice import StepFor
from robula.selectors import GeometricMedian, RecursiveMean, SampleMean, SpectralFilter, robust_mean
from robula.selectors.trust import trust

__all__ = [
    "GammaModel",
    "GeometricMedian",
    "LargeModel",
    "LinearModel",
    "LogisticModel",
    "MeanModel",
    "MultinomialModel",
    "NegativeBinomialModel",
    "NormalPrior",
    "PoissonModel",
    "Posterior",
    "RecursiveMean",
    "SampleMean",
    "SpectralFilter",
    "StepFor",
    "StudentTModel",
    "__version__",
    "certificate",
    "contamination_path",
    "datasets",
    "diagnose",
    "exceptions",
    "flag",
    "from_jax",
    "from_numpyro",
    "from_pymc",
    "influence",
    "kernels",
    "load",
    "metrics",
    "models",
    "odd_rows",
    "report",
    "restarts",
    "resume",
    "rob_ula",
    "robust_mean",
    "sample",
    "selectors",
    "simulate",
    "step_bias",
    "theory",
    "trust",
    "weighted",
]
