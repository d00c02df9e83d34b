"""Step sizes as a number, a sequence, a function of the step, or from the bias they may cause."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from robula._types import FloatArray
from robula._validation import check_positive
from robula.exceptions import InputError
from robula.tables.arrays import as_numbers


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
        sizes = as_numbers(step_size, "step_size")
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
