"""The corollaries' constants from population quantities, before any data are seen (cor:rbme, cor:rbls), mended."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from robula.exceptions import InputError
from robula.theory._checks import check_count, check_non_negative, check_positive
from robula.theory.constants import Constants, as_covariance, contamination_level


def population_mean_constants(
    n: int,
    dim: int,
    *,
    contamination: float,
    covariance: ArrayLike = 1.0,
    row_covariance: ArrayLike | None = None,
    prior_covariance: ArrayLike = 1.0,
    mode_norm: float = 0.0,
    delta: float = 0.05,
) -> Constants:
    """Constants of mean estimation with probability 1 - delta (cor:rbme).

    Parameters
    ----------
    n, dim : int
    contamination : float
    covariance : array-like
        Sigma of the model: scalar, (d,) or (d, d).
    row_covariance : array-like, optional
        Sigma_z of the clean rows; None takes that of the model.
    prior_covariance : array-like
    mode_norm : float
        Length of the clean posterior's mode, if known.
    delta : float
    """
    n, dim = check_count(n, "n", 1), check_count(dim, "dim", 1)
    model = as_covariance(covariance, dim, "covariance")
    rows = model if row_covariance is None else as_covariance(row_covariance, dim, "row_covariance")
    precision = np.linalg.inv(model)
    spectrum, prior = np.linalg.eigvalsh(model), _prior_spectrum(prior_covariance, dim)
    low, high = _clean_shares(contamination, n, delta)
    smoothness = high / float(spectrum[0]) + 1.0 / (n * prior[0])
    convexity = low / float(spectrum[-1]) + 1.0 / (n * prior[1])
    second = float(np.linalg.eigvalsh(precision @ rows @ precision)[-1])
    return _constants(n, dim, contamination, smoothness, convexity, 0.0, second, mode_norm)


def population_regression_constants(
    n: int,
    *,
    contamination: float,
    second_moment: ArrayLike,
    noise_scale: float,
    fourth_moment: float = 3.0,
    prior_covariance: ArrayLike = 1.0,
    distance: float = 0.0,
    mode_norm: float = 0.0,
    delta: float = 0.05,
) -> Constants:
    """Constants of linear regression with probability 1 - delta (cor:rbls), for Gaussian noise.

    Parameters
    ----------
    second_moment : array-like, shape (d, d)
        E x x' of the clean features.
    noise_scale : float
        sigma; E z^4 is 3 sigma^4.
    fourth_moment : float
        C_x4 of Assumption 4; 3 for Gaussian features.
    distance : float
        Length of mode - theta*.
    """
    n = check_count(n, "n", 1)
    moment = np.atleast_2d(np.asarray(second_moment, dtype=np.float64))
    dim = len(moment)
    spectrum = np.linalg.eigvalsh(as_covariance(moment, dim, "second_moment"))
    prior = _prior_spectrum(prior_covariance, dim)
    sigma = check_positive(noise_scale, "noise_scale", "the noise's standard deviation")
    kurtosis = check_positive(fourth_moment, "fourth_moment", "the fourth-moment constant")
    low, high = _clean_shares(contamination, n, delta)
    size = float(spectrum[-1])
    smoothness = high * size / sigma**2 + 1.0 / (n * prior[0])
    convexity = low * float(spectrum[0]) / sigma**2 + 1.0 / (n * prior[1])
    growth = math.sqrt(8.0) * kurtosis * size**2 / sigma**4
    at_the_mode = math.sqrt(24.0 * kurtosis) * size / sigma**2
    second = 2.0 * growth * check_non_negative(distance, "distance") ** 2 + at_the_mode
    return _constants(n, dim, contamination, smoothness, convexity, 2.0 * growth, second, mode_norm)


def _clean_shares(contamination: float, n: int, delta: float) -> tuple[float, float]:
    """Return 1 - epsilon-bar and 1 - epsilon-underbar: both sides of |D_c| / n."""
    level = contamination_level(contamination, n, delta)
    if level.level >= 1.0:
        raise InputError(
            f"with n={n} rows nothing is certain about the share of clean ones; use more rows or a larger delta."
        )
    return 1.0 - level.level, 1.0 - level.lower


def _prior_spectrum(prior_covariance: ArrayLike, dim: int) -> tuple[float, float]:
    values = np.linalg.eigvalsh(as_covariance(prior_covariance, dim, "prior_covariance"))
    return float(values[0]), float(values[-1])


def _constants(
    n: int,
    dim: int,
    contamination: float,
    smoothness: float,
    convexity: float,
    first: float,
    second: float,
    mode: float,
) -> Constants:
    # The width is not known without data; sqrt(d / L) is a lower bound, so a plan in widths errs on the careful side.
    width = math.sqrt(dim / (n * smoothness))
    mode_norm = check_non_negative(mode, "mode_norm")
    return Constants(n, dim, float(contamination), smoothness, convexity, first, second, mode_norm, width)
