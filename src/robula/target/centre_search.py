"""Find a robust centre of the posterior, by the search that fits its size.

The default step size and start need the curvature of the posterior. It must not come from all rows: a few rows with
huge features own it then, and the step becomes so small that the chain never arrives.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from robula._types import FloatArray
from robula.exceptions import InputError
from robula.models.model import Model
from robula.models.posterior_mode import limited_memory_mode, weighted_mode
from robula.selectors.selection import Selection, Selector
from robula.target.frozen_gradient import frozen_mean
from robula.target.robust_centre import FLAT, RobustCentre, TrustedCurvature
from robula.target.robust_target import rows_stood_for

_SELECTIONS = 10
_NEWTON_STEPS = 5
_HALVINGS = 12
# A Newton decrement of sqrt(d) is what a posterior draw has; a tenth of it is well inside the posterior.
_CLOSE = 0.1

_LARGE_SELECTIONS = 3
_ITERATIONS = 100


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
        if model.hyperparameters.any() and not selector.depends_on_theta:
            # Newton's method would follow the joint density of group effects and their scale to where it is infinite.
            weights = selection.weights * (rows / float(selection.weights.sum()))
            theta = weighted_mode(model, weights, theta)
            break
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


def large_centre(
    model: Model, selector: Selector, contamination: float, likelihood_rows: str, start: FloatArray
) -> RobustCentre:
    """Find a robust centre with L-BFGS and re-selection; its curvature by Lanczos iterations.

    Each selection is frozen while L-BFGS goes uphill, for at most a hundred iterations; three selections. The centre
    need not be a mode, and a model of this size rarely has only one: it is a place in the bulk where a step size can
    be taken from.
    """
    theta, trusted = climb(model, selector, contamination, likelihood_rows, start, _LARGE_SELECTIONS)
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
        trusted = _trust(model, selector, contamination, likelihood_rows, theta)
        found = limited_memory_mode(trusted.log_density, trusted.gradient, theta, _ITERATIONS)
        if not np.isfinite(found).all():
            break
        theta = found
    return theta, _trust(model, selector, contamination, likelihood_rows, theta)


def _trust(
    model: Model, selector: Selector, contamination: float, likelihood_rows: str, theta: FloatArray
) -> TrustedCurvature:
    selection = selector.select_rows(model, theta, contamination)
    selection.check(model.n_rows, model.dim)
    return TrustedCurvature(model, selection, rows_stood_for(selection, likelihood_rows, contamination))


def find_centre(model: Model, selector: Selector, contamination: float, likelihood_rows: str) -> RobustCentre:
    """Return a robust centre, or refuse a posterior that has none."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        try:
            begin = model.initial if selector.centre is None else selector.centre
            search = robust_centre if model.dense_curvature else large_centre
            centre = search(model, selector, contamination, likelihood_rows, begin)
        except np.linalg.LinAlgError:
            centre = None
    if centre is None or not (0 < centre.smoothness < np.inf and np.isfinite(centre.theta).all()):
        raise InputError(
            "no mode of the robust posterior was found: the negative Hessian there is not positive definite. Rescale "
            "the columns, pass a proper prior, or (from_jax) another init."
        )
    return centre
