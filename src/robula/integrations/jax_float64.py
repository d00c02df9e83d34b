"""Run compiled JAX functions in float64, and differentiate them twice with bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from robula._optional import import_extra
from robula._types import FloatArray
from robula.exceptions import InputError

# Columns of the Hessian that are computed at a time.
_HESSIAN_COLUMNS = 8


class Float64:
    """A compiled function that is traced and run in float64, and returns NumPy arrays."""

    def __init__(self, jax: Any, function: Callable[..., Any]) -> None:
        self._jax, self._function = jax, function

    def __call__(self, *arguments: Any) -> FloatArray:
        """Call the function and return its result as a NumPy array."""
        with x64(self._jax):
            return np.asarray(self._function(*arguments), dtype=np.float64)


def hessian_of(jax: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """Hessian in the first argument, a few columns at a time, each one reverse pass over the gradient.

    Reverse over reverse needs no forward mode, which custom derivatives (an ODE solver's) often lack, and memory does
    not grow with the number of columns.
    """

    def hessian(flat: Any, *arguments: Any) -> Any:
        def column(vector: Any) -> Any:
            return jax.grad(lambda x: jax.grad(function)(x, *arguments) @ vector)(flat)

        return jax.lax.map(column, jax.numpy.eye(flat.shape[0]), batch_size=_HESSIAN_COLUMNS)

    return hessian


def call_second_derivative(function: Float64, name: str, *arguments: Any) -> FloatArray:
    """Call a second derivative; say whose function it is if it has none."""
    try:
        return function(*arguments)
    except Exception as error:
        raise InputError(
            f"{name} could not be differentiated twice ({type(error).__name__}: {error}); the "
            "curvature is needed for start and step size. Write it with functions that JAX differentiates twice."
        ) from error


def x64(jax: Any) -> Any:
    """Return a context in which JAX computes in float64, without touching the user's global setting."""
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    return import_extra("jax.experimental", "jax", "from_jax").enable_x64(True)
