"""Independent draws where the target is a normal distribution: linear and mean models with fixed row weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from robula.exceptions import InputError
from robula.kernels.kernel import Info, Kernel, Noise, State, Target, standard_normal


@dataclass(frozen=True)
class Exact(Kernel):
    """theta <- mean + F xi, with F F' the covariance of the weighted rows' posterior.

    Every draw is independent of the one before it; burn-in and step size have no meaning.
    """

    name: ClassVar[str | None] = "exact"
    citations: ClassVar[tuple[str, ...]] = ()
    needs_density: ClassVar[bool] = True
    independent: ClassVar[bool] = True
    step_rule = "none: every draw is independent of the one before"

    def step(self, rngs: Sequence[Noise], state: State, target: Target, step_size: float) -> tuple[State, Info]:
        """Draw all chains anew."""
        law = target.gaussian
        if law is None:
            raise InputError(
                'kernel="exact" draws from normal posteriors: MeanModel, or LinearModel of known noise scale, with a '
                'normal or flat prior. Use kernel="auto" for any other.'
            )
        theta = law.mean + standard_normal(rngs, state.theta.shape[1]) @ law.factor.T
        return State(theta), Info(target.drift(theta))

    def variance_inflation(self, step_size: float, precision: float) -> float | None:
        """1: there is no step."""
        return 1.0

    def relaxation_steps(self, step_size: float, precision: float) -> float | None:
        """Return 1: a draw has forgotten the one before it."""
        return 1.0
