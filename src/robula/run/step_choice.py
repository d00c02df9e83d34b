"""Step sizes: a number, a sequence, a function of the step, or shortened until the measured bias is small enough."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from robula._types import FloatArray
from robula._validation import check_positive, warn
from robula.exceptions import InputError, StepSizeWarning
from robula.kernels.kernel import Kernel
from robula.run.assembly import Assembly
from robula.run.step_pair import StepBias, measure_step_bias, run_pair
from robula.tables.arrays import as_option

# A pilot makes this many steps, or this many relaxation times of the slowest direction if that is more: with fewer the
# bias has not built up yet. A step so small that it needs more than the most is not worth its run.
_PILOT_STEPS, _PILOT_RELAXATIONS, _MOST_STEPS = 500, 20.0, 10_000
_PILOTS = 6


@dataclass(frozen=True)
class StepFor:
    """Ask for a step size by the bias it may cause: ``sample(..., step_size=robula.StepFor(bias=0.05))``.

    A short pilot with halved steps measures the bias, and shortens the kernel's default step until it is met.

    Parameters
    ----------
    bias : float
        Allowed shift of the mean in posterior widths, and allowed relative error of the spread.
    """

    bias: float

    def __post_init__(self) -> None:
        check_positive(self.bias, "bias", "the allowed bias of the step size")


StepSize = float | Sequence[float] | Callable[[int], float] | StepFor | None


def check_step_size(step_size: StepSize, steps: int) -> FloatArray | None:
    """Return the step size of each of ``steps`` steps, or None if it is to be chosen; refuse it before any work.

    A function is called with k = 1, 2, ..., the paper's eta_k.
    """
    if step_size is None or isinstance(step_size, StepFor):
        return None
    if callable(step_size):
        try:
            sizes = np.array([float(step_size(k)) for k in range(1, steps + 1)])
        except Exception as error:
            raise InputError(
                f"step_size is a function that failed ({type(error).__name__}: {error}); it is called with k = 1, 2, "
                "... and must return a positive number."
            ) from error
    else:
        sizes = as_option(step_size, "step_size")
        if sizes.ndim == 0:
            return np.full(steps, check_positive(step_size, "step_size", "a step size"))
        if sizes.ndim != 1 or len(sizes) < steps:
            raise InputError(
                f"step_size has shape {sizes.shape}; the run has burn_in + draws * thin = {steps} steps and needs a "
                "step size for each. Pass a longer sequence, a number or a function of the step."
            )
        sizes = sizes[:steps]
    wrong = np.flatnonzero(~(np.isfinite(sizes) & (sizes > 0)))
    if len(wrong):
        raise InputError(
            f"step_size is {sizes[wrong[0]]:g} at step {wrong[0] + 1}; every step size must be a finite number above 0."
        )
    return sizes


def step_size_from(step_size: StepSize, kernel: Kernel) -> str:
    """Say where the step size of a run comes from."""
    if step_size is None:
        return kernel.step_rule
    return f"for a bias of {step_size.bias:g}" if isinstance(step_size, StepFor) else "given"


def refuse_bias_of_adjusted(kernel: Kernel) -> None:
    """Refuse to shorten the step of a kernel that has no bias."""
    if kernel.needs_density:
        raise InputError(
            f"StepFor(...) shortens a Langevin kernel's step until its bias is small, and {kernel!r} has none: "
            "leave step_size=None."
        )


def choose_step(
    parts: Assembly,
    chains: int,
    allowed: float,
    rng: np.random.Generator,
) -> StepBias:
    """Return a step size of at most the kernel's default, and the bias measured there.

    Parameters
    ----------
    parts : Assembly
    chains : int
        As many start at the centre.
    allowed : float
        Largest bias, in widths.
    """
    kernel, start = parts.adapted.kernel, np.tile(parts.centre.theta, (chains, 1))
    step_size = parts.default_step_size
    for _ in range(_PILOTS):
        relaxation = kernel.relaxation_steps(step_size, parts.adapted.strong_convexity) or 0.0
        steps = max(_PILOT_STEPS, min(math.ceil(_PILOT_RELAXATIONS * relaxation), _MOST_STEPS))
        pair = run_pair(kernel, parts.make_target(), start, step_size, steps, rng.spawn(chains))
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
