"""Third stage: a selector says how much each row's gradient counts."""

from robula.selectors.base import RobustMean, Selector
from robula.selectors.recursive import RecursiveMean
from robula.selectors.registry import resolve_selector, robust_mean
from robula.selectors.sample_mean import SampleMean
from robula.selectors.selection import Part, Selection
from robula.selectors.subset import SubsetSelector

__all__ = [
    "Part",
    "RecursiveMean",
    "RobustMean",
    "SampleMean",
    "Selection",
    "Selector",
    "SubsetSelector",
    "resolve_selector",
    "robust_mean",
]
