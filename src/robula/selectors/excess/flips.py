"""The likelihood of labels that were flipped with probability e, (1 - e) s + e (1 - s) for a row of probability s.

Its gradient is the plain gradient times s (1 - 2 e) / ((1 - e) s + e (1 - s)), so for e up to one half a flip rate is
a row weight in [0, 1].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import expit

from robula._types import FloatArray
from robula.models.logistic_model import LogisticModel
from robula.models.posterior_mode import weighted_mode

_STEPS = 50


def own_probability(model: LogisticModel, theta: FloatArray) -> FloatArray:
    """Probability (n,) that the model gives to each row's own label; never quite zero."""
    eta = model.predictor(theta)
    probability: FloatArray = expit(np.where(model.y > 0.5, eta, -eta))
    return np.maximum(probability, 1e-300)


def mixed_probability(own: FloatArray, rate: float | FloatArray) -> FloatArray:
    """Probability (n,) of the label when it may have been flipped; ``rate`` broadcasts against ``own``."""
    mixed: FloatArray = (1.0 - rate) * own + rate * (1.0 - own)
    return mixed


def flip_weights(own: FloatArray, rate: float | FloatArray) -> FloatArray:
    """Gradient of the flipped-label likelihood over the plain one, shape (n,)."""
    weights: FloatArray = own * (1.0 - 2.0 * rate) / mixed_probability(own, rate)
    return weights


def self_consistent(
    model: LogisticModel,
    weigh: Callable[[FloatArray], FloatArray],
    theta: FloatArray,
    tolerance: float = 1e-6,
    steps: int = _STEPS,
) -> tuple[FloatArray, FloatArray]:
    """Weights (n,) and the mode (d,) of the rows so weighted, ``weigh`` giving the weights at a theta.

    It ends when no row's linear predictor moves by more than ``tolerance``: that has no units.
    """
    for _ in range(steps):
        moved = weighted_mode(model, weigh(theta), theta, steps=1)
        change = float(np.abs(model.predictor(moved) - model.predictor(theta)).max())
        theta = moved
        if change < tolerance:
            break
    return weigh(theta), theta


def flip_modes(model: LogisticModel, rates: Sequence[float], start: FloatArray) -> FloatArray:
    """Modes (k, d) of the flipped-label likelihood at k flip rates, each found from the one before."""
    modes = []
    for rate in rates:

        def weigh(theta: FloatArray, rate: float = rate) -> FloatArray:
            return flip_weights(own_probability(model, theta), rate)

        _, start = self_consistent(model, weigh, start, 1e-4)
        modes.append(start)
    return np.array(modes)


def log_evidence(model: LogisticModel, theta: FloatArray, rate: float | FloatArray) -> float:
    """Laplace's approximation of the log evidence for a flip rate, or one a row (n,); theta (d,) is the mode there."""
    own = own_probability(model, theta)
    mixed = mixed_probability(own, rate)
    slope = (1.0 - 2.0 * rate) * own * (1.0 - own) / mixed
    curvature = slope**2 - slope * (1.0 - 2.0 * own)
    design = model.design
    precision = (design.T * curvature) @ design + model.prior.precision(theta)
    values = np.linalg.eigvalsh(precision)
    # At a mode the curvature is positive; the prior's smallest stands in where an iteration stopped short of it.
    floor = float(np.linalg.eigvalsh(model.prior.precision(theta))[0])
    log_determinant = float(np.log(np.maximum(values, max(floor, 1e-12))).sum())
    return float(np.log(mixed).sum() + model.prior.log_density(theta)) - 0.5 * log_determinant
