"""robula against NUTS in NumPyro: effective samples per second and distance to the exact clean posterior."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

import robula
from benchmarks.speed.timing import Row
from robula.result.arviz_conversion import effective_sample_sizes

CONTAMINATION, CHAINS = 0.2, 4


def nuts_rows(quick: bool) -> Iterator[Row]:
    """Must-show 5: the paper's regression, d = 20 and 200."""
    for dim in (20,) if quick else (20, 200):
        problem = robula.simulate.linear_regression(n_clean=1000, dim=dim, contamination=CONTAMINATION, seed=1)
        draws = 200 if quick else 1000
        section = f"5. Against NUTS, paper's regression, d = {dim}, epsilon = 0.2, 4 chains of {draws}"
        for case, run in {
            "robula.sample, its defaults": _robula,
            "robula.rob_ula": _rob_ula,
            "NUTS, Gaussian likelihood": lambda problem, draws: _nuts(problem, draws, student=False),
            "NUTS, Student-t likelihood": lambda problem, draws: _nuts(problem, draws, student=True),
        }.items():
            yield from _rows(section, case, run, problem, draws)


def _rows(section: str, case: str, run: Callable[..., Any], problem: Any, draws: int) -> Iterator[Row]:
    samples, seconds, compilation = run(problem, draws)
    effective = float(np.min(effective_sample_sizes(samples)))
    flat = samples.reshape(-1, samples.shape[-1])
    drawn = SimpleNamespace(draws=samples, mean=flat.mean(axis=0), covariance=np.cov(flat.T))
    gap = robula.metrics.clean_posterior_gap(drawn, problem.clean_posterior)
    yield Row(section, case, "smallest effective sample size", effective)
    yield Row(section, case, "seconds, warm-up included", seconds)
    yield Row(section, case, "seconds of compilation, not included", compilation)
    yield Row(section, case, "effective samples per second", effective / seconds)
    yield Row(section, case, "bias, widths", gap.bias)
    yield Row(section, case, "spread", gap.spread)
    yield Row(section, case, "W2 to the clean posterior, widths", gap.w2)


def _robula(problem: robula.simulate.Problem, draws: int) -> tuple[np.ndarray, float, float]:
    return _timed(lambda: robula.sample(problem.model, contamination=CONTAMINATION, draws=draws, progress=False))


def _rob_ula(problem: robula.simulate.Problem, draws: int) -> tuple[np.ndarray, float, float]:
    return _timed(lambda: robula.rob_ula(problem.model, contamination=CONTAMINATION, draws=draws, progress=False))


def _timed(run: Callable[[], robula.Posterior]) -> tuple[np.ndarray, float, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", robula.exceptions.RobulaWarning)
        began = time.perf_counter()
        posterior = run()
        return posterior.draws, time.perf_counter() - began, 0.0


def _nuts(problem: robula.simulate.Problem, draws: int, *, student: bool) -> tuple[np.ndarray, float, float]:
    import jax
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS

    jax.config.update("jax_enable_x64", True)
    X, y = np.asarray(problem.model.design), np.asarray(problem.model.y)

    def model() -> None:
        theta = numpyro.sample("theta", dist.Normal(0.0, 1.0).expand([X.shape[1]]).to_event(1))
        if student:
            freedom = numpyro.sample("freedom", dist.Gamma(2.0, 0.1))
            numpyro.sample("y", dist.StudentT(freedom, X @ theta, 1.0), obs=y)
        else:
            numpyro.sample("y", dist.Normal(X @ theta, 1.0), obs=y)

    mcmc = MCMC(
        NUTS(model), num_warmup=500, num_samples=draws, num_chains=CHAINS, chain_method="vectorized",
        progress_bar=False,
    )  # fmt: skip
    began = time.perf_counter()
    mcmc.run(jax.random.PRNGKey(0))
    first = time.perf_counter() - began
    began = time.perf_counter()
    # The same shapes again, compiled already.
    mcmc.run(jax.random.PRNGKey(1))
    seconds = time.perf_counter() - began
    samples = np.asarray(mcmc.get_samples(group_by_chain=True)["theta"])
    return samples, seconds, max(first - seconds, 0.0)
