from __future__ import annotations

import numpy as np
import pytest

import robula
from robula.models.posterior_mode import HeldPrecision, laplace, newton_mode, weighted_mode
from robula.models.precision import weighted_precision
from tests.helpers import registered_models, small_models

MODELS = {**small_models(), **registered_models()}


def decrement(model: robula.models.Model, weights: np.ndarray, theta: np.ndarray) -> float:
    """Squared distance to the mode in posterior widths."""
    gradient = model.weighted_gradient(theta, weights) + model.prior.gradient(theta)
    return float(gradient @ np.linalg.solve(weighted_precision(model, weights, theta), gradient))


@pytest.mark.parametrize("name", MODELS)
def test_the_gradient_vanishes_at_the_mode(name, rng):
    model = MODELS[name]
    weights = rng.uniform(size=model.n_rows)
    mode = weighted_mode(model, weights, model.initial)
    assert decrement(model, weights, mode) < 1e-15
    # Gradients alone lead to the same place, as precisely as L-BFGS stops.
    assert decrement(model, weights, weighted_mode(model, weights, model.initial, dense=False)) < 1e-5


@pytest.mark.parametrize("log_scale", [-8.0, 8.0])
def test_an_indefinite_curvature_is_left_behind(log_scale):
    """From far too small a scale Newton's own step would be endless, from far too large a one it goes downhill."""
    model = small_models()["linear-unknown-scale"]
    weights = np.ones(model.n_rows)
    start = np.append(np.full(model.dim - 1, 3.0), log_scale)
    mode = weighted_mode(model, weights, start, steps=100)
    np.testing.assert_allclose(mode, weighted_mode(model, weights, model.initial), atol=1e-8)


def test_newton_goes_uphill_without_a_law():
    """exp(-theta^4 + theta^2) is not concave at its start."""

    def value(theta: np.ndarray) -> float:
        return float(-(theta[0] ** 4) + theta[0] ** 2)

    found = newton_mode(
        value, lambda t: -4 * t**3 + 2 * t, lambda t: np.array([[12 * t[0] ** 2 - 2]]), np.array([0.1]), 50
    )
    assert found[0] == pytest.approx(np.sqrt(0.5), abs=1e-8)


def test_rows_without_weight_have_no_say():
    model = small_models()["linear"]
    bad = model.y.copy()
    bad[:5] = 1e200
    weights = np.ones(model.n_rows)
    weights[:5] = 0.0
    np.testing.assert_allclose(
        weighted_mode(model.with_response(bad), weights, np.zeros(3)), weighted_mode(model, weights, np.zeros(3))
    )


def test_a_held_precision_leads_to_the_same_modes_with_fewer_curvatures(rng, monkeypatch):
    model = MODELS["logistic"]
    weights = [rng.uniform(0.5 + 0.1 * k, 0.6 + 0.1 * k, model.n_rows) for k in range(4)]
    exact = [weighted_mode(model, each, model.initial) for each in weights]
    counted = 0
    curvature = type(model).curvature

    def counting(*arguments):
        nonlocal counted
        counted += 1
        return curvature(*arguments)

    monkeypatch.setattr(type(model), "curvature", counting)
    held, theta = HeldPrecision(), model.initial
    for each, mode in zip(weights, exact, strict=True):
        theta = weighted_mode(model, each, theta, held=held, at_start=model.log_likelihood(theta))
        np.testing.assert_allclose(theta, mode, atol=1e-6)
    assert counted <= 4


@pytest.mark.parametrize("factor", [0.01, 100.0])
def test_a_held_precision_that_does_not_serve_is_dropped(factor, rng):
    model, weights = MODELS["logistic"], np.ones(MODELS["logistic"].n_rows)
    held = HeldPrecision()
    held.factor = np.sqrt(factor) * np.linalg.cholesky(weighted_precision(model, weights, model.initial))
    assert decrement(model, weights, weighted_mode(model, weights, model.initial, held=held)) < 1e-10


def test_rounding_does_not_cost_steps():
    """A log density of 1e9 cannot show a gain of 1e-10: the search must not go on for it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    model = robula.LinearModel(X, X @ [1.0, 2.0] + 3000.0 * rng.standard_normal(200), noise_scale=1.0)
    calls = []

    def value(theta: np.ndarray) -> float:
        calls.append(theta)
        return float(model.log_likelihood(theta).sum())

    ones = np.ones(200)
    newton_mode(value, lambda t: model.weighted_gradient(t, ones), lambda t: model.curvature(t, ones), np.zeros(2), 25)
    assert len(calls) <= 4


def test_laplace_is_exact_for_a_linear_model_and_none_without_a_mode():
    model = small_models()["linear-intercept"]
    found, exact = laplace(model), model.gaussian_posterior()
    np.testing.assert_allclose(found.mean, exact.mean, atol=1e-9)
    np.testing.assert_allclose(found.covariance, exact.covariance, rtol=1e-9, atol=1e-12)

    class Rising(robula.models.FlatPrior):
        def gradient(self, theta):
            return np.ones_like(theta)

        def log_density(self, theta):
            return theta.sum(axis=-1)

    model.curvature = lambda theta, weights: np.zeros((model.dim, model.dim))
    model.prior = Rising()
    assert laplace(model) is None
