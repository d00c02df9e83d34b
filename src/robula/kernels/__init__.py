"""How chains move: the kernels, by name and one file each. They know a target only as a drift and a centre."""

from __future__ import annotations

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

#: The kernels that ``kernel=`` takes by name.
KERNELS: dict[str, Kernel] = {
    "ula": ULA(),
    "lm": LeimkuhlerMatthews(),
    "baoab": BAOAB(),
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
