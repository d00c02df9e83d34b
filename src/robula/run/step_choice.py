"""Shorten a step until its measured bias is small enough."""

from __future__ import annotations

import math

import numpy as np

from robula._types import FloatArray
from robula._warn import warn
from robula.exceptions import StepSizeWarning
from robula.kernels.kernel import Adapted
from robula.run.step_bias import StepBias, measure_step_bias
from robula.run.step_pair import run_pair
from robula.target.drift_maker import DriftMaker

# A pilot makes this many steps, or this many relaxation times of the slowest direction if that is more: with fewer the
# bias has not built up yet. A step so small that it needs more than the most is not worth its run.
_PILOT_STEPS, _PILOT_RELAXATIONS, _MOST_STEPS = 500, 20.0, 10_000
_PILOTS = 6


def choose_step(
    adapted: Adapted,
    drift_for: DriftMaker,
    start: FloatArray,
    allowed: float,
    rng: np.random.Generator,
) -> StepBias:
    """Return a step size of at most the kernel's default, and the bias measured there.

    Parameters
    ----------
    adapted : Adapted
        The kernel.
    drift_for, start
        As in :func:`robula.run.step_pair.run_pair`.
    allowed : float
        Largest bias, in widths.
    """
    kernel = adapted.kernel
    step_size = kernel.default_step_size(adapted.smoothness)
    for _ in range(_PILOTS):
        relaxation = kernel.relaxation_steps(step_size, adapted.strong_convexity) or 0.0
        steps = max(_PILOT_STEPS, min(math.ceil(_PILOT_RELAXATIONS * relaxation), _MOST_STEPS))
        pair = run_pair(kernel, drift_for, start, step_size, steps, rng.spawn(len(start)))
        measured = measure_step_bias(*pair, step_size, kernel.order)
        if measured.total <= allowed:
            return measured
        if steps == _MOST_STEPS:
            break
        # The bias falls like h^order; neither trust a noisy measurement too far nor creep.
        step_size *= float(np.clip((allowed / measured.total) ** (1.0 / kernel.order), 0.1, 0.8))
    warn(
        f"a bias of {allowed:g} was asked for; the smallest step size tried, {measured.step_size:.3g}, has "
        f"{measured.total:.2g} including the pilot's Monte Carlo error. Ask for a larger bias, or pass step_size=.",
        StepSizeWarning,
    )
    return measured
