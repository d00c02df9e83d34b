"""The one mode finder: Newton's method on a weighted log posterior, or L-BFGS where a Hessian cannot be afforded.

Only a robust centre is looked for by other steps (``target/centre_search.py``): a robust drift is the gradient of
nothing, so there is no density to go uphill on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.linalg import cho_solve
from scipy.optimize import minimize

from robula._types import BoolArray, FloatArray
from robula.models.gaussian_posterior import GaussianPosterior
from robula.models.law import ModelWithLaw
from robula.models.model import Model
from robula.models.precision import is_positive, weighted_precision, with_ridge
from robula.models.priors import Prior

_HALVINGS = 40
# Share of the rise that the slope promises which a step must keep (Armijo); a Newton step up a parabola keeps half.
_PROMISED = 0.1
# A squared Newton decrement is the squared distance to the mode in posterior widths. At this one, the step that is
# still made ends at about 1e-10 widths; and below this share of the log density its changes are rounding.
_ARRIVED, _ROUNDING = 1e-10, 1e-13
# A step by a held precision that is off by a factor of two either way rises by a quarter to three quarters of that.
_SERVES = (0.25, 0.75)
_LIMITED_MEMORY_STEPS, _PLAIN_STEPS = 200, 100
# Of the parameters given their hyperparameters, between two steps of those; their step's length and when they rest.
_INNER_STEPS = 2
_LONGEST, _SETTLED, _DIFFERENCE = 1.0, 1e-6, 1e-4


class HeldPrecision:
    """The precision that the last step towards a mode was made with, kept while it serves.

    For modes near each other, such as those of weights that change step by step: a precision costs as much as d
    gradients.
    """

    factor: FloatArray | None = None

    def hold(self, precision: FloatArray) -> None:
        """Keep a precision (d, d) if it is positive definite."""
        self.factor = np.asfortranarray(np.linalg.cholesky(precision)) if is_positive(precision) else None

    def step(self, slope: FloatArray) -> FloatArray:
        """Newton's step (d,) up a slope (d,); a factor in LAPACK's own order is not copied for it."""
        return np.asarray(cho_solve((self.factor, True), slope, check_finite=False), dtype=np.float64)

    def judge(self, rise: float, promised: float) -> None:
        """Drop it where a whole step did not rise by about half of what the slope promised, as up a parabola."""
        if not _SERVES[0] * promised <= rise <= _SERVES[1] * promised:
            self.factor = None


def weighted_mode(
    model: Model,
    weights: FloatArray,
    start: FloatArray,
    steps: int = 25,
    dense: bool | None = None,
    held: HeldPrecision | None = None,
    at_start: FloatArray | None = None,
) -> FloatArray:
    """Mode of sum_i w_i log p(row i | theta) + log prior, uphill from a start.

    Newton's method with step halving. Where the curvature is not positive definite its expected value, the Fisher
    information, takes its place (Fisher scoring), and for a model without a law the sizes of its eigenvalues. In a
    hierarchical model, where the joint density may have no maximum, hyperparameters are at the mode of their own
    marginal density (by expectation-maximisation) and the others at theirs given these.

    Parameters
    ----------
    weights : ndarray, shape (n,)
        At least 0. A row of weight 0 has no say, even where its log-likelihood is -inf.
    start : ndarray, shape (d,)
    steps : int
        At most so many Newton steps; one is exact where the log posterior is quadratic.
    dense : bool, optional
        Whether to form (d, d) matrices; if not, gradients only are used (L-BFGS). None asks the model.
    held : HeldPrecision, optional
        Of a mode near this one.
    at_start : ndarray, shape (n,), optional
        Log-likelihood of each row at the start, where it is known.

    Returns
    -------
    ndarray, shape (d,)
        Where the steps end: the start itself if nothing lies uphill of it.
    """
    counted = model.counted(np.asarray(weights))
    kept = slice(None) if (counted > 0).all() else counted > 0

    def log_density(theta: FloatArray) -> float:
        of_rows = at_start if at_start is not None and theta is start else model.log_likelihood(theta)
        return float(counted[kept] @ of_rows[kept] + model.prior.log_density(theta))

    def gradient(theta: FloatArray) -> FloatArray:
        total: FloatArray = model.weighted_gradient(theta, weights) + model.prior.gradient(theta)
        return total

    if not (model.dense_curvature if dense is None else dense):
        return limited_memory_mode(log_density, gradient, start)

    def expected(theta: FloatArray) -> FloatArray:
        assert isinstance(model, ModelWithLaw)
        return model.information(theta, weights) + model.prior.precision(theta)

    def precision(theta: FloatArray) -> FloatArray:
        return weighted_precision(model, weights, theta)

    at_once = type(model).posterior_derivatives is not Model.posterior_derivatives
    derivatives = _in_one_go(model, np.asarray(weights, dtype=np.float64)) if at_once else None
    value, slope, bent = derivatives or (log_density, gradient, precision)
    if model.posterior_is_normal:
        return _top_of_a_parabola(slope, bent, start, steps, held)
    apart = model.hyperparameters
    informed = expected if isinstance(model, ModelWithLaw) else None
    if not apart.any() or apart.all():
        return newton_mode(value, slope, bent, start, steps, informed, held)
    inner = ~apart
    block = np.ix_(inner, inner)
    theta = np.array(start, dtype=np.float64)
    for _ in range(steps):

        def within(values: FloatArray, held: FloatArray = theta) -> FloatArray:
            whole = held.copy()
            whole[inner] = values
            return whole

        found = newton_mode(
            lambda values: value(within(values)),
            lambda values: slope(within(values))[inner],
            lambda values: bent(within(values))[block],
            theta[inner],
            _INNER_STEPS,
            None if informed is None else lambda values: expected(within(values))[block],
        )
        at = within(found)
        moved = _raised_hyperparameters(model.prior, at, apart, bent(at)[block])
        settled = float(np.abs(moved - theta).max()) < _SETTLED
        theta = moved
        if settled:
            break
    return theta


def _top_of_a_parabola(
    gradient: Callable[[FloatArray], FloatArray],
    precision: Callable[[FloatArray], FloatArray],
    start: FloatArray,
    steps: int,
    held: HeldPrecision | None,
) -> FloatArray:
    """Mode (d,) of a quadratic log density: one whole step, and a second that takes away the rounding of the first."""
    theta = np.array(start, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(min(steps, 2)):
            theta += _uphill(gradient(theta), theta, precision, None, held)
    return theta


def _in_one_go(
    model: Model, weights: FloatArray
) -> tuple[Callable[[FloatArray], float], Callable[[FloatArray], FloatArray], Callable[[FloatArray], FloatArray]]:
    """Log posterior, gradient and precision as functions that share one evaluation at each theta."""

    @lru_cache(2)
    def at(theta: bytes) -> tuple[float, FloatArray, FloatArray]:
        return model.posterior_derivatives(np.frombuffer(theta), weights)

    def evaluated(theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        return at(np.ascontiguousarray(theta).tobytes())

    return (
        lambda theta: evaluated(theta)[0],
        lambda theta: evaluated(theta)[1],
        lambda theta: with_ridge(evaluated(theta)[2]),
    )


def _raised_hyperparameters(prior: Prior, theta: FloatArray, apart: BoolArray, precision: FloatArray) -> FloatArray:
    """One step of expectation-maximisation for the parameters (d,) that rows do not depend on themselves.

    The joint density of group effects and their scale has no maximum (it is infinite where all effects are equal and
    the scale is 0), but the scale's own marginal density has. The expectation is over the normal approximation of the
    other parameters, by points that are exact for a quadratic log prior.
    """
    inner = np.flatnonzero(~apart)
    values, vectors = np.linalg.eigh(precision)
    roots = np.sqrt(np.maximum(np.abs(values), 1e-10 * max(float(np.abs(values).max()), 1e-300)))
    spread = math.sqrt(len(inner)) * vectors / roots
    points = np.repeat(theta[None], 2 * len(inner), axis=0)
    points[:, inner] += np.concatenate([spread.T, -spread.T])
    outer = np.flatnonzero(apart)

    def moved(shift: FloatArray) -> FloatArray:
        other = points.copy()
        other[:, outer] += shift
        return other

    def slope(shift: FloatArray) -> FloatArray:
        mean: FloatArray = prior.gradient(moved(shift))[:, outer].mean(axis=0)
        return mean

    here = np.zeros(len(outer))
    rise = slope(here)
    steps = _DIFFERENCE * np.eye(len(outer))
    curvature = np.stack([(slope(-step) - slope(step)) / (2.0 * _DIFFERENCE) for step in steps])
    if not (np.isfinite(curvature).all() and np.isfinite(rise).all()):
        return theta
    sizes, axes = np.linalg.eigh(0.5 * (curvature + curvature.T))
    direction = axes @ ((axes.T @ rise) / np.maximum(np.abs(sizes), 1e-6))
    direction = direction * min(1.0, _LONGEST / max(float(np.abs(direction).max()), 1e-300))
    value = float(prior.log_density(points).mean())
    for halving in range(_HALVINGS):
        tried = 0.5**halving * direction
        if float(prior.log_density(moved(tried)).mean()) >= value:
            result = theta.copy()
            result[outer] += tried
            return result
    return theta


def newton_mode(
    log_density: Callable[[FloatArray], float],
    gradient: Callable[[FloatArray], FloatArray],
    precision: Callable[[FloatArray], FloatArray],
    start: FloatArray,
    steps: int,
    expected_precision: Callable[[FloatArray], FloatArray] | None = None,
    held: HeldPrecision | None = None,
) -> FloatArray:
    """Newton's method on any log density, given its gradient (d,) and negative Hessian (d, d); see weighted_mode."""
    theta = np.asarray(start, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        value = log_density(theta)
        for _ in range(steps):
            slope = gradient(theta)
            direction = _uphill(slope, theta, precision, expected_precision, held)
            gain = float(slope @ direction)
            arrived = not gain > max(_ARRIVED, _ROUNDING * abs(value))
            for halving in range(1 if arrived else _HALVINGS):
                candidate = theta + 0.5**halving * direction
                risen = log_density(candidate)
                # A rise that is small beside what the slope promised is the far side of a hill, or another country.
                least = 0.0 if arrived else _PROMISED * 0.5**halving * gain
                # Also where the start has no density at all.
                if risen >= value + least - _ROUNDING * abs(value) or (np.isfinite(risen) and not np.isfinite(value)):
                    if held is not None and not arrived:
                        held.judge(risen - value, gain)
                    theta, value = candidate, risen
                    break
            else:
                break
            if arrived:
                break
    return np.array(theta)


def limited_memory_mode(
    log_density: Callable[[FloatArray], float],
    gradient: Callable[[FloatArray], FloatArray],
    start: FloatArray,
    steps: int = _LIMITED_MEMORY_STEPS,
) -> FloatArray:
    """L-BFGS on any log density, by its gradients alone: for models whose Hessian is too large."""

    def objective(theta: FloatArray) -> tuple[float, FloatArray]:
        value = log_density(theta)
        return (-value, -gradient(theta)) if np.isfinite(value) else (1e300, np.zeros_like(theta))

    options = {"maxiter": steps}
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x, dtype=np.float64)


