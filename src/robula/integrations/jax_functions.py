"""What is compiled of a user's JAX functions: the log-likelihood of rows in chunks, and the log prior."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from robula._imports import import_extra
from robula._types import FloatArray
from robula._validation import show
from robula.exceptions import InputError
from robula.integrations.jax_support import Float64, call_second_derivative, hessian_of
from robula.integrations.nuts_kernel import Movement
from robula.models.fingerprint import hash_of_function
from robula.models.priors import FlatPrior, NormalPrior, Prior


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


class Structure:
    """How flat parameters become the user's tree; equal for equal trees and shapes, so that compiled code is found."""

    def __init__(self, unravel: Callable[[Any], Any], key: Any) -> None:
        self.unravel, self.key = unravel, key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Structure) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@lru_cache(16)
def _kept_functions(
    log_likelihood: Callable[[Any, Any], Any], structure: Structure, dim: int, captured: str
) -> ChunkFunctions:
    return ChunkFunctions(log_likelihood, structure.unravel, dim)


def chunk_functions(log_likelihood: Callable[[Any, Any], Any], structure: Structure, dim: int) -> ChunkFunctions:
    """Compile, or find what was compiled for the same function while it captured the same: data are arguments."""
    captured = hash_of_function(log_likelihood)
    if captured is None or not _can_be_key(log_likelihood):
        return ChunkFunctions(log_likelihood, structure.unravel, dim)
    return _kept_functions(log_likelihood, structure, dim, captured)


@lru_cache(16)
def _kept_prior(log_prior: Callable[[Any], Any], structure: Structure, captured: str | None) -> PriorFunctions:
    jax = import_extra("jax", "jax", "from_jax")
    return PriorFunctions(jax, lambda flat: log_prior(structure.unravel(flat)))


def _prior_functions(log_prior: Callable[[Any], Any], structure: Structure) -> PriorFunctions:
    captured = hash_of_function(log_prior)
    if captured is None or not _can_be_key(log_prior):
        return _kept_prior.__wrapped__(log_prior, structure, captured)
    return _kept_prior(log_prior, structure, captured)


def _can_be_key(function: Callable[..., Any]) -> bool:
    try:
        hash(function)
    except TypeError:
        return False
    return True


class ChunkFunctions:
    """What is compiled of a per-row log-likelihood; rows come in chunks (c, b, ...) and weights alike (c, b)."""

    def __init__(self, log_likelihood: Callable[[Any, Any], Any], unravel: Callable[[Any], Any], dim: int) -> None:
        jax = import_extra("jax", "jax", "from_jax")

        def row_log_likelihood(flat: Any, row: Any) -> Any:
            return log_likelihood(unravel(flat), row)

        def weighted_sum(flat: Any, rows: Any, weights: Any) -> Any:
            # A row of weight 0 counts nothing, even where it is impossible.
            each = jax.vmap(row_log_likelihood, in_axes=(None, 0))(flat, rows)
            return weights @ jax.numpy.where(weights > 0, each, 0.0)

        def over_chunks(function: Callable[..., Any]) -> Callable[..., Any]:
            return lambda flat, chunked: jax.lax.map(lambda rows: function(flat, rows), chunked)

        def accumulate(function: Callable[..., Any], shape: tuple[int, ...]) -> Callable[..., Any]:
            def total(flat: Any, chunked: Any, weights: Any) -> Any:
                def add(so_far: Any, chunk: Any) -> Any:
                    rows, chunk_weights = chunk
                    return so_far + function(flat, rows, chunk_weights), None

                return jax.lax.scan(add, jax.numpy.zeros(shape), (chunked, weights))[0]

            return total

        def join(values: Any) -> Any:
            return values.reshape((-1, *values.shape[2:]))

        each = jax.vmap(row_log_likelihood, in_axes=(None, 0))
        each_gradient = jax.vmap(jax.grad(row_log_likelihood), in_axes=(None, 0))
        gradient = accumulate(jax.grad(weighted_sum), (dim,))
        hessian = accumulate(hessian_of(jax, weighted_sum), (dim, dim))
        self.log_likelihood = Float64(jax, jax.jit(lambda flat, rows: join(over_chunks(each)(flat, rows))))
        self.gradients = Float64(jax, jax.jit(lambda flat, rows: join(over_chunks(each_gradient)(flat, rows))))
        # Whether each row's gradient is finite, without keeping the (n, d) matrix.
        finite = over_chunks(lambda flat, rows: jax.numpy.isfinite(each_gradient(flat, rows)).all(axis=1))
        self.sound = Float64(jax, jax.jit(lambda flat, rows: join(finite(flat, rows))))
        self.weighted_gradient = Float64(jax, jax.jit(jax.vmap(gradient, in_axes=(0, None, 0))))
        self.hessian = Float64(jax, jax.jit(hessian))
        self.weighted_sum = accumulate(weighted_sum, ())


@lru_cache(16)
def movement(functions: ChunkFunctions, prior: Callable[..., Any]) -> Movement:
    """NUTS on the weighted log-likelihood and a log prior ``(flat, *its arguments)``."""

    def log_density(flat: Any, chunked: Any, weights: Any, *arguments: Any) -> Any:
        return functions.weighted_sum(flat, chunked, weights) + prior(flat, *arguments)

    return Movement(import_extra("jax", "jax", "from_jax"), log_density)


def no_prior(flat: Any) -> Any:
    """Log density of a flat prior."""
    return 0.0


def normal_prior(flat: Any, mean: Any, precision: Any) -> Any:
    """Log density of a normal prior up to a constant, in JAX."""
    return -0.5 * (flat - mean) @ precision @ (flat - mean)


def resolve_prior(log_prior: Any, structure: Structure, dim: int) -> Prior:
    """Return the prior that ``from_jax`` was given, compiled where it is a function."""
    if log_prior is None:
        return FlatPrior()
    if isinstance(log_prior, NormalPrior):
        log_prior.check_dim(dim)
        return log_prior
    if not callable(log_prior):
        raise InputError(
            f"log_prior={show(log_prior)} is not allowed: pass a function, robula.NormalPrior(...) or None."
        )
    return JaxPrior(_prior_functions(log_prior, structure), dim)
