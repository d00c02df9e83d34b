"""Fourth stage: robust gradients become a drift, and a kernel moves the chains along it."""

from robula.kernels.baoab import BAOAB
from robula.kernels.kernel import Info, Kernel, State
from robula.kernels.leimkuhler_matthews import LeimkuhlerMatthews
from robula.kernels.preconditioned import Preconditioned
from robula.kernels.registry import resolve_kernel
from robula.kernels.ula import ULA

__all__ = ["BAOAB", "ULA", "Info", "Kernel", "LeimkuhlerMatthews", "Preconditioned", "State", "resolve_kernel"]
