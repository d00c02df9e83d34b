"""Modes of the posterior: every row with its own weight, or all rows alike with the normal approximation there."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from robula._types import FloatArray
from robula.models.gaussian_posterior import GaussianPosterior
from robula.models.model import Model

_HALVINGS = 20

_PLAIN_STEPS = 100


def weighted_mode(model: Model, weights: FloatArray, start: FloatArray, steps: int = 25) -> FloatArray:
    """Newton's method with step halving on sum_i w_i log p(row i | theta) + log prior.

    Parameters
    ----------
    weights : ndarray, shape (n,)
    start : ndarray, shape (d,)
    steps : int
        At most so many Newton steps; one is exact where the log posterior is quadratic.

    Returns
    -------
    ndarray, shape (d,)
    """
    theta = np.array(start, dtype=np.float64)
    value = _log_posterior(model, weights, theta)
    for _ in range(steps):
        gradient = model.weighted_gradient(theta, weights) + model.prior.gradient(theta)
        direction = np.linalg.solve(weighted_precision(model, weights, theta), gradient)
        # Half the squared Newton decrement is the gain a quadratic would give.
        gain = float(gradient @ direction)
        factor = 1.0
        for _ in range(_HALVINGS):
            candidate = theta + factor * direction
            with np.errstate(over="ignore", invalid="ignore"):
                risen = _log_posterior(model, weights, candidate)
            if risen >= value:
                theta, value = candidate, risen
                break
            factor *= 0.5
        if not gain > 1e-10:
            break
    return theta


def weighted_precision(model: Model, weights: FloatArray, theta: FloatArray) -> FloatArray:
    """Negative Hessian (d, d) of the weighted log posterior, with a ridge at rounding level.

    The ridge is relative to each column: columns in very different units must not be swamped by the largest.
    """
    precision: FloatArray = model.curvature(theta, weights) + model.prior.precision(theta)
    scales = np.diag(precision)
    return precision + np.diag(1e-10 * scales + 1e-24 * float(scales.max()) + 1e-300)


def inverse_factor(precision: FloatArray) -> FloatArray:
    """Lower triangular F (d, d) with F F' = precision^-1, without forming the inverse, which may not be definite."""
    reversed_factor = np.linalg.cholesky(precision[::-1, ::-1])
    factor: FloatArray = solve_triangular(reversed_factor, np.eye(len(precision)), lower=True).T[::-1, ::-1]
    return factor


def _log_posterior(model: Model, weights: FloatArray, theta: FloatArray) -> float:
    kept = weights > 0
    return float(weights[kept] @ model.log_likelihood(theta)[kept] + model.prior.log_density(theta))


def laplace(model: Model) -> GaussianPosterior | None:
    """Normal approximation of the posterior of all rows; exact for linear regression and means.

    No chain: bad rows of high leverage own the curvature, and a plain chain on them may never arrive. Damped Newton
    steps from the model's start; None where they find no mode.
    """
    theta = np.array(model.initial, dtype=np.float64)
    weights = np.ones(model.n_rows)
    value = _plain_log_posterior(model, theta)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(_PLAIN_STEPS):
            gradient = model.weighted_gradient(theta, weights) + model.prior.gradient(theta)
            precision = model.curvature(theta, weights) + model.prior.precision(theta)
            step = _newton_step(precision, gradient)
            if step is None:
                return None
            decrement = float(gradient @ step)
            if decrement < 1e-10 * model.dim:
                return _at(theta, precision)
            size = 1.0
            while size > 1e-10:
                candidate = _plain_log_posterior(model, theta + size * step)
                if candidate > value:
                    break
                size /= 2.0
            else:
                return None if decrement > 1e-4 else _at(theta, precision)
            theta, value = theta + size * step, candidate
    return None


def _at(theta: FloatArray, precision: FloatArray) -> GaussianPosterior | None:
    values, vectors = np.linalg.eigh(precision)
    return GaussianPosterior(theta, (vectors / values) @ vectors.T) if values[0] > 0 else None


def _plain_log_posterior(model: Model, theta: FloatArray) -> float:
    return float(model.log_likelihood(theta).sum() + model.prior.log_density(theta))


def _newton_step(precision: FloatArray, gradient: FloatArray) -> FloatArray | None:
    """Solve with the eigenvalues' sizes, so that the step goes uphill where the posterior is not concave."""
    if not (np.isfinite(precision).all() and np.isfinite(gradient).all()):
        return None
    values, vectors = np.linalg.eigh(precision)
    sizes = np.maximum(np.abs(values), 1e-12 * max(float(np.abs(values).max()), 1e-300))
    step: FloatArray = vectors @ ((vectors.T @ gradient) / sizes)
    return step
