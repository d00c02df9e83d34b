"""What step size and how many steps a wanted accuracy needs, on the exact bound rather than on its O() form."""

from __future__ import annotations

import math
from typing import NamedTuple

from robula.exceptions import InputError
from robula.theory._checks import check_positive
from robula.theory.bounds import Bound, Recursion
from robula.theory.constants import Constants
from robula.theory.corrected import bound_for


class Plan(NamedTuple):
    """Numbers to run with.

    Attributes
    ----------
    step_size : float
    steps : int
    bound : Bound
        At these numbers; its non-contamination part is at most the target.
    accuracy : float
        The wanted W2 in posterior widths.
    width : float
        The width it is measured in.
    contamination_widths : float
        What the bad rows add at most, in widths: no number of steps removes it.
    remark_step_size, remark_steps : float
        The O() values of the remark after the theorem, with constant 1.
    """

    step_size: float
    steps: int
    bound: Bound
    accuracy: float
    width: float
    contamination_widths: float
    remark_step_size: float
    remark_steps: float


def plan(
    constants: Constants,
    accuracy: float,
    C_R: float = 0.0,
    width: float | None = None,
    recursion: Recursion = "truncated",
) -> Plan:
    """Return the step size and the fewest steps for which the bound, without contamination, meets the accuracy.

    Parameters
    ----------
    constants : Constants
        From :func:`mean_constants`, :func:`regression_constants`, or made by hand (a normal prior of variance v gives
        m = 1 / v at least, for logistic regression too).
    accuracy : float
        W2 in posterior widths.
    C_R : float, optional
        The universal constant, measured or assumed; 0 plans for clean rows.
    width : float, optional
        Posterior width; None takes that of the constants.
    recursion : {"truncated", "all_rows"}, optional
        How Algorithm 2 is read; see :func:`wasserstein_bound`.
    """
    if not isinstance(constants, Constants):
        raise InputError(
            "plan needs the constants of a problem: make them with mean_constants or regression_constants."
        )
    target_width = check_positive(accuracy, "accuracy", "the accuracy") * (
        constants.width if width is None else check_positive(width, "width", "the width")
    )
    target = target_width**2
    largest = 1.0 / (constants.n * constants.smoothness)

    def bound(step_size: float, steps: int) -> Bound:
        return bound_for(constants, steps, step_size, C_R, recursion)

    def steps_needed(step_size: float) -> float:
        if bound(step_size, 0).discretization >= target:
            return math.inf
        low, high = 0, 1
        while _left(bound(step_size, high)) > target:
            low, high = high, 2 * high
            if high > 10**12:
                return math.inf
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if _left(bound(step_size, middle)) <= target else (middle, high)
        return float(high)

    # The number of steps is large at both ends: a golden-section search on the logarithm of the step size.
    upper = largest
    while steps_needed(upper) == math.inf:
        upper /= 2.0
        if upper < 1e-12 * largest:
            raise InputError(f"accuracy={accuracy:g} widths cannot be reached by any step size; ask for less.")
    best = min((steps_needed(upper * 2.0 ** (-step / 8.0)), upper * 2.0 ** (-step / 8.0)) for step in range(33))
    steps, step_size = int(best[0]), best[1]
    final = bound(step_size, steps)
    condition = constants.smoothness / constants.strong_convexity
    remark_steps = condition * math.log(max(bound(step_size, 0).initial / target, math.e))
    return Plan(
        step_size,
        steps,
        final,
        accuracy,
        target_width / accuracy,
        math.sqrt(final.contamination) / (target_width / accuracy),
        target / (constants.n * condition * constants.smoothness * constants.dim),
        remark_steps,
    )


def _left(bound: Bound) -> float:
    """The part of the bound that steps and step size control."""
    return bound.initial + bound.discretization
