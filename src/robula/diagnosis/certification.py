"""After a run: the bound it stands under, what was observed, and where the error budget goes, in words."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from robula._threads import few_threads_for_small_data
from robula._types import FloatArray
from robula._validation import check_positive
from robula.diagnosis.step_halving import step_bias
from robula.exceptions import InputError
from robula.kernels.kernel import Kernel
from robula.kernels.ula import ULA
from robula.models.model import Model
from robula.result.convergence import convergence
from robula.result.posterior import Posterior
from robula.run.record import was_of
from robula.run.step_pair import StepBias
from robula.selectors.sample_mean import SampleMean
from robula.selectors.selection import Selector
from robula.theory.bounds import Bound
from robula.theory.constants import Constants, share_of_bad_rows
from robula.theory.corrected import bound_for

#: Under which reading of Algorithm 2 the gradient error that the theorem assumes is bounded (docs/errata.md).
_READINGS = {
    True: "Reading: Algorithm 2 as printed recurses on truncated rows; its error bound (lem:rob_bound) fails unless "
    "the share of bad rows stays below 1/6 at every level, which is one of the conditions.",
    False: "Reading: every level starts from all rows; with Algorithm 2's own rule the gradient error is proved "
    "(robula.theory.all_rows_constant), with any other it is assumed.",
}
# Draws at which the covariance of the trusted rows' gradients is measured.
_PROBES = 20


class Certificate(NamedTuple):
    """What can be said about a finished run.

    Attributes
    ----------
    bound : Bound
        The corrected theorem at the run's own numbers, on W2 squared.
    width : float
        Posterior width sqrt(tr Cov) of the draws; the unit of the figures in :attr:`text`.
    effective_sample_size : float
        Smallest over the parameters.
    r_hat : float
        Largest over the parameters; NaN with too few draws to tell.
    step_halving : StepBias or None
        What :func:`robula.step_bias` measured.
    mean_shift : float
        Error budget: bound on the gradient error over m-bar, the most that bad rows can move the mean under the
        assumed C_R.
    C_R : float
        The universal constant used.
    text : str
        What is proved, measured and assumed, in words.
    """

    bound: Bound
    width: float
    effective_sample_size: float
    r_hat: float
    step_halving: StepBias | None
    mean_shift: float
    C_R: float
    text: str


@few_threads_for_small_data
def certificate(
    model: Model,
    posterior: Posterior,
    *,
    C_R: float = 1.0,
    delta: float | None = None,
    selector: Selector | None = None,
    kernel: Kernel | None = None,
    step_halving: bool = True,
) -> Certificate:
    """Put the theorem's bound for a finished run beside what can be observed about it.

    Parameters
    ----------
    model : Model
    posterior : Posterior
        Of this model, with a constant step size.
    C_R : float, optional
        The universal constant of the gradient error. The paper does not give it;
        :func:`robula.theory.measure_gradient_constant` measures it where the clean rows are known. Everything that
        uses it is assumed, not proved, unless every level of the recursive mean started from all rows and C_R is
        :func:`robula.theory.all_rows_constant`.
    delta : float, optional
        Read the run's contamination as the probability that a row is bad, and certify for gamma = epsilon + e_n, a
        bound on their share with probability 1 - delta; None takes it as the share itself.
    selector, kernel : optional
        Only for a run with objects of your own that cannot be made again: needed to go on with half the step.
    step_halving : bool, optional
        Measure the bias of the step by :func:`robula.step_bias`.

    Returns
    -------
    Certificate
        Print its ``text``.
    """
    if not isinstance(posterior, Posterior):
        raise InputError(
            "certificate needs the model, and the posterior that robula.sample drew from it, in this order."
        )
    posterior.require_model(model, "certificate")
    settings = posterior.settings
    if "smoothness" not in settings:
        raise InputError(f"there is no certificate for this posterior: {posterior.why_no_run}.")
    if kernel is None and not was_of(settings, "kernel", ULA):
        raise InputError(
            f'the theorem is about ULA, and this run moved by {settings["kernel"]}. Use rob_ula or kernel="ula" for a '
            "certificate; robula.step_bias and robula.diagnose work for every kernel."
        )
    C_R = check_positive(C_R, "C_R", "the constant of the gradient error")
    n, dim = model.n_rows, model.dim
    epsilon = share_of_bad_rows(float(settings["contamination"]), n, delta)
    # A rule that thins out its rows meets a larger share of bad ones than the data hold.
    nested = settings.get("last_level_share", 0.0) > settings["contamination"]
    L, m = settings["smoothness"] / n, settings["strong_convexity"] / n
    if not m > 0:
        raise InputError(
            "the posterior of the trusted rows is not strongly convex at its centre: the theorem says nothing."
        )
    first, second = _gradient_covariance(model, posterior)
    width = math.sqrt(float(np.trace(posterior.covariance)))
    mode_norm = float(np.linalg.norm(posterior.mean))
    constants = Constants(n, dim, epsilon, max(L, m), m, first, second, mode_norm, width)
    steps = settings["burn_in"] + settings["draws"] * settings["thin"]
    bound = bound_for(constants, steps, settings["step_size"], C_R, "truncated" if nested else "all_rows")
    log_d = 1.0 + math.log(dim)
    shift = math.sqrt(epsilon * C_R * log_d * second) / m
    halving = step_bias(model, posterior, selector=selector, kernel=kernel) if step_halving else None
    found = convergence(posterior.draws)
    result = Certificate(bound, width, found.effective_draws, found.r_hat, halving, shift, C_R, "")
    plain = was_of(settings, "selector", SampleMean)
    return result._replace(text=_words(result, model, plain, nested))


def _gradient_covariance(model: Model, posterior: Posterior) -> tuple[float, float]:
    """Measure C_sigma1 and C_sigma2 on the trusted rows: |Sigma_theta| at the mean, and its growth over some draws."""
    weights = posterior.row_weights / posterior.row_weights.sum()

    def norm(theta: FloatArray) -> float:
        gradients = model.gradients(theta)
        centred = gradients - weights @ gradients
        return float(np.linalg.eigvalsh((centred * weights[:, None]).T @ centred)[-1])

    at_mean = norm(posterior.mean)
    draws = posterior.flat_draws[:: max(1, len(posterior.flat_draws) // _PROBES)]
    growth = [
        (norm(theta) - at_mean) / max(float(((theta - posterior.mean) ** 2).sum()), 1e-300)
        for theta in draws
        if np.any(theta != posterior.mean)
    ]
    return (0.0 if model.gradients_translate else max(0.0, *growth)), at_mean


def _words(result: Certificate, model: Model, plain: bool, nested: bool) -> str:
    bound, width = result.bound, result.width

    def widths(squared: float) -> str:
        return f"{math.sqrt(squared) / width:.3g}"

    lines = [
        f"Bound on W2 to the clean posterior: {widths(bound.total)} posterior widths "
        f"(start {widths(bound.initial)}, step size {widths(bound.discretization)}, "
        f"bad rows {widths(bound.contamination)}; squares add).",
        f"Error budget, with C_R = {result.C_R:g} assumed: bad rows move the mean by at most "
        f"{result.mean_shift / width:.3g} widths.",
        f"Observed: smallest effective sample size {result.effective_sample_size:.0f}, "
        f"largest R-hat {result.r_hat:.3f}.",
    ]
    if result.step_halving is not None:
        lines.append(f"Observed by halving the step: {result.step_halving.text}")
    if plain and result.mean_shift > 0:
        lines.append("Not a bound: the run used the plain mean, which bad rows can move arbitrarily far.")
    for violation in bound.violations:
        lines.append(f"Not a bound: the theorem's condition fails. {violation}.")
    lines += [
        "Proved: the inequality itself, given its conditions and constants (robula's corrected form of thm:RULA_conv).",
        _READINGS[nested],
        "Measured: curvatures and gradient covariances, on the trusted rows, which stand in for the clean ones.",
        f"Assumed: C_R = {result.C_R:g}, the universal constant the paper does not give; at most a share "
        "contamination of the rows is bad"
        + (
            "."
            if model.curvature_bound(np.ones(model.n_rows)) is not None
            else "; the curvature at the centre holds everywhere."
        ),
    ]
    if bound.w2 > 10 * width:
        lines.append(f"At {bound.w2 / width:.0f} widths the bound is vacuous here; what was observed says more.")
    return "\n".join(lines)
