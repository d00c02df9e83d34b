"""The law of rows whose cdf is given, in JAX; far out, where a cdf is 1 to rounding, by the density."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr

from robula._types import FloatArray
from robula.integrations.jax_support import Float64
from robula.integrations.row_responses import RowResponses
from robula.integrations.site_laws import SiteLaw, Telling
from robula.models.law import Noise, Tails

# Scores at which the derivatives of a row's score are taken: one on either side of its middle.
_SIDES = np.array([-1.0, 1.0])
_SMALL = 1e-9
# A tail of less than this has lost digits where it is 1 minus something; with it a score is right to 1e-7.
_LOST = 1e-10
# Nodes and logarithms of weights of integrals over (0, inf), with e^x, which the weights have in them, taken out.
_NODES, _WEIGHTS = np.polynomial.laguerre.laggauss(32)
_LOG_WEIGHTS = np.log(_WEIGHTS) + _NODES
# Whole numbers that are added up one by one; what comes after them falls like a geometric series.
_COUNTED = 64
# Differences of logarithms within which the log-likelihood is the log density of the cdf and a constant.
_AGREED = 1e-4


class CdfLaw(SiteLaw):
    """Tails from the cdf; what a row tells from how its normal score moves with theta.

    With location m and scale s, z = (y - m) / s moves by -m' / s - z s' / s: from two responses, one on either side of
    the middle, both terms follow; exactly so for a normal response.
    """

    source = "its cdf"
    kind = "number"

    def __init__(self, rows: RowResponses) -> None:
        jax = self._jax = rows.jax
        jnp = jax.numpy
        self._rows = rows

        def ends(flat: Any, chunked: Any, y: Any) -> Any:
            return jax.vmap(lambda row: rows.ends(flat, row))(rows.rows(chunked, y))

        def scores(flat: Any, chunked: Any, y: Any) -> Any:
            middle = ends(flat, chunked, y).mean(axis=1)
            return jax.scipy.special.ndtri(jnp.clip(middle, 1e-300, 1.0 - 1e-16))

        def sides(flat: Any, chunked: Any, y: Any, whole: bool) -> Any:
            """Responses (n, 2) whose scores are next to those of the sides."""
            chances = jnp.broadcast_to(ndtr(_SIDES), (len(y), 2))
            found = rows.quantiles(flat, chunked, y, chances, 0.5, whole)
            if not whole:
                return found[..., 1]
            columns = found.reshape(len(y), -1).astype(y.dtype).T
            away = jnp.stack([scores(flat, chunked, one) for one in columns], axis=1).reshape(found.shape)
            near = jnp.abs(away - _SIDES[:, None]).argmin(axis=2)
            return jnp.take_along_axis(found, near[..., None], axis=2)[..., 0]

        def far(flat: Any, chunked: Any, y: Any, chosen: Any, whole: bool) -> Any:
            rows_of = rows.rows(chunked, y)
            return jax.vmap(lambda row, two: self._far_tails(flat, row, two, whole))(rows_of, chosen)

        self._ends, self._scores = Float64(jax, jax.jit(ends)), Float64(jax, jax.jit(scores))
        self._slopes = Float64(jax, jax.jit(jax.jacfwd(scores)))
        self._sides = Float64(jax, jax.jit(sides, static_argnums=3))
        self._quantiles = Float64(jax, jax.jit(rows.quantiles, static_argnums=5))
        self._far = Float64(jax, jax.jit(far, static_argnums=4))

    def tails(self, *point: Any) -> Tails:
        """Logarithms of both ends; from the density where the cdf is within rounding of 0 or 1."""
        flat, chunked, observed = point
        y = observed[self._rows.response]
        ends = self._ends(flat, chunked, y)
        below, up_to = ends.T
        with np.errstate(divide="ignore"):
            tails = Tails(np.log(below), np.log(up_to), np.log1p(-below), np.log1p(-up_to))
        whole = _are_whole(y, ends)
        one = below == up_to if not whole else np.ones(len(y), dtype=np.bool_)
        low, high = one & (up_to < _LOST), one & (below > 1.0 - _LOST)
        if low.any() or high.any():
            chosen = self._sides(flat, chunked, y, whole)
            below_it, up_to_it, from_it, above_it = self._far(flat, chunked, y, chosen, whole).T
            low, high = low & np.isfinite(up_to_it), high & np.isfinite(from_it)
            tails = Tails(
                np.where(low, below_it, tails.below),
                np.where(low, up_to_it, tails.up_to),
                np.where(high, from_it, tails.from_here),
                np.where(high, above_it, tails.above),
            )
        return Tails(*(values[:, None] for values in tails))

    def _far_tails(self, flat: Any, row: Any, chosen: Any, whole: bool) -> Any:
        """Logarithms of the four tails of one row, by its density; nan where that tells nothing.

        The log-likelihood may lack a constant, which the cdf has at responses in the middle; where it is none there
        (censored rows have no density), or the density rises outwards, the density is not followed.
        """
        jax, jnp = self._jax, self._jax.numpy
        y = row[self._rows.response].astype(jnp.float64)

        def log_density(value: Any) -> Any:
            return self._rows.log_density(flat, row, value)

        def up_to(value: Any) -> Any:
            return self._rows.ends(flat, self._rows.placed(row, value)[0])[1]

        def mass(value: Any) -> Any:
            if not whole:
                return jax.grad(up_to)(value)
            return jnp.diff(self._rows.ends(flat, self._rows.placed(row, value)[0]))[0]

        constants = jnp.stack([jnp.log(mass(value)) - log_density(value) for value in (chosen[0], chosen[1])])
        constant = jnp.where(jnp.abs(constants[1] - constants[0]) < _AGREED, constants[0], jnp.nan)
        found = []
        for sign in (-1.0, 1.0):
            if whole:
                terms = jax.vmap(log_density)(y + sign * jnp.arange(_COUNTED))
                falls = terms[-1] - terms[-2]
                rest = jnp.where(terms[-1] > -jnp.inf, terms[-1] + falls - jnp.log(-jnp.expm1(falls)), -jnp.inf)
                outwards = terms[1] - terms[0]
                beyond = jnp.logaddexp(jax.scipy.special.logsumexp(terms[1:]), rest)
                two = jnp.stack([beyond, jnp.logaddexp(terms[0], beyond)])
            else:
                outwards = sign * jax.grad(log_density)(y)
                terms = jax.vmap(log_density)(y - sign * _NODES / jnp.where(outwards < 0, outwards, -1.0))
                beyond = jax.scipy.special.logsumexp(_LOG_WEIGHTS + terms) - jnp.log(-outwards)
                two = jnp.stack([beyond, beyond])
            found.append(jnp.where(outwards < 0, jnp.minimum(two + constant, np.log(_LOST)), jnp.nan))
        (below, to_it), (above, from_it) = found
        return jnp.stack([below, to_it, from_it, above])

    def telling(self, *point: Any) -> Telling:
        """From the score's derivatives at two responses of each row."""
        flat, chunked, observed = point
        y = observed[self._rows.response]
        chosen = self._sides(flat, chunked, y, self.whole(*point)).astype(y.dtype)
        (y1, z1, d1), (y2, z2, d2) = (
            (one, self._scores(flat, chunked, one), self._slopes(flat, chunked, one)) for one in chosen.T
        )
        apart = np.abs(z2 - z1) > _SMALL
        width = np.where(apart, z2 - z1, 1.0)[:, None]
        grown = np.where(apart[:, None], -(d2 - d1) / width, 0.0)
        # What theta does not move differs from 0 by rounding only.
        grown = np.where(np.abs(grown) < _SMALL * (np.abs(d1) + np.abs(d2)), 0.0, grown)
        told = -d1 - z1[:, None] * grown
        told = np.where(np.abs(told) < _SMALL * np.abs(d1), 0.0, told)
        scale = np.where(apart, (1.0 * y2 - y1) / width[:, 0], 1.0)
        predictor = y1 - z1 * scale
        return Telling(
            told[:, None], np.sqrt(2.0) * grown[:, None], predictor[:, None], (told * scale[:, None])[:, None]
        )

    def simulation(self, flat: Any, chunked: Any, observed: Any, seed: int) -> dict[str, np.ndarray]:
        """Simulated responses by name: quantiles at random."""
        y = observed[self._rows.response]
        chances = np.random.default_rng(seed).uniform(size=(len(y), 1))
        whole = self.whole(flat, chunked, observed)
        return {self._rows.response: self._quantiles(flat, chunked, y, chances, 1.0, whole)[:, 0, 1]}

    def whole(self, *point: Any) -> bool:
        """Whether responses are whole numbers: in their type, or as all are and the law gives each a mass."""
        flat, chunked, observed = point
        y = observed[self._rows.response]
        return _are_whole(y, self._ends(flat, chunked, y))

    def noise(self, told: Telling) -> Noise:
        """Declared, or estimated where theta has a say in the spread."""
        return "estimated" if told.by_spread.any() else "declared"


def _are_whole(y: np.ndarray, ends: FloatArray) -> bool:
    return y.dtype.kind in "iub" or bool((y == np.round(y)).all() and (ends[:, 0] < ends[:, 1]).any())
