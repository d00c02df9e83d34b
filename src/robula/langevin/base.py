"""The contract of a kernel: random generators and a state in, the new state and what diagnostics need out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from robula._types import FloatArray

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


class Kernel(ABC):
    """One Langevin integrator; a subclass writes :meth:`step`."""

    citations: ClassVar[tuple[str, ...]] = ()

    def init(self, rngs: Sequence[np.random.Generator], theta: FloatArray) -> State:
        """Return the state of chains that start at theta (c, d)."""
        return State(theta)

    @abstractmethod
    def step(
        self, rngs: Sequence[np.random.Generator], state: State, drift: Drift, step_size: float
    ) -> tuple[State, Info]:
        """Move all chains by one step."""

    def variance_inflation(self, stiffness: float) -> float | None:
        """Stationary over target variance on a Gaussian of step size x precision ``stiffness``; None if unknown."""
        return None


def standard_normal(rngs: Sequence[np.random.Generator], dim: int) -> FloatArray:
    """Noise (c, d), each chain's from its own generator: a chain does not depend on how many run beside it."""
    return np.stack([rng.standard_normal(dim) for rng in rngs])
