"""Third stage: a selector says how much each row's gradient counts."""

from robula.selectors.excess import ExcessSelector, RobustStart, robust_start
from robula.selectors.geometric_median import GeometricMedian
from robula.selectors.recursive import RecursiveMean
from robula.selectors.registry import resolve_selector, robust_mean
from robula.selectors.sample_mean import SampleMean
from robula.selectors.selection import Part, Selection
from robula.selectors.selector import RobustMean, Selector
from robula.selectors.spectral_filter import SpectralFilter
from robula.selectors.subset_selector import SubsetSelector

__all__ = [
    "ExcessSelector",
    "GeometricMedian",
    "Part",
    "RecursiveMean",
    "RobustMean",
    "RobustStart",
    "SampleMean",
    "Selection",
    "Selector",
    "SpectralFilter",
    "SubsetSelector",
    "resolve_selector",
    "robust_mean",
    "robust_start",
]
