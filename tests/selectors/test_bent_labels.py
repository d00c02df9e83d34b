"""Log odds that bend: their evidence, computed directly, and that a curve is no reason to call labels wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

import robula
from robula.models.posterior_mode import weighted_mode
from robula.models.tail_scores import log_of_the_rest
from robula.selectors.trust import label_bends, trust_constants
from robula.selectors.trust.bent_labels import BentLabels
from robula.selectors.trust.explanation_kinds import Kind
from robula.selectors.trust.feature_space import FeatureMap, standardised
from robula.selectors.trust.label_bends import settled_bends
from robula.selectors.trust.label_flips import NoFlips
from robula.selectors.trust.label_search import explain_labels
from robula.selectors.trust.trust_selector import weigh


def logistic(X, y, variance=10.0):
    return robula.LogisticModel(X, y, prior=robula.NormalPrior(0.0, variance), intercept=True)


def gain(model):
    plain = weighted_mode(model, np.ones(model.n_rows), model.initial)
    nothing = NoFlips(model, plain)
    return BentLabels(model, nothing, FeatureMap(model.covariates).space).evidence - nothing.evidence


def drawn(rng, log_odds):
    return (rng.logistic(size=len(log_odds)) < log_odds).astype(float)


def test_the_gain_is_laplaces_of_a_gaussian_process_on_all_rows():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((45, 2))
    y = drawn(rng, X @ [1.0, -1.0] + 3.0 * X[:, 0] ** 2 - 2.0)
    model = logistic(X, y, 2.0)
    theta = weighted_mode(model, np.ones(45), model.initial)
    design, place = np.column_stack([np.ones(45), X]), FeatureMap(X).space.inner
    fitted = np.clip(standardised(design @ theta), -4.0, 4.0)[:, None]

    def similar(at):
        return np.exp(-0.5 * ((at[:, None] - at[None]) ** 2).sum(axis=2))

    covariance = (trust_constants.PLACE * math.pi / math.sqrt(3.0)) ** 2 * (
        similar(fitted) + similar(place / math.sqrt(2.0))
    )
    # Rows as they are, and so many functions that nothing is left out.
    root = np.linalg.cholesky(covariance + 1e-10 * np.eye(45))

    def loss(both):
        odds = design @ both[:3] + root @ both[3:]
        partition = np.logaddexp(0.0, odds) - y * odds
        return partition.sum() + 0.25 * both[:3] @ both[:3] + 0.5 * both[3:] @ both[3:]

    peak = minimize(loss, np.concatenate([theta, np.zeros(45)]), method="BFGS", options={"gtol": 1e-6})
    both = np.hstack([design, root])
    chance = 1.0 / (1.0 + np.exp(-both @ peak.x))
    precision = both.T @ ((chance * (1.0 - chance))[:, None] * both) + np.diag([0.5] * 3 + [1.0] * 45)
    volume = np.linalg.slogdet(precision)[1] - np.linalg.slogdet(precision[:3, :3])[1]
    expected = loss(np.concatenate([theta, np.zeros(45)])) - peak.fun - 0.5 * volume
    # Nystroem's directions below a ten-thousandth of the largest are left out.
    assert gain(model) == pytest.approx(expected, abs=0.05)


def test_two_classes_of_a_multinomial_model_bend_like_a_logistic_one():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((400, 3))
    y = drawn(rng, X @ [1.0, 1.0, 0.0] + X[:, 0] ** 2)
    prior = robula.NormalPrior(0.0, 10.0)
    other = robula.MultinomialModel(X, y, prior=prior, intercept=True)
    assert gain(other) == pytest.approx(gain(logistic(X, y)), abs=1e-4)


def test_rows_in_another_order_and_columns_in_other_units_gain_the_same():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((300, 3))
    y = drawn(rng, X @ [1.0, 1.0, 0.0] + X[:, 0] ** 2)
    order = rng.permutation(300)
    assert gain(logistic(X[order], y[order])) == pytest.approx(gain(logistic(X, y)), abs=1e-8)
    prior = robula.NormalPrior(0.0, np.array([10.0, 10.0, 0.1, 10.0]))
    units = robula.LogisticModel(X * [1.0, 10.0, 1.0], y, prior=prior, intercept=True)
    assert gain(units) == pytest.approx(gain(logistic(X, y)), abs=1e-6)


def test_what_does_not_bend_gains_nothing():
    # A gain beyond the price, which would be said, is a false alarm: at most one table in twenty.
    rng = np.random.default_rng(4)
    gains = []
    for _ in range(60):
        X = rng.standard_normal((300, 3))
        gains.append(gain(logistic(X, drawn(rng, X @ [1.0, -1.0, 0.5]))))
    assert np.mean(np.array(gains) > trust_constants.PRICE) <= 0.05


@pytest.mark.parametrize(
    "off",
    [
        lambda X: 1.5 * X[:, 0] ** 2,
        lambda X: 2.0 * X[:, 0] * X[:, 1],
        lambda X: 4.0 * (np.abs(X[:, 0]) > 1.0),
        lambda X: -3.0 * np.maximum(X.sum(axis=1), 0.0),
    ],
    ids=["square", "product", "step", "kink"],
)
@pytest.mark.parametrize("contamination", [0.2, "estimate"])
def test_a_law_that_is_off_calls_no_label_wrong_and_is_said(off, contamination):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((1500, 3))
    found = robula.trust(logistic(X, drawn(rng, 1.5 * X.sum(axis=1) + off(X))), contamination)
    assert found.weights.mean() > 0.99
    assert any("bend" in finding for finding in found.law)


@pytest.mark.parametrize("surest", [False, True], ids=["random", "targeted"])
def test_labels_that_are_wrong_are_still_found(surest):
    # Negative control: a bend that explained everything would keep them.
    rng = np.random.default_rng(6)
    X = rng.standard_normal((1500, 3))
    log_odds = 2.5 * X.sum(axis=1)
    y = drawn(rng, log_odds)
    wrong = np.argsort(-np.abs(log_odds))[:150] if surest else rng.choice(1500, 150, replace=False)
    y[wrong] = 1.0 - y[wrong]
    found = robula.trust(logistic(X, y), 0.2)
    right = np.setdiff1d(np.arange(1500), wrong)
    assert found.weights[wrong].mean() < (0.05 if surest else 0.5)
    assert found.weights[right].mean() > 0.95
    # Flips at random flatten the link, which a bend does as well.
    assert not surest or not any("bend" in finding for finding in found.law)


def bent_and_flipped(rows, seed=6):
    """Labels of a bent law, a tenth of them wrong where it is surest; model, and which labels are wrong (n,)."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 3))
    log_odds = 2.5 * X.sum(axis=1) + X[:, 0] ** 2
    wrong = np.zeros(rows, dtype=bool)
    wrong[rng.choice(np.flatnonzero(np.abs(log_odds) > np.quantile(np.abs(log_odds), 0.7)), rows // 10, False)] = True
    y = drawn(rng, log_odds)
    return logistic(X, np.where(wrong, 1.0 - y, y)), wrong


def test_labels_are_found_wrong_beside_a_law_that_is_off():
    model, wrong = bent_and_flipped(3000)
    verdict = weigh(model, 0.2)
    both = [verdict.probabilities[kind] for kind in (Kind.FLIPPED_AND_BENT, Kind.FLIPPED_BY_ROW_AND_BENT)]
    assert sum(both) > 0.8
    found = robula.trust(model, 0.2)
    assert found.weights[wrong].mean() < 0.3
    assert found.weights[~wrong].mean() > 0.97
    assert any("bend" in finding for finding in found.law)
    clean = weighted_mode(model, (~wrong).astype(float), model.initial)
    plain = weighted_mode(model, np.ones(3000), model.initial)
    assert np.linalg.norm(found.theta - clean) < 0.25 * np.linalg.norm(plain - clean)


def test_flips_beside_a_bend_are_the_same_in_passes(monkeypatch):
    model, _ = bent_and_flipped(4000)
    whole = robula.trust(model, 0.2)
    monkeypatch.setattr("robula.models.large_model.SAMPLE_ROWS", 3000)
    in_passes = robula.trust(model, 0.2)
    likeliest = max(in_passes.explanations, key=in_passes.explanations.get)
    assert likeliest in (Kind.FLIPPED_AND_BENT, Kind.FLIPPED_BY_ROW_AND_BENT)
    assert np.abs(in_passes.weights - whole.weights).mean() < 0.02


def test_of_many_rows_a_bend_is_what_it_was_of_the_rows_it_was_fitted_to():
    model, _ = bent_and_flipped(500)
    theta, space = weighted_mode(model, np.ones(500), model.initial), FeatureMap(model.covariates).space
    bent = settled_bends(model, theta, space, np.full(500, -2.0))
    own = model.log_likelihood(theta)
    own_odds, beside = own - log_of_the_rest(own), model.log_likelihood(bent.bend.beside)
    added = bent.bend.at(own_odds, np.asarray(model.response), space.inner)
    np.testing.assert_allclose(beside - log_of_the_rest(beside) + added, bent.log_odds, atol=1e-8)


def test_vague_priors_are_no_evidence_of_wrong_labels():
    # Labels that hang on nothing, thirty columns: with theta's volume counted, flips won by what they do not know.
    rng = np.random.default_rng(7)
    X, y = rng.standard_normal((600, 30)), (rng.random(600) < 0.5).astype(float)
    for variance in (10.0, 1e6):
        assert robula.trust(logistic(X, y, variance), 0.2).weights.mean() > 0.99


def test_labels_that_are_all_the_same_or_of_three_classes_have_no_flips_beside_bends():
    rng = np.random.default_rng(10)
    X = rng.standard_normal((60, 2))
    alike = logistic(X, np.ones(60))
    assert gain(alike) == 0.0
    assert robula.trust(alike, 0.2).weights.mean() > 0.99
    three = robula.MultinomialModel(X, np.arange(60) % 3, prior=robula.NormalPrior(0.0, 10.0), intercept=True)
    for model in (alike, three):
        assert Kind.FLIPPED_AND_BENT not in explain_labels(model, 0.2)


def test_who_takes_the_law_at_its_word_has_no_bends():
    rng = np.random.default_rng(8)
    X = rng.standard_normal((400, 2))
    model = logistic(X, drawn(rng, X @ [1.0, 1.0] + X[:, 0] ** 2))
    kinds = [explain_labels(model, 0.2, exact_law) for exact_law in (None, True)]
    assert [sum("bend" in kind for kind in each) for each in kinds] == [3, 0]


def test_a_gain_that_is_no_number_is_none(monkeypatch):
    whole = label_bends._LogDensity.step
    monkeypatch.setattr(label_bends._LogDensity, "step", lambda *given: (*whole(*given)[:2], math.nan))
    rng = np.random.default_rng(9)
    X = rng.standard_normal((200, 2))
    assert gain(logistic(X, drawn(rng, X @ [1.0, 1.0]))) == -math.inf
