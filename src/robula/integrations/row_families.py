"""Families of distributions that a row's response can follow: tails in SciPy, precise far out; mean and spread in JAX.

A PPL's own cdf is 1 minus something beyond eight standard deviations; bad rows are further out than that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import (
    betainc,
    betaincc,
    betaln,
    gammaln,
    log_expit,
    log_ndtr,
    stdtr,
)

from robula._types import FloatArray
from robula.models.tail_scores import log_gamma_cdf, log_gamma_sf


@dataclass(frozen=True)
class Family:
    """What is known of a response's distribution, given its parameters (each broadcast to the rows).

    Attributes
    ----------
    log_cdf, log_sf : callable
        ``(y, *parameters)`` to log P(Y <= y) and log P(Y > y), in NumPy.
    mean : callable
        ``(jax.numpy, jax.scipy.special, *parameters)`` to the location that theta moves.
    spread : callable
        ``(jax.numpy, jax.scipy.special, mean, *parameters)`` to the standard deviation as the mean and the parameters
        of dispersion give it; where the variance is infinite or says little, what has the same information.
    link : callable
        ``(jax.numpy, mean, *parameters)`` to the scale on which a linear predictor usually acts.
    discrete : bool
    dispersed : bool
        Whether a parameter of its own says how far rows spread.
    location : tuple of int, or None
        Places of location and scale among the parameters, for location-scale families.
    symmetric : bool
        Whether the law is its own mirror image around its location.
    """

    log_cdf: Callable[..., FloatArray]
    log_sf: Callable[..., FloatArray]
    mean: Callable[..., Any]
    spread: Callable[..., Any]
    link: Callable[..., Any] = lambda jnp, mean, *parameters: mean
    discrete: bool = False
    dispersed: bool = True
    location: tuple[int, int] | None = None
    symmetric: bool = False


def _log(probability: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.log(probability)


def _log_link(jnp: Any, mean: Any, *parameters: Any) -> Any:
    return jnp.log(jnp.maximum(mean, 1e-300))


def _logit(jnp: Any, share: Any) -> Any:
    held = jnp.clip(share, 1e-15, 1.0 - 1e-15)
    return jnp.log(held / (1.0 - held))


def _log1mexp(x: FloatArray) -> FloatArray:
    """Log of 1 - e^-x for x >= 0."""
    with np.errstate(divide="ignore"):
        return np.where(x < 0.7, np.log(-np.expm1(-x)), np.log1p(-np.exp(-x)))


def _stretched(y: FloatArray, scale: FloatArray, shape: FloatArray) -> FloatArray:
    return np.power(np.maximum(y, 0.0) / scale, shape)


def _laplace(z: FloatArray) -> FloatArray:
    """Log cdf of the standard Laplace law."""
    return np.where(z < 0, z - math.log(2.0), np.log1p(-0.5 * np.exp(-np.abs(z))))


def _student_spread(jnp: Any, special: Any, mean: Any, df: Any, loc: Any, scale: Any) -> Any:
    # The normal law whose mean can be told as well: the Fisher information of a location is (df + 1) / (df + 3).
    return scale * jnp.sqrt((df + 3.0) / (df + 1.0))


def _weibull_mean(jnp: Any, special: Any, scale: Any, shape: Any) -> Any:
    return scale * jnp.exp(special.gammaln(1.0 + 1.0 / shape))


def _weibull_spread(jnp: Any, special: Any, mean: Any, scale: Any, shape: Any) -> Any:
    # The information about the log of the scale is shape^2: what the mean can be told to, relatively, is 1 / shape.
    return mean / shape


def _count_cdf(tail: Callable[..., FloatArray], at_none: float) -> Callable[..., FloatArray]:
    """Make ``tail(k + 1, ...)``, a function of whole numbers k >= 0, one of any k; below 0 it is ``at_none``."""

    def value(y: FloatArray, *parameters: FloatArray) -> FloatArray:
        k = np.floor(np.asarray(y, dtype=np.float64))
        return np.where(k < 0, at_none, tail(np.maximum(k, 0.0) + 1.0, *parameters))

    return value


def _binomial_cdf(above: FloatArray, n: FloatArray, p: FloatArray) -> FloatArray:
    inside = above <= n
    return np.where(inside, _log(betaincc(np.where(inside, above, 1.0), np.maximum(n - above + 1.0, 1e-9), p)), 0.0)


def _binomial_sf(above: FloatArray, n: FloatArray, p: FloatArray) -> FloatArray:
    inside = above <= n
    return np.where(inside, _log(betainc(np.where(inside, above, 1.0), np.maximum(n - above + 1.0, 1e-9), p)), -np.inf)


def _beta_binomial(upper: bool) -> Callable[..., FloatArray]:
    def tail(above: FloatArray, n: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
        """Sum of the mass from ``above`` (upper) or below it: counts are few enough to be added up."""
        above, n, a, b = np.broadcast_arrays(above, n, a, b)
        k = np.arange(int(np.max(n)) + 1.0).reshape(-1, *[1] * above.ndim)
        inside = (k <= n) & ((k >= above) if upper else (k < above))
        held = np.minimum(k, n)
        mass = (
            gammaln(n + 1) - gammaln(held + 1) - gammaln(n - held + 1) + betaln(held + a, n - held + b) - betaln(a, b)
        )
        result: FloatArray = np.minimum(np.logaddexp.reduce(np.where(inside, mass, -np.inf), axis=0), 0.0)
        return result

    return tail


def _binomial_spread(jnp: Any, special: Any, mean: Any, n: Any, p: Any) -> Any:
    return jnp.sqrt(jnp.maximum(mean * (1.0 - mean / n), 1e-300))


def _beta_binomial_spread(jnp: Any, special: Any, mean: Any, n: Any, a: Any, b: Any) -> Any:
    return jnp.sqrt(mean * (1.0 - mean / n) * (a + b + n) / (a + b + 1.0))


#: By name; the parameters' order is that of the functions.
FAMILIES: dict[str, Family] = {
    # loc, scale
    "normal": Family(
        lambda y, loc, scale: log_ndtr((y - loc) / scale),
        lambda y, loc, scale: log_ndtr((loc - y) / scale),
        lambda jnp, special, loc, scale: loc,
        lambda jnp, special, mean, loc, scale: scale,
        location=(0, 1),
        symmetric=True,
    ),
    # df, loc, scale
    "student_t": Family(
        lambda y, df, loc, scale: _log(stdtr(df, (y - loc) / scale)),
        lambda y, df, loc, scale: _log(stdtr(df, (loc - y) / scale)),
        lambda jnp, special, df, loc, scale: loc,
        _student_spread,
        location=(1, 2),
        symmetric=True,
    ),
    "laplace": Family(
        lambda y, loc, scale: _laplace((y - loc) / scale),
        lambda y, loc, scale: _laplace((loc - y) / scale),
        lambda jnp, special, loc, scale: loc,
        lambda jnp, special, mean, loc, scale: scale,
        location=(0, 1),
        symmetric=True,
    ),
    "logistic": Family(
        lambda y, loc, scale: log_expit((y - loc) / scale),
        lambda y, loc, scale: log_expit((loc - y) / scale),
        lambda jnp, special, loc, scale: loc,
        lambda jnp, special, mean, loc, scale: scale * math.sqrt(3.0),
        location=(0, 1),
        symmetric=True,
    ),
    "gumbel": Family(
        lambda y, loc, scale: -np.exp(-(y - loc) / scale),
        lambda y, loc, scale: _log1mexp(np.exp(-(y - loc) / scale)),
        lambda jnp, special, loc, scale: loc,
        lambda jnp, special, mean, loc, scale: scale,
        location=(0, 1),
    ),
    # shape, rate
    "gamma": Family(
        lambda y, shape, rate: log_gamma_cdf(shape, np.maximum(rate * y, 0.0)),
        lambda y, shape, rate: log_gamma_sf(shape, np.maximum(rate * y, 0.0)),
        lambda jnp, special, shape, rate: shape / rate,
        lambda jnp, special, mean, shape, rate: mean / jnp.sqrt(shape),
        link=_log_link,
    ),
    "exponential": Family(
        lambda y, rate: _log1mexp(rate * np.maximum(y, 0.0)),
        lambda y, rate: -rate * np.maximum(y, 0.0),
        lambda jnp, special, rate: 1.0 / rate,
        lambda jnp, special, mean, rate: mean,
        link=_log_link,
        dispersed=False,
    ),
    # scale, shape
    "weibull": Family(
        lambda y, scale, shape: _log1mexp(_stretched(y, scale, shape)),
        lambda y, scale, shape: -_stretched(y, scale, shape),
        _weibull_mean,
        _weibull_spread,
        link=_log_link,
    ),
    "beta": Family(
        lambda y, a, b: _log(betainc(a, b, np.clip(y, 0.0, 1.0))),
        lambda y, a, b: _log(betaincc(a, b, np.clip(y, 0.0, 1.0))),
        lambda jnp, special, a, b: a / (a + b),
        lambda jnp, special, mean, a, b: jnp.sqrt(mean * (1.0 - mean) / (a + b + 1.0)),
        link=lambda jnp, mean, *parameters: _logit(jnp, mean),
    ),
    "poisson": Family(
        _count_cdf(lambda above, rate: log_gamma_sf(above, rate), -np.inf),
        _count_cdf(lambda above, rate: log_gamma_cdf(above, rate), 0.0),
        lambda jnp, special, rate: rate,
        lambda jnp, special, mean, rate: jnp.sqrt(mean),
        link=_log_link,
        discrete=True,
        dispersed=False,
    ),
    # mean, concentration
    "negative_binomial": Family(
        _count_cdf(lambda above, mean, c: _log(betainc(c, above, c / (mean + c))), -np.inf),
        _count_cdf(lambda above, mean, c: _log(betainc(above, c, mean / (mean + c))), 0.0),
        lambda jnp, special, mean, c: mean,
        lambda jnp, special, held, mean, c: jnp.sqrt(held + held**2 / c),
        link=_log_link,
        discrete=True,
    ),
    # trials, probability
    "binomial": Family(
        _count_cdf(_binomial_cdf, -np.inf),
        _count_cdf(_binomial_sf, 0.0),
        lambda jnp, special, n, p: n * p,
        _binomial_spread,
        link=lambda jnp, mean, n, *parameters: _logit(jnp, mean / n),
        discrete=True,
        dispersed=False,
    ),
    # trials, a, b
    "beta_binomial": Family(
        _count_cdf(_beta_binomial(upper=False), -np.inf),
        _count_cdf(_beta_binomial(upper=True), 0.0),
        lambda jnp, special, n, a, b: n * a / (a + b),
        _beta_binomial_spread,
        link=lambda jnp, mean, n, *parameters: _logit(jnp, mean / n),
        discrete=True,
    ),
}
