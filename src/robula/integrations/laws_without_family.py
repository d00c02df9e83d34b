"""Laws of rows whose distribution is of no known family: by its cdf, one row at a time in JAX, or by simulation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtri

from robula._imports import import_extra
from robula._types import FloatArray
from robula.integrations.jax_support import Float64, x64
from robula.integrations.site_laws import SiteLaw, Telling
from robula.models.law import Noise, Tails

#: Simulated responses of each row where a distribution has no cdf.
SIMULATIONS = 400


class EmpiricalLaw(SiteLaw):
    """A site whose family is not known here: tails from its cdf or from simulated responses; the rest from those.

    With q the normal score of a response and s the gradient of its log-likelihood, E[q s] is d mean / d theta over the
    sd, and E[(q^2 - 1) s] / sqrt(2) what the spread tells: exactly so for a normal response.

    Parameters
    ----------
    values : callable
        ``observed -> ndarray (n, ...)``: this site's responses.
    draws : callable
        ``(theta, data, observed) -> ndarray (m, n, ...)``: responses simulated at theta, always by the same seeds.
    slopes : callable
        ``(theta, data, observed, responses (n, ...)) -> ndarray (n, d)``: gradients of the rows' log-likelihoods.
    cdf : callable, optional
        ``(theta, data, observed) -> (ndarray (n,), ndarray (n,))``: P(Y < y) and P(Y <= y).
    discrete : bool
    name : str
        Of the distribution.
    """

    kind = "number"

    def __init__(
        self,
        values: Callable[[Any], FloatArray],
        draws: Callable[..., FloatArray],
        slopes: Callable[..., FloatArray],
        cdf: Callable[..., tuple[FloatArray, FloatArray]] | None,
        discrete: bool,
        name: str,
    ) -> None:
        self._values, self._draws, self._gradients, self._cdf, self._discrete = values, draws, slopes, cdf, discrete
        self.source = f"{name}, its own cdf" if cdf is not None else f"{name}, {SIMULATIONS} simulated responses a row"

    def tails(self, *point: Any) -> Tails:
        """From the cdf, or by the place among the simulated responses; ties make an interval."""
        if self._cdf is not None:
            below, up_to = (np.clip(end, 0.0, 1.0) for end in self._cdf(*point))
        else:
            y, draws = self._values(point[-1]), self._draws(*point)
            count = len(draws) + 1.0
            below, up_to = (draws < y).sum(axis=0) / count, ((draws <= y).sum(axis=0) + 1.0) / count
        rows = len(below)
        with np.errstate(divide="ignore"):
            return Tails(*(np.log(end).reshape(rows, -1) for end in (below, up_to, 1.0 - below, 1.0 - up_to)))

    def telling(self, *point: Any) -> Telling:
        """Covariances of normal scores and gradients over the simulated responses."""
        draws = self._draws(*point)
        m, n = draws.shape[:2]
        from scipy.stats import rankdata  # a third of a second, for laws without a cdf only

        q = ndtri((rankdata(draws, axis=0) - 0.5) / m).reshape(m, n, -1)
        mean = spread = np.zeros((n, q.shape[2], 0))
        for scores, responses in zip(q, draws, strict=True):
            slopes = self._gradients(*point, responses)
            slopes = np.where(np.isfinite(slopes), slopes, 0.0)[:, None, :] / m
            if not mean.shape[2]:
                mean = spread = np.zeros((n, q.shape[2], slopes.shape[2]))
            mean = mean + scores[:, :, None] * slopes
            spread = spread + (scores[:, :, None] ** 2 - 1.0) / np.sqrt(2.0) * slopes
        return Telling(mean, spread, np.median(draws, axis=0).reshape(n, -1), mean)

    def noise(self, told: Telling) -> Noise:
        """Discrete: implied; else estimated, as nothing says that it is known."""
        return "implied" if self._discrete else "estimated"


# Responses at which rows are compared: quantiles of those that were seen.
_GRID = 65
# Scores at which the derivatives of a row's score are taken: one on either side of its middle.
_SIDES = (-1.0, 1.0)
_SMALL = 1e-9


class RowResponses:
    """Functions of one row of chunked data with its response put in place.

    Parameters
    ----------
    unravel : callable
        Flat parameters to the user's tree.
    response : str
    cdf, simulate : callable or None
        As in :func:`robula.from_jax`.
    """

    def __init__(self, unravel: Any, response: str, cdf: Any | None, simulate: Any | None) -> None:
        self.jax = import_extra("jax", "jax", "from_jax")
        self.unravel, self.response, self.cdf, self.simulate = unravel, response, cdf, simulate

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

    def drawn(self, flat: Any, rows: Any, seed: Any) -> Any:
        """A response for each row, shape (n,)."""
        assert self.simulate is not None
        simulate = self.simulate
        keys = self.jax.random.split(self.jax.random.PRNGKey(seed), len(rows[self.response]))
        return self.jax.vmap(lambda key, row: simulate(key, self.unravel(flat), row))(keys, rows)

    def simulation(self, flat: Any, chunked: Any, observed: Any, seed: int) -> dict[str, np.ndarray]:
        """Simulated responses by name; by inverting the cdf on the responses that were seen where there is no other."""
        y = observed[self.response]
        if self.simulate is None:
            grid, probability = _grid(y), self.on_grid(flat, chunked, y)[..., 1]
            uniform = np.random.default_rng(seed).uniform(size=len(y))
            if y.dtype.kind in "iub":
                places = (probability < uniform[:, None]).sum(axis=1)
                return {self.response: grid[np.minimum(places, len(grid) - 1)]}
            drawn = [np.interp(u, chances, grid) for u, chances in zip(uniform, probability, strict=True)]
            return {self.response: np.array(drawn)}
        with x64(self.jax):
            return {self.response: np.asarray(self.drawn(flat, self.rows(chunked, y), seed))}

    def on_grid(self, flat: Any, chunked: Any, y: np.ndarray) -> FloatArray:
        """Both ends of every row (n, g, 2) if its response were one of the grid."""
        jax, grid = self.jax, _grid(y)
        if not hasattr(self, "_on_grid"):

            def every(flat: Any, chunked: Any, y: Any, grid: Any) -> Any:
                rows = self.rows(chunked, y)
                return jax.vmap(
                    lambda row: jax.vmap(lambda value: self.ends(flat, {**row, self.response: value}))(grid)
                )(rows)

            self._on_grid = Float64(jax, jax.jit(every))
        return self._on_grid(flat, chunked, y, grid)

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


class CdfLaw(SiteLaw):
    """Tails from the cdf; what a row tells from how its normal score moves with theta.

    With location m and scale s, z = (y - m) / s moves by -m' / s - z s' / s: from two responses, one on either side of
    the middle, both terms follow; exactly so for a normal response.
    """

    source = "its cdf"
    kind = "number"

    def __init__(self, rows: RowResponses) -> None:
        jax = self._jax = rows.jax
        self._rows = rows

        def ends(flat: Any, chunked: Any, y: Any) -> Any:
            return jax.vmap(lambda row: rows.ends(flat, row))(rows.rows(chunked, y))

        def scores(flat: Any, chunked: Any, y: Any) -> Any:
            middle = ends(flat, chunked, y).mean(axis=1)
            return jax.scipy.special.ndtri(jax.numpy.clip(middle, 1e-300, 1.0 - 1e-16))

        self._ends, self._scores = Float64(jax, jax.jit(ends)), Float64(jax, jax.jit(scores))
        self._slopes = Float64(jax, jax.jit(jax.jacfwd(scores)))

    def tails(self, *point: Any) -> Tails:
        """Logarithms of both ends."""
        flat, chunked, observed = point
        below, up_to = self._ends(flat, chunked, observed[self._rows.response]).T[:, :, None]
        with np.errstate(divide="ignore"):
            return Tails(np.log(below), np.log(up_to), np.log1p(-below), np.log1p(-up_to))

    def telling(self, *point: Any) -> Telling:
        """From the score's derivatives at two responses of each row."""
        flat, chunked, observed = point
        y = observed[self._rows.response]
        grid = _grid(y)
        middle = np.clip(self._rows.on_grid(flat, chunked, y).mean(axis=2), 1e-12, 1.0 - 1e-12)
        z = ndtri(middle)
        sides = []
        for side in _SIDES:
            chosen = grid[np.abs(z - side).argmin(axis=1)]
            sides.append((chosen, self._scores(flat, chunked, chosen), self._slopes(flat, chunked, chosen)))
        (y1, z1, d1), (y2, z2, d2) = sides
        apart = np.abs(z2 - z1) > _SMALL
        width = np.where(apart, z2 - z1, 1.0)[:, None]
        grown = np.where(apart[:, None], -(d2 - d1) / width, 0.0)
        told = -d1 - z1[:, None] * grown
        scale = np.where(apart, (y2 - y1) / width[:, 0], 1.0)
        # A constant scale differs from 0 by rounding only.
        grown = np.where(np.abs(grown) < _SMALL * (1.0 + np.abs(told)), 0.0, grown)
        predictor = y1 - z1 * scale
        return Telling(
            told[:, None], np.sqrt(2.0) * grown[:, None], predictor[:, None], (told * scale[:, None])[:, None]
        )

    def noise(self, told: Telling) -> Noise:
        """Declared, or estimated where theta has a say in the spread."""
        return "estimated" if told.by_spread.any() else "declared"


def _pair(value: Any) -> tuple[Any, Any]:
    """Both ends of a cdf that may be one number."""
    if isinstance(value, tuple | list):
        lower, upper = value
        return lower, upper
    return value, value


def _grid(y: np.ndarray) -> np.ndarray:
    """Quantiles (g,) of the responses, each of them a response."""
    return np.asarray(np.quantile(y, np.linspace(0.0, 1.0, _GRID), method="nearest"))
