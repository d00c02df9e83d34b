"""Step halving: what the step size does to a run, measured against the known law and a finer run."""

from __future__ import annotations

import math

import numpy as np
import pytest

import robula
from robula.run.step_pair import StepBias, measure_step_bias

RNG = np.random.default_rng(0)
X = RNG.standard_normal((200, 4)) * [1.0, 2.0, 3.0, 1.5]
LINEAR = robula.LinearModel(X, X @ np.ones(4) + RNG.standard_normal(200), noise_scale=1.0)
FEATURES = RNG.standard_normal((60, 3))
LABELS = (RNG.uniform(size=60) < 1 / (1 + np.exp(-3 * FEATURES[:, 0]))).astype(int)
LOGISTIC = robula.LogisticModel(FEATURES, LABELS, prior=robula.NormalPrior(0.0, 9.0))


def run(model: robula.models.Model = LINEAR, **options: object) -> robula.Posterior:
    settings = {"contamination": 0.0, "selector": "mean", "draws": 300, "burn_in": 100, "seed": 1, **options}
    return robula.sample(model, **settings)


def test_eulers_bias_is_that_of_its_law():
    posterior = run(kernel="ula")
    h = posterior.settings["step_size"]
    precisions = np.linalg.eigvalsh(X.T @ X)
    law = math.sqrt((1 / (precisions * (1 - h * precisions / 2))).sum() / (1 / precisions).sum())
    bias = robula.step_bias(LINEAR, posterior, steps=2000)
    # The extrapolation is exact for equal precisions only; here it is off by less than the error of the next order.
    assert bias.spread == pytest.approx(law, abs=4 * bias.spread_mcse + 0.02)
    assert law > 1.03
    assert bias.shift < 3 * bias.shift_mcse < 0.05
    assert "smaller step_size" in bias.text or "small: keep it" in bias.text


@pytest.mark.parametrize("kernel", ["lm", "preconditioned_lm", "baoab"])
def test_the_other_kernels_have_none_on_a_gaussian(kernel):
    bias = robula.step_bias(LINEAR, run(kernel=kernel), steps=2000)
    assert abs(bias.spread - 1.0) < 4 * bias.spread_mcse < 0.05
    assert bias.shift < 3 * bias.shift_mcse < 0.05
    assert bias.text.endswith("keep it.")


def test_it_finds_the_bias_of_a_skewed_posterior():
    """Against a fine run of a scheme of higher order: both the shift and the spread of ULA."""
    step = 1.6 / run(LOGISTIC, kernel="ula").settings["smoothness"]
    coarse = run(LOGISTIC, kernel="ula", draws=800, chains=40, step_size=step)
    fine = run(LOGISTIC, kernel="lm", draws=800, chains=40, step_size=step / 4, thin=3, seed=2)
    width = math.sqrt(np.trace(fine.covariance))
    shift = np.linalg.norm(coarse.mean - fine.mean) / width
    spread = math.sqrt(np.trace(coarse.covariance)) / width
    bias = robula.step_bias(LOGISTIC, coarse, steps=500)
    assert shift > 0.04
    assert bias.shift == pytest.approx(shift, abs=0.04)
    assert bias.spread == pytest.approx(spread, abs=0.04)


def test_selections_are_shared_so_a_jumping_selector_does_not_hide_the_step():
    problem = robula.simulate.linear_regression(150, 4, 0.1, seed=3)
    posterior = robula.sample(problem.model, contamination=0.1, kernel="ula", refresh_every=10, draws=100)
    bias = robula.step_bias(problem.model, posterior, steps=600)
    assert bias.shift_mcse < 0.05
    assert bias.spread_mcse < 0.05
    assert bias.spread > 1.03


@pytest.mark.parametrize("kernel", ["ula", "preconditioned_lm"])
def test_a_step_can_be_asked_for_by_its_bias(kernel):
    posterior = run(LOGISTIC, kernel=kernel, step_size=robula.StepFor(bias=0.03))
    default = run(LOGISTIC, kernel=kernel)
    measured = StepBias(**posterior.settings["step_bias"])
    assert measured.total <= 0.03
    assert measured.step_size == posterior.settings["step_size"] <= default.settings["step_size"]
    if kernel == "ula":
        assert posterior.settings["step_size"] < 0.9 * default.settings["step_size"]
    assert "step size bias, measured" in repr(posterior)
    assert "for a bias of 0.03" in repr(posterior)
    # The same seed gives the same bits, pilot included.
    again = run(LOGISTIC, kernel=kernel, step_size=robula.StepFor(bias=0.03))
    np.testing.assert_array_equal(again.draws, posterior.draws)


def test_a_bias_out_of_reach_is_announced():
    with pytest.warns(robula.exceptions.StepSizeWarning, match="larger bias"):
        run(kernel="ula", draws=5, chains=2, step_size=robula.StepFor(bias=1e-5))


@pytest.mark.parametrize(("model", "kernel"), [(LINEAR, "exact"), (LOGISTIC, "hmc")])
def test_exact_and_adjusted_draws_have_no_step_bias(model, kernel):
    posterior = run(model, kernel=kernel)
    bias = robula.step_bias(model, posterior)
    assert (bias.shift, bias.spread, bias.total) == (0.0, 1.0, 0.0)
    assert "no step size bias" in bias.text
    with pytest.raises(robula.exceptions.InputError, match=r"has none|would be ignored"):
        run(model, kernel=kernel, step_size=robula.StepFor(bias=0.1))


def test_an_estimated_contamination_is_the_runs_own():
    """The rows are selected with what was declared, the drift with what was found, as in the run."""
    problem = robula.simulate.linear_regression(200, 3, 0.1, seed=3)
    posterior = robula.sample(problem.model, contamination="estimate", kernel="ula", likelihood_rows="clean", draws=200)
    bias = robula.step_bias(problem.model, posterior, steps=300)
    explicit = robula.sample(
        problem.model,
        contamination=posterior.settings["contamination_budget"],
        kernel="ula",
        likelihood_rows="clean",
        draws=200,
    )
    assert robula.step_bias(problem.model, explicit, steps=300) != bias


def test_a_diverging_pair_is_called_unstable():
    whole = np.zeros((2, 10, 3))
    whole[0, 5] = np.inf
    bias = measure_step_bias(whole, np.zeros((2, 10, 3)), 0.1, 1)
    assert math.isinf(bias.total)
    assert "unstable" in bias.text


def test_refusals():
    with pytest.raises(robula.exceptions.InputError, match="bias"):
        robula.StepFor(bias=0.0)
    posterior = run(draws=5)
    with pytest.raises(robula.exceptions.InputError, match="in this order"):
        robula.step_bias(posterior, LINEAR)
    with pytest.raises(robula.exceptions.InputError, match="60 rows against 200"):
        robula.step_bias(LOGISTIC, posterior)
    with pytest.raises(robula.exceptions.InputError, match="steps"):
        robula.step_bias(LINEAR, posterior, steps=1)
