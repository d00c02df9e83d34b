"""Any kernel in coordinates in which the posterior of the trusted rows looks round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from robula._types import FloatArray
from robula.exceptions import InputError
from robula.kernels.kernel import Adapted, Drift, Info, Kernel, State
from robula.kernels.leimkuhler_matthews import LeimkuhlerMatthews

if TYPE_CHECKING:
    from robula.target.robust_centre import RobustCentre


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

    def adapt(self, centre: RobustCentre, rng: np.random.Generator) -> Adapted:
        """Take the information of the trusted rows at the centre."""
        if centre.eigenvectors is None:
            return self.kernel.adapt(centre, rng)
        scaling = centre.laplace_scaling()
        smoothness = centre.largest_curvature_nearby(rng, scaling)
        return Adapted(Scaled(self.kernel.tuned(1.0), scaling), smoothness, 1.0, scaling)

    def step(
        self, rngs: Sequence[np.random.Generator], state: State, drift: Drift, step_size: float
    ) -> tuple[State, Info]:
        """Not before :meth:`adapt`: the coordinates come from a posterior."""
        raise InputError("a preconditioned kernel needs a posterior first: use the kernel that adapt() returns.")


class Scaled(Kernel):
    """``kernel`` on phi, theta = scaling @ phi; its memory is phi and what ``kernel`` keeps."""

    def __init__(self, kernel: Kernel, scaling: FloatArray) -> None:
        self.kernel = kernel
        self._to_drift = np.ascontiguousarray(scaling)
        self._to_theta = np.ascontiguousarray(scaling.T)
        self._to_phi = np.linalg.inv(scaling).T

    def init(self, rngs: Sequence[np.random.Generator], theta: FloatArray) -> State:
        """Return the state of chains that start at theta (c, d)."""
        inner = self.kernel.init(rngs, theta @ self._to_phi)
        return State(theta, (inner.theta, *inner.memory))

    def step(
        self, rngs: Sequence[np.random.Generator], state: State, drift: Drift, step_size: float
    ) -> tuple[State, Info]:
        """Move all chains by one step."""
        start, *memory = state.memory
        seen = [np.zeros_like(start)]

        def scaled_drift(phi: FloatArray) -> FloatArray:
            seen[0] = drift(state.theta if phi is start else phi @ self._to_theta)
            scaled: FloatArray = seen[0] @ self._to_drift
            return scaled

        inner, _ = self.kernel.step(rngs, State(start, tuple(memory)), scaled_drift, step_size)
        return State(inner.theta @ self._to_theta, (inner.theta, *inner.memory)), Info(seen[0])

    def default_step_size(self, smoothness: float) -> float:
        """Return the kernel's own, for the largest curvature in phi."""
        return self.kernel.default_step_size(smoothness)

    def stable_below(self, smoothness: float) -> float:
        """Return the kernel's own, for the largest curvature in phi."""
        return self.kernel.stable_below(smoothness)

    def variance_inflation(self, step_size: float, precision: float) -> float | None:
        """Return the kernel's own, for a precision in phi."""
        return self.kernel.variance_inflation(step_size, precision)

    def relaxation_steps(self, step_size: float, precision: float) -> float | None:
        """Return the kernel's own, for a precision in phi."""
        return self.kernel.relaxation_steps(step_size, precision)
