"""How chains move: the kernels, by name and one file each. They know a target only as a drift and a centre."""

from __future__ import annotations

from robula._members import named_members
from robula._validation import check_name
from robula.exceptions import InputError
from robula.kernels.baoab import BAOAB
from robula.kernels.kernel import Info, Kernel, State
from robula.kernels.leimkuhler_matthews import LeimkuhlerMatthews
from robula.kernels.preconditioned import Preconditioned
from robula.kernels.ula import ULA

__all__ = [
    "BAOAB",
    "KERNELS",
    "ULA",
    "Info",
    "Kernel",
    "LeimkuhlerMatthews",
    "Preconditioned",
    "State",
    "resolve_kernel",
]

#: The kernels that ``kernel=`` takes by name: every class with a name in a file of this folder, and two of them on
#: coordinates that the posterior's curvature makes round.
KERNELS: dict[str, Kernel] = {
    **{name: kind() for name, kind in named_members(__name__, __path__, Kernel).items()},
    "preconditioned_lm": Preconditioned(LeimkuhlerMatthews()),
    "preconditioned_baoab": Preconditioned(BAOAB()),
}


def resolve_kernel(kernel: str | Kernel) -> Kernel:
    """Return the kernel a name stands for, or the object itself."""
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise InputError(f"kernel={kernel.__name__} is a class; pass an object: {kernel.__name__}().")
    return KERNELS[check_name(kernel, "kernel", KERNELS)]
