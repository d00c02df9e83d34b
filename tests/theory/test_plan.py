"""A plan, then a run with its numbers: the accuracy asked for is reached."""

from __future__ import annotations

import math

import numpy as np
import pytest

import robula
from robula import theory


def many_chains_w2(posterior: robula.Posterior, target: robula.models.GaussianPosterior) -> float:
    """W2 in widths between the last states of many chains and the target."""
    last = posterior.draws[:, -1]
    width = math.sqrt(np.trace(target.covariance))
    shift = np.linalg.norm(last.mean(axis=0) - target.mean)
    return math.sqrt(shift**2 + robula.metrics.squared_bures(np.cov(last.T), target.covariance)) / width


@pytest.mark.parametrize("kind", ["mean", "regression"])
@pytest.mark.parametrize("accuracy", [0.8, 0.4])
def test_planned_runs_reach_their_accuracy(kind, accuracy):
    if kind == "mean":
        problem = robula.simulate.mean_estimation(200, 3, 0.0, 1)
        constants = theory.mean_constants(problem.model.z, 200)
    else:
        problem = robula.simulate.linear_regression(200, 3, 0.0, 1)
        model = problem.model
        constants = theory.regression_constants(
            model.design, 200, noise_scale=1.0, truth=problem.truth, clean_y=model.y
        )
    numbers = theory.plan(constants, accuracy)
    assert numbers.bound.valid
    assert numbers.bound.initial + numbers.bound.discretization <= (accuracy * constants.width) ** 2
    # One step fewer at this step size would not do.
    posterior = robula.sample(
        problem.model,
        contamination=0.0,
        selector="mean",
        kernel="ula",
        likelihood_rows="n",
        step_size=numbers.step_size,
        start_variance=1.0 / (200 * constants.smoothness),
        burn_in=numbers.steps - 1,
        draws=1,
        chains=400,
        seed=0,
        progress=False,
    )
    # 400 chains leave a sampling error of about sqrt((1 + (d + 1) / 4) / 400) = 0.07 widths.
    assert many_chains_w2(posterior, problem.clean_posterior) <= accuracy + 0.1


def test_plans_are_minimal_and_shrink_with_the_accuracy():
    constants = theory.Constants(1000, 20, 0.0, 2.0, 0.5, 0.0, 1.0, 1.0, math.sqrt(20 / 1000))
    coarse, fine = theory.plan(constants, 0.5), theory.plan(constants, 0.1)
    assert fine.steps > coarse.steps
    assert fine.step_size < coarse.step_size
    assert coarse.contamination_widths == 0.0
    short = theory.corrected_wasserstein_bound(
        coarse.steps - 1, coarse.step_size, 1000, 20, 0.0, 2.0, 0.5, 0.0, 0.0, 1.0, 1.0
    )
    assert short.initial + short.discretization > (0.5 * constants.width) ** 2


def test_the_number_of_steps_does_not_grow_with_the_rows():
    """cor:rbme's remark says linearly; for an accuracy in widths nothing but log n enters, and that by the mode."""

    def steps(n, mode):
        return theory.plan(theory.Constants(n, 20, 0.0, 2.0, 0.5, 0.0, 1.0, mode, math.sqrt(20 / (2.0 * n))), 0.5).steps

    assert steps(500, 0.0) == steps(5000, 0.0) == steps(50_000, 0.0)
    assert steps(500, 1.0) < steps(50_000, 1.0) < 2 * steps(500, 1.0)


def test_the_remarks_step_size_is_for_kl():
    """At eta = acc / (2 n kappa L-bar d) the step's part of the KL bound is acc; for W2^2 at acc / (4 kappa^2 d)."""
    n, d, L, m, accuracy = 1000, 20, 2.0, 0.5, 1e-6
    kappa = L / m

    def step_part(step_size):
        bound = theory.corrected_wasserstein_bound(10**9, step_size, n, d, 0.0, L, m, 0.0, 0.0, 0.0)
        return bound.discretization, bound.discretization / bound.talagrand

    assert step_part(accuracy / (2 * n * kappa * L * d))[1] == pytest.approx(accuracy, rel=1e-4)
    assert step_part(accuracy / (4 * kappa**2 * d))[0] == pytest.approx(accuracy, rel=1e-3)


def test_the_condition_for_regression_is_one_over_kappa_squared(rng):
    """Stretch a column by 10: kappa of the features grows by 100 and the admitted share falls by 10^4, in any units."""
    X = rng.standard_normal((2000, 2))
    X = X @ np.linalg.inv(np.linalg.cholesky(X.T @ X / 2000).T)
    y = X @ [1.0, 1.0] + rng.standard_normal(2000)

    def admitted(stretch, units=1.0):
        features = units * X * [1.0, stretch]
        constants = theory.regression_constants(
            features, 2000, noise_scale=1.0, truth=np.array([1.0, 1.0 / stretch]) / units, clean_y=y,
            prior_covariance=1e12,
        )  # fmt: skip
        arguments = (10, 1e-9, 2000, 2, 0.01, constants.smoothness, constants.strong_convexity, 1.0)
        bound = theory.corrected_wasserstein_bound(*arguments, constants.C_sigma1, constants.C_sigma2)
        return bound.conditions[1].limit

    assert admitted(1.0) / admitted(10.0) == pytest.approx(1e4, rel=1e-6)
    assert admitted(10.0, units=7.0) == pytest.approx(admitted(10.0), rel=1e-6)


def test_what_cannot_be_planned_is_said():
    constants = theory.Constants(1000, 20, 0.1, 2.0, 0.5, 0.0, 1.0, 1.0, math.sqrt(20 / 1000))
    numbers = theory.plan(constants, 0.5, C_R=1.0)
    assert numbers.contamination_widths > 1.0
    with pytest.raises(robula.exceptions.InputError, match="accuracy"):
        theory.plan(constants, 0.0)
