"""Which rows to trust: the selectors, by name and one file each, and the robust mean as a plain function."""

from __future__ import annotations

import numpy as np

from robula._imports import named_members
from robula._threads import few_threads_for_small_data
from robula._types import ArrayInput, FloatArray
from robula._validation import check_contamination, check_name, show
from robula.exceptions import InputError
from robula.selectors.geometric_median import GeometricMedian
from robula.selectors.median_of_means import MedianOfMeans
from robula.selectors.recursive import RecursiveMean
from robula.selectors.sample_mean import SampleMean
from robula.selectors.selection import Part, RobustMean, Selection, Selector
from robula.selectors.spectral_filter import SpectralFilter
from robula.selectors.subset_selector import SubsetSelector
from robula.selectors.trimmed_likelihood import TrimmedLikelihood
from robula.selectors.trust import Trust, TrustSelector
from robula.tables.arrays import as_matrix

__all__ = [
    "SELECTORS",
    "GeometricMedian",
    "MedianOfMeans",
    "Part",
    "RecursiveMean",
    "RobustMean",
    "SampleMean",
    "Selection",
    "Selector",
    "SpectralFilter",
    "SubsetSelector",
    "TrimmedLikelihood",
    "Trust",
    "TrustSelector",
    "resolve_selector",
    "robust_mean",
]

#: The selectors that ``selector=`` takes by name: every class with a name in a file of this folder.
SELECTORS: dict[str, type[Selector]] = named_members(__name__, __path__, Selector)


def resolve_selector(selector: str | Selector) -> Selector:
    """Return the selector a name stands for, or the object itself."""
    if isinstance(selector, Selector):
        return selector
    if isinstance(selector, type) and issubclass(selector, Selector):
        raise InputError(f"selector={selector.__name__} is a class; pass an object: {selector.__name__}().")
    return SELECTORS[check_name(selector, "selector", SELECTORS)]()


@few_threads_for_small_data
def robust_mean(points: ArrayInput, contamination: float, selector: str | RobustMean = "recursive") -> FloatArray:
    """Mean of points that an epsilon share of arbitrary rows cannot move far.

    Parameters
    ----------
    points : array-like, shape (n, d)
    contamination : float
        Upper bound on the share of bad rows, in [0, 0.5).
    selector : str or RobustMean, optional
        "recursive" (the paper's Algorithm 2), "spectral", "geometric_median", "median_of_means", "mean", or an object
        such as ``RecursiveMean(variant="lai2016")``.

    Returns
    -------
    ndarray, shape (d,)

    Examples
    --------
    >>> import numpy as np, robula
    >>> points = np.random.default_rng(0).normal(size=(500, 3))
    >>> points[:50] += 100.0
    >>> bool(np.abs(robula.robust_mean(points, contamination=0.1)).max() < 0.3)
    True
    """
    contamination = check_contamination(contamination)
    resolved = resolve_selector(selector)
    if not isinstance(resolved, RobustMean):
        raise InputError(f"selector={show(selector)} needs a model; robust_mean takes selectors of points alone.")
    matrix = as_matrix(points, "points")
    selection = resolved.select(matrix, contamination)
    return np.asarray(selection.mean(matrix) if selection.estimate is None else selection.estimate)
