"""A NumPyro distribution taken apart: wrappers off, down to a family of robula's with its parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from robula.integrations.row_families import FAMILIES
from robula.integrations.site_laws import Described


class UnknownFamily(Exception):
    """No family here is the distribution's; the message is its name."""


#: By class, the family and its parameters; subclasses are found by their parents.
_LEAVES: dict[str, tuple[str, Callable[[Any], tuple[Any, ...]]]] = {
    "Normal": ("normal", lambda d: (d.loc, d.scale)),
    "StudentT": ("student_t", lambda d: (d.df, d.loc, d.scale)),
    "Cauchy": ("student_t", lambda d: (1.0, d.loc, d.scale)),
    "Laplace": ("laplace", lambda d: (d.loc, d.scale)),
    "Logistic": ("logistic", lambda d: (d.loc, d.scale)),
    "Gumbel": ("gumbel", lambda d: (d.loc, d.scale)),
    "Gamma": ("gamma", lambda d: (d.concentration, d.rate)),
    "Exponential": ("exponential", lambda d: (d.rate,)),
    "Weibull": ("weibull", lambda d: (d.scale, d.concentration)),
    "Beta": ("beta", lambda d: (d.concentration1, d.concentration0)),
    "Poisson": ("poisson", lambda d: (d.rate,)),
    "GammaPoisson": ("negative_binomial", lambda d: (d.concentration / d.rate, d.concentration)),
    "BinomialProbs": ("binomial", lambda d: (d.total_count, d.probs)),
    "BinomialLogits": ("binomial", lambda d: (d.total_count, d.probs)),
    "BetaBinomial": ("beta_binomial", lambda d: (d.total_count, d.concentration1, d.concentration0)),
}
#: Transforms of numbers that keep their order.
_RISING = ("ExpTransform", "SigmoidTransform", "SoftplusTransform", "IdentityTransform")


def describe_distribution(jax: Any, distribution: Any, y: Any) -> Described:
    """Return family and arrays of a distribution (traced or not) for responses y.

    Raises
    ------
    UnknownFamily
    """
    family, arrays = _taken_apart(jax, distribution, y)
    if family in FAMILIES:
        # Parameters of fewer axes than the response are shared along the first ones.
        jnp = jax.numpy
        shape = jnp.broadcast_shapes(*(jnp.shape(array) for array in arrays.values()))
        arrays = {name: jnp.broadcast_to(array, shape) for name, array in arrays.items()}
    return Described(family, arrays)


def _taken_apart(jax: Any, d: Any, y: Any) -> tuple[str, dict[str, Any]]:
    jnp = jax.numpy
    names = [kind.__name__ for kind in type(d).__mro__]
    if "ExpandedDistribution" in names or "Independent" in names:
        return _taken_apart(jax, d.base_dist, y)
    if "MaskedDistribution" in names:
        # What a mask hides may be missing; MaskedLaw leaves it out.
        numbers = jnp.asarray(y)
        return _taken_apart(jax, d.base_dist, jnp.where(jnp.isfinite(numbers), numbers, 0.5).astype(numbers.dtype))
    if "TransformedDistribution" in names:
        return _transformed(jax, d, y)
    if names[0] in ("LeftTruncatedDistribution", "RightTruncatedDistribution", "TwoSidedTruncatedDistribution"):
        family, arrays = _taken_apart(jax, d.base_dist, y)
        ends = {end: jnp.asarray(getattr(d, end)) for end in ("low", "high") if hasattr(d, end)}
        return family, {**arrays, **ends}
    if names[0] in ("RightCensoredDistribution", "LeftCensoredDistribution"):
        family, arrays = _taken_apart(jax, d.base_dist, y)
        code = 1.0 if names[0].startswith("Right") else -1.0
        return family, {**arrays, "censored": code * jnp.asarray(d.censored, dtype=float)}
    if "ZeroInflatedProbs" in names:
        family, arrays = _taken_apart(jax, d.base_dist, y)
        return family, {**arrays, "gate": d.gate}
    if names[0] in ("BernoulliProbs", "BernoulliLogits"):
        logits = d.logits if names[0].endswith("Logits") else jnp.log(d.probs) - jnp.log1p(-d.probs)
        log_p = jnp.stack([jax.nn.log_sigmoid(-logits), jax.nn.log_sigmoid(logits)], axis=-1)
        return "labels", _labels(jnp, log_p, y)
    if "CategoricalProbs" in names or "CategoricalLogits" in names:
        log_p = jnp.log(d.probs) if "CategoricalProbs" in names else jax.nn.log_softmax(d.logits, axis=-1)
        return "labels", _labels(jnp, log_p, y)
    if "MultivariateNormal" in names:
        size = jnp.shape(y)[-1]
        loc = jnp.broadcast_to(d.loc, jnp.shape(y))
        factor = jnp.broadcast_to(d.scale_tril, (*jnp.shape(y)[:-1], size, size))
        return "multivariate_normal", {"y": jnp.asarray(y, dtype=float), "0": loc, "1": factor}
    for name in names:
        if name in _LEAVES:
            family, parameters = _LEAVES[name]
            values = {str(index): jnp.asarray(value, dtype=float) for index, value in enumerate(parameters(d))}
            return family, {"y": jnp.asarray(y, dtype=float), **values}
    raise UnknownFamily(type(d).__name__)


def _labels(jnp: Any, log_p: Any, y: Any) -> dict[str, Any]:
    return {"y": jnp.asarray(y, dtype=float), "0": jnp.broadcast_to(log_p, (*jnp.shape(y), log_p.shape[-1]))}


def _transformed(jax: Any, d: Any, y: Any) -> tuple[str, dict[str, Any]]:
    jnp = jax.numpy
    steps = list(d.transforms)
    sign, value, folded = 1.0, y, None
    for index, transform in enumerate(reversed(steps)):
        name = type(transform).__name__
        if name == "AffineTransform":
            if index == len(steps) - 1:
                folded = transform  # the innermost: a location and a scale of the family itself
                break
            sign = sign * jnp.sign(transform.scale)
        elif name == "PowerTransform":
            sign = sign * jnp.sign(transform.exponent)
        elif name not in _RISING:
            raise UnknownFamily(type(d).__name__)
        value = transform.inv(value)
    family, arrays = _taken_apart(jax, d.base_dist, value)
    if folded is not None:
        places = FAMILIES[family].location if family in FAMILIES else None
        if places is None:
            arrays["y"] = folded.inv(arrays["y"])
            sign = sign * jnp.sign(folded.scale)
        else:
            location, scale = map(str, places)
            centre, width, moved = folded.loc, folded.scale, {location}
            if not FAMILIES[family].symmetric or {"low", "high"} & set(arrays):
                # What is no mirror image of itself is the law of the response's negative where the scale is negative.
                side = jnp.sign(folded.scale)
                arrays["y"], sign = side * arrays["y"], sign * side
                centre, width, moved = side * centre, side * width, moved | ({"low", "high"} & set(arrays))
            arrays.update({name: centre + width * arrays[name] for name in moved})
            arrays[scale] = jnp.abs(width) * arrays[scale]
    # Constant and rising in nearly all cases: then there is nothing to turn round.
    if isinstance(sign, float):
        return family, arrays
    return family, {**arrays, "sign": sign * arrays.get("sign", 1.0)}
