"""Leimkuhler and Matthews' scheme: Euler's cost, and the right variance on every Gaussian target."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from robula._types import FloatArray
from robula.kernels.kernel import Adapted, Drift, Info, Kernel, State, standard_normal

if TYPE_CHECKING:
    from robula.target.robust_centre import RobustCentre


@dataclass(frozen=True)
class LeimkuhlerMatthews(Kernel):
    """theta <- theta + h drift(theta) + sqrt(2 h) (xi_k + xi_{k+1}) / 2.

    Each noise counts in two steps, half in each. On a Gaussian target of precision k the stationary variance is 1 / k
    for every h k < 2, the autocorrelation at lag j is (1 - h k / 2) (1 - h k)^(j - 1), and the integrated
    autocorrelation time is 2 / (h k). On other targets the bias of means and variances is of order h^2 (ULA's: h).
    """

    citations: ClassVar[tuple[str, ...]] = ("leimkuhler2013",)
    order: ClassVar[int] = 2

    def init(self, rngs: Sequence[np.random.Generator], theta: FloatArray) -> State:
        """Return the state of chains that start at theta (c, d), with the noise the first step shares."""
        return State(theta, (standard_normal(rngs, theta.shape[1]),))

    def step(
        self, rngs: Sequence[np.random.Generator], state: State, drift: Drift, step_size: float
    ) -> tuple[State, Info]:
        """Move all chains by one step."""
        force = drift(state.theta)
        (last,) = state.memory
        noise = standard_normal(rngs, state.theta.shape[1])
        theta = state.theta + step_size * force + math.sqrt(step_size / 2.0) * (last + noise)
        return State(theta, (noise,)), Info(force)

    def adapt(self, centre: RobustCentre, rng: np.random.Generator) -> Adapted:
        """Where the curvature has no bound, take the largest met nearby."""
        return Adapted(self, centre.largest_curvature_nearby(rng), centre.strong_convexity)

    def variance_inflation(self, step_size: float, precision: float) -> float | None:
        """1, or None where the chain is unstable."""
        return 1.0 if step_size * precision < 2.0 else None
