"""Mode of the posterior when every row counts with its own weight."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from robula._types import FloatArray
from robula.models.model import Model

_HALVINGS = 20


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
