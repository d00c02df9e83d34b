"""BAOAB: a kinetic (underdamped) Langevin scheme with one gradient per step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from robula._types import FloatArray
from robula._validation import check_positive
from robula.kernels.kernel import Adapted, Drift, Info, Kernel, State, standard_normal

if TYPE_CHECKING:
    from robula.target.robust_centre import RobustCentre


@dataclass(frozen=True)
class BAOAB(Kernel):
    """Half a kick (B), half a drift (A), friction and noise (O), half a drift (A), half a kick (B).

    Position and velocity follow d theta = v dt, dv = drift(theta) dt - friction v dt + sqrt(2 friction) dW. The step
    size is a time step: the chain is unstable from h = 2 / sqrt(L), not from 2 / L. On a Gaussian target of precision
    k the stationary variance of the positions is 1 / k for every h < 2 / sqrt(k). Its slowest direction needs of the
    order of sqrt(L / m) steps where Euler's scheme needs L / m.

    The kick that ends a step and the one that begins the next use the same force and are done as one: the memory
    holds the velocity before them.

    Parameters
    ----------
    friction : float, optional
        None is sqrt(m), m the smallest curvature at the robust centre (1 for a kernel that saw no posterior).
    """

    friction: float | None = None
    citations: ClassVar[tuple[str, ...]] = ("leimkuhler2013",)
    order: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if self.friction is not None:
            check_positive(self.friction, "friction", "the friction of a kinetic kernel")

    def init(self, rngs: Sequence[np.random.Generator], theta: FloatArray) -> State:
        """Return the state of chains that start at theta (c, d) with a normal velocity."""
        return State(theta, (standard_normal(rngs, theta.shape[1]),))

    def step(
        self, rngs: Sequence[np.random.Generator], state: State, drift: Drift, step_size: float
    ) -> tuple[State, Info]:
        """Move all chains by one step."""
        (velocity,) = state.memory
        force = drift(state.theta)
        velocity = velocity + step_size * force
        kept = self._kept(step_size)
        noise = standard_normal(rngs, state.theta.shape[1])
        half = state.theta + 0.5 * step_size * velocity
        velocity = kept * velocity + math.sqrt(1.0 - kept**2) * noise
        return State(half + 0.5 * step_size * velocity, (velocity,)), Info(force)

    def adapt(self, centre: RobustCentre, rng: np.random.Generator) -> Adapted:
        """Set the friction; where the curvature has no bound, take the largest met nearby."""
        smoothness = centre.largest_curvature_nearby(rng)
        weakest = centre.strong_convexity if centre.strong_convexity > 0 else 1e-3 * smoothness
        return Adapted(self.tuned(weakest), smoothness, centre.strong_convexity)

    def tuned(self, strong_convexity: float) -> Kernel:
        """Set the friction, if it was not given."""
        return self if self.friction is not None else replace(self, friction=math.sqrt(strong_convexity))

    def default_step_size(self, smoothness: float) -> float:
        """Return sqrt(2 / L): with much friction that is Leimkuhler and Matthews' scheme with its own step of 1 / L."""
        return math.sqrt(2.0 / smoothness)

    def stable_below(self, smoothness: float) -> float:
        """Return 2 / sqrt(L)."""
        return 2.0 / math.sqrt(smoothness)

    def variance_inflation(self, step_size: float, precision: float) -> float | None:
        """1, or None where the chain is unstable."""
        return 1.0 if step_size**2 * precision < 4.0 else None

    def relaxation_steps(self, step_size: float, precision: float) -> float | None:
        """From the largest eigenvalue of the scheme's linear map; None where it is not below 1."""
        radius = float(np.abs(np.linalg.eigvals(self._linear_map(step_size, precision))).max())
        return 1.0 / -math.log(radius) if 0 < radius < 1 else None

    def _kept(self, step_size: float) -> float:
        """Share of the velocity that friction leaves after one step."""
        return math.exp(-step_size * (1.0 if self.friction is None else self.friction))

    def _linear_map(self, step_size: float, precision: float) -> FloatArray:
        """Mean of (theta, velocity) after a step on a Gaussian of this precision."""
        kick = np.array([[1.0, 0.0], [-step_size * precision, 1.0]])
        travel = np.array([[1.0, 0.5 * step_size], [0.0, 1.0]])
        whole: FloatArray = travel @ np.diag([1.0, self._kept(step_size)]) @ travel @ kick
        return whole
