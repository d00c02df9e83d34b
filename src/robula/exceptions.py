"""Errors and warnings that robula raises on purpose; nothing else should reach a caller."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


class RobulaError(Exception):
    """Base class of every error that robula raises."""


class InputError(RobulaError, ValueError):
    """An argument was refused before any work started.

    The message says what came, what is allowed and what to do.
    """


class MissingExtraError(RobulaError, ImportError):
    """An optional dependency is not installed; the message has the install command."""


class DatasetUnavailableError(RobulaError, OSError):
    """A data set is neither here nor to be had; the message has the remedies."""


@dataclass(eq=False)
class DivergenceError(RobulaError, ArithmeticError):
    """A chain left every plausible region, or stopped being a number.

    Attributes
    ----------
    step : int
        Number of the step, counted from 1 with burn-in included, at which the chain was stopped.
    step_size : float
        Step size of that step.
    suggested_step_size : float
        A smaller step size to try.
    draws : ndarray, shape (chains, draws so far, d)
        The draws kept before the divergence; empty when it happened during burn-in.
    last_state : ndarray, shape (chains, d)
        The last state in which every chain was sound.
    chains : tuple of int
        Which diverged.
    """

    step: int
    step_size: float
    suggested_step_size: float
    draws: NDArray[np.float64]
    last_state: NDArray[np.float64]
    chains: tuple[int, ...] = field(default_factory=tuple)

    def __str__(self) -> str:
        which = ", ".join(str(chain) for chain in self.chains) or "?"
        return (
            f"chain {which} diverged at step {self.step} with step size {self.step_size:.3g}. "
            f"Try step_size={self.suggested_step_size:.3g}, or step_size=None to have it chosen from the "
            f"curvature of the trusted rows. {self.draws.shape[1]} draws per chain from before the divergence "
            "are in the `draws` attribute of this error."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return (
            type(self),
            (self.step, self.step_size, self.suggested_step_size, self.draws, self.last_state, self.chains),
        )


class RobulaWarning(UserWarning):
    """Base class of every warning that robula issues."""


class BreakdownWarning(RobulaWarning):
    """A robust mean is left with so few rows, or can be left with so many bad ones, that its guarantee means little."""


class MisfitWarning(RobulaWarning):
    """The model does not fit the rows; the message says what is off and what to try."""


class TruncationBiasWarning(RobulaWarning):
    """The selector truncates, and on this model's skewed gradients truncation is biased even without bad rows."""


class StepSizeWarning(RobulaWarning):
    """The step size is beyond what the curvature of the trusted rows allows."""


class ConvergenceWarning(RobulaWarning):
    """The chains of a run do not agree, or hold too few effective draws."""


class GuardWarning(RobulaWarning):
    """The drift guard was still at work after burn-in, so the draws are biased."""


class RepeatWarning(RobulaWarning):
    """A run is repeated by another version of robula."""


class InterruptedWarning(RobulaWarning):
    """Sampling was interrupted; the result holds the draws made until then."""
