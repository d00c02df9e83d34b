"""Flipped labels of many rows: which beginning is followed is looked at on some of them."""

from __future__ import annotations

import numpy as np
import pytest

import robula
from robula.models.posterior_mode import HeldPrecision
from robula.models.precision import weighted_precision
from robula.selectors.trust import label_flips, label_search
from robula.selectors.trust.feature_space import FeatureMap


@pytest.fixture
def group():
    """A group in a place of its own whose labels are all 0, as X (900, 3) and labels."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((900, 3))
    y = rng.uniform(size=900) < 1.0 / (1.0 + np.exp(-X @ [2.0, -1.0, 1.0]))
    X[:100] = 0.3 * X[:100] + [2.0, -2.0, 2.0]
    y[:100] = False
    return X, y.astype(float)


def found(X, y):
    return robula.trust(robula.LogisticModel(X, y, prior=robula.NormalPrior(0.0, 2.0), intercept=True), 0.2)


def test_a_look_at_some_rows_chooses_the_same_beginning_in_any_order(group, monkeypatch):
    X, y = group
    whole = found(X, y)
    assert whole.weights[:100].mean() < 0.1
    fits = []
    made = label_flips.FlipExplanation
    monkeypatch.setattr(label_search, "FlipExplanation", lambda *a, **k: fits.append(made(*a, **k)) or fits[-1])
    monkeypatch.setattr(label_search, "_LOOKED_AT", 600)
    looked = found(X, y)
    # Three beginnings on 600 rows, the best of them on all.
    assert [len(fit.weights) for fit in fits if len(fit.gate) == 4] == [600, 600, 600, 900]
    assert np.abs(looked.weights - whole.weights).mean() < 0.02
    order = np.random.default_rng(0).permutation(900)
    np.testing.assert_allclose(found(X[order], y[order]).weights, looked.weights[order], atol=1e-8)


def test_what_is_out_of_reach_is_given_up(monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((1500, 4))
    y = rng.uniform(size=1500) < 1.0 / (1.0 + np.exp(-3.0 * X @ np.ones(4)))
    y ^= rng.uniform(size=1500) < 0.15
    model = robula.LogisticModel(X, y.astype(float), prior=robula.NormalPrior(0.0, 2.0))
    space = FeatureMap(X).space
    start = np.zeros(4), np.full(1500, 0.01)
    steps = []
    within = label_flips.within_budget
    monkeypatch.setattr(label_flips, "within_budget", lambda *a: steps.append(1) or within(*a))
    settled = label_flips.FlipExplanation(model, space, 0.2, *start, None)
    whole = len(steps)
    given_up = label_flips.FlipExplanation(model, space, 0.2, *start, None, reach=settled.evidence + 500.0)
    assert 4 < len(steps) - whole < 10 < whole
    assert given_up.evidence < settled.evidence + 500.0


@pytest.mark.parametrize("size", [None, 0.05, 0.3, 1.0, 10.0])
def test_labels_at_a_rate_solve_their_equations_whatever_precision_is_held(group, size):
    X, y = group
    model = robula.LogisticModel(X, y, prior=robula.NormalPrior(0.0, 2.0), intercept=True)
    held = HeldPrecision()
    if size is not None:
        held.hold(size * weighted_precision(model, np.ones(900), np.zeros(4)))
    space = FeatureMap(X).space
    fit = label_flips.FlipExplanation(model, space, 0.2, np.zeros(4), np.full(900, 0.1), 0.1, held)
    slope = model.weighted_gradient(fit.theta, fit.weights) + model.prior.gradient(fit.theta)
    precision = weighted_precision(model, fit.weights, fit.theta)
    assert slope @ np.linalg.solve(precision, slope) < 1e-4
    likely = np.exp(model.log_likelihood(fit.theta))
    np.testing.assert_allclose(fit.weights, 0.9 * likely / (0.9 * likely + 0.1 * (1.0 - likely)), atol=1e-12)
    # What is left behind is the precision of the evidence, for the next rate.
    np.testing.assert_allclose(held.factor @ held.factor.T, fit._precision(), rtol=1e-9)
