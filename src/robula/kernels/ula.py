"""The unadjusted Langevin algorithm: Euler's scheme, the paper's eq:ula_update and Algorithm 1 (alg:rula)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from robula.kernels.kernel import Drift, Info, Kernel, State, standard_normal


@dataclass(frozen=True)
class ULA(Kernel):
    """theta <- theta + h drift(theta) + sqrt(2 h) xi.

    On a Gaussian target of precision k its stationary variance is 1 / (k (1 - h k / 2)), not 1 / k, and it is
    unstable for h k >= 2.
    """

    citations: ClassVar[tuple[str, ...]] = ("bhatia2019",)

    def step(
        self, rngs: Sequence[np.random.Generator], state: State, drift: Drift, step_size: float
    ) -> tuple[State, Info]:
        """Move all chains by one step."""
        force = drift(state.theta)
        noise = standard_normal(rngs, state.theta.shape[1])
        theta = state.theta + step_size * force + math.sqrt(2.0 * step_size) * noise
        return State(theta), Info(force)

    def variance_inflation(self, step_size: float, precision: float) -> float | None:
        """1 / (1 - h k / 2), or None where the chain is unstable."""
        stiffness = step_size * precision
        return 1.0 / (1.0 - stiffness / 2.0) if stiffness < 2.0 else None
