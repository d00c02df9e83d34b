"""Rivals by NUTS (NumPyro): Student-t regression and negative binomial regression, in short chains.

Rows are padded with rows of weight 0 to a round number, so that folds and kinds of error of a set share one compiled
sampler.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from benchmarks.realdata.fit import Fit, StudentLaw
from benchmarks.realdata.glm_rivals import count_fit
from benchmarks.realdata.regression_rivals import mad_scale

_WARM_UP, _DRAWS = 250, 250
_ROUND = 512
_HALF = 0.5


def student_t_nuts(X: np.ndarray, y: np.ndarray) -> Fit:
    """Linear regression with Student-t noise, its degrees of freedom estimated."""
    centre, scale = _robust_scale(X)
    level, spread = float(np.median(y)), mad_scale(y - np.median(y))
    draws = _run("student", (X - centre) / scale, (y - level) / spread)
    slopes = draws["slopes"] * spread / scale
    coef = slopes.mean(axis=0)
    intercept = level + spread * float(draws["level"].mean()) - float(centre @ coef)
    sigma, freedom = spread * float(draws["sigma"].mean()), float(draws["freedom"].mean())
    squared = ((y - intercept - X @ coef) / sigma) ** 2
    # What a row counts in the score of the coefficients, at most 1.
    weights = np.minimum((freedom + 1.0) / (freedom + squared), 1.0)

    def predict(rows: np.ndarray) -> StudentLaw:
        return StudentLaw(intercept + rows @ coef, np.full(len(rows), sigma), freedom)

    return Fit(intercept, coef, predict, squared, weights < _HALF, weights, slopes.std(axis=0))


def negative_binomial_nuts(X: np.ndarray, y: np.ndarray) -> Fit:
    """Negative binomial regression with log link, its size estimated."""
    centre, scale = _robust_scale(X)
    draws = _run("negative binomial", (X - centre) / scale, y)
    slopes = draws["slopes"] / scale
    coef = slopes.mean(axis=0)
    intercept = float(draws["level"].mean() - centre @ coef)
    fit = count_fit(intercept, coef, float((1.0 / draws["size"]).mean()), X, y)
    return fit._replace(widths=slopes.std(axis=0))


def _robust_scale(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Median, and median absolute deviation or, where that is 0, standard deviation of every column."""
    centre = np.median(X, axis=0)
    spread = np.median(np.abs(X - centre), axis=0) / 0.6745
    deviation = X.std(axis=0)
    return centre, np.where(spread > 0, spread, np.where(deviation > 0, deviation, 1.0))


def _run(law: str, X: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """Draws of the level, the slopes and the law's own parameters."""
    import jax

    jax.config.update("jax_enable_x64", True)
    n_rows = -(-len(y) // _ROUND) * _ROUND
    padding = n_rows - len(y)
    data = {
        "X": np.pad(X, ((0, padding), (0, 0))),
        "y": np.pad(y, (0, padding)),
        "counts": np.pad(np.ones(len(y)), (0, padding)),
    }
    draws = _sampler(law, n_rows, X.shape[1])(jax.random.PRNGKey(0), data)
    shown = {
        name.removeprefix("log_"): np.exp(value) if name.startswith("log_") else value for name, value in draws.items()
    }
    return {name: np.asarray(value, dtype=float) for name, value in shown.items()}


@cache
def _sampler(law: str, n_rows: int, n_columns: int) -> Any:
    """The compiled sampler of a shape: one chain from level and slopes 0, in standardised columns."""
    import jax
    import jax.numpy as jnp
    from numpyro.infer.hmc import hmc

    names, log_density = _laws()[law]
    start = {"level": jnp.zeros(()), "slopes": jnp.zeros(n_columns), **{name: jnp.zeros(()) for name in names}}

    def sample(key: Any, data: dict[str, Any]) -> dict[str, Any]:
        init, step = hmc(potential_fn_gen=lambda **data: lambda z: -log_density(z, **data), algo="NUTS")
        state = init(start, _WARM_UP, dense_mass=True, max_tree_depth=6, model_kwargs=data, rng_key=key)
        state = jax.lax.fori_loop(0, _WARM_UP, lambda _, now: step(now, model_kwargs=data), state)

        def keep(state: Any, _: None) -> tuple[Any, Any]:
            state = step(state, model_kwargs=data)
            return state, state.z

        return jax.lax.scan(keep, state, None, length=_DRAWS)[1]

    return jax.jit(sample)


def _laws() -> dict[str, tuple[tuple[str, ...], Callable[..., Any]]]:
    """Each law's own parameters, logarithms of positive numbers, and its log posterior density."""
    import jax.numpy as jnp
    from numpyro import distributions as dist

    def prior(z: dict[str, Any], wide: float) -> Any:
        return dist.Normal(0.0, 2.0 * wide).log_prob(z["level"]) + dist.Normal(0.0, wide).log_prob(z["slopes"]).sum()

    def student(z: dict[str, Any], X: Any, y: Any, counts: Any) -> Any:
        sigma, freedom = jnp.exp(z["log_sigma"]), jnp.exp(z["log_freedom"])
        rows = dist.StudentT(freedom, z["level"] + X @ z["slopes"], sigma).log_prob(y)
        scales = dist.HalfNormal(2.0).log_prob(sigma) + dist.Gamma(2.0, 0.1).log_prob(freedom)
        return prior(z, 5.0) + scales + z["log_sigma"] + z["log_freedom"] + (counts * rows).sum()

    def negative_binomial(z: dict[str, Any], X: Any, y: Any, counts: Any) -> Any:
        mean = jnp.exp(jnp.clip(z["level"] + X @ z["slopes"], -30.0, 30.0))
        rows = dist.NegativeBinomial2(mean, jnp.exp(z["log_size"])).log_prob(y)
        return prior(z, 2.5) + dist.Normal(0.0, 2.0).log_prob(z["log_size"]) + (counts * rows).sum()

    return {
        "student": (("log_sigma", "log_freedom"), student),
        "negative binomial": (("log_size",), negative_binomial),
    }
