"""Thousands of parameters: curvature without a matrix, a selector without one, free noise scales."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import robula
from robula.target.centre_search import large_centre, robust_centre
from robula.target.robust_centre import TrustedCurvature

jnp = pytest.importorskip("jax.numpy")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 1200)) / np.sqrt(1200)
Y = X @ RNG.standard_normal(1200) + 0.1 * RNG.standard_normal(60)
Y[:6] += 30.0


def wide_model() -> robula.models.Model:
    """Ridge regression with 1,200 parameters."""

    def log_likelihood(beta, row):
        return -0.5 * ((row["y"] - row["x"] @ beta) / 0.1) ** 2

    prior = robula.NormalPrior(0.0, 1.0)
    return robula.from_jax(log_likelihood, {"x": X, "y": Y}, log_prior=prior, init=np.zeros(1200), chunk_size=16)


def test_curvature_without_a_matrix_is_that_of_the_matrix():
    model = wide_model()
    selection = robula.SampleMean().select_rows(model, model.initial, 0.0)
    trusted = TrustedCurvature(model, selection, 60.0)
    matrix = 100.0 * X.T @ X + np.eye(1200)
    vector = RNG.standard_normal(1200)
    np.testing.assert_allclose(trusted.times(model.initial, vector), matrix @ vector, rtol=1e-5, atol=1e-4)
    assert trusted.extreme(model.initial, "LM") == pytest.approx(np.linalg.eigvalsh(matrix)[-1], rel=0.05)
    assert trusted.extreme(model.initial, "SA") == pytest.approx(1.0, abs=1.0)


def test_no_square_matrix_is_formed(monkeypatch):
    model = wide_model()
    assert not model.dense_curvature
    monkeypatch.setattr(type(model), "curvature", None)
    monkeypatch.setattr(type(model), "gradients", None)
    settings = {
        "contamination": 0.1,
        "selector": robula.selectors.TrimmedLikelihood(),
        "draws": 50,
        "likelihood_rows": "weights",
    }
    robula.sample(model, kernel="lm", burn_in=0, **{**settings, "draws": 2})  # compiles
    tracemalloc.start()
    posterior = robula.sample(model, kernel="preconditioned_baoab", burn_in=200, **settings)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The draws take 1.9 MB; a (d, d) matrix would be 11.5 MB.
    assert peak < 8e6
    assert posterior.settings["smoothness"] == pytest.approx(
        np.linalg.eigvalsh(100.0 * X[6:] @ X[6:].T)[-1] + 1.0, rel=0.1
    )
    assert posterior.row_weights[:6].max() < 0.1
    assert not posterior.stats["guarded"].any()


def test_the_large_centre_agrees_with_the_dense_one():
    rng = np.random.default_rng(1)
    features = rng.standard_normal((100, 5)) * [1.0, 2.0, 1.0, 0.5, 3.0]
    model = robula.LinearModel(features, features @ np.ones(5), noise_scale=1.0, prior=robula.NormalPrior(0.0, 1.0))
    arguments = (model, robula.SampleMean(), 0.0, "n", model.initial)
    dense, large = robust_centre(*arguments), large_centre(*arguments)
    np.testing.assert_allclose(large.theta, dense.theta, atol=0.02)
    assert large.smoothness == pytest.approx(dense.smoothness, rel=0.05)
    assert large.strong_convexity == pytest.approx(dense.strong_convexity, rel=0.2)


def test_a_free_noise_scale_gets_a_safe_step():
    """The curvature grows like 1 / scale^2 around the centre; the default step of LM stands it, also preconditioned."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal(12)
    y = 1.0 + x + 0.5 * rng.standard_normal(12)

    def log_likelihood(parameters, row):
        mean = parameters["level"] + parameters["slope"] * row["x"]
        standardized = (row["y"] - mean) * jnp.exp(-parameters["log_scale"])
        return -0.5 * standardized**2 - parameters["log_scale"]

    init = {"level": 0.0, "slope": 0.0, "log_scale": 0.0}
    model = robula.from_jax(log_likelihood, {"x": x, "y": y}, log_prior=robula.NormalPrior(0.0, 4.0), init=init)
    settings = {"contamination": 0.0, "selector": "mean", "draws": 800, "seed": 1, "refresh_every": 10**6}
    posterior = robula.sample(model, kernel="preconditioned_lm", **settings)
    assert not posterior.stats["guarded"].any()
    ula = robula.sample(model, kernel="ula", draws=5, contamination=0.0, selector="mean")
    lm = robula.sample(model, kernel="lm", **settings)
    assert lm.settings["step_size"] < 0.8 * ula.settings["step_size"]
    fine = robula.sample(model, kernel="lm", step_size=lm.settings["step_size"] / 2, thin=3, **settings)
    np.testing.assert_allclose(posterior.mean, fine.mean, atol=0.08)
    np.testing.assert_allclose(np.diag(posterior.covariance), np.diag(fine.covariance), rtol=0.35)


def test_trimmed_likelihood_keeps_ties_and_counts_rows():
    model = robula.MeanModel(np.array([[0.0], [0.0], [5.0], [-5.0], [0.1]]))
    weights = robula.selectors.TrimmedLikelihood().select_rows(model, np.zeros(1), 0.2).weights
    np.testing.assert_array_equal(weights, [1, 1, 1, 1, 1])
    weights = robula.selectors.TrimmedLikelihood().select_rows(model, np.ones(1), 0.4).weights
    np.testing.assert_array_equal(weights, [1, 1, 0, 0, 1])
    with pytest.raises(np.linalg.LinAlgError):
        robula.selectors.TrimmedLikelihood().select_rows(model, np.array([np.inf]), 0.2)
