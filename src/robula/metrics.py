"""How far a posterior is from the exact clean one, in posterior widths, with Monte Carlo errors."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from robula._types import ArrayInput, FloatArray
from robula._validation import check_positive, show
from robula.exceptions import InputError
from robula.models.gaussian_posterior import GaussianPosterior
from robula.result.convergence import effective_sample_sizes
from robula.result.posterior import Posterior
from robula.tables.arrays import as_vector

__all__ = ["Gap", "clean_posterior_gap", "interval_coverage"]


class Gap(NamedTuple):
    """Distance to the clean posterior; the unit is its width sqrt(trace of the clean covariance).

    Attributes
    ----------
    bias : float
        Length of the difference of the means.
    spread : float
        sqrt(trace of the covariance / trace of the clean covariance); 1 is right, above 1 is too wide.
    w2 : float
        Wasserstein-2 distance of the two normal distributions with these moments.
    bias_mcse, spread_mcse, w2_mcse : float
        Monte Carlo errors: how far each figure may be from that of infinitely many draws. For bias and w2 they are
        root mean squares of the distance between the drawn and the limiting posterior (triangle inequality), so a
        figure of about its own error is compatible with 0.
    """

    bias: float
    spread: float
    w2: float
    bias_mcse: float
    spread_mcse: float
    w2_mcse: float


def clean_posterior_gap(posterior: Posterior, clean_posterior: GaussianPosterior) -> Gap:
    """Compare a sampled posterior with the exact clean one.

    Parameters
    ----------
    posterior : Posterior
    clean_posterior : object with ``mean`` (d,) and ``covariance`` (d, d)

    Returns
    -------
    Gap
    """
    if not isinstance(posterior, Posterior):
        raise InputError(f"posterior={show(posterior)} is not a robula posterior; pass the result of robula.sample.")
    if not (hasattr(clean_posterior, "mean") and hasattr(clean_posterior, "covariance")):
        raise InputError(f"clean_posterior={show(clean_posterior)} has no mean and covariance.")
    mean, covariance = np.asarray(clean_posterior.mean), np.asarray(clean_posterior.covariance)
    dim = posterior.draws.shape[-1]
    if mean.shape != (dim,) or covariance.shape != (dim, dim):
        raise InputError(
            f"the clean posterior has mean {mean.shape} and covariance {covariance.shape}; the draws have d = {dim}."
        )
    width = math.sqrt(float(np.trace(covariance)))
    shift = float(np.linalg.norm(posterior.mean - mean))
    bures = squared_bures(posterior.covariance, covariance)
    sizes = np.maximum(effective_sample_sizes(posterior.draws), 1.0)
    mean_error = float((np.diag(posterior.covariance) / sizes).sum())
    squared = ((posterior.draws - posterior.mean) ** 2).sum(axis=-1, keepdims=True)
    squared_size = max(float(effective_sample_sizes(squared)[0]), 1.0)
    total = float(np.trace(posterior.covariance))
    trace_error = float(squared.std()) / math.sqrt(squared_size)
    covariance_error = _sampling_bures(posterior.covariance, float(np.median(sizes)))
    return Gap(
        bias=shift / width,
        spread=math.sqrt(total) / width,
        w2=math.sqrt(shift**2 + bures) / width,
        bias_mcse=math.sqrt(mean_error) / width,
        spread_mcse=trace_error / (2.0 * math.sqrt(total)) / width,
        w2_mcse=math.sqrt(mean_error + covariance_error) / width,
    )


def squared_bures(first: FloatArray, second: FloatArray) -> float:
    """Squared Wasserstein-2 distance of N(0, first) and N(0, second), both (d, d)."""
    values, vectors = np.linalg.eigh(second)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    cross = np.linalg.eigvalsh(root @ first @ root)
    distance = np.trace(first) + np.trace(second) - 2.0 * np.sqrt(np.maximum(cross, 0.0)).sum()
    return max(float(distance), 0.0)


def _sampling_bures(covariance: FloatArray, size: float) -> float:
    """Expected squared Bures distance between a normal's covariance and that of ``size`` independent draws.

    To second order the distance is the sum over pairs of eigenvalues of |error_jk|^2 / (2 (l_j + l_k)), and the error
    of a sample covariance has variance l_j l_k (1 + [j = k]) / size.
    """
    values = np.maximum(np.linalg.eigvalsh(covariance), 0.0)
    pairs = values[:, None] + values[None, :]
    products = np.outer(values, values) * (1.0 + np.eye(len(values)))
    terms = np.divide(products, 2.0 * pairs, out=np.zeros_like(products), where=pairs > 0)
    return float(terms.sum()) / size


def interval_coverage(posterior: Posterior, truth: ArrayInput, level: float = 0.9) -> float:
    """Share of the parameters whose central ``level`` interval contains the truth.

    Parameters
    ----------
    posterior : Posterior
    truth : array-like, shape (d,)
    level : float, optional
        Probability of the interval, above 0 and below 1.

    Returns
    -------
    float
    """
    level = check_positive(level, "level", "the level of an interval")
    if level >= 1.0:
        raise InputError(f"level={show(level)} is not allowed: pass a number between 0 and 1, such as 0.9.")
    target = as_vector(truth, "truth", posterior.mean.shape[0])
    low, high = np.quantile(posterior.flat_draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return float(((low <= target) & (target <= high)).mean())
