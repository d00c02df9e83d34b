"""The law of the rows at one observed site, from its distribution's parameters, its cdf or simulated responses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from robula._types import BoolArray, FloatArray
from robula.integrations.jax_support import Float64, jacobian_of, x64
from robula.integrations.row_families import FAMILIES
from robula.models.law import Noise, ResponseKind, Tails

_NOTHING, _CERTAIN = -np.inf, 0.0


class Described(NamedTuple):
    """An observed site: the family of its responses, and arrays that depend on theta and the data.

    Attributes
    ----------
    family : str
        A name in FAMILIES, "labels" or "multivariate_normal".
    arrays : dict
        ``y``, the response on the family's scale; ``0``, ``1``, ... the parameters; and where there is such a thing,
        ``sign`` (-1 where the family's scale runs against the response's), ``low`` and ``high`` (truncation),
        ``censored`` (-1: at most, 1: at least, 0: seen), ``gate`` (probability of an extra zero). All of shape
        (n,) or (n, k).
    """

    family: str
    arrays: Mapping[str, Any]


def rows_first(arrays: Mapping[str, Any], family: str) -> dict[str, Any]:
    """Return arrays whose first axis is the rows with what belongs to a row along a second one, if there is more."""
    if family not in FAMILIES or arrays["y"].ndim <= 2:
        return dict(arrays)
    return {name: array.reshape(array.shape[0], -1) for name, array in arrays.items()}


class Telling(NamedTuple):
    """What rows can tell about theta: through their means, through their spread, each (n, k, d); and the predictor.

    ``predictor`` (n, q) is the mean on the scale of its link, ``predictor_slopes`` (n, q, d) its derivative.
    """

    by_mean: FloatArray
    by_spread: FloatArray
    predictor: FloatArray
    predictor_slopes: FloatArray


class SiteLaw(ABC):
    """The law at one site, as functions of (theta, data, observed).

    Attributes
    ----------
    source : str
        Where it comes from, in words.
    kind : "number", "label" or "vector"
    classes : int
        Of a label.
    """

    source: str
    kind: ResponseKind
    classes: int = 2

    @abstractmethod
    def tails(self, *point: Any) -> Tails:
        """Tail probabilities of every number, shapes (n, k); for numbers and labels."""

    @abstractmethod
    def telling(self, *point: Any) -> Telling:
        """What rows tell about theta."""

    @abstractmethod
    def noise(self, told: Telling) -> Noise:
        """Who says how far rows spread."""

    def scores(self, *point: Any) -> tuple[FloatArray, FloatArray]:
        """Normal scores of both ends, shapes (n, k)."""
        return self.tails(*point).scores

    def seen(self, *point: Any) -> BoolArray:
        """Which numbers count, shape (n, k): all of them, where there is no mask."""
        return np.ones(self.scores(*point)[0].shape, dtype=np.bool_)


class FamilyLaw(SiteLaw):
    """Known families: everything from the distribution's parameters.

    Parameters
    ----------
    describe : callable
        ``(flat, data, observed) -> Described``, traceable by JAX.
    """

    def __init__(self, jax: Any, describe: Callable[..., Described], point: tuple[Any, ...]) -> None:
        with x64(jax):
            found = jax.eval_shape(lambda *inner: dict(describe(*inner).arrays), *point)
            self.family = describe(*point).family
        shape = found["y"].shape
        self.kind = (
            "label" if self.family == "labels" and len(shape) == 1 else "number" if len(shape) == 1 else "vector"
        )
        if self.family == "labels":
            self.classes = found["0"].shape[-1]
        self.source = self.family.replace("_", " ") if self.family != "labels" else f"{self.classes} labels"

        def arrays(*inner: Any) -> Any:
            return dict(describe(*inner).arrays)

        def told(*inner: Any) -> Any:
            return _moments(jax, self.family, describe(*inner).arrays)

        self._jax = jax
        self._arrays = jax.jit(arrays)
        self._predictor = Float64(jax, jax.jit(lambda *inner: told(*inner)[2]))
        self._slopes = jax.jit(jacobian_of(jax, told, point))

    def _values(self, *point: Any) -> dict[str, FloatArray]:
        with x64(self._jax):
            values = {name: np.asarray(array, dtype=np.float64) for name, array in self._arrays(*point).items()}
        return values

    def tails(self, *point: Any) -> Tails:
        """From the family's own tails, precise far out."""
        values = self._values(*point)
        return _columns(_label_tails(values) if self.family == "labels" else _family_tails(self.family, values))

    def scores(self, *point: Any) -> tuple[FloatArray, FloatArray]:
        """Exact for normal responses, however far out; Rosenblatt's for a multivariate normal."""
        values = self._values(*point)
        if self.family == "multivariate_normal":
            away = (values["y"] - values["0"])[..., None]
            z = np.asarray(np.linalg.solve(values["1"], away)[..., 0], dtype=np.float64)
            return z, z
        if self.family == "normal" and set(values) == {"y", "0", "1"}:
            z = (values["y"] - values["0"]) / values["1"]
            z = z if z.ndim > 1 else z[:, None]
            return z, z
        return super().scores(*point)

    def telling(self, *point: Any) -> Telling:
        """Derivatives of mean over spread, of log spread, and of the linear predictor."""
        with x64(self._jax):
            slopes = [np.asarray(array, dtype=np.float64) for array in self._slopes(*point)]
        mean, spread, predictor = (array.reshape(len(array), -1, array.shape[-1]) for array in slopes)
        if spread.shape[1] != mean.shape[1]:
            spread = np.zeros_like(mean)
        at = self._predictor(*point)
        return Telling(mean, np.sqrt(2.0) * spread, at.reshape(len(at), -1), predictor)

    def noise(self, told: Telling) -> Noise:
        """Implied by the mean where the family has no spread of its own; else declared, or estimated in theta."""
        if self.family == "labels" or (self.family in FAMILIES and not FAMILIES[self.family].dispersed):
            return "implied"
        return "estimated" if told.by_spread.any() else "declared"


