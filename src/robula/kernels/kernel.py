"""The contract of a kernel: random generators and a state in, the new state and what diagnostics need out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from robula._types import FloatArray

if TYPE_CHECKING:
    from robula.target.robust_centre import RobustCentre

#: Maps the positions of all chains (c, d) to their drifts (c, d), the gradient of the robust log posterior.
Drift = Callable[[FloatArray], FloatArray]


class State(NamedTuple):
    """What the next step needs.

    Attributes
    ----------
    theta : ndarray, shape (c, d)
        Positions of the chains; these are the draws.
    memory : tuple of ndarray
        Whatever else a kernel carries from step to step (a velocity, the last noise).
    """

    theta: FloatArray
    memory: tuple[FloatArray, ...] = ()


class Info(NamedTuple):
    """What diagnostics need.

    Attributes
    ----------
    drift : ndarray, shape (c, d)
        The drift that the step used.
    """

    drift: FloatArray


class Adapted(NamedTuple):
    """A kernel made ready for one posterior, and the curvature as it meets it.

    Attributes
    ----------
    kernel : Kernel
    smoothness, strong_convexity : float
        Largest and smallest curvature of the trusted rows' posterior, in the coordinates the kernel moves in.
    scaling : ndarray, shape (d, d), or None
        theta = scaling @ phi leads from the kernel's coordinates phi back; None where they are theta itself.
    """

    kernel: Kernel
    smoothness: float
    strong_convexity: float
    scaling: FloatArray | None = None


class Kernel(ABC):
    """One Langevin integrator; a subclass writes :meth:`step`.

    Attributes
    ----------
    citations : tuple of str
        BibTeX keys (docs/refs.bib).
    order : int
        The discretisation bias of means and variances falls like step_size**order.
    """

    citations: ClassVar[tuple[str, ...]] = ()
    order: ClassVar[int] = 1

    def init(self, rngs: Sequence[np.random.Generator], theta: FloatArray) -> State:
        """Return the state of chains that start at theta (c, d)."""
        return State(theta)

    @abstractmethod
    def step(
        self, rngs: Sequence[np.random.Generator], state: State, drift: Drift, step_size: float
    ) -> tuple[State, Info]:
        """Move all chains by one step."""

    def adapt(self, centre: RobustCentre, rng: np.random.Generator) -> Adapted:
        """Make the kernel ready for the posterior around ``centre``; ``rng`` is for looking around there."""
        return Adapted(self, centre.smoothness, centre.strong_convexity)

    def tuned(self, strong_convexity: float) -> Kernel:
        """Return the kernel with its own constants set for a smallest curvature; most have none."""
        return self

    def default_step_size(self, smoothness: float) -> float:
        """Return the step size for a largest curvature L: 1 / L (thm:RULA_conv, eta <= 1 / (n L-bar))."""
        return 1.0 / smoothness

    def stable_below(self, smoothness: float) -> float:
        """Return the step size from which the chain is unstable on a Gaussian: 2 / L."""
        return 2.0 / smoothness

    def variance_inflation(self, step_size: float, precision: float) -> float | None:
        """Stationary over target variance on a Gaussian of this precision; None if unknown or unstable."""
        return None

    def relaxation_steps(self, step_size: float, precision: float) -> float | None:
        """Steps in which a Gaussian direction of this precision forgets its start by a factor e; None if never."""
        return 1.0 / (step_size * precision) if precision > 0 else None


def standard_normal(rngs: Sequence[np.random.Generator], dim: int) -> FloatArray:
    """Noise (c, d), each chain's from its own generator: a chain does not depend on how many run beside it."""
    return np.stack([rng.standard_normal(dim) for rng in rngs])
