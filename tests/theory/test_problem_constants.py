"""Constants of a problem: the share of bad rows, moments of the gradients, and what their error is made of."""

from __future__ import annotations

import math

import numpy as np
import pytest

import robula
from robula import theory

PROBLEM = {
    "steps": 100, "step_size": 1e-4, "n": 1000, "dim": 10, "contamination": 0.05, "smoothness": 2.0,
    "strong_convexity": 0.5, "C_R": 0.3, "C_sigma1": 0.2, "C_sigma2": 1.5,
}  # fmt: skip


def test_contamination_level():
    level = theory.contamination_level(0.1, 2000, delta=0.05)
    margin = math.sqrt(2 / 2000 * math.log(20))
    assert level.level == pytest.approx(0.1 + margin)
    assert level.lower == pytest.approx(0.1 - margin)
    assert level.clean_rows == pytest.approx((2000 * (0.9 - margin), 2000 * (0.9 + margin)))
    counts = np.random.default_rng(0).binomial(2000, 0.1, size=2000) / 2000
    assert ((counts <= level.level) & (counts >= level.lower)).mean() > 0.95


def test_mean_constants_are_those_of_the_gradients(rng):
    A = rng.standard_normal((3, 3))
    covariance = A @ A.T + np.eye(3)
    z = rng.multivariate_normal(np.ones(3), 2.0 * covariance, size=200)
    model = robula.MeanModel(z, covariance=covariance, prior=robula.NormalPrior(0.5, 2.0))
    constants = theory.mean_constants(z, 250, covariance=covariance, prior_mean=0.5, prior_covariance=2.0)
    posterior = model.gaussian_posterior()
    hessian = np.linalg.inv(posterior.covariance)
    assert constants.smoothness == pytest.approx(np.linalg.eigvalsh(hessian)[-1] / 250)
    assert constants.strong_convexity == pytest.approx(np.linalg.eigvalsh(hessian)[0] / 250)
    gradients = model.gradients(rng.standard_normal(3))
    assert constants.C_sigma2 == pytest.approx(np.linalg.eigvalsh(np.cov(gradients.T, bias=True))[-1])
    assert constants.mode_norm == pytest.approx(np.linalg.norm(posterior.mean))
    assert constants.width == pytest.approx(math.sqrt(np.trace(posterior.covariance)))


@pytest.mark.parametrize("noise_scale", [0.5, 1.0, 3.0])
def test_regression_constants_bound_the_gradients_covariance(noise_scale, rng):
    X = rng.standard_normal((300, 4)) * [1.0, 2.0, 1.0, 0.5]
    truth = rng.uniform(size=4)
    y = X @ truth + noise_scale * rng.standard_normal(300)
    model = robula.LinearModel(X, y, noise_scale=noise_scale, prior=robula.NormalPrior(0.0, 1.0))
    constants = theory.regression_constants(X, 300, noise_scale=noise_scale, truth=truth, clean_y=y)
    posterior = model.gaussian_posterior()
    hessian = np.linalg.eigvalsh(np.linalg.inv(posterior.covariance)) / 300
    assert (constants.strong_convexity, constants.smoothness) == pytest.approx((hessian[0], hessian[-1]))
    for distance in (0.0, 0.1, 1.0, 10.0):
        direction = rng.standard_normal(4)
        theta = posterior.mean + distance * direction / np.linalg.norm(direction)
        norm = np.linalg.eigvalsh(np.cov(model.gradients(theta).T, bias=True))[-1]
        assert norm <= constants.C_sigma1 * distance**2 + constants.C_sigma2


def test_fourth_moment_constant_is_bracketed(rng):
    lower, upper = theory.fourth_moment_constant(rng.standard_normal((40_000, 3)))
    assert 2.9 < lower < 3.3
    assert 4.8 < upper < 5.3  # d + 2 for a Gaussian
    values = np.array([-1.0] * 9 + [9.0])[:, None]
    exact = (values**4).mean() / (values**2).mean() ** 2
    assert theory.fourth_moment_constant(values) == pytest.approx((exact, exact))


def test_measured_constant_covers_what_it_saw(rng):
    problem = robula.simulate.mean_estimation(300, 4, 0.1, 0)
    measured = theory.measure_gradient_constant(
        problem.model.gradients,
        lambda points: robula.robust_mean(points, 0.1),
        ~problem.outlier_mask,
        np.zeros((2, 4)),
        0.1,
        ball=2.0,
        ball_points=5,
        rng=rng,
    )
    assert measured.points == 7
    # Gradients of mean estimation only translate: the same error everywhere.
    np.testing.assert_allclose(measured.errors, measured.errors[0], rtol=1e-8)
    z = problem.model.z
    error = np.linalg.norm(robula.robust_mean(z, 0.1) - z[~problem.outlier_mask].mean(axis=0))
    assert measured.errors[0] == pytest.approx(error)
    with pytest.raises(robula.exceptions.InputError, match="contamination is 0"):
        theory.measure_gradient_constant(problem.model.gradients, np.mean, ~problem.outlier_mask, np.zeros((1, 4)), 0.0)


def test_gradient_error_pieces_have_the_stated_rates():
    assert theory.gradient_error_bound(10, 0.1, 4.0, 81.0, 2.0) == pytest.approx(
        2.0 * 3.0 * math.sqrt(0.1 * math.log(10) * 4.0)
    )
    assert theory.one_dimensional_error(0.1, 2.0, 16.0) == pytest.approx(2 * 2 * 0.1**0.75)
    assert theory.ball_radius(4, 0.0625, 1.0, 9.0, 1.0) == pytest.approx(2 / 0.5 + 3 * 0.0625**0.75)
    shift, norm = theory.truncation_shift(0.1, 4.0, 16.0)
    assert (shift, norm) == pytest.approx((2 * 0.1**0.75 * 2, 1.1 * 4))
    assert theory.low_variance_error(0.04, 2.0, 9.0) == pytest.approx(0.04 * (1.04 + 3 * 0.2) * 2)
