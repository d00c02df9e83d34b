"""The paper's default experiments, ten seeds each (three in a hurry): the claims that the engine must bear out."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import robula
from tests.helpers import PAPER

PLAIN = {**PAPER, "selector": "mean"}

SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 10))]

# The paper's default is where Algorithm 2 as printed has no bound (docs/errata.md).
pytestmark = [pytest.mark.filterwarnings("ignore::robula.exceptions.BreakdownWarning"), pytest.mark.no_cover]


def error(posterior: robula.Posterior, problem: robula.simulate.Problem) -> float:
    return float(np.linalg.norm(posterior.mean - problem.truth))


@pytest.mark.parametrize("seed", SEEDS)
def test_mean_estimation_error_is_an_eighth_of_ulas(seed):
    """n_c = 1000, d = 200, epsilon = 0.2, 300 burn-in, 1000 draws (figure 1's default)."""
    problem = robula.simulate.mean_estimation(seed=seed)
    settings = {"contamination": 0.2, "burn_in": 300, "draws": 1000, "chains": 1, "seed": seed}
    robust = robula.rob_ula(problem.model, **settings)
    plain = robula.sample(problem.model, **PLAIN, **settings)
    assert 8 * error(robust, problem) < error(plain, problem)


@pytest.mark.parametrize("seed", SEEDS)
def test_regression_error_is_below_ulas(seed):
    """n_c = 1000, d = 200, epsilon = 0.2, 100 burn-in, 300 draws (figure 3's default).

    With their own default step sizes Rob-ULA's error is below ULA's. (At ULA's own step size, twenty times smaller,
    neither fails, but Rob-ULA has not arrived after 400 steps and its error is above 3: docs/reproduction.md.) With
    Rob-ULA's step size for both, ULA diverges: the outliers' features make the curvature of all rows twenty times
    larger than that of the clean ones.
    """
    problem = robula.simulate.linear_regression(seed=seed)
    settings = {"contamination": 0.2, "burn_in": 100, "draws": 300, "chains": 1, "seed": seed}
    robust = robula.rob_ula(problem.model, **settings)
    plain = robula.sample(problem.model, **PLAIN, **settings)
    assert error(robust, problem) < error(plain, problem)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", robula.exceptions.StepSizeWarning)
        with pytest.raises(robula.exceptions.DivergenceError):
            robula.sample(problem.model, step_size=robust.settings["step_size"], **PLAIN, **settings)


@pytest.mark.slow
def test_at_ulas_small_step_rob_ula_has_not_arrived():
    """What docs/explanation/wrong_tool.md says about it: error above 3 after 400 steps, ULA's about 0.8."""
    problem = robula.simulate.linear_regression(seed=0)
    settings = {"contamination": 0.2, "burn_in": 100, "draws": 300, "chains": 1, "seed": 0}
    plain = robula.sample(problem.model, **PLAIN, **settings)
    robust = robula.rob_ula(problem.model, step_size=plain.settings["step_size"], **settings)
    assert error(robust, problem) > 3.0
    assert error(plain, problem) < 0.9


def test_ula_through_the_whole_library_has_its_own_law():
    """sample() on clean data, plain mean: a Gaussian posterior of precision k, so variance 1 / (k (1 - h k / 2)).

    4 chains x 3000 draws, thinned by 8 at h k = 0.5 (lag-1 correlation 0.5, at thin 8: 0.004), 50 coordinates.
    """
    rng = np.random.default_rng(0)
    model = robula.MeanModel(rng.standard_normal((99, 50)), prior=robula.NormalPrior(0.0, 1.0))
    k = 100.0
    posterior = robula.sample(
        model, contamination=0.0, step_size=0.5 / k, draws=3000, thin=8, burn_in=100, seed=3, **PLAIN
    )
    deviations = posterior.draws - model.gaussian_posterior().mean
    expected = 1.0 / (k * (1 - 0.25))
    # 600,000 nearly independent values: relative standard error sqrt(2 / N) = 0.18 %; 5 of them, false alarm 6e-7.
    assert (deviations**2).mean() / expected == pytest.approx(1.0, abs=5 * np.sqrt(2 / deviations.size))
    # The mean of each coordinate: 5 standard errors, 50 coordinates, false alarm 3e-5.
    assert np.abs(deviations.mean(axis=(0, 1))).max() < 5 * np.sqrt(expected / 12_000)


def test_regression_posterior_of_clean_rows_is_exact_up_to_the_step():
    """Contamination 0 on clean data and a small step: bias and spread are those of the closed form."""
    problem = robula.simulate.linear_regression(n_clean=300, dim=5, contamination=0.0, seed=2)
    posterior = robula.rob_ula(problem.model, contamination=0.0, step_size=1e-4, burn_in=300, draws=1000, seed=1)
    gap = robula.metrics.clean_posterior_gap(posterior, problem.clean_posterior)
    assert gap.bias < 3 * gap.bias_mcse
    # h L is 0.04, so the discretisation widens the spread by about 1 %.
    assert abs(gap.spread - 1.0) < 5 * gap.spread_mcse + 0.02
