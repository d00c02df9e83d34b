"""The paper's algorithm: its settings, its steps by hand, and what it becomes without bad rows."""

from __future__ import annotations

import numpy as np
import pytest

import robula
from tests.helpers import PAPER

PROBLEM = robula.simulate.linear_regression(n_clean=200, dim=4, contamination=0.1, seed=3)
MODEL = PROBLEM.model


def run(**arguments) -> robula.Posterior:
    settings = {"contamination": 0.1, "draws": 30, "burn_in": 10, "chains": 2, "seed": 5, **arguments}
    return robula.sample(MODEL, **{**PAPER, **settings})


def test_rob_ula_is_sample_with_the_papers_settings():
    paper = robula.rob_ula(MODEL, contamination=0.1, draws=30, burn_in=10, chains=2, seed=5)
    explicit = run(selector=robula.RecursiveMean(), kernel=robula.kernels.ULA(), likelihood_rows="n", refresh_every=1)
    np.testing.assert_array_equal(paper.draws, explicit.draws)


@pytest.mark.filterwarnings("ignore::robula.exceptions.RobulaWarning")
def test_rob_ula_has_no_guard_unless_asked_for():
    """Algorithm 1 knows no limit on a drift: from far out a Poisson chain takes the step it computes, and is lost."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 2))
    model = robula.PoissonModel(X, rng.poisson(np.exp(X[:, 0])), prior=robula.NormalPrior(0.0, 10.0))
    settings = {"contamination": 0.0, "draws": 3, "burn_in": 0, "chains": 1, "start": np.full(2, 10.0)}
    with pytest.raises(robula.exceptions.DivergenceError):
        robula.rob_ula(model, **settings)
    guarded = robula.rob_ula(model, **settings, guard=True)
    assert guarded.stats["guarded"].all()
    # Near the posterior the guard is silent, so both are the same chain.
    near = {**settings, "start": np.zeros(2), "draws": 50}
    np.testing.assert_array_equal(robula.rob_ula(model, **near).draws, robula.rob_ula(model, **near, guard=True).draws)


def test_a_decreasing_step_sequence_removes_the_inflated_variance():
    """eq:ula_update with eta_k falling: on a Gaussian of precision P, v_k = (1 - eta_k P)^2 v_{k-1} + 2 eta_k exactly.

    At the constant step 1 / P the variance is twice too large; falling to a fortieth of it, 1.3 % too large.
    """
    rng = np.random.default_rng(0)
    model = robula.MeanModel(rng.standard_normal((99, 20)), prior=robula.NormalPrior(0.0, 1.0))
    P, steps = 100.0, 400

    def eta(k):
        return 1.0 / P / (1.0 + k / 10.0)

    settings = {"contamination": 0.0, "draws": 1, "burn_in": steps - 1, "chains": 300, "seed": 0}
    target = model.gaussian_posterior()
    variance = 1.0 / P
    for k in range(1, steps + 1):
        variance = (1 - eta(k) * P) ** 2 * variance + 2 * eta(k)
    assert 1.0 < P * variance < 1.03
    for step, expected in ((eta, variance), (1.0 / P, 2.0 / P)):
        last = robula.rob_ula(model, step_size=step, **settings).draws[:, -1]
        # 6000 independent values: relative standard error 1.8 %; 5 of them.
        assert ((last - target.mean) ** 2).mean() / expected == pytest.approx(1.0, abs=5 * np.sqrt(2 / last.size))


def test_algorithm_1_by_hand():
    """theta_k = theta_{k-1} - eta (n robust mean of grad g - grad log prior) + sqrt(2 eta) xi, written out."""
    posterior = robula.rob_ula(
        MODEL, contamination=0.1, draws=5, burn_in=0, chains=1, seed=9, start=np.zeros(4), step_size=1e-3
    )
    rng = np.random.default_rng(np.random.SeedSequence(9).spawn(1)[0])
    theta = np.zeros(4)
    for k in range(5):
        loss_gradients = -MODEL.gradients(theta)
        drift = MODEL.n_rows * robula.robust_mean(loss_gradients, 0.1) - MODEL.prior.gradient(theta)
        theta = theta - 1e-3 * drift + np.sqrt(2e-3) * rng.standard_normal(4)
        np.testing.assert_allclose(posterior.draws[0, k], theta, atol=1e-9)


@pytest.mark.parametrize("model", [MODEL, robula.simulate.mean_estimation(n_clean=100, dim=6, seed=1).model])
def test_at_contamination_zero_rob_ula_is_ula(model):
    robust = robula.rob_ula(model, contamination=0.0, draws=50, burn_in=10, seed=2)
    plain = robula.sample(model, contamination=0.0, draws=50, burn_in=10, seed=2, **{**PAPER, "selector": "mean"})
    np.testing.assert_allclose(robust.draws, plain.draws, rtol=0, atol=1e-9)
    np.testing.assert_allclose(robust.row_weights, 1.0)
