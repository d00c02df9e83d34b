"""Fourth stage: robust gradients become a drift, and a kernel moves the chains along it."""

from robula.langevin.baoab import BAOAB
from robula.langevin.base import Info, Kernel, State
from robula.langevin.leimkuhler_matthews import LeimkuhlerMatthews
from robula.langevin.preconditioned import Preconditioned
from robula.langevin.registry import resolve_kernel
from robula.langevin.ula import ULA

__all__ = ["BAOAB", "ULA", "Info", "Kernel", "LeimkuhlerMatthews", "Preconditioned", "State", "resolve_kernel"]
