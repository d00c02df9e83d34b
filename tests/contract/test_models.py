"""Every model through one contract: derivatives against finite differences, and methods against each other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import robula
from tests.helpers import small_models

MODELS = small_models()


@pytest.fixture(params=list(MODELS))
def model(request: pytest.FixtureRequest) -> robula.models.Model:
    return MODELS[request.param]


def numeric_gradient(function, theta: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """Central differences of a vector-valued function, shape (..., d)."""
    columns = []
    for unit in np.eye(len(theta)):
        columns.append((function(theta + step * unit) - function(theta - step * unit)) / (2 * step))
    return np.stack(columns, axis=-1)


def test_gradients_are_derivatives_of_the_log_likelihood(model, rng):
    theta = 0.5 * rng.standard_normal(model.dim)
    np.testing.assert_allclose(
        model.gradients(theta), numeric_gradient(model.log_likelihood, theta), rtol=1e-6, atol=1e-7
    )


def test_weighted_gradient_is_the_weighted_sum_of_gradients(model, rng):
    theta, weights = rng.standard_normal(model.dim), rng.uniform(size=model.n_rows)
    np.testing.assert_allclose(
        model.weighted_gradient(theta, weights), weights @ model.gradients(theta), rtol=1e-11, atol=1e-11
    )


def test_curvature_is_the_negative_derivative_of_the_weighted_gradient(model, rng):
    theta, weights = 0.5 * rng.standard_normal(model.dim), rng.uniform(size=model.n_rows)
    numeric = -numeric_gradient(lambda t: model.weighted_gradient(t, weights), theta)
    curvature = model.curvature(theta, weights)
    assert curvature.shape == (model.dim, model.dim)
    np.testing.assert_allclose(curvature, numeric, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(curvature, curvature.T, rtol=0, atol=1e-10)


def test_curvature_bound_dominates_everywhere(model, rng):
    weights = rng.uniform(size=model.n_rows)
    bound = model.curvature_bound(weights)
    if bound is None:
        assert type(model).__name__ in {"PoissonModel", "JaxModel", "UnknownScaleLinearModel"}
        return
    for _ in range(20):
        theta = 3.0 * rng.standard_normal(model.dim)
        assert np.linalg.eigvalsh(bound - model.curvature(theta, weights))[0] > -1e-9


def test_a_batch_of_chains_equals_the_chains_one_by_one(model, rng):
    thetas = rng.standard_normal((2, 3, model.dim))
    weights = rng.uniform(size=model.n_rows)
    for name in ("gradients", "log_likelihood"):
        method = getattr(model, name)
        batch = method(thetas)
        for index in np.ndindex(2, 3):
            np.testing.assert_allclose(batch[index], method(thetas[index]), rtol=1e-11, atol=1e-11)
    batch = model.weighted_gradient(thetas, weights)
    for index in np.ndindex(2, 3):
        np.testing.assert_allclose(
            batch[index], model.weighted_gradient(thetas[index], weights), rtol=1e-11, atol=1e-11
        )


def test_weights_broadcast_against_chains(model, rng):
    thetas, weights = rng.standard_normal((4, 1, model.dim)), rng.uniform(size=(4, 2, model.n_rows))
    result = model.weighted_gradient(thetas, weights)
    assert result.shape == (4, 2, model.dim)
    np.testing.assert_allclose(
        result[3, 1], model.weighted_gradient(thetas[3, 0], weights[3, 1]), rtol=1e-11, atol=1e-11
    )


def test_taking_rows_gives_the_model_of_these_rows(model, rng):
    rows = np.array([3, 5, 8, 30])
    part, theta = model.take(rows), rng.standard_normal(model.dim)
    assert part.n_rows == 4
    assert model.n_rows == 40
    np.testing.assert_allclose(part.log_likelihood(theta), model.log_likelihood(theta)[rows], rtol=1e-12)
    np.testing.assert_allclose(part.gradients(theta), model.gradients(theta)[rows], rtol=1e-12)
    weights, everywhere = rng.uniform(size=4), np.zeros(40)
    everywhere[rows] = weights
    np.testing.assert_allclose(
        part.weighted_gradient(theta, weights), model.weighted_gradient(theta, everywhere), rtol=1e-11, atol=1e-11
    )
    np.testing.assert_allclose(part.curvature(theta, weights), model.curvature(theta, everywhere), atol=1e-11)


def test_prior_gradient_and_precision_are_derivatives(model, rng):
    theta, prior = rng.standard_normal(model.dim), model.prior
    np.testing.assert_allclose(prior.gradient(theta), numeric_gradient(prior.log_density, theta), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(prior.precision(theta), -numeric_gradient(prior.gradient, theta), rtol=1e-6, atol=1e-6)
    assert prior.gradient(np.stack([theta, theta])).shape == (2, model.dim)


def test_translating_models_say_how_their_gradients_move(model, rng):
    if not model.gradients_translate:
        with pytest.raises(NotImplementedError):
            model.gradient_shift(np.zeros(model.dim))
        return
    theta = rng.standard_normal(model.dim)
    np.testing.assert_allclose(
        model.gradients(theta), model.gradients(np.zeros(model.dim)) + model.gradient_shift(theta), atol=1e-12
    )


def test_wrong_theta_is_refused(model):
    with pytest.raises(robula.exceptions.InputError, match="last axis"):
        model.gradients(np.zeros(model.dim + 1))


def test_names_are_one_per_parameter(model):
    assert len(set(model.parameter_names)) == model.dim


def test_log_likelihoods_are_the_known_densities(rng):
    theta = rng.standard_normal(3)
    linear, logistic, poisson = MODELS["linear"], MODELS["logistic"], MODELS["poisson"]
    eta = linear.design @ theta
    np.testing.assert_allclose(linear.log_likelihood(theta), stats.norm(eta, 0.7).logpdf(linear.y))
    eta = logistic.design @ theta
    np.testing.assert_allclose(
        logistic.log_likelihood(theta), stats.bernoulli(1 / (1 + np.exp(-eta))).logpmf(logistic.y)
    )
    theta = rng.standard_normal(4)
    eta = poisson.design @ theta
    np.testing.assert_allclose(poisson.log_likelihood(theta), stats.poisson(np.exp(eta)).logpmf(poisson.y))
    mean = MODELS["mean-full"]
    theta = rng.standard_normal(3)
    np.testing.assert_allclose(
        mean.log_likelihood(theta), stats.multivariate_normal(theta, mean.covariance.value).logpdf(mean.z)
    )


@pytest.mark.parametrize("name", ["mean", "mean-full", "linear", "linear-intercept"])
def test_gaussian_posterior_is_where_the_gradient_vanishes(name, rng):
    model = MODELS[name]
    weights = rng.uniform(size=model.n_rows)
    exact = model.gaussian_posterior(weights)
    total = model.weighted_gradient(exact.mean, weights) + model.prior.gradient(exact.mean)
    np.testing.assert_allclose(total, 0.0, atol=1e-10)
    precision = model.curvature(exact.mean, weights) + model.prior.precision(exact.mean)
    np.testing.assert_allclose(exact.covariance @ precision, np.eye(model.dim), atol=1e-10)