def _moments(jax: Any, family: str, arrays: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Mean over a held spread, log spread at a held mean, and the linear predictor."""
    jnp, special, hold = jax.numpy, jax.scipy.special, jax.lax.stop_gradient
    rows = arrays["y"].shape
    if family == "multivariate_normal":
        factor = arrays["1"]
        mean = jnp.linalg.solve(hold(factor), arrays["0"][..., None])[..., 0]
        return mean, jnp.log(jnp.diagonal(factor, axis1=-2, axis2=-1)), arrays["0"]
    if family == "labels":
        log_p = arrays["0"]
        p = jnp.exp(hold(log_p))
        if log_p.shape[-1] == 2:
            told = jnp.exp(log_p[..., 1]) / jnp.sqrt(jnp.maximum(p[..., 0] * p[..., 1], 1e-30))
        else:
            told = log_p * jnp.sqrt(p)
        return told, jnp.zeros((rows[0], 0)), log_p[..., 1:] - log_p[..., :1]
    found = FAMILIES[family]
    parameters = [jnp.broadcast_to(arrays[str(index)], rows) for index in range(_count(arrays))]
    mean = found.mean(jnp, special, *parameters)
    spread = found.spread(jnp, special, hold(mean), *parameters)
    told = mean / hold(spread) * arrays.get("sign", 1.0)
    wide = jnp.log(spread) if found.dispersed else jnp.zeros((rows[0], 0))
    predictor = found.link(jnp, mean, *parameters)
    if found.location is not None:
        predictor = predictor * arrays.get("sign", 1.0)
    return told, wide, predictor


def _count(arrays: Mapping[str, Any]) -> int:
    return sum(name.isdigit() for name in arrays)


def _columns(tails: Tails) -> Tails:
    """As shapes (n, k)."""
    return tails if tails.below.ndim > 1 else Tails(*(values[:, None] for values in tails))


def _log_difference(a: FloatArray, b: FloatArray) -> FloatArray:
    """Log of e^a - e^b for a >= b; -inf where they are equal to rounding."""
    with np.errstate(divide="ignore", invalid="ignore"):
        result: FloatArray = np.where(a > b, a + np.log(-np.expm1(np.minimum(b - a, 0.0))), -np.inf)
    return result


def _family_tails(name: str, values: Mapping[str, FloatArray]) -> Tails:
    family, y = FAMILIES[name], values["y"]
    parameters = [np.broadcast_to(values[str(index)], y.shape) for index in range(_count(values))]

    def both(at: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log P(Y <= at) and log P(Y > at), with extra zeros and truncation."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            low, high = family.log_cdf(at, *parameters), family.log_sf(at, *parameters)
            if "gate" in values:
                gate, rest = np.log(values["gate"]), np.log1p(-values["gate"])
                low, high = (
                    np.where(at >= 0, np.logaddexp(gate, rest + low), _NOTHING),
                    np.where(at >= 0, rest + high, _CERTAIN),
                )
        if not ("low" in values or "high" in values):
            return low, high
        shape = np.broadcast_shapes(y.shape)
        start = np.broadcast_to(values.get("low", np.float64(-np.inf)), shape)
        end = np.broadcast_to(values.get("high", np.float64(np.inf)), shape)
        below, above = family.log_cdf(start, *parameters), family.log_sf(end, *parameters)
        upper_half = below > np.log(0.5)
        whole = np.where(
            upper_half,
            _log_difference(family.log_sf(start, *parameters), above),
            _log_difference(family.log_cdf(end, *parameters), below),
        )
        return (
            np.minimum(_log_difference(low, below) - whole, 0.0),
            np.minimum(_log_difference(high, above) - whole, 0.0),
        )

    up_to, above = both(y)
    below, from_here = both(y - 1.0) if family.discrete else (up_to, above)
    tails = Tails(below, up_to, from_here, above)
    if "sign" in values:
        against = np.broadcast_to(values["sign"] < 0, y.shape)
        turned = (tails.above, tails.from_here, tails.up_to, tails.below)
        tails = Tails(*(np.where(against, other, own) for own, other in zip(tails, turned, strict=True)))
    if "censored" in values:
        code = np.broadcast_to(values["censored"], y.shape)
        tails = Tails(
            np.where(code < 0, _NOTHING, tails.below),
            np.where(code > 0, _CERTAIN, tails.up_to),
            np.where(code < 0, _CERTAIN, tails.from_here),
            np.where(code > 0, _NOTHING, tails.above),
        )
    return tails


def _label_tails(values: Mapping[str, FloatArray]) -> Tails:
    log_p, y = values["0"], values["y"].astype(int)
    places = np.arange(log_p.shape[-1])

    def total(inside: np.ndarray) -> FloatArray:
        return np.asarray(np.minimum(np.logaddexp.reduce(np.where(inside, log_p, -np.inf), axis=-1), 0.0))

    at = y[..., None]
    return Tails(total(places < at), total(places <= at), total(places >= at), total(places > at))
