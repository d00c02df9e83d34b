"""How many threads linear algebra may use during a run."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from threadpoolctl import threadpool_limits

P = ParamSpec("P")
R = TypeVar("R")

# Below 32 MiB of data a second thread costs more than it brings, and NumPy's and SciPy's pools of them wait for each
# other; one thread also gives the same bits whatever the number of cores.
_SMALL = 2**22


def few_threads_for_small_data(function: Callable[P, R]) -> Callable[P, R]:
    """Run a function of a model with one BLAS thread where the model's rows and parameters are few."""

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        model: Any = args[0] if args else kwargs.get("model")
        size = getattr(model, "n_rows", 0) * getattr(model, "dim", 0)
        with threadpool_limits(1 if size < _SMALL else None, user_api="blas"):
            return function(*args, **kwargs)

    return limited
