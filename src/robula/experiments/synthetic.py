"""The paper's section 6.1: mean estimation (figures 1 and 2) and linear regression (figure 3)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from robula._types import FloatArray
from robula.exceptions import DivergenceError
from robula.experiments.choices import LETTER, READINGS, Reading
from robula.experiments.runner import Outcome
from robula.metrics import clean_posterior_gap
from robula.models.linear_model import LinearModel
from robula.models.mean_model import MeanModel
from robula.result.convergence import effective_sample_sizes
from robula.result.posterior import Posterior
from robula.run.sampler import sample
from robula.simulate import Problem, linear_regression, mean_estimation

#: Held-out points for the average log-likelihood; the paper does not give their number.
TEST_POINTS = 1000
# Below this a density is 0 in double precision, and its logarithm -infinity.
_UNDERFLOW = math.log(5e-324)


def mean_job(
    n_clean: int, dim: int, contamination: float, run: int, seed: int, burn_in: int, draws: int, reading: str = LETTER
) -> Outcome:
    """One run of figures 1 and 2, both algorithms on the same data."""
    data_seed = 1000 * seed + run
    problem = mean_estimation(n_clean, dim, contamination, data_seed)
    rng = np.random.default_rng(np.random.SeedSequence(data_seed, spawn_key=(1,)))
    test = problem.truth + rng.standard_normal((TEST_POINTS, dim))
    setting = {"n_clean": n_clean, "dim": dim, "contamination": contamination, "run": run}
    at_truth = float(_log_density(test, problem.truth).mean())
    at_clean_mean = float(_log_density(test, problem.clean_posterior.mean).mean())
    rows = []
    for algorithm, posterior in _both(problem, contamination, data_seed, burn_in, draws, READINGS[reading]):
        row = {**setting, **_describe(algorithm, posterior, problem)}
        if posterior is not None:
            values = _log_density(test, posterior.mean)
            row |= {
                "test_log_likelihood": float(values.mean()),
                "test_log_likelihood_truth": at_truth,
                "test_log_likelihood_clean": at_clean_mean,
                "test_log_likelihood_min": float(values.min()),
                "densities_underflow": bool(values.min() < _UNDERFLOW),
            }
        rows.append(row)
    return {"rows": rows}


def regression_job(
    n_clean: int, dim: int, contamination: float, run: int, seed: int, burn_in: int, draws: int, reading: str = LETTER
) -> Outcome:
    """One run of figure 3, both algorithms on the same data."""
    data_seed = 1000 * seed + run
    problem = linear_regression(n_clean, dim, contamination, data_seed)
    setting = {"n_clean": n_clean, "dim": dim, "contamination": contamination, "run": run}
    pairs = _both(problem, contamination, data_seed, burn_in, draws, READINGS[reading])
    return {"rows": [{**setting, **_describe(algorithm, posterior, problem)} for algorithm, posterior in pairs]}


def _both(
    problem: Problem, contamination: float, seed: int, burn_in: int, draws: int, reading: Reading
) -> list[tuple[str, Posterior | None]]:
    """Run Rob-ULA and ULA, one chain each, with their own default step sizes."""
    model = _with_prior(problem, reading)
    settings: dict[str, Any] = {
        "kernel": "ula",
        "likelihood_rows": "n",
        "refresh_every": 1,
        "burn_in": reading.lengthen * burn_in,
        "draws": reading.lengthen * draws,
        "chains": 1,
        "seed": seed,
        "progress": False,
    }
    results: list[tuple[str, Posterior | None]] = []
    for algorithm, selector in (("Rob-ULA", reading.selector), ("ULA", "mean")):
        try:
            posterior = sample(model, contamination=reading.told(contamination), selector=selector, **settings)
        except DivergenceError:
            posterior = None
        results.append((algorithm, posterior))
    return results


def _with_prior(problem: Problem, reading: Reading) -> MeanModel | LinearModel:
    """Return the problem's model with the reading's prior; what it is compared with keeps its own, N(0, I)."""
    model = problem.model
    if reading.prior_variance == 1.0:
        return model
    if isinstance(model, MeanModel):
        return MeanModel(model.z, prior=reading.prior)
    return LinearModel(model.design, model.y, noise_scale=1.0, prior=reading.prior)


def _describe(algorithm: str, posterior: Posterior | None, problem: Problem) -> dict[str, Any]:
    """One row of the table: recovery error (figures 1 and 3) and what the paper's figures do not show."""
    if posterior is None:
        return {"algorithm": algorithm, "diverged": True}
    gap = clean_posterior_gap(posterior, problem.clean_posterior)
    return {
        "algorithm": algorithm,
        "diverged": False,
        "step_size": posterior.settings["step_size"],
        "smoothness": posterior.settings["smoothness"],
        "error": float(np.linalg.norm(posterior.mean - problem.truth)),
        **gap._asdict(),
        "effective_sample_size": float(np.median(effective_sample_sizes(posterior.draws))),
    }


def _log_density(points: FloatArray, mean: FloatArray) -> FloatArray:
    """Log density of N(mean, I) at points (m, d), shape (m,)."""
    dim = points.shape[1]
    values: FloatArray = -0.5 * (((points - mean) ** 2).sum(axis=1) + dim * math.log(2 * math.pi))
    return values
