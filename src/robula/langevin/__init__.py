"""Fourth stage: robust gradients become a drift, and a kernel moves the chains along it."""

from robula.langevin.base import Info, Kernel, State
from robula.langevin.registry import resolve_kernel
from robula.langevin.ula import ULA

__all__ = ["ULA", "Info", "Kernel", "State", "resolve_kernel"]
