"""A robust centre for models with thousands of parameters: no (d, d) matrix is formed."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import fmin_l_bfgs_b

from robula._types import FloatArray
from robula.models.model import Model
from robula.selectors.selector import Selector
from robula.target.centre_search import RobustCentre
from robula.target.drift import rows_stood_for
from robula.target.nearby import FLAT
from robula.target.trusted_curvature import TrustedCurvature

_SELECTIONS = 3
_ITERATIONS = 100


def large_centre(
    model: Model, selector: Selector, contamination: float, likelihood_rows: str, start: FloatArray
) -> RobustCentre:
    """Find a robust centre with L-BFGS and re-selection; its curvature by Lanczos iterations.

    Each selection is frozen while L-BFGS goes uphill, for at most a hundred iterations; three selections. The centre
    need not be a mode, and a model of this size rarely has only one: it is a place in the bulk where a step size can
    be taken from.
    """
    theta, trusted = climb(model, selector, contamination, likelihood_rows, start, _SELECTIONS)
    largest = abs(trusted.extreme(theta, "LM"))
    smallest = trusted.extreme(theta, "SA")
    smallest = smallest if math.isfinite(smallest) else 0.0
    floor = max(smallest, FLAT * largest)
    nothing = math.nan
    return RobustCentre(
        theta,
        largest,
        smallest,
        math.sqrt(model.dim / floor) if floor > 0 else 1.0,
        bounded=False,
        local_smoothness=largest,
        data_curvature=largest,
        weakest_direction=np.full(model.dim, nothing),
        trusted_information=nothing,
        prior_information=nothing,
        all_information=nothing,
        eigenvalues=None,
        eigenvectors=None,
        curvature=trusted,
    )


def climb(
    model: Model, selector: Selector, contamination: float, likelihood_rows: str, start: FloatArray, selections: int
) -> tuple[FloatArray, TrustedCurvature]:
    """Select rows and go uphill with L-BFGS, in turn; returns where it ends and the rows trusted there."""
    theta = start
    for _ in range(selections):
        found = _uphill(_trust(model, selector, contamination, likelihood_rows, theta), theta)
        if not np.isfinite(found).all():
            break
        theta = found
    return theta, _trust(model, selector, contamination, likelihood_rows, theta)


def _uphill(trusted: TrustedCurvature, theta: FloatArray) -> FloatArray:
    def objective(position: FloatArray) -> tuple[float, FloatArray]:
        return -trusted.log_density(position), -trusted.gradient(position)

    found, _, _ = fmin_l_bfgs_b(objective, theta, maxiter=_ITERATIONS)
    return np.asarray(found, dtype=np.float64)


def _trust(
    model: Model, selector: Selector, contamination: float, likelihood_rows: str, theta: FloatArray
) -> TrustedCurvature:
    selection = selector.select_rows(model, theta, contamination)
    selection.check(model.n_rows, model.dim)
    return TrustedCurvature(model, selection, rows_stood_for(selection, likelihood_rows, contamination))
