"""The target: its drift, its log density where the weights are fixed, and the normal law where it has one."""

from __future__ import annotations

import numpy as np
import pytest

import robula
from robula.target.robust_target import RobustTarget
from robula.target.selection_refresh import Schedule
from tests.helpers import small_models

MODELS = small_models()
PROBLEM = robula.simulate.linear_regression(n_clean=200, dim=4, contamination=0.1, seed=3)
MODEL = PROBLEM.model


class Fixed(robula.selectors.Selector):
    """Weights that do not look at theta, some of them 0."""

    depends_on_theta = False

    def select_rows(self, model, theta, contamination):
        weights = np.where(np.arange(model.n_rows) % 4, 1.0, 0.25)
        weights[:3] = 0.0
        return robula.selectors.Selection((robula.selectors.Part(weights),), model.dim, scales=(1.0,))


class Shrinking(robula.selectors.Selector):
    """Trusts fewer rows as the first parameter grows: selections, and the rows they stand for, change with theta."""

    def select_rows(self, model, theta, contamination):
        weights = np.zeros(model.n_rows)
        weights[: int(max(5, model.n_rows * (1.0 - theta[0])))] = 1.0
        return robula.selectors.Selection((robula.selectors.Part(weights),), model.dim)


def target_of(model, selector, rule="weights", refresh_every=1) -> RobustTarget:
    return RobustTarget(model, selector, 0.1, rule, Schedule(refresh_every, 1.0, 0))


def by_definition(model, selection, theta, rows) -> np.ndarray:
    return rows * selection.mean(model.gradients(theta)) + model.prior.gradient(theta)


@pytest.mark.parametrize("rule", ["n", "clean", "weights"])
def test_likelihood_rows_scale_the_drift(rule):
    """The drift is rows x robust mean + prior, exactly, with the number of rows that the rule says."""
    theta = np.full((1, 4), 0.2)
    drift = target_of(MODEL, robula.RecursiveMean(), rule).drift(theta)
    selection = robula.RecursiveMean().select_rows(MODEL, theta[0], 0.1)
    rows = {"n": MODEL.n_rows, "clean": 0.9 * MODEL.n_rows, "weights": selection.weights.sum()}[rule]
    np.testing.assert_allclose(drift[0], by_definition(MODEL, selection, theta[0], rows), rtol=1e-9)


def test_rows_stood_for_follow_every_new_selection():
    target, selector = target_of(MODEL, Shrinking()), Shrinking()
    for first in (0.0, 0.5, 0.2):
        theta = np.full((2, 4), first)
        selection = selector.select_rows(MODEL, theta[0], 0.1)
        expected = by_definition(MODEL, selection, theta[0], selection.weights.sum())
        np.testing.assert_allclose(target.drift(theta), np.stack([expected, expected]), rtol=1e-9)


def test_a_follower_uses_the_selections_of_the_moment():
    leader, selector = target_of(MODEL, Shrinking()), Shrinking()
    follower = leader.follower()
    elsewhere = np.random.default_rng(0).standard_normal((2, 4))
    for first in (0.0, 0.5, 0.2):
        leader.drift(np.full((2, 4), first))
        selection = selector.select_rows(MODEL, np.full(4, first), 0.1)
        expected = [by_definition(MODEL, selection, theta, selection.weights.sum()) for theta in elsewhere]
        np.testing.assert_allclose(follower.drift(elsewhere), expected, rtol=1e-9)
        assert leader.chosen.number == leader.selections_made / 2


