"""Any kernel in coordinates in which the posterior of the trusted rows looks round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from robula._types import FloatArray
from robula.exceptions import InputError
from robula.kernels.kernel import Adapted, Info, Kernel, Noise, State, Target
from robula.kernels.leimkuhler_matthews import LeimkuhlerMatthews

if TYPE_CHECKING:
    from robula.target.robust_centre import RobustCentre
    from robula.target.robust_target import GaussianLaw


@dataclass(frozen=True)
class Preconditioned(Kernel):
    """Run ``kernel`` on phi, theta = A phi, with A A' the inverse Fisher information of the selected rows.

    The information (curvature of the log posterior of the rows trusted at the robust centre) is taken once, before the
    first step, so the law that is drawn from stays the same; badly scaled and correlated columns no longer slow the
    chain down. For a kernel K it is K with drift A A' grad and noise A xi. Models that cannot afford a (d, d) matrix
    (``from_jax`` above 1,000 parameters) are moved by ``kernel`` as it is.

    Parameters
    ----------
    kernel : Kernel, optional
        Leimkuhler and Matthews' by default.
    """

    kernel: Kernel = field(default_factory=LeimkuhlerMatthews)

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel) or isinstance(self.kernel, Preconditioned):
            raise InputError(f"kernel={self.kernel!r} must be a kernel object that is not preconditioned itself.")
        object.__setattr__(self, "citations", ("roberts2002", *self.kernel.citations))
        object.__setattr__(self, "order", self.kernel.order)
        object.__setattr__(self, "needs_density", self.kernel.needs_density)

    def adapt(self, centre: RobustCentre, rng: np.random.Generator) -> Adapted:
        """Take the information of the trusted rows at the centre."""
        if centre.eigenvectors is None:
            return self.kernel.adapt(centre, rng)
        scaling = centre.laplace_scaling()
        smoothness = centre.largest_curvature_nearby(rng, scaling)
        return Adapted(Scaled(self.kernel.tuned(1.0), scaling), smoothness, 1.0, scaling)

    def step(self, rngs: Sequence[Noise], state: State, target: Target, step_size: float) -> tuple[State, Info]:
        """Not before :meth:`adapt`: the coordinates come from a posterior."""
        raise InputError("a preconditioned kernel needs a posterior first: use the kernel that adapt() returns.")


class Scaled(Kernel):
    """``kernel`` on phi, theta = scaling @ phi; its memory is phi and what ``kernel`` keeps."""

    def __init__(self, kernel: Kernel, scaling: FloatArray) -> None:
        self.kernel = kernel
        self.step_rule = f"{kernel.step_rule}, in coordinates in which their posterior is round"
        self._to_drift = np.ascontiguousarray(scaling)
        self._to_theta = np.ascontiguousarray(scaling.T)
        self._to_phi = np.linalg.inv(scaling).T

    def init(self, rngs: Sequence[Noise], theta: FloatArray, target: Target) -> State:
        """Return the state of chains that start at theta (c, d)."""
        phi = theta @ self._to_phi
        inner = self.kernel.init(rngs, phi, self._seen(target, phi, theta))
        return State(theta, (inner.theta, *inner.memory))

    def step(self, rngs: Sequence[Noise], state: State, target: Target, step_size: float) -> tuple[State, Info]:
        """Move all chains by one step."""
        phi, *memory = state.memory
        inner, info = self.kernel.step(rngs, State(phi, tuple(memory)), self._seen(target, phi, state.theta), step_size)
        theta = inner.theta @ self._to_theta
        return State(theta, (inner.theta, *inner.memory)), info._replace(drift=info.drift @ self._to_phi.T)

    def _seen(self, target: Target, phi: FloatArray, theta: FloatArray) -> ScaledTarget:
        return ScaledTarget(target, self._to_theta, self._to_drift, phi, theta)

    def settled(self, state: State) -> State:
        """Let the kernel settle."""
        phi, *memory = state.memory
        inner = self.kernel.settled(State(phi, tuple(memory)))
        return State(state.theta, (inner.theta, *inner.memory))

    def default_step_size(self, smoothness: float, dim: int) -> float:
        """Return the kernel's own, for the largest curvature in phi."""
        return self.kernel.default_step_size(smoothness, dim)

    def stable_below(self, smoothness: float) -> float:
        """Return the kernel's own, for the largest curvature in phi."""
        return self.kernel.stable_below(smoothness)

    def variance_inflation(self, step_size: float, precision: float) -> float | None:
        """Return the kernel's own, for a precision in phi."""
        return self.kernel.variance_inflation(step_size, precision)

    def relaxation_steps(self, step_size: float, precision: float) -> float | None:
        """Return the kernel's own, for a precision in phi."""
        return self.kernel.relaxation_steps(step_size, precision)


class ScaledTarget:
    """A target seen from phi, theta = scaling @ phi; ``phi`` and ``theta`` are one position in both, as it is known."""

    def __init__(
        self, target: Target, to_theta: FloatArray, to_drift: FloatArray, phi: FloatArray, theta: FloatArray
    ) -> None:
        self._target, self._to_theta, self._to_drift = target, to_theta, to_drift
        self._phi, self._known = phi, theta

    def _theta(self, phi: FloatArray) -> FloatArray:
        return self._known if phi is self._phi else phi @ self._to_theta

    def drift(self, phi: FloatArray) -> FloatArray:
        """Return the drift in phi, shape (c, d)."""
        scaled: FloatArray = self._target.drift(self._theta(phi)) @ self._to_drift
        return scaled

    def log_density_and_drift(self, phi: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the log density up to a constant, shape (c,), and the drift in phi, shape (c, d)."""
        density, drift = self._target.log_density_and_drift(self._theta(phi))
        return density, drift @ self._to_drift

    @property
    def gaussian(self) -> GaussianLaw | None:
        """Not asked for in phi: exact draws need no coordinates."""
        return None
