"""A PyMC random variable taken apart: down to a family of robula's with its parameters, still as graphs of PyTensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from robula.integrations.row_families import FAMILIES

#: By class of the operation, the family and its parameters.
_LEAVES: dict[str, tuple[str, Callable[..., tuple[Any, ...]]]] = {
    "NormalRV": ("normal", lambda mu, sigma: (mu, sigma)),
    "StudentTRV": ("student_t", lambda nu, mu, sigma: (nu, mu, sigma)),
    "CauchyRV": ("student_t", lambda alpha, beta: (alpha * 0.0 + 1.0, alpha, beta)),
    "LaplaceRV": ("laplace", lambda mu, b: (mu, b)),
    "LogisticRV": ("logistic", lambda mu, s: (mu, s)),
    "GumbelRV": ("gumbel", lambda mu, beta: (mu, beta)),
    "GammaRV": ("gamma", lambda shape, scale: (shape, 1.0 / scale)),
    "ExponentialRV": ("exponential", lambda scale: (1.0 / scale,)),
    "WeibullBetaRV": ("weibull", lambda alpha, beta: (beta, alpha)),
    "BetaRV": ("beta", lambda a, b: (a, b)),
    "PoissonRV": ("poisson", lambda mu: (mu,)),
    "NegBinomialRV": ("negative_binomial", lambda n, p: (n * (1.0 - p) / p, n)),
    "BinomialRV": ("binomial", lambda n, p: (n, p)),
    "BetaBinomialRV": ("beta_binomial", lambda n, a, b: (n, a, b)),
    "LogNormalRV": ("normal", lambda mu, sigma: (mu, sigma)),
    "InvGammaRV": ("gamma", lambda shape, scale: (shape, scale)),
    "TruncatedNormalRV": ("normal", lambda mu, sigma, low, high: (mu, sigma)),
}


def describe_variable(variable: Any, y: Any) -> tuple[str, dict[str, Any]] | None:
    """Family and arrays (as in ``Described``) of an observed variable with responses y; None where it has none here."""
    import pytensor.tensor as pt
    from pytensor.tensor.random.op import RandomVariable

    node = variable.owner
    kind = type(node.op).__name__
    if kind == "CensoredRV":
        inner, low, high = node.inputs[:3]
        found = describe_variable(inner, y)
        if found is None or found[0] not in FAMILIES:
            return None
        code = pt.where(y <= low, -1.0, pt.where(y >= high, 1.0, 0.0))
        return found[0], {**found[1], "censored": code}
    if kind == "TruncatedRV":
        *parameters, low, high = node.inputs[2:]
        found = _leaf(type(node.op.base_rv_op).__name__, parameters, y)
        if found is None or found[0] not in FAMILIES or FAMILIES[found[0]].discrete or "sign" in found[1]:
            return None
        if type(node.op.base_rv_op).__name__ == "LogNormalRV":
            low, high = pt.log(low), pt.log(high)
        return found[0], {**found[1], "low": low, "high": high}
    if isinstance(node.op, RandomVariable):
        return _leaf(kind, node.op.dist_params(node), y)
    return _leaf(kind, node.inputs[2:], y) if kind == "WeibullBetaRV" else None


def _leaf(kind: str, parameters: Any, y: Any) -> tuple[str, dict[str, Any]] | None:
    import pytensor.tensor as pt

    y = y.astype("float64")
    if kind == "BernoulliRV":
        (p,) = parameters
        return "labels", {"y": y, "0": pt.stack([pt.log1p(-p), pt.log(p)], axis=-1)}
    if kind == "CategoricalRV":
        return "labels", {"y": y, "0": pt.log(parameters[0])}
    if kind == "MvNormalRV":
        return "multivariate_normal", {"y": y, "0": parameters[0], "1": pt.linalg.cholesky(parameters[1])}
    if kind not in _LEAVES:
        return None
    family, convert = _LEAVES[kind]
    values = {str(index): value.astype("float64") for index, value in enumerate(convert(*parameters))}
    if kind == "LogNormalRV":
        return family, {"y": pt.log(y), **values}
    if kind == "InvGammaRV":
        return family, {"y": 1.0 / y, **values, "sign": pt.constant(-1.0)}
    if kind == "TruncatedNormalRV":
        return family, {"y": y, **values, "low": parameters[2], "high": parameters[3]}
    return family, {"y": y, **values}
