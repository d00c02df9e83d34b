"""Distances to the clean posterior, on cases whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

import robula
from robula.metrics import squared_bures


def independent_posterior(mean: np.ndarray, covariance: np.ndarray, draws: int, seed: int = 0) -> robula.Posterior:
    values = np.random.default_rng(seed).multivariate_normal(mean, covariance, size=(4, draws))
    return robula.Posterior(values, np.ones(3), tuple("abcdefghij"[: len(mean)]))


def test_exact_gap_of_known_gaussians():
    clean = robula.models.GaussianPosterior(np.zeros(3), np.diag([1.0, 2.0, 3.0]))
    posterior = independent_posterior(np.array([1.0, 0.0, 0.0]), 4.0 * clean.covariance, 20_000)
    gap = robula.metrics.clean_posterior_gap(posterior, clean)
    # W2^2 = |shift|^2 + tr of (2 S^1/2 - S^1/2)^2 = 1 + 6, over tr = 6.
    for value, expected, error in (
        (gap.bias, 1 / np.sqrt(6), gap.bias_mcse),
        (gap.spread, 2.0, gap.spread_mcse),
        (gap.w2, np.sqrt(7 / 6), gap.w2_mcse),
    ):
        assert abs(value - expected) < 5 * error
        assert error < 0.02


def test_monte_carlo_errors_are_what_repetition_shows():
    """On exact draws, 60 repetitions: the root mean square of the errors is the reported error within a third."""
    clean = robula.models.GaussianPosterior(np.zeros(4), np.diag([1.0, 1.0, 4.0, 9.0]))
    gaps = [
        robula.metrics.clean_posterior_gap(independent_posterior(clean.mean, clean.covariance, 100, seed), clean)
        for seed in range(60)
    ]
    for name, target in (("bias", 0.0), ("spread", 1.0), ("w2", 0.0)):
        observed = np.sqrt(np.mean([(getattr(gap, name) - target) ** 2 for gap in gaps]))
        reported = np.sqrt(np.mean([getattr(gap, f"{name}_mcse") ** 2 for gap in gaps]))
        # A root mean square of 60 values has about 10 % standard error: 3 of them.
        assert observed == pytest.approx(reported, rel=0.3)


def test_bures_distance(rng):
    A = rng.standard_normal((4, 4))
    S = A @ A.T
    assert squared_bures(S, S) == pytest.approx(0.0, abs=1e-10)
    first, second = np.diag([1.0, 4.0]), np.diag([9.0, 16.0])
    assert squared_bures(first, second) == pytest.approx(4 + 4)
    assert squared_bures(np.zeros((2, 2)), second) == pytest.approx(25.0)


def test_interval_coverage():
    clean = robula.models.GaussianPosterior(np.zeros(3), np.eye(3))
    posterior = independent_posterior(clean.mean, clean.covariance, 5000)
    assert robula.metrics.interval_coverage(posterior, [0.0, 1.0, 3.0], level=0.9) == pytest.approx(2 / 3)
    with pytest.raises(robula.exceptions.InputError, match="level"):
        robula.metrics.interval_coverage(posterior, np.zeros(3), level=1.0)
    with pytest.raises(robula.exceptions.InputError, match="truth"):
        robula.metrics.interval_coverage(posterior, np.zeros(2))


def test_gap_refuses_another_dimension():
    posterior = independent_posterior(np.zeros(3), np.eye(3), 10)
    with pytest.raises(robula.exceptions.InputError, match="clean posterior"):
        robula.metrics.clean_posterior_gap(posterior, robula.models.GaussianPosterior(np.zeros(2), np.eye(2)))


def test_simulations_are_the_papers():
    problem = robula.simulate.mean_estimation()
    assert problem.model.z.shape == (1250, 200)
    assert problem.outlier_mask.sum() == 250
    assert ((problem.truth >= 0) & (problem.truth <= 1)).all()
    shift = problem.model.z[problem.outlier_mask].mean(axis=0) - problem.truth
    assert 4 < shift.mean() < 6
    assert shift.min() > -0.5
    assert shift.max() < 10.5
    clean = problem.model.z[~problem.outlier_mask]
    np.testing.assert_allclose(problem.clean_posterior.mean, clean.sum(axis=0) / 1001)
    np.testing.assert_allclose(problem.clean_posterior.covariance, np.eye(200) / 1001)

    problem = robula.simulate.linear_regression()
    X, bad = problem.model.design, problem.outlier_mask
    assert X.shape == (1250, 200)
    assert bad.sum() == 250
    assert X[bad].min() >= 0
    assert X[bad].mean() == pytest.approx(1.0, abs=0.05)
    residuals = problem.model.y - X @ problem.truth
    assert residuals[~bad].std() == pytest.approx(1.0, abs=0.1)
    assert residuals[bad].min() >= 0
    assert residuals[bad].max() <= 10
    Xc, yc = X[~bad], problem.model.y[~bad]
    np.testing.assert_allclose(
        problem.clean_posterior.mean, np.linalg.solve(Xc.T @ Xc + np.eye(200), Xc.T @ yc), atol=1e-10
    )


def test_simulations_are_seeded_and_checked():
    first = robula.simulate.mean_estimation(n_clean=10, dim=2, seed=4)
    np.testing.assert_array_equal(first.model.z, robula.simulate.mean_estimation(n_clean=10, dim=2, seed=4).model.z)
    assert robula.simulate.linear_regression(n_clean=10, dim=2, contamination=0.0).outlier_mask.sum() == 0
    with pytest.raises(robula.exceptions.InputError, match="n_clean"):
        robula.simulate.mean_estimation(n_clean=1)
    with pytest.raises(robula.exceptions.InputError, match="contamination"):
        robula.simulate.mean_estimation(contamination=0.5)
