"""The plain answer to compare with: all rows trusted, by the mode and curvature of the posterior."""

from __future__ import annotations

import numpy as np

from robula._types import FloatArray
from robula.models.gaussian_posterior import GaussianPosterior
from robula.models.model import Model

_MOST_STEPS = 100


def laplace(model: Model) -> GaussianPosterior | None:
    """Normal approximation of the posterior of all rows; exact for linear regression and means.

    No chain: bad rows of high leverage own the curvature, and a plain chain on them may never arrive. Damped Newton
    steps from the model's start; None where they find no mode.
    """
    theta = np.array(model.initial, dtype=np.float64)
    weights = np.ones(model.n_rows)
    value = _log_posterior(model, theta)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(_MOST_STEPS):
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
                candidate = _log_posterior(model, theta + size * step)
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


def _log_posterior(model: Model, theta: FloatArray) -> float:
    return float(model.log_likelihood(theta).sum() + model.prior.log_density(theta))


def _newton_step(precision: FloatArray, gradient: FloatArray) -> FloatArray | None:
    """Solve with the eigenvalues' sizes, so that the step goes uphill where the posterior is not concave."""
    if not (np.isfinite(precision).all() and np.isfinite(gradient).all()):
        return None
    values, vectors = np.linalg.eigh(precision)
    sizes = np.maximum(np.abs(values), 1e-12 * max(float(np.abs(values).max()), 1e-300))
    step: FloatArray = vectors @ ((vectors.T @ gradient) / sizes)
    return step
