"""How many threads linear algebra may use: one policy, around everything public that computes.

The number is a setting of the whole process, so callers in several Python threads share one limit: the first to come
sets it, the last to leave takes it back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import Lock
from typing import Any, ParamSpec, TypeVar

from threadpoolctl import threadpool_limits

P = ParamSpec("P")
R = TypeVar("R")

# Below 32 MiB of data a second thread costs more than it brings, and NumPy's and SciPy's pools of them wait for each
# other; one thread also gives the same bits whatever the number of cores.
_SMALL = 2**22


class _SharedLimit:
    """One BLAS thread while anyone inside asks for it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._limits: Any = None

    def enter(self) -> None:
        with self._lock:
            if not self._inside:
                self._limits = threadpool_limits(1, user_api="blas")
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._limits.restore_original_limits()
                self._limits = None


_SHARED = _SharedLimit()


@contextmanager
def threads_for(numbers: int) -> Iterator[None]:
    """Compute with one BLAS thread where there are few ``numbers`` (rows times columns); else as the user has it."""
    if numbers >= _SMALL:
        yield
        return
    _SHARED.enter()
    try:
        yield
    finally:
        _SHARED.leave()


def few_threads_for_small_data(function: Callable[P, R]) -> Callable[P, R]:
    """Run a function of a model, or of an array of rows, with one BLAS thread where its numbers are few.

    The numbers are those of the largest argument.
    """

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        with threads_for(max(map(_numbers, (*args, *kwargs.values())), default=0)):
            return function(*args, **kwargs)

    return limited


def _numbers(given: Any) -> int:
    """Rows times parameters of a model, entries of anything else that has a shape of plain numbers; else 0."""
    if isinstance(getattr(given, "n_rows", None), int) and isinstance(getattr(given, "dim", None), int):
        return int(given.n_rows * given.dim)
    shape = getattr(given, "shape", (0,))
    return math.prod(shape) if isinstance(shape, tuple) and all(isinstance(size, int) for size in shape) else 0
