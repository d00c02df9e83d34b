"""Any per-row log-likelihood written in JAX, over any pytree of parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from typing import Any, Self

import numpy as np

from robula._imports import import_extra
from robula._types import FloatArray
from robula._validation import check_count, show
from robula.exceptions import InputError
from robula.integrations.jax_functions import (
    JaxPrior,
    Structure,
    chunk_functions,
    movement,
    no_prior,
    normal_prior,
    resolve_prior,
)
from robula.integrations.jax_support import (
    Float64,
    call_second_derivative,
    check_data,
    flatten_init,
    parameter_names,
    x64,
)
from robula.integrations.nuts_kernel import NUTS, has_numpyro
from robula.models.model import Model
from robula.models.priors import NormalPrior
from robula.tables.arrays import column_names

# Per-row gradients of one chunk take at most about this many bytes.
_CHUNK_BYTES = 64 * 2**20
# Above this many parameters a Hessian costs more than the run it is for.
_DENSE_CURVATURE = 1000


class JaxModel(Model):
    """A model made by :func:`from_jax`; see there for the parameters.

    Rows are stored in chunks of equal size (the last one filled up with copies of the last row, which get weight 0),
    and one compiled loop runs over the chunks.
    """

    def __init__(
        self,
        log_likelihood: Callable[[Any, Any], Any],
        data: Any,
        *,
        log_prior: Callable[[Any], Any] | NormalPrior | None,
        init: Any,
        chunk_size: int | None,
    ) -> None:
        jax = import_extra("jax", "jax", "from_jax")
        if not callable(log_likelihood):
            raise InputError(f"log_likelihood={show(log_likelihood)} is not a function of (parameters, row).")
        names = column_names(data)
        if names is not None:
            data = {name: data.iloc[:, index].to_numpy() for index, name in enumerate(names)}
        try:
            jax.tree_util.tree_structure((data, init))
        except (TypeError, ValueError) as error:
            raise InputError(f"data or init is not a tree JAX can read ({error}); use keys of one type.") from error
        leaves, self.n_rows = check_data(jax, data)
        self._init, unravel, paths = flatten_init(jax, init)
        self.dim = len(self._init)
        self._unravel = unravel
        self._shapes = paths
        self.parameter_names = parameter_names(paths)
        key = tuple((shape, str(self._init.dtype)) for _, shape in paths)
        tree = jax.tree_util.tree_structure(init)
        self._functions = chunk_functions(log_likelihood, Structure(unravel, (tree, key)), self.dim)
        self.prior = resolve_prior(log_prior, Structure(unravel, (tree, key)), self.dim)
        self.chunk_size = _chunk_size(chunk_size, self.n_rows, self.dim)
        with x64(jax):
            self._store(jax, jax.tree_util.tree_structure(data), leaves)
        self._refuse_broken(log_prior)

    def _store(self, jax: Any, structure: Any, leaves: list[Any]) -> None:
        """Keep the rows in chunks of equal size, the last one filled up."""
        chunks = math.ceil(self.n_rows / self.chunk_size)
        self._padding = chunks * self.chunk_size - self.n_rows
        padded = [
            np.concatenate([leaf, np.repeat(leaf[-1:], self._padding, axis=0)]) if self._padding else leaf
            for leaf in leaves
        ]
        chunked = [leaf.reshape((chunks, self.chunk_size, *leaf.shape[1:])) for leaf in padded]
        self._chunks = jax.tree_util.tree_unflatten(structure, [jax.numpy.asarray(leaf) for leaf in chunked])

    def take(self, rows: np.ndarray) -> Self:
        """Return the model of these rows only, with the functions compiled already."""
        jax = import_extra("jax", "jax", "from_jax")
        part = copy(self)
        part.n_rows = len(rows)
        stored, structure = jax.tree_util.tree_flatten(self._chunks)
        with x64(jax):
            leaves = [np.asarray(leaf).reshape((-1, *leaf.shape[2:]))[rows] for leaf in stored]
            part._store(jax, structure, leaves)
        return part

    def _refuse_broken(self, log_prior: Any) -> None:
        """Run everything once at ``init``: a user's function must fail before the work, and by name."""
        try:
            values = self._functions.log_likelihood(self._init, self._chunks)[: self.n_rows]
            sound = self._functions.sound(self._init, self._chunks)[: self.n_rows]
        except Exception as error:
            raise InputError(
                f"log_likelihood failed on the first try ({type(error).__name__}: {error}). It is called as "
                "log_likelihood(parameters, row) with one row of data and must return a scalar, in JAX operations."
            ) from error
        if values.shape != (self.n_rows,):
            raise InputError(f"log_likelihood returns shape {values.shape[1:]} for one row; it must return a scalar.")
        bad = np.flatnonzero(~(np.isfinite(values) & (sound > 0)))
        if len(bad):
            raise InputError(
                f"log_likelihood or its gradient is not finite at init in {len(bad)} row(s), first {bad[:5].tolist()}; "
                "choose another init or check those rows."
            )
        try:
            prior_gradient = self.prior.gradient(self._init)
        except Exception as error:
            raise InputError(
                f"log_prior={show(log_prior)} failed ({type(error).__name__}: {error}). It is called as "
                "log_prior(parameters) and must return a scalar, in JAX operations."
            ) from error
        if not np.isfinite(prior_gradient).all():
            raise InputError("the gradient of log_prior is not finite at init; choose another init.")

    @property
    def dense_curvature(self) -> bool:
        """Up to 1,000 parameters: a Hessian takes d reverse passes and d^2 numbers."""
        return self.dim <= _DENSE_CURVATURE

    @property
    def initial(self) -> FloatArray:
        """The flattened ``init``, shape (d,)."""
        return self._init

    def variables(self, draws: FloatArray) -> dict[str, FloatArray]:
        """Return draws (chains, draws, d) as one array per leaf of the parameters."""
        result, offset = {}, 0
        for name, shape in self._shapes:
            size = math.prod(shape)
            result[name] = draws[..., offset : offset + size].reshape(draws.shape[:-1] + shape)
            offset += size
        return result

    def parameters(self, theta: FloatArray) -> Any:
        """Return one theta (d,) as the pytree the log-likelihood takes."""
        jax = import_extra("jax", "jax", "from_jax")
        with x64(jax):
            return jax.tree_util.tree_map(np.asarray, self._unravel(self.check_theta(theta)))

    def log_likelihood(self, theta: FloatArray) -> FloatArray:
        """Log-likelihood of each row, shape (..., n)."""
        return self._each(self._functions.log_likelihood, theta, (self.n_rows,))

    def gradients(self, theta: FloatArray) -> FloatArray:
        """Gradient of each row's log-likelihood, shape (..., n, d)."""
        return self._each(self._functions.gradients, theta, (self.n_rows, self.dim))

    def weighted_gradient(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Weighted sum of the rows' gradients, one reverse pass, shape (..., d)."""
        theta = self.check_theta(theta)
        batch = np.broadcast_shapes(theta.shape[:-1], weights.shape[:-1])
        thetas = np.broadcast_to(theta, (*batch, self.dim)).reshape(-1, self.dim)
        rows = np.broadcast_to(weights, (*batch, self.n_rows)).reshape(-1, self.n_rows)
        return self._functions.weighted_gradient(thetas, self._chunks, self._chunked(rows)).reshape((*batch, self.dim))

    def curvature(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Negative Hessian of the weighted log-likelihood at one theta (d,), shape (d, d)."""
        theta, chunked = self.check_theta(theta), self._chunked(weights[None])[0]
        hessian = call_second_derivative(self._functions.hessian, "log_likelihood", theta, self._chunks, chunked)
        return -0.5 * (hessian + hessian.T)

    def _each(self, function: Float64, theta: FloatArray, shape: tuple[int, ...]) -> FloatArray:
        theta = self.check_theta(theta)
        results = [function(flat, self._chunks)[: self.n_rows] for flat in theta.reshape(-1, self.dim)]
        return np.stack(results).reshape(theta.shape[:-1] + shape)

    def own_kernel(self, counts: FloatArray, burn_in: int) -> NUTS | None:
        """NumPyro's NUTS on the posterior in which row i counts ``counts[i]`` times; None without it or burn-in."""
        if not (has_numpyro() and self.dense_curvature and burn_in):
            return None
        function, arguments = self._prior_in_jax()
        weights = self._chunked(counts[None])[0]
        return NUTS(movement(self._functions, function), (self._chunks, weights, *arguments), burn_in)

    def _prior_in_jax(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """The log prior as a function ``(flat, *arguments)`` that JAX can trace, and the arguments."""
        if isinstance(self.prior, JaxPrior):
            return self.prior.function, ()
        if isinstance(self.prior, NormalPrior):
            origin = np.zeros(self.dim)
            return normal_prior, (origin + self.prior.mean, self.prior.precision(origin))
        return no_prior, ()

    def log_density(self, weights: FloatArray) -> Callable[[Any], Any]:
        """The log posterior of weighted rows (n,) as a function of the parameters' tree that JAX can trace."""
        jax = import_extra("jax", "jax", "from_jax")
        from jax.flatten_util import ravel_pytree

        function, arguments = self._prior_in_jax()
        rows = jax.tree.map(np.asarray, self._chunks)  # NumPy's take the precision that the caller has
        chunked = self._chunked(np.asarray(weights, dtype=np.float64)[None])[0]

        def density(parameters: Any) -> Any:
            flat, _ = ravel_pytree(parameters)
            return self._functions.weighted_sum(flat, rows, chunked) + function(flat, *arguments)

        return density

    def _chunked(self, weights: FloatArray) -> FloatArray:
        padded = np.pad(weights, ((0, 0), (0, self._padding)))
        return padded.reshape(len(weights), -1, self.chunk_size)


def _chunk_size(chunk_size: int | None, rows: int, dim: int) -> int:
    if chunk_size is not None:
        return min(check_count(chunk_size, "chunk_size", 1), rows)
    return max(1, min(rows, _CHUNK_BYTES // (8 * dim)))
