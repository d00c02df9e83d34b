"""A start for models of which only the log-likelihoods are known: the mode of the rows that fit best."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from robula._types import FloatArray
from robula.models.model import Model

_KEPT = 0.75
_ROUNDS = 10


def trimmed_start(model: Model, start: FloatArray) -> FloatArray:
    """Mode of the posterior of the three quarters of the rows that fit best, found by concentration steps.

    A PPL's own initial point is far out in the prior, where the curvature of a model with a scale parameter is not even
    positive and no step size follows from it. The mode of the best-fitting rows has too small a scale, and from there
    the log posterior is concave on the way to the mode. Where the steps lead nowhere, ``start`` (d,) is returned.
    """
    theta, kept = start, np.zeros(model.n_rows, dtype=bool)
    count = max(int(np.ceil(_KEPT * model.n_rows)), 1)
    for _ in range(_ROUNDS):
        best = np.zeros(model.n_rows, dtype=bool)
        best[np.argsort(-model.log_likelihood(theta), kind="stable")[:count]] = True
        if (best == kept).all():
            break
        kept = best
        moved = _mode(model, kept.astype(np.float64), theta)
        if moved is None:
            return start
        theta = moved
    return theta


def _mode(model: Model, weights: FloatArray, start: FloatArray) -> FloatArray | None:
    def objective(theta: FloatArray) -> tuple[float, FloatArray]:
        value = weights @ model.log_likelihood(theta) + model.prior.log_density(theta)
        gradient = model.weighted_gradient(theta, weights) + model.prior.gradient(theta)
        return (-float(value), -gradient) if np.isfinite(value) else (1e300, np.zeros_like(theta))

    with np.errstate(over="ignore", invalid="ignore"):
        found = np.asarray(minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 200}).x)
        good = np.isfinite(found).all() and np.isfinite(model.gradients(found)).all()
    return found if good else None