@pytest.mark.parametrize("rule", ["n", "clean", "weights"])
@pytest.mark.parametrize("name", MODELS)
def test_the_drift_is_the_gradient_of_the_log_density(name, rule):
    model = MODELS[name]
    target, theta = target_of(model, Fixed(), rule), 0.3 * np.random.default_rng(1).standard_normal((3, model.dim))
    assert target.has_density
    density, drift = target.log_density_and_drift(theta)
    assert density.shape == (3,)
    np.testing.assert_allclose(drift, target.drift(theta), rtol=1e-8, atol=1e-8)
    selection = Fixed().select_rows(model, theta[0], 0.1)
    rows = {"n": model.n_rows, "clean": 0.9 * model.n_rows, "weights": selection.weights.sum()}[rule]
    weights = selection.weights * rows / selection.weights.sum()
    expected = [weights @ model.log_likelihood(each) + model.prior.log_density(each) for each in theta]
    # Up to a constant.
    np.testing.assert_allclose(density - density[0], np.array(expected) - expected[0], rtol=1e-9, atol=1e-8)
    step = 1e-5
    for index in range(model.dim):
        moved = np.zeros(model.dim)
        moved[index] = step
        slope = (target.log_density(theta + moved) - target.log_density(theta - moved)) / (2 * step)
        np.testing.assert_allclose(drift[:, index], slope, rtol=1e-5, atol=1e-4)


def test_a_translated_selection_of_several_parts_has_a_density_too():
    model = MODELS["mean-full"]
    target = target_of(model, robula.RecursiveMean())
    assert len(target.chosen.selections[0].parts) > 1
    theta, step = np.random.default_rng(1).standard_normal((3, 3)), 1e-5
    density, drift = target.log_density_and_drift(theta)
    along = np.array([0.3, -1.0, 0.5])
    slope = (target.log_density(theta + step * along) - target.log_density(theta - step * along)) / (2 * step)
    np.testing.assert_allclose(drift @ along, slope, rtol=1e-6)
    law = target.gaussian
    np.testing.assert_allclose(target.drift(law.mean[None]), 0.0, atol=1e-9)
    precision = np.linalg.inv(law.factor @ law.factor.T)
    np.testing.assert_allclose(drift, (law.mean - theta) @ precision, rtol=1e-8)
    assert density.argmax() == np.einsum("ci,ij,cj->c", theta - law.mean, precision, theta - law.mean).argmin()


def test_an_impossible_row_of_weight_zero_does_not_count():
    model = robula.PoissonModel(np.full((6, 1), 1.0), [0, 1, 2, 1, 0, 3], prior=robula.NormalPrior(0.0, 1.0))
    values = np.array([[0.0, -np.inf, -2.0]])
    np.testing.assert_array_equal(robula.models.model.weighted_sum(values, np.array([1.0, 0.0, 0.5])), [-1.0])
    assert np.isfinite(target_of(model, Fixed()).log_density(np.zeros((1, 1))))


def test_no_density_where_the_weights_depend_on_theta():
    target = target_of(MODEL, robula.RecursiveMean())
    assert not target.has_density
    assert target.gaussian is None
    with pytest.raises(robula.exceptions.InputError, match="no log density"):
        target.log_density(np.zeros((1, 4)))
    for kernel in ("hmc", "exact"):
        with pytest.raises(robula.exceptions.InputError, match="row weights change with theta"):
            robula.sample(MODEL, contamination=0.1, selector="recursive", kernel=kernel)


@pytest.mark.parametrize("name", [name for name in MODELS if name.startswith(("mean", "linear"))])
def test_the_normal_law_is_the_exact_posterior_of_the_weighted_rows(name):
    model = MODELS[name]
    law = target_of(model, Fixed()).gaussian
    if name == "linear-unknown-scale":
        assert law is None
        return
    exact = model.gaussian_posterior(Fixed().select_rows(model, None, 0.1).weights)
    np.testing.assert_allclose(law.mean, exact.mean, rtol=1e-9)
    np.testing.assert_allclose(law.factor @ law.factor.T, exact.covariance, rtol=1e-8, atol=1e-14)


def test_an_improper_posterior_is_refused():
    X = np.zeros((20, 2))
    X[:, 0], X[0, 1] = 1.0, 1.0  # only row 0, which is not trusted, knows the second column
    model = robula.LinearModel(X, np.arange(20.0), noise_scale=1.0)
    with pytest.raises(robula.exceptions.InputError, match="improper"):
        assert target_of(model, Fixed()).gaussian
