"""A robust centre of the posterior, and the curvature of the rows trusted on the way there.

The default step size and start need the curvature of the posterior. It must not come from all rows: a few rows with
huge features own it then, and the step becomes so small that the chain never arrives.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from robula._types import FloatArray
from robula.models.model import Model
from robula.selectors.selection import Selection
from robula.selectors.selector import Selector
from robula.target.drift import rows_stood_for
from robula.target.frozen_gradient import frozen_mean
from robula.target.trusted_curvature import TrustedCurvature

_SELECTIONS = 10
_NEWTON_STEPS = 5
_HALVINGS = 12
# A Newton decrement of sqrt(d) is what a posterior draw has; a tenth of it is well inside the posterior.
_CLOSE = 0.1


class RobustCentre(NamedTuple):
    """Where the robust drift vanishes, roughly, and the curvature there.

    Attributes
    ----------
    theta : ndarray, shape (d,)
    smoothness : float
        The paper's L: largest curvature of the posterior of the trusted rows. Where the model bounds its curvature
        over all theta, the smaller of that bound for the rows trusted at the start and for those trusted at the
        centre: bad rows with large features would have to look harmless in both places to slow the chain down. Else
        the curvature at the centre.
    strong_convexity : float
        The paper's m at the centre: smallest curvature.
    width : float
        Posterior width sqrt(trace of the inverse curvature).
    bounded : bool
        Whether ``smoothness`` holds for all theta.
    local_smoothness : float
        Largest curvature at the centre itself.
    data_curvature : float
        Largest curvature of the trusted rows alone, without the prior.
    weakest_direction : ndarray, shape (d,)
        Direction of the smallest curvature; in it, the information (curvature) of the trusted rows, of the prior and
        of all rows follow.
    eigenvalues, eigenvectors : ndarray, shapes (d,) and (d, d), or None
        Of the curvature at the centre, the smallest first; None where the model cannot afford a (d, d) matrix.
    curvature : TrustedCurvature
        Of the rows trusted at the centre, for a look elsewhere.
    """

    theta: FloatArray
    smoothness: float
    strong_convexity: float
    width: float
    bounded: bool
    local_smoothness: float
    data_curvature: float
    weakest_direction: FloatArray
    trusted_information: float
    prior_information: float
    all_information: float
    eigenvalues: FloatArray | None
    eigenvectors: FloatArray | None
    curvature: TrustedCurvature


def robust_centre(
    model: Model, selector: Selector, contamination: float, likelihood_rows: str, start: FloatArray
) -> RobustCentre:
    """Find a robust centre by Newton's method with re-selection.

    Rows are selected, Newton steps go to the mode under this frozen selection, and so on until a new selection no
    longer moves the mode by a tenth of the posterior's width. It need not converge fully: only the curvature is used.

    Parameters
    ----------
    start : ndarray, shape (d,)
    """
    theta = start
    bounds: list[float | None] = []
    for _ in range(_SELECTIONS):
        selection = selector.select_rows(model, theta, contamination)
        selection.check(model.n_rows, model.dim)
        rows = rows_stood_for(selection, likelihood_rows, contamination)
        if not bounds:
            bounds.append(_largest_bound(TrustedCurvature(model, selection, rows), theta))
        moved, theta = _newton(model, selection, rows, theta)
        if not moved:
            break
    selection = selector.select_rows(model, theta, contamination)
    rows = rows_stood_for(selection, likelihood_rows, contamination)
    trusted = TrustedCurvature(model, selection, rows)
    bounds.append(_largest_bound(trusted, theta))
    prior = model.prior.precision(theta)
    data = trusted.at(theta) - prior
    local, vectors = np.linalg.eigh(data + prior)
    weakest = vectors[:, 0]
    finite = [bound for bound in bounds if bound is not None]
    smoothness = min(finite) if finite else float(np.abs(local).max())
    # A direction without curvature (or with a negative one) has no width of its own: the largest finite one stands in.
    floor = 1e-8 * smoothness
    width = math.sqrt(float((1.0 / np.maximum(local, floor)).sum())) if smoothness > 0 else 1.0
    return RobustCentre(
        theta,
        smoothness,
        float(local[0]),
        width,
        bool(finite),
        local_smoothness=float(np.abs(local).max()),
        data_curvature=float(np.abs(np.linalg.eigvalsh(data)).max()),
        weakest_direction=weakest,
        trusted_information=float(weakest @ data @ weakest),
        prior_information=float(weakest @ prior @ weakest),
        all_information=float(weakest @ model.curvature(theta, np.ones(model.n_rows)) @ weakest),
        eigenvalues=local,
        eigenvectors=vectors,
        curvature=trusted,
    )


def _largest_bound(trusted: TrustedCurvature, theta: FloatArray) -> float | None:
    """Return the largest curvature that the selected rows can have at any theta, or None if there is no bound."""
    bound = trusted.bound(theta)
    return None if bound is None else float(np.linalg.eigvalsh(bound)[-1])


def _newton(model: Model, selection: Selection, rows: float, theta: FloatArray) -> tuple[bool, FloatArray]:
    """Damped Newton steps under one frozen selection; returns whether theta moved and where it is."""

    def drift(position: FloatArray) -> FloatArray:
        value: FloatArray = rows * frozen_mean(model, selection, position) + model.prior.gradient(position)
        return value

    close = _CLOSE * math.sqrt(model.dim)
    moved = False
    for _ in range(_NEWTON_STEPS):
        force = drift(theta)
        solve = _inverse(TrustedCurvature(model, selection, rows).at(theta))
        decrement = math.sqrt(max(float(force @ solve(force)), 0.0))
        if not decrement > close:
            break
        moved = True
        theta = _damped(theta, solve(force), drift, solve, decrement)
    return moved, theta


def _inverse(hessian: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Product with the inverse of a symmetric matrix made positive: |eigenvalues|, floored."""
    values, vectors = np.linalg.eigh(hessian)
    values = np.abs(values)
    values = np.maximum(values, max(1e-10 * float(values.max()), 1e-300))

    def solve(vector: FloatArray) -> FloatArray:
        product: FloatArray = vectors @ ((vectors.T @ vector) / values)
        return product

    return solve


def _damped(
    theta: FloatArray,
    direction: FloatArray,
    drift: Callable[[FloatArray], FloatArray],
    solve: Callable[[FloatArray], FloatArray],
    decrement: float,
) -> FloatArray:
    """Halve the step until the drift, in the metric of the old curvature, is shorter than before.

    This is Deuflhard's natural monotonicity test. A robust drift need not be the gradient of anything, so there is no
    objective to decrease.
    """
    factor = 1.0
    for _ in range(_HALVINGS):
        candidate = theta + factor * direction
        with np.errstate(over="ignore", invalid="ignore"):
            force = drift(candidate)
            shorter = float(force @ solve(force)) < decrement**2
        if shorter:
            return candidate
        factor *= 0.5
    return theta + factor * direction
