"""What a simulation returns."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from robula._types import BoolArray, FloatArray, IntArray
from robula._validation import check_contamination, check_count
from robula.models.gaussian_posterior import GaussianPosterior
from robula.models.linear_model import LinearModel
from robula.models.mean_model import MeanModel


@dataclass(frozen=True)
class Problem:
    """A contaminated data set and the truth about it.

    Attributes
    ----------
    model : MeanModel or LinearModel
        Made of all rows, in random order.
    outlier_mask : ndarray of bool, shape (n,)
        Which rows are bad.
    truth : ndarray, shape (d,)
        The parameter that the clean rows were drawn with.
    clean_posterior : GaussianPosterior
        Exact posterior of the clean rows, with ``mean`` and ``covariance``.
    """

    model: MeanModel | LinearModel
    outlier_mask: BoolArray
    truth: FloatArray
    clean_posterior: GaussianPosterior


def outlier_count(n_clean: int, contamination: float) -> int:
    """Number of bad rows so that they are a ``contamination`` share of all rows: 1000 clean and 0.2 mean 250 bad."""
    return math.floor(n_clean * contamination / (1.0 - contamination) + 0.5)


def check_sizes(n_clean: int, dim: int, contamination: float, seed: int) -> tuple[int, int, float, int]:
    """Return the checked arguments of a simulation."""
    return (
        check_count(n_clean, "n_clean", 2),
        check_count(dim, "dim", 1),
        check_contamination(contamination),
        check_count(seed, "seed", 0, maximum=None),
    )


def shuffled(rng: np.random.Generator, n_clean: int, n_bad: int) -> tuple[IntArray, BoolArray]:
    """Return a random order of clean rows followed by bad ones, and the mask of the bad ones in that order."""
    order = rng.permutation(n_clean + n_bad)
    return order, order >= n_clean
