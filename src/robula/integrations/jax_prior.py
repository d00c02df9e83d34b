"""A log prior written in JAX, on flattened parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from robula._types import FloatArray
from robula.integrations.jax_support import Float64, call_second_derivative, hessian_of


class PriorFunctions:
    """A log density ``(flat, *data) -> scalar`` with its derivatives, compiled; the data are arguments."""

    def __init__(self, jax: Any, density: Callable[..., Any]) -> None:
        def batched(function: Callable[..., Any]) -> Float64:
            def each(thetas: Any, *data: Any) -> Any:
                return jax.vmap(lambda flat: function(flat, *data))(thetas)

            return Float64(jax, jax.jit(each))

        self.function = density
        self.density = batched(density)
        self.gradient = batched(jax.grad(density))
        self.hessian = Float64(jax, jax.jit(hessian_of(jax, density)))


class JaxPrior:
    """The prior of a model made of JAX functions, for its data."""

    proper = True

    def __init__(self, functions: PriorFunctions, dim: int, data: tuple[Any, ...] = ()) -> None:
        self._functions, self._dim, self._data = functions, dim, data

    @property
    def function(self) -> Callable[..., Any]:
        """The log density as JAX can trace it, ``(flat, *data)``."""
        return self._functions.function

    def log_density(self, theta: FloatArray) -> FloatArray:
        """Log density up to a constant, shape (...)."""
        return self._functions.density(theta.reshape(-1, self._dim), *self._data).reshape(theta.shape[:-1])

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Gradient of the log density, shape (..., d)."""
        return self._functions.gradient(theta.reshape(-1, self._dim), *self._data).reshape(theta.shape)

    def precision(self, theta: FloatArray) -> FloatArray:
        """Negative Hessian of the log density at theta (d,), shape (d, d)."""
        return -call_second_derivative(self._functions.hessian, "log_prior", theta, *self._data)

    def check_dim(self, dim: int) -> None:
        """Accept the dimension it was made for."""
