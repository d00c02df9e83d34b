"""Ten models as a NumPyro user writes them, with data from their own law, and the law itself for attacks to use.

Rows are drawn at the truth ``make`` knows; ``law(X)`` is SciPy's distribution of the responses there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import expit, softmax

GROUPS = 12
KNOTS = np.linspace(-2.0, 2.0, 7)
CUTS = np.array([-1.0, 0.3, 1.5])
TRIALS = 20


@dataclass
class Problem:
    """Data of one model.

    Attributes
    ----------
    model : callable
        The NumPyro model, called with ``**data``.
    data : dict
        ``X`` (n, p), ``y`` (n,) and what else the model takes, rows along the first axis.
    law : callable
        ``(X, **other data) -> scipy.stats`` frozen distribution, or class probabilities (n, C) for labels.
    labels : int
        Number of classes; 0 where the response is a number.
    """

    model: Callable[..., Any]
    data: dict[str, Any]
    law: Callable[..., Any]
    labels: int = 0
    extra: dict[str, Any] = field(default_factory=dict)


def _normal(name: str, dist: Any, size: int, scale: float = 2.0) -> Any:
    import numpyro

    return numpyro.sample(name, dist.Normal(0.0, scale).expand([size]).to_event(1))


def linear(X, y):
    """Regression with a scale of its own."""
    import numpyro
    import numpyro.distributions as dist

    beta, sigma = _normal("beta", dist, X.shape[1]), numpyro.sample("sigma", dist.HalfNormal(2.0))
    with numpyro.plate("rows", X.shape[0]):
        numpyro.sample("y", dist.Normal(X @ beta, sigma), obs=y)


def student(X, y):
    """Regression with Student-t errors of four degrees of freedom."""
    import numpyro
    import numpyro.distributions as dist

    beta, sigma = _normal("beta", dist, X.shape[1]), numpyro.sample("sigma", dist.HalfNormal(2.0))
    with numpyro.plate("rows", X.shape[0]):
        numpyro.sample("y", dist.StudentT(4.0, X @ beta, sigma), obs=y)


def mixture(X, y):
    """What a PPL user may write against bad rows: some rows have a wider normal law around the same line."""
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    beta, sigma = _normal("beta", dist, X.shape[1]), numpyro.sample("sigma", dist.HalfNormal(2.0))
    share = numpyro.sample("share", dist.Beta(1.0, 9.0))
    wider = numpyro.sample("wider", dist.LogNormal(jnp.log(10.0), 0.5))
    which = dist.Categorical(probs=jnp.stack([1.0 - share, share]))
    with numpyro.plate("rows", X.shape[0]):
        parts = [dist.Normal(X @ beta, sigma), dist.Normal(X @ beta, wider * sigma)]
        numpyro.sample("y", dist.MixtureGeneral(which, parts), obs=y)


def negative_binomial(X, y, exposure):
    """Counts with exposure and a dispersion of their own."""
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    beta, size = _normal("beta", dist, X.shape[1]), numpyro.sample("size", dist.Gamma(2.0, 0.5))
    with numpyro.plate("rows", X.shape[0]):
        numpyro.sample("y", dist.NegativeBinomial2(exposure * jnp.exp(X @ beta), size), obs=y)


def gamma(X, y):
    """Positive responses with a shape of their own."""
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    beta, shape = _normal("beta", dist, X.shape[1]), numpyro.sample("shape", dist.Gamma(2.0, 0.5))
    with numpyro.plate("rows", X.shape[0]):
        numpyro.sample("y", dist.Gamma(shape, shape / jnp.exp(X @ beta)), obs=y)


def beta_binomial(X, y):
    """Successes out of 20 trials, overdispersed."""
    import jax
    import numpyro
    import numpyro.distributions as dist

    beta, size = _normal("beta", dist, X.shape[1]), numpyro.sample("size", dist.Gamma(2.0, 0.1))
    with numpyro.plate("rows", X.shape[0]):
        p = jax.nn.sigmoid(X @ beta)
        numpyro.sample("y", dist.BetaBinomial(p * size, (1.0 - p) * size, TRIALS), obs=y)


def ordinal(X, y):
    """Ordered logistic regression with four classes."""
    import numpyro
    import numpyro.distributions as dist
    from numpyro.distributions.transforms import OrderedTransform

    beta = _normal("beta", dist, X.shape[1])
    base = dist.Normal(0.0, 2.0).expand([3]).to_event(1)
    cuts = numpyro.sample("cuts", dist.TransformedDistribution(base, OrderedTransform()))
    with numpyro.plate("rows", X.shape[0]):
        numpyro.sample("y", dist.OrderedLogistic(X @ beta, cuts), obs=y)


def multinomial(X, y):
    """Logistic regression with three classes."""
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    beta = numpyro.sample("beta", dist.Normal(0.0, 2.0).expand([X.shape[1], 2]).to_event(2))
    logits = jnp.concatenate([jnp.zeros((X.shape[0], 1)), X @ beta], axis=1)
    with numpyro.plate("rows", X.shape[0]):
        numpyro.sample("y", dist.Categorical(logits=logits), obs=y)


def weibull(X, y, censored):
    """Survival times, some of them cut off."""
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    beta, shape = _normal("beta", dist, X.shape[1]), numpyro.sample("shape", dist.Gamma(2.0, 1.0))
    with numpyro.plate("rows", X.shape[0]):
        numpyro.sample("y", dist.RightCensoredDistribution(dist.Weibull(jnp.exp(X @ beta), shape), censored), obs=y)


def hierarchical(X, y, group):
    """Intercepts and slopes of groups around a common line; groups effects as such, not their innovations."""
    import numpyro
    import numpyro.distributions as dist

    centre = _normal("centre", dist, 2)
    tau = numpyro.sample("tau", dist.HalfNormal(1.0).expand([2]).to_event(1))
    sigma = numpyro.sample("sigma", dist.HalfNormal(2.0))
    with numpyro.plate("groups", GROUPS):
        effect = numpyro.sample("effect", dist.Normal(centre, tau).to_event(1))
    with numpyro.plate("rows", X.shape[0]):
        numpyro.sample("y", dist.Normal((effect[group] * X).sum(axis=1), sigma), obs=y)


def spline(X, y):
    """A smooth curve: Gaussian bumps with a common scale, and a line."""
    import numpyro
    import numpyro.distributions as dist

    line, sigma = _normal("line", dist, 2), numpyro.sample("sigma", dist.HalfNormal(2.0))
    tau = numpyro.sample("tau", dist.HalfNormal(1.0))
    raw = numpyro.sample("raw", dist.Normal(0.0, 1.0).expand([len(KNOTS)]).to_event(1))
    with numpyro.plate("rows", X.shape[0]):
        numpyro.sample("y", dist.Normal(X @ line + _bumps(X[:, 1]) @ (tau * raw), sigma), obs=y)


def _bumps(x: Any) -> Any:
    import jax.numpy as jnp

    return jnp.exp(-0.5 * ((x[:, None] - KNOTS) / 0.6) ** 2)


def make(name: str, n: int, seed: int) -> Problem:
    """Data of n clean rows."""
    rng = np.random.default_rng([seed, sum(map(ord, name))])
    X = np.column_stack([np.ones(n), rng.standard_normal((n, 3))])
    b = np.array([0.5, 0.6, -0.4, 0.2])
    if name == "linear":
        problem = Problem(linear, {}, lambda X: stats.norm(X @ b, 0.7))
    elif name == "student":
        problem = Problem(student, {}, lambda X: stats.t(4.0, X @ b, 0.7))
    elif name == "negative_binomial":
        exposure = rng.uniform(1.0, 5.0, n)
        problem = Problem(
            negative_binomial,
            {"exposure": exposure},
            lambda X, exposure: stats.nbinom(4.0, 4.0 / (4.0 + exposure * np.exp(X @ b))),
        )
    elif name == "gamma":
        problem = Problem(gamma, {}, lambda X: stats.gamma(3.0, scale=np.exp(X @ b) / 3.0))
    elif name == "beta_binomial":
        problem = Problem(
            beta_binomial, {}, lambda X: stats.betabinom(TRIALS, 10 * expit(X @ b), 10 * (1 - expit(X @ b)))
        )
    elif name == "ordinal":
        b = 2.0 * np.append(0.0, b[1:])
        X = X[:, 1:]
        cumulative = lambda X: expit(CUTS - (X @ b[1:])[:, None])  # noqa: E731
        problem = Problem(
            ordinal, {}, lambda X: np.diff(np.pad(cumulative(X), ((0, 0), (1, 1)), constant_values=(0, 1))), 4
        )
    elif name == "multinomial":
        B = np.column_stack([np.zeros(4), 2.0 * b, [-0.3, -1.0, 1.2, 0.6]])
        problem = Problem(multinomial, {}, lambda X: softmax(X @ B, axis=1), 3)
    elif name == "weibull":
        problem = Problem(weibull, {}, lambda X: stats.weibull_min(2.0, scale=np.exp(X @ b)))
    elif name == "hierarchical":
        X, group = X[:, :2], np.arange(n) % GROUPS
        effect = np.array([0.5, 0.6]) + rng.standard_normal((GROUPS, 2)) * [0.8, 0.4]
        problem = Problem(
            hierarchical, {"group": group}, lambda X, group: stats.norm((effect[group] * X).sum(axis=1), 0.7)
        )
    elif name == "spline":
        X = X[:, :2]
        X[:, 1] = rng.uniform(-2.0, 2.0, n)
        problem = Problem(spline, {}, lambda X: stats.norm(np.sin(2.0 * X[:, 1]) + 0.3 * X[:, 1], 0.5))
    else:
        raise ValueError(name)
    law = problem.law(X, **problem.data)
    problem.data = {"X": X, "y": draw(problem, law, rng), **problem.data}
    if name == "weibull":
        limit = 4.0
        problem.data["censored"] = problem.data["y"] > limit
        problem.data["y"] = np.minimum(problem.data["y"], limit)
    return problem


def draw(problem: Problem, law: Any, rng: np.random.Generator) -> np.ndarray:
    """Responses (n,) of a law, or labels of class probabilities (n, C)."""
    if problem.labels:
        return (rng.uniform(size=len(law))[:, None] > law.cumsum(axis=1)).sum(axis=1)
    return np.asarray(law.rvs(random_state=rng))


MODELS = (
    "linear",
    "student",
    "negative_binomial",
    "gamma",
    "beta_binomial",
    "ordinal",
    "multinomial",
    "weibull",
    "hierarchical",
    "spline",
)
