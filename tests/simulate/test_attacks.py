"""The zoo: shares, masks, seeds, the clean posterior, and what each attack promises."""

from __future__ import annotations

import numpy as np
import pytest

import robula
from robula.simulate import confident_flips, contaminated_regression, random_flips
from robula.simulate.attacks import ATTACKS, SENTINEL

ADDED = sorted(set(ATTACKS) - {"subtractive"})


def bad_rows(attack, **sizes):
    problem = contaminated_regression(attack, **sizes)
    X, y = problem.model.design, problem.model.y
    bad = problem.outlier_mask
    return X[bad], y[bad] - X[bad] @ problem.truth, problem


@pytest.mark.parametrize("attack", ADDED)
@pytest.mark.parametrize("contamination", [0.0, 0.05, 0.3])
def test_share_mask_and_clean_posterior(attack, contamination):
    problem = contaminated_regression(attack, n_clean=190, dim=4, contamination=contamination, seed=5)
    assert problem.outlier_mask.mean() == pytest.approx(contamination, abs=0.5 / 190)
    X, y = problem.model.design[~problem.outlier_mask], problem.model.y[~problem.outlier_mask]
    assert len(y) == 190
    precision = X.T @ X + np.eye(4)
    np.testing.assert_allclose(problem.clean_posterior.mean, np.linalg.solve(precision, X.T @ y), atol=1e-10)
    np.testing.assert_allclose(problem.clean_posterior.covariance, np.linalg.inv(precision), atol=1e-12)


@pytest.mark.parametrize("attack", sorted(ATTACKS))
def test_seeded_and_paired(attack):
    first, second, other = (contaminated_regression(attack, 60, 3, 0.2, seed) for seed in (7, 7, 8))
    np.testing.assert_array_equal(first.model.y, second.model.y)
    np.testing.assert_array_equal(first.outlier_mask, second.outlier_mask)
    assert not np.array_equal(first.truth, other.truth)
    paper = robula.simulate.linear_regression(60, 3, 0.2, 7)
    np.testing.assert_allclose(first.clean_posterior.mean, paper.clean_posterior.mean, rtol=1e-10)


def test_the_paper_attack_is_the_papers_problem():
    ours, theirs = contaminated_regression("paper", 50, 3, 0.2, 1), robula.simulate.linear_regression(50, 3, 0.2, 1)
    np.testing.assert_array_equal(ours.model.design, theirs.model.design)
    np.testing.assert_array_equal(ours.model.y, theirs.model.y)
    np.testing.assert_array_equal(ours.outlier_mask, theirs.outlier_mask)


def test_subtractive_hides_rows_and_keeps_the_posterior_from_before():
    problem = contaminated_regression("subtractive", 1000, 5, 0.2, 2)
    whole = contaminated_regression("subtractive", 1000, 5, 0.0, 2)
    assert problem.model.n_rows == 800
    assert not problem.outlier_mask.any()
    np.testing.assert_allclose(problem.clean_posterior.mean, whole.model.gaussian_posterior().mean)
    width = np.sqrt(np.trace(problem.clean_posterior.covariance))
    shift = np.linalg.norm(problem.model.gaussian_posterior().mean - problem.clean_posterior.mean)
    assert shift > 3 * width


def test_residuals_are_what_the_attacks_say():
    X, residuals, _ = bad_rows("leverage_cluster", dim=3)
    assert np.linalg.norm(X.mean(axis=0)) == pytest.approx(5.0, abs=0.3)
    assert bad_rows("stealth_shift")[1].mean() == pytest.approx(3.0, abs=0.3)
    _, residuals, _ = bad_rows("heavy_tails")
    assert np.median(np.abs(residuals)) == pytest.approx(5.0, rel=0.3)
    X, residuals, _ = bad_rows("common_gradient", dim=9)
    np.testing.assert_allclose(X * residuals[:, None], (X * residuals[:, None])[:1].repeat(len(X), 0), atol=1e-9)
    assert np.linalg.norm(X[0] * residuals[0]) == pytest.approx(4.5)
    X, residuals, _ = bad_rows("two_clusters", dim=3)
    centre = X[residuals > 0].mean(axis=0)
    assert np.linalg.norm(centre) == pytest.approx(4.0, abs=0.3)
    np.testing.assert_allclose(np.abs(bad_rows("adaptive")[1]), 1.5)
    missing = bad_rows("sentinel_response")[2]
    assert (missing.model.y[missing.outlier_mask] == SENTINEL).all()
    assert (bad_rows("sentinel_column")[0][:, 0] == SENTINEL).all()
    zeros = bad_rows("zero_response")[2]
    assert (zeros.model.y[zeros.outlier_mask] == 0).all()


def test_flips():
    flips = random_flips(200, 0.1, np.random.default_rng(0))
    assert flips.sum() == 20
    np.testing.assert_array_equal(confident_flips([0.2, 0.9, 0.6, 0.99], 0.4), [False, True, False, True])
    with pytest.raises(robula.exceptions.InputError, match="between 0 and 1"):
        confident_flips([2.0], 0.1)
    with pytest.raises(robula.exceptions.InputError, match="attack"):
        contaminated_regression("polite")
