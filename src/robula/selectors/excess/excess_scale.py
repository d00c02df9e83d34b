"""The excess rule when the noise scale of a linear regression is not known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from robula._types import FloatArray
from robula.exceptions import InputError
from robula.models.posterior_mode import weighted_mode
from robula.models.unknown_scale import UnknownScaleLinearModel
from robula.selectors.excess.excess_counts import BINS, EDGES, FAR, clean_count
from robula.selectors.excess.excess_regression import regression_start, regression_weights
from robula.selectors.excess.starting_point import RobustStart

_SEARCHES = 6
_REFINEMENTS = 3
#: Scales tried around the current one, from a fifth of it to one and a half times.
_FACTORS: FloatArray = np.exp(np.linspace(math.log(0.2), math.log(1.5), 41))


def unknown_scale_start(
    model: UnknownScaleLinearModel, contamination: float, without: frozenset[str] = frozenset()
) -> RobustStart:
    """Search start and scale in turn.

    The scale is the one at which the data can contain the most clean rows: with too small a scale the flanks are
    overfull and the centre is too empty, with too large a one it is the other way round. A median absolute deviation
    would be inflated by the bad rows.
    """
    scale = math.exp(float(model.initial[-1]))
    for _ in range(_SEARCHES):
        start = regression_start(model.at_scale(scale), contamination, without)
        kept = ~start.flagged
        residuals = (model.y - model.design @ start.theta)[kept]
        clean = [_clean_rows(residuals / (scale * factor)) for factor in _FACTORS]
        factor = float(_FACTORS[int(np.argmax(clean))])
        scale *= factor
        if abs(math.log(factor)) < 0.08:
            break
    # The fit has used up one degree of freedom for each coefficient.
    left = max(1.0 - model.design.shape[1] / max(max(clean), 1.0), 0.2)
    return replace(start, theta=np.append(start.theta, math.log(scale / math.sqrt(left))))


def unknown_scale_weights(
    model: UnknownScaleLinearModel, start: RobustStart, without: frozenset[str] = frozenset()
) -> tuple[FloatArray, FloatArray]:
    """Row weights (n,) and the mode (d,) of coefficients and log scale of the rows so weighted."""
    theta = start.theta
    for _ in range(_REFINEMENTS):
        known = model.at_scale(math.exp(theta[-1]))
        weights, coefficients = regression_weights(known, replace(start, theta=theta[:-1]), without)
        squares = (model.y - model.design @ coefficients) ** 2
        variance = float(weights @ squares) / max(float(weights.sum()) - len(coefficients), 1.0)
        if not variance > 0.0:
            raise InputError(
                "the trusted rows have no noise: the model fits them exactly, so its scale cannot be estimated. "
                "Pass noise_scale= as a number."
            )
        change = 0.5 * math.log(variance) - theta[-1]
        theta = np.append(coefficients, theta[-1] + change)
        if abs(change) < 1e-3:
            break
    return weights, weighted_mode(model, weights, theta)


def _clean_rows(z: FloatArray) -> float:
    near = z[np.abs(z) <= FAR]
    return clean_count(np.bincount(np.digitize(near, EDGES[1:-1]), minlength=BINS).astype(np.float64), 0.0)
