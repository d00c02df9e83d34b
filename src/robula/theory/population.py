"""The corollaries' constants before any data are seen (cor:rbme, cor:rbls), mended, for Gaussian clean rows.

The corollaries are about the *empirical* moments of the clean rows, and at d = 200 these are far from the population's
(the largest eigenvalue of 1000 standard normal rows is 2.1). Everything here holds jointly with probability 1 - delta:
the number of clean rows takes 2 delta^4 of it (e_n is twice what Hoeffding's inequality needs), the events below share
the rest.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robula.exceptions import InputError
from robula.theory._checks import check_count, check_non_negative, check_positive
from robula.theory.concentration import (
    check_probability,
    gaussian_excess,
    gaussian_fourth_moment,
    gaussian_fourth_norm,
)
from robula.theory.constants import Constants, as_covariance, contamination_level


class _Clean(NamedTuple):
    """gamma, both sides of |D_c|, and the probability each further event may fail with."""

    gamma: float
    fewest: float
    most: float
    delta: float


def population_mean_constants(
    n: int,
    dim: int,
    *,
    contamination: float,
    truth_norm: float,
    covariance: ArrayLike = 1.0,
    row_covariance: ArrayLike | None = None,
    prior_covariance: ArrayLike = 1.0,
    delta: float = 0.05,
) -> Constants:
    """Constants of mean estimation with probability 1 - delta (cor:rbme), for a prior around 0.

    Parameters
    ----------
    n, dim : int
    contamination : float
        epsilon, the probability that a row is bad; the constants carry gamma = epsilon + e_n.
    truth_norm : float
        Length of the true mean.
    covariance : array-like
        Sigma of the model: scalar, (d,) or (d, d).
    row_covariance : array-like, optional
        Covariance of the Gaussian clean rows; None takes that of the model.
    prior_covariance : array-like
    delta : float
    """
    n, dim = check_count(n, "n", 1), check_count(dim, "dim", 1)
    model = as_covariance(covariance, dim, "covariance")
    rows = model if row_covariance is None else as_covariance(row_covariance, dim, "row_covariance")
    precision = np.linalg.inv(model)
    spectrum, prior = np.linalg.eigvalsh(model), _spectrum(prior_covariance, dim)
    clean = _clean_rows(contamination, n, delta, events=2)
    smoothness = clean.most / (n * float(spectrum[0])) + 1.0 / (n * prior[0])
    convexity = clean.fewest / (n * float(spectrum[-1])) + 1.0 / (n * prior[1])
    gradient = float(np.linalg.eigvalsh(precision @ rows @ precision)[-1])
    excess = gaussian_excess(dim, clean.delta)
    second = gradient * (1.0 + excess / math.sqrt(clean.fewest)) ** 2
    # The mode is (|D_c| Sigma^-1 + P)^-1 (Sigma^-1 sum (z_i - theta*) - P theta*) away from theta*.
    pull = math.sqrt(clean.most * gradient) * excess + check_non_negative(truth_norm, "truth_norm") / prior[0]
    mode = truth_norm + pull / (n * convexity)
    return _constants(n, dim, clean.gamma, smoothness, convexity, 0.0, second, mode)


def population_regression_constants(
    n: int,
    *,
    contamination: float,
    truth_norm: float,
    second_moment: ArrayLike,
    noise_scale: float,
    prior_covariance: ArrayLike = 1.0,
    delta: float = 0.05,
) -> Constants:
    """Constants of linear regression with probability 1 - delta (cor:rbls), for a prior around 0.

    Parameters
    ----------
    n : int
    contamination : float
        epsilon, the probability that a row is bad; the constants carry gamma = epsilon + e_n.
    truth_norm : float
        Length of theta*.
    second_moment : array-like, shape (d, d)
        E x x' of the clean features, which are Gaussian around 0.
    noise_scale : float
        sigma of the Gaussian noise.
    prior_covariance : array-like
    delta : float
    """
    n = check_count(n, "n", 1)
    moment = np.atleast_2d(np.asarray(second_moment, dtype=np.float64))
    dim = len(moment)
    spectrum = np.linalg.eigvalsh(as_covariance(moment, dim, "second_moment"))
    prior = _spectrum(prior_covariance, dim)
    sigma = check_positive(noise_scale, "noise_scale", "the noise's standard deviation")
    # Smallest and largest singular value, fourth moments of features and of noise, distance of the mode.
    clean = _clean_rows(contamination, n, delta, events=5)
    excess, size = gaussian_excess(dim, clean.delta), float(spectrum[-1])
    smoothness = (math.sqrt(clean.most) + excess) ** 2 * size / (n * sigma**2) + 1.0 / (n * prior[0])
    lowest = max(math.sqrt(clean.fewest) - excess, 0.0) ** 2 * float(spectrum[0])
    convexity = lowest / (n * sigma**2) + 1.0 / (n * prior[1])
    # H^-1 X'z / sigma^2 with z / sigma standard normal: an operator of norm at most 1 / sqrt(m) on d dimensions.
    pull = excess * math.sqrt(n * convexity) + check_non_negative(truth_norm, "truth_norm") / prior[0]
    distance = pull / (n * convexity)
    fourth = gaussian_fourth_norm(clean.fewest, dim, clean.delta)
    noise = gaussian_fourth_moment(clean.fewest, clean.delta)
    growth = math.sqrt(8.0) * fourth * size**2 / sigma**4
    second = 2.0 * growth * distance**2 + math.sqrt(8.0 * fourth * noise) * size / sigma**2
    return _constants(n, dim, clean.gamma, smoothness, convexity, 2.0 * growth, second, truth_norm + distance)


def _clean_rows(contamination: float, n: int, delta: float, events: int) -> _Clean:
    """Bound the number of clean rows, and share what is left of delta among ``events`` one-sided events."""
    delta = check_probability(delta)
    level = contamination_level(contamination, n, delta)
    rest = delta - 2.0 * delta**4
    if level.level >= 0.5 or rest <= 0.0:
        raise InputError(
            f"with n={n} rows nothing is certain about the share of clean ones: epsilon + e_n = {level.level:.2f} at "
            f"delta={delta:g}, and one half or more cannot be told apart. Use more rows or a larger delta below 0.79."
        )
    return _Clean(level.level, *level.clean_rows, rest / events)


def _spectrum(covariance: ArrayLike, dim: int) -> tuple[float, float]:
    values = np.linalg.eigvalsh(as_covariance(covariance, dim, "prior_covariance"))
    return float(values[0]), float(values[-1])


def _constants(
    n: int, dim: int, gamma: float, smoothness: float, convexity: float, first: float, second: float, mode_norm: float
) -> Constants:
    # The width is not known without data; sqrt(d / L) is a lower bound, so a plan in widths errs on the careful side.
    width = math.sqrt(dim / (n * smoothness))
    return Constants(n, dim, gamma, smoothness, convexity, first, second, mode_norm, width)
