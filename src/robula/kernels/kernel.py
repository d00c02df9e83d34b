"""The contract of a kernel: noise, a state and a target in, the new state and what diagnostics need out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

import numpy as np

from robula._types import FloatArray

if TYPE_CHECKING:
    from robula.target.robust_centre import RobustCentre
    from robula.target.robust_target import GaussianLaw


class Noise(Protocol):
    """Where a chain's randomness comes from; a ``numpy.random.Generator`` is one."""

    def standard_normal(self, size: int, /) -> FloatArray:
        """Return independent standard normals, shape (size,)."""


class Target(Protocol):
    """What a kernel knows of what it samples; positions of all chains have shape (c, d)."""

    def drift(self, theta: FloatArray) -> FloatArray:
        """Return the gradient of the robust log posterior, shape (c, d)."""

    def log_density_and_drift(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return its log density up to a constant, shape (c,), and the drift; refused where there is no density."""

    @property
    def gaussian(self) -> GaussianLaw | None:
        """The target as a normal distribution, where it is one."""


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
    acceptance : ndarray, shape (c,), or None
        Probability with which a proposed move was taken, for kernels that propose.
    step_size : ndarray, shape (c,), or None
        The step that was made, for kernels that adapt it.
    """

    drift: FloatArray
    acceptance: FloatArray | None = None
    step_size: FloatArray | None = None


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
    """How chains move; a subclass writes :meth:`step`.

    Attributes
    ----------
    name : str or None
        What ``kernel=`` calls it; None for one that is only passed as an object.
    citations : tuple of str
        BibTeX keys (docs/refs.bib).
    order : int
        The discretisation bias of means and variances falls like step_size**order.
    needs_density : bool
        Whether a step asks for the log density, and corrects itself by it: such a kernel has no discretisation bias,
        and is refused where the row weights depend on theta.
    independent : bool
        Whether every draw is independent of the one before it: then start, step size and burn-in have no meaning.
    step_rule : str
        What :meth:`default_step_size` is, in words.
    """

    name: ClassVar[str | None] = None
    citations: ClassVar[tuple[str, ...]] = ()
    order: ClassVar[int] = 1
    needs_density: ClassVar[bool] = False
    independent: ClassVar[bool] = False
    step_rule: str = "1 / L of the trusted rows"

    def init(self, rngs: Sequence[Noise], theta: FloatArray, target: Target) -> State:
        """Return the state of chains that start at theta (c, d)."""
        return State(theta)

    @abstractmethod
    def step(self, rngs: Sequence[Noise], state: State, target: Target, step_size: float) -> tuple[State, Info]:
        """Move all chains by one step."""

    def settled(self, state: State) -> State:
        """Return the state with which the kept draws begin: a kernel that adapts stops doing so."""
        return state

    def adapt(self, centre: RobustCentre, rng: np.random.Generator) -> Adapted:
        """Make the kernel ready for the posterior around ``centre``; ``rng`` is for looking around there."""
        return Adapted(self, centre.smoothness, centre.strong_convexity)

    def tuned(self, strong_convexity: float) -> Kernel:
        """Return the kernel with its own constants set for a smallest curvature; most have none."""
        return self

    def default_step_size(self, smoothness: float, dim: int) -> float:
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


def standard_normal(rngs: Sequence[Noise], dim: int) -> FloatArray:
    """Noise (c, d), each chain's from its own generator: a chain does not depend on how many run beside it."""
    return np.stack([rng.standard_normal(dim) for rng in rngs])