def _uphill(
    slope: FloatArray,
    theta: FloatArray,
    precision: Callable[[FloatArray], FloatArray],
    expected_precision: Callable[[FloatArray], FloatArray] | None,
    held: HeldPrecision | None,
) -> FloatArray:
    """Newton's step where the precision is positive definite, else Fisher's, else that of the eigenvalues' sizes."""
    if held is not None and held.factor is not None and np.isfinite(slope).all():
        return held.step(slope)
    matrix = precision(theta)
    if not (np.isfinite(matrix).all() and np.isfinite(slope).all()):
        return np.zeros_like(slope)
    if is_positive(matrix):
        if held is not None:
            held.hold(matrix)
        return np.asarray(np.linalg.solve(matrix, slope), dtype=np.float64)
    expected = None if expected_precision is None else expected_precision(theta)
    if expected is not None and np.isfinite(expected).all() and is_positive(expected):
        return np.asarray(np.linalg.solve(expected, slope), dtype=np.float64)
    values, vectors = np.linalg.eigh(matrix)
    sizes = np.maximum(np.abs(values), 1e-12 * max(float(np.abs(values).max()), 1e-300))
    step: FloatArray = vectors @ ((vectors.T @ slope) / sizes)
    return step


def laplace(model: Model, weights: FloatArray | None = None) -> GaussianPosterior | None:
    """Normal approximation of the posterior of the rows so weighted (n,), or of all; exact for regression and means.

    No chain: bad rows of high leverage own the curvature, and a plain chain on them may never arrive. None where
    Newton's method finds no mode.
    """
    weights = np.ones(model.n_rows) if weights is None else weights
    theta = weighted_mode(model, weights, model.initial, _PLAIN_STEPS, dense=True)
    with np.errstate(over="ignore", invalid="ignore"):
        gradient = model.weighted_gradient(theta, weights) + model.prior.gradient(theta)
        precision = model.curvature(theta, weights) + model.prior.precision(theta)
    if not (np.isfinite(gradient).all() and np.isfinite(precision).all() and is_positive(precision)):
        return None
    values, vectors = np.linalg.eigh(precision)
    if not values[0] > 0:
        return None
    covariance: FloatArray = (vectors / values) @ vectors.T
    return GaussianPosterior(theta, covariance) if gradient @ covariance @ gradient < 1e-4 else None
