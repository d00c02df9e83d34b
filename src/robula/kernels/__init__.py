"""How chains move: the kernels, by name and one file each. They know a target only by its drift and density."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robula._imports import named_members
from robula._validation import check_name
from robula.exceptions import InputError
from robula.kernels.adjusted import HMC
from robula.kernels.baoab import BAOAB
from robula.kernels.exact import Exact
from robula.kernels.kernel import Info, Kernel, State
from robula.kernels.leimkuhler_matthews import LeimkuhlerMatthews
from robula.kernels.preconditioned import Preconditioned
from robula.kernels.ula import ULA

if TYPE_CHECKING:
    from robula.target.robust_target import RobustTarget

__all__ = [
    "BAOAB",
    "HMC",
    "KERNELS",
    "ULA",
    "Exact",
    "Info",
    "Kernel",
    "LeimkuhlerMatthews",
    "Preconditioned",
    "State",
    "kernel_for",
    "resolve_kernel",
]

#: The kernels that ``kernel=`` takes by name: every class with a name in a file of this folder, and two of them on
#: coordinates that the posterior's curvature makes round.
KERNELS: dict[str, Kernel] = {
    **{name: kind() for name, kind in named_members(__name__, __path__, Kernel).items()},
    "hmc": Preconditioned(HMC()),
    "preconditioned_lm": Preconditioned(LeimkuhlerMatthews()),
    "preconditioned_baoab": Preconditioned(BAOAB()),
}


def resolve_kernel(kernel: str | Kernel) -> Kernel:
    """Return the kernel a name stands for, or the object itself; "auto" is for :func:`kernel_for`."""
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise InputError(f"kernel={kernel.__name__} is a class; pass an object: {kernel.__name__}().")
    return KERNELS[check_name(kernel, "kernel", KERNELS)]


def kernel_for(target: RobustTarget, dense_curvature: bool) -> Kernel:
    """Return what ``kernel="auto"`` stands for: exact draws, adjusted ones where there is a density, else Langevin.

    Without a (d, d) matrix to make the coordinates round by, the time that an adjusted step should travel is not
    known; Leimkuhler and Matthews' scheme needs none.
    """
    if target.has_density and target.gaussian is not None:
        return KERNELS["exact"]
    return KERNELS["hmc" if target.has_density and dense_curvature else "preconditioned_lm"]
