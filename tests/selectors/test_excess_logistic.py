"""Flipped labels: one rate for all rows, or rates that depend on the row's doubt."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

import robula
from robula.selectors.excess.excess_logistic import (
    climb,
    flip_modes,
    flip_weights,
    log_evidence,
    mixed_probability,
    own_probability,
)

PRIOR = robula.NormalPrior(0.0, 1.0)
THETA = np.array([2.0, -1.5, 1.0])


def labels(seed, kind, share=0.1, n=1500):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    p = expit(X @ THETA)
    y = (rng.random(n) < p).astype(float)
    own = np.where(y > 0.5, p, 1.0 - p)
    count = round(share * n)
    flipped = np.zeros(n, dtype=bool)
    if kind == "surest":
        flipped[np.argsort(-own)[:count]] = True
    elif kind == "random":
        flipped[rng.choice(n, count, replace=False)] = True
    return robula.LogisticModel(X, np.where(flipped, 1.0 - y, y), prior=PRIOR), flipped


def test_the_weight_is_the_ratio_of_the_gradients():
    eta, rate, step = np.linspace(-3, 3, 13), 0.15, 1e-6

    def log_mixed(eta):
        return np.log(mixed_probability(expit(eta), rate))

    numeric = (log_mixed(eta + step) - log_mixed(eta - step)) / (2 * step)
    np.testing.assert_allclose(flip_weights(expit(eta), rate) * (1.0 - expit(eta)), numeric, rtol=1e-6)


def test_modes_have_no_gradient_and_the_right_rate_has_the_largest_evidence():
    model, _ = labels(1, "random", 0.15, n=4000)
    rates = (0.0, 0.05, 0.15, 0.3)
    modes = flip_modes(model, rates, model.initial)
    for rate, theta in zip(rates, modes, strict=True):
        weights = flip_weights(own_probability(model, theta), rate)
        gradient = model.weighted_gradient(theta, weights) + model.prior.gradient(theta)
        assert np.abs(gradient).max() < 0.1
    evidences = [log_evidence(model, theta, rate) for rate, theta in zip(rates, modes, strict=True)]
    assert np.argmax(evidences) == 2


def test_climbing_never_makes_an_explanation_worse():
    model, _ = labels(2, "surest")
    for theta in flip_modes(model, (0.0, 0.1, 0.3), model.initial):
        first = climb(model, theta)
        assert climb(model, first.theta).objective >= first.objective - 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_flips_of_the_surest_labels_are_explained_by_doubt(seed):
    model, flipped = labels(seed, "surest")
    prepared = robula.selectors.ExcessSelector().prepared(model, 0.2)
    assert prepared.start.name.startswith("flip rates by doubt")
    assert prepared.selection.weights[flipped].mean() < 0.1
    assert prepared.selection.weights[~flipped].mean() > 0.8
    assert np.abs(prepared.mode - THETA).max() < 0.5
    assert prepared.estimated_contamination.share == pytest.approx(0.1, abs=0.03)
    # Negative control: the plain fit is flattened.
    plain = flip_modes(model, (0.0,), model.initial)[0]
    assert np.abs(plain).max() < 0.5 * np.abs(THETA).max()


@pytest.mark.parametrize("kind", ["none", "random"])
@pytest.mark.parametrize("seed", range(3))
def test_other_labels_have_one_rate(kind, seed):
    model, _ = labels(seed, kind)
    assert robula.selectors.robust_start(model, 0.2).name.startswith("flip rate ")


def test_the_budget_limits_the_rates():
    model, _ = labels(4, "surest")
    prepared = robula.selectors.ExcessSelector().prepared(model, 0.05)
    assert prepared.estimated_contamination.share <= 0.05


@pytest.mark.parametrize("seed", range(4))
def test_the_true_share_is_budget_enough(seed):
    model, _ = labels(seed, "surest", 0.05, n=1501)
    prepared = robula.selectors.ExcessSelector().prepared(model, 0.05)
    assert prepared.start.name.startswith("flip rates by doubt")


@pytest.mark.parametrize("kind", ["random", "surest"])
def test_units_of_the_features_do_not_matter(kind):
    model, _ = labels(0, kind)
    scaled = robula.LogisticModel(model.design * 1e6, model.y, prior=robula.NormalPrior(0.0, 1e-12))
    first, second = (robula.selectors.ExcessSelector().prepared(one, 0.2).selection.weights for one in (model, scaled))
    np.testing.assert_allclose(second, first, atol=1e-5)


def test_many_coefficients_do_not_invent_flips():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((600, 100))
    y = (rng.random(600) < expit(X @ (2.0 * rng.standard_normal(100) / 10.0))).astype(float)
    start = robula.selectors.robust_start(robula.LogisticModel(X, y, prior=PRIOR), 0.2)
    assert not start.name.startswith("flip rates by doubt")
