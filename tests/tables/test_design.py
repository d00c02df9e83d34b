"""Memory maps, blocks and subsets: the same numbers without holding everything."""

from __future__ import annotations

import numpy as np
import pytest

import robula
from robula.tables import design

PRIOR = robula.NormalPrior(0.0, 1.0)


def mapped(tmp_path, array: np.ndarray) -> np.memmap:
    path = tmp_path / "X.dat"
    file = np.memmap(path, dtype=array.dtype, mode="w+", shape=array.shape)
    file[:] = array
    file.flush()
    return np.memmap(path, dtype=array.dtype, mode="r", shape=array.shape)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("intercept", [False, True])
def test_a_memory_map_gives_the_numbers_of_an_array(tmp_path, monkeypatch, rng, intercept, dtype):
    monkeypatch.setattr(design, "BLOCK", 64)  # several blocks
    X = rng.standard_normal((100, 3)).astype(dtype)
    y = rng.integers(0, 2, 100)
    in_memory = robula.LogisticModel(X, y, prior=PRIOR, intercept=intercept)
    on_disk = robula.LogisticModel(mapped(tmp_path, X), y, prior=PRIOR, intercept=intercept)
    assert in_memory.in_memory
    assert not on_disk.in_memory
    theta, weights = rng.standard_normal((2, in_memory.dim)), rng.uniform(size=100)
    for call in (
        lambda model: model.gradients(theta),
        lambda model: model.log_likelihood(theta),
        lambda model: model.weighted_gradient(theta, weights),
        lambda model: model.curvature(theta[0], weights),
        lambda model: model.design,
        lambda model: model.take(np.array([5, 50])).gradients(theta),
    ):
        np.testing.assert_allclose(call(on_disk), call(in_memory), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("offset", [None, np.linspace(-1.0, 1.0, 100)])
def test_a_product_that_is_kept_is_of_these_rows_and_these_coefficients(monkeypatch, rng, offset):
    monkeypatch.setattr(design, "BLOCK", 64)
    X, y = rng.standard_normal((100, 3)), rng.poisson(1.0, 100)
    model = robula.PoissonModel(X, y, prior=PRIOR, offset=offset)
    moved = np.zeros(100) if offset is None else offset
    theta, weights = rng.standard_normal((2, 3)), rng.uniform(size=100)
    for one in (theta[0], theta[1], theta[1], theta[0]):
        np.testing.assert_allclose(model.predictor(one), X @ one + moved, atol=1e-12)
        np.testing.assert_allclose(
            model.weighted_gradient(one, weights), model.weighted_gradient(one[None], weights)[0], atol=1e-12
        )
    part = model.take(np.array([5, 50, 7]))
    np.testing.assert_allclose(part.predictor(theta[0]), (X @ theta[0] + moved)[[5, 50, 7]], atol=1e-12)
    with pytest.raises(ValueError, match="read-only"):
        model._design.times(theta[0])[0] = 1.0


def test_a_memory_map_is_sampled_like_an_array(tmp_path, monkeypatch):
    monkeypatch.setattr(design, "BLOCK", 256)
    problem = robula.simulate.linear_regression(n_clean=200, dim=3, contamination=0.1, seed=0)
    on_disk = robula.LinearModel(mapped(tmp_path, problem.model.design), problem.model.y, noise_scale=1.0, prior=PRIOR)
    options = dict(contamination=0.1, refresh_every=5, draws=40, burn_in=20)
    expected = robula.sample(problem.model, **options)
    np.testing.assert_allclose(robula.sample(on_disk, **options).draws, expected.draws, rtol=1e-7, atol=1e-8)


def test_bad_memory_maps_are_refused_with_the_row(tmp_path, rng):
    X = rng.standard_normal((100, 3))
    X[70, 1] = np.nan
    with pytest.raises(robula.exceptions.InputError, match="row 70, column 1"):
        robula.LogisticModel(mapped(tmp_path, X), np.tile([0, 1], 50), prior=PRIOR)
    with pytest.raises(robula.exceptions.InputError, match="memory map"):
        robula.LogisticModel(mapped(tmp_path, X[0]), np.tile([0, 1], 50), prior=PRIOR)


def test_a_subset_of_all_rows_is_the_selector_itself():
    problem = robula.simulate.linear_regression(n_clean=200, dim=3, contamination=0.1, seed=0)
    whole = robula.RecursiveMean().select_rows(problem.model, np.zeros(3), 0.1)
    part = robula.selectors.SubsetSelector(rows=500).select_rows(problem.model, np.zeros(3), 0.1)
    np.testing.assert_array_equal(part.weights, whole.weights)


def test_a_subset_selects_nearly_what_all_rows_do():
    """Difference to the selection on all rows of the order of 1 / sqrt(rows) gradient standard deviations."""
    problem = robula.simulate.linear_regression(n_clean=8000, dim=4, contamination=0.2, seed=0)
    model, theta = problem.model, problem.clean_posterior.mean
    points = model.gradients(theta)
    whole = robula.RecursiveMean().select(points, 0.2)
    part = robula.selectors.SubsetSelector(rows=2500, seed=1).select_rows(model, theta, 0.2)
    deviation = points[~problem.outlier_mask].std(axis=0)
    assert np.abs((part.mean(points) - whole.mean(points)) / deviation).max() < 5 / np.sqrt(2500)
    assert np.mean(np.abs(part.weights - whole.weights)) < 0.1
    other = robula.selectors.SubsetSelector(rows=2500, seed=2).select_rows(model, theta, 0.2)
    assert np.abs(other.weights - part.weights).max() > 0


def test_subset_options_are_checked():
    with pytest.raises(robula.exceptions.InputError, match="selector"):
        robula.selectors.SubsetSelector("recursive")
    with pytest.raises(robula.exceptions.InputError, match="rows"):
        robula.selectors.SubsetSelector(rows=1)
    assert robula.selectors.SubsetSelector().truncates
    assert robula.selectors.SubsetSelector().citations == robula.RecursiveMean.citations


def test_a_selector_without_a_rule_cannot_be_used_on_a_subset():
    class NoRule(robula.selectors.Selector):
        def select_rows(self, model, theta, contamination):
            return robula.selectors.Selection((robula.selectors.Part(np.ones(model.n_rows)),), model.dim)

    problem = robula.simulate.linear_regression(n_clean=200, dim=3, contamination=0.1, seed=0)
    with pytest.raises(robula.exceptions.InputError, match="offers no rule"):
        robula.selectors.SubsetSelector(NoRule(), rows=50).select_rows(problem.model, np.zeros(3), 0.1)
