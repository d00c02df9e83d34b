"""Functions of one row in JAX with its response put in place: its cdf, its quantiles, simulated responses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from robula._imports import import_extra
from robula._types import FloatArray
from robula.integrations.jax_support import Float64, x64
from robula.integrations.laws_without_family import SIMULATIONS, EmpiricalLaw

# A quantile is searched for within sinh(30) = 5e12 spreads of the responses, to 1e-10 of one where most of them are.
_REACH, _HALVINGS = 30.0, 40


class RowResponses:
    """Functions of one row of chunked data with its response put in place.

    Parameters
    ----------
    unravel : callable
        Flat parameters to the user's tree.
    response : str
    log_likelihood, cdf, simulate : callable
        As in :func:`robula.from_jax`; one of the last two may be None.
    """

    def __init__(
        self,
        unravel: Callable[[Any], Any],
        response: str,
        log_likelihood: Callable[[Any, Any], Any],
        cdf: Callable[[Any, Any], Any] | None,
        simulate: Callable[[Any, Any, Any], Any] | None,
    ) -> None:
        self.jax = import_extra("jax", "jax", "from_jax")
        self.unravel, self.response, self.cdf, self.simulate = unravel, response, cdf, simulate
        self._log_likelihood = log_likelihood

    def rows(self, chunked: Any, responses: Any) -> Any:
        """Rows (n, ...) out of chunks, with these responses (n,)."""
        tree = self.jax.tree_util.tree_map(lambda leaf: leaf.reshape((-1, *leaf.shape[2:]))[: len(responses)], chunked)
        return {**tree, self.response: responses}

    def ends(self, flat: Any, row: Any) -> Any:
        """P(Y < y) and P(Y <= y) of one row, shape (2,)."""
        assert self.cdf is not None
        found = self.jax.numpy.stack(
            [self.jax.numpy.asarray(value) for value in _pair(self.cdf(self.unravel(flat), row))]
        )
        return self.jax.numpy.clip(found, 0.0, 1.0)

    def log_density(self, flat: Any, row: Any, value: Any) -> Any:
        """Log-likelihood of one row if this were its response; -inf where there can be none."""
        placed, possible = self.placed(row, value)
        found = self._log_likelihood(self.unravel(flat), placed)
        return self.jax.numpy.where(possible & ~self.jax.numpy.isnan(found), found, -self.jax.numpy.inf)

    def placed(self, row: Any, value: Any) -> tuple[Any, Any]:
        """The row with a response that may be no number of its kind, and whether it is one."""
        placed = self.jax.numpy.asarray(value).astype(row[self.response].dtype)
        return {**row, self.response: placed}, placed == value

    def quantiles(self, flat: Any, chunked: Any, y: Any, chances: Any, own: float, whole: bool) -> Any:
        """The last response below each row's quantiles (n, m) and the first at or above them, shape (n, m, 2).

        ``own`` is how much of a response's own mass counts as below it, and ``whole`` says that responses are whole
        numbers. Outside the support, where a cdf may be nothing, it goes on as at the support's end.
        """
        jax, jnp = self.jax, self.jax.numpy
        numbers = y.astype(jnp.float64)
        centre = jnp.median(numbers)
        # The mean where more than half of the responses are equal.
        spread = jnp.abs(numbers - centre)
        width = jnp.where(jnp.median(spread) > 0, jnp.median(spread), spread.mean())
        width = jnp.where(width > 0, width, 1.0)

        def at(place: Any) -> Any:
            value = centre + width * jnp.sinh(place)
            return jnp.round(value) if whole else value

        def search(row: Any, number: Any, chance: Any) -> Any:
            def halve(_: Any, ends: Any) -> Any:
                low, high = ends
                middle = 0.5 * (low + high)
                placed, possible = self.placed(row, at(middle))
                below, up_to = self.ends(flat, placed)
                found = below + own * (up_to - below)
                found = jnp.where(possible & jnp.isfinite(found), found, at(middle) > number)
                return jnp.where(found < chance, middle, low), jnp.where(found < chance, high, middle)

            low, high = jax.lax.fori_loop(0, _HALVINGS, halve, (-_REACH, _REACH))
            return jnp.stack([at(low), at(high)])

        inner = jax.vmap(search, in_axes=(None, None, 0))
        return jax.vmap(inner)(self.rows(chunked, y), numbers, chances)

    def drawn(self, flat: Any, rows: Any, seed: Any) -> Any:
        """A response for each row, shape (n,)."""
        assert self.simulate is not None
        simulate = self.simulate
        keys = self.jax.random.split(self.jax.random.PRNGKey(seed), len(rows[self.response]))
        return self.jax.vmap(lambda key, row: simulate(key, self.unravel(flat), row))(keys, rows)

    def simulation(self, flat: Any, chunked: Any, observed: Any, seed: int) -> dict[str, np.ndarray]:
        """Simulated responses by name."""
        with x64(self.jax):
            rows = self.rows(chunked, observed[self.response])
            return {self.response: np.asarray(self.drawn(flat, rows, seed))}

    def empirical(self, gradients: Callable[..., FloatArray]) -> EmpiricalLaw:
        """The law by simulated responses; ``gradients(flat, chunked)`` are those of the rows."""
        jax = self.jax

        def simulated(flat: Any, chunked: Any, y: Any) -> Any:
            rows = self.rows(chunked, y)
            return jax.lax.map(lambda seed: self.drawn(flat, rows, seed), jax.numpy.arange(SIMULATIONS))

        compiled = Float64(jax, jax.jit(simulated))

        def slopes(flat: Any, chunked: Any, observed: Any, responses: Any) -> FloatArray:
            leaf = chunked[self.response]
            padded = np.resize(np.asarray(responses), leaf.size).astype(leaf.dtype)
            return gradients(flat, {**chunked, self.response: padded.reshape(leaf.shape)})[: len(responses)]

        return EmpiricalLaw(
            lambda observed: np.asarray(observed[self.response], dtype=np.float64),
            lambda flat, chunked, observed: compiled(flat, chunked, observed[self.response]),
            slopes,
            None,
            False,
            "simulate",
        )


def _pair(value: Any) -> tuple[Any, Any]:
    """Both ends of a cdf that may be one number."""
    if isinstance(value, tuple | list):
        lower, upper = value
        return lower, upper
    return value, value
