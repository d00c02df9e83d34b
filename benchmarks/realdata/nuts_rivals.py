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
_ROUND = 128
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
    import jax

    n_rows = -(-len(y) // _ROUND) * _ROUND
    padding = n_rows - len(y)
    sampler = _sampler(law, n_rows, X.shape[1])
    sampler.run(
        jax.random.PRNGKey(0),
        np.pad(X, ((0, padding), (0, 0))),
        np.pad(y, (0, padding)),
        np.pad(np.ones(len(y)), (0, padding)),
    )
    return {name: np.asarray(values, dtype=float) for name, values in sampler.get_samples().items()}


@cache
def _sampler(law: str, n_rows: int, n_columns: int) -> Any:
    """The compiled sampler of a shape."""
    import numpyro
    from numpyro.infer import MCMC, NUTS

    numpyro.enable_x64()
    kernel = NUTS(_models()[law], max_tree_depth=6)
    return MCMC(kernel, num_warmup=_WARM_UP, num_samples=_DRAWS, jit_model_args=True, progress_bar=False)


def _models() -> dict[str, Callable[..., None]]:
    import jax.numpy as jnp
    import numpyro
    from numpyro import distributions as dist

    def predictor(X: Any, wide: float) -> Any:
        level = numpyro.sample("level", dist.Normal(0.0, 2.0 * wide))
        slopes = numpyro.sample("slopes", dist.Normal(0.0, wide).expand([X.shape[1]]).to_event(1))
        return level + X @ slopes

    def student(X: Any, y: Any, counts: Any) -> None:
        mean = predictor(X, 5.0)
        sigma = numpyro.sample("sigma", dist.HalfNormal(2.0))
        freedom = numpyro.sample("freedom", dist.Gamma(2.0, 0.1))
        numpyro.factor("rows", (counts * dist.StudentT(freedom, mean, sigma).log_prob(y)).sum())

    def negative_binomial(X: Any, y: Any, counts: Any) -> None:
        mean = jnp.exp(jnp.clip(predictor(X, 2.5), -30.0, 30.0))
        size = numpyro.sample("size", dist.LogNormal(0.0, 2.0))
        numpyro.factor("rows", (counts * dist.NegativeBinomial2(mean, size).log_prob(y)).sum())

    return {"student": student, "negative binomial": negative_binomial}
