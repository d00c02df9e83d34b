"""One explanation of the rows: its evidence, what it would want without a limit, and predictions without the row."""

from __future__ import annotations

import numpy as np
import pytest

import robula
from robula.selectors.trust import trust_constants as constants
from robula.selectors.trust.bad_population import BadPopulation, population_axes
from robula.selectors.trust.explanation import Explanation
from robula.selectors.trust.row_law import RowLaw
from robula.selectors.trust.scored_rows import ScoredRows
from tests.helpers import unknown_scale


def scored_rows(n: int = 300, shift: float = 0.0, share: float = 0.0, noise: float | str = "estimate") -> ScoredRows:
    """Rows of a line with noise 1, the first ones shifted by so many noise widths."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n, 2))
    y = X @ [1.0, -1.0] + rng.standard_normal(n) + shift * (np.arange(n) < share * n)
    prior = robula.NormalPrior(0.0, 100.0)
    return ScoredRows(robula.LinearModel(X, y, noise_scale=noise, prior=prior, intercept=True))


def plain_mode(rows: ScoredRows) -> np.ndarray:
    return rows.mode(np.ones(rows.count), rows.model.initial, 25)


@pytest.mark.parametrize(
    ("n", "noise", "counted"), [(300, "estimate", 1.0), (2000, "estimate", 0.25), (3000, 1.0, 0.5), (600, 1.0, 1.0)]
)
def test_rows_count_as_at_most_what_a_near_law_is_good_for(n, noise, counted):
    assert scored_rows(n, noise=noise).coarsening == pytest.approx(counted)


@pytest.mark.parametrize(("n", "noise", "whole"), [(50, "estimate", 0.25), (300, "estimate", 1.0), (300, 1.0, 0.2)])
def test_few_rows_pay_less_for_being_called_bad(n, noise, whole):
    assert scored_rows(n, noise=noise).maturity == pytest.approx(whole)


def test_a_free_law_costs_its_volume_and_a_price():
    rows = scored_rows()
    theta = plain_mode(rows)
    declared = Explanation(rows, theta, 0.1, gross=False, freedom=0).fit(1)
    free = Explanation(rows, theta, 0.1, gross=False, freedom=2)
    free.law.parameters[:] = 0.0
    free.fit(1)
    slopes = free.law.scored(free.scores.lower, free.scores.upper, free.scores.interval)[1]
    slopes = slopes * free.law.deviations(free.law.parameters)
    volume = 0.5 * np.linalg.slogdet(np.eye(slopes.shape[1]) + slopes.T @ slopes)[1]
    assert declared.evidence - free.evidence == pytest.approx(volume + constants.PRICE, rel=1e-6)
    assert volume > 1.0


def test_a_population_costs_its_numbers_and_a_price():
    rows = scored_rows(shift=6.0, share=0.1)
    explanation = Explanation(rows, plain_mode(rows), 0.2, freedom=0).with_population(np.arange(300) < 30.0).fit(15)
    counted = rows.coarsening
    size = np.log1p(counted * explanation.members.sum())
    expected = counted * explanation.log_likelihood + explanation.log_prior
    expected -= 0.5 * np.log1p(counted * 300) + 3.5 * size + constants.PRICE * rows.maturity
    assert explanation.evidence == pytest.approx(expected, rel=1e-9)
    shifted = Explanation(rows, plain_mode(rows), 0.2, freedom=0).with_population(np.arange(300) < 30.0, placed=False)
    shifted.fit(15)
    expected = counted * shifted.log_likelihood + shifted.log_prior - 0.5 * np.log1p(counted * 300)
    expected -= np.log1p(counted * shifted.members.sum()) + constants.PRICE
    assert shifted.evidence == pytest.approx(expected, rel=1e-9)
    assert shifted.evidence > explanation.evidence  # two numbers say what seven said


def test_where_rows_pay_nothing_the_axes_of_a_population_cost_a_number_each():
    rows = scored_rows(shift=6.0, share=0.1, noise=1.0)
    explanation = Explanation(rows, plain_mode(rows), 0.2, freedom=0).with_population(np.arange(300) < 30.0).fit(15)
    counted = rows.coarsening
    numbers = 7 + population_axes(rows, explanation.theta).shape[1]
    expected = counted * explanation.log_likelihood + explanation.log_prior - 0.5 * np.log1p(counted * 300)
    expected -= 0.5 * numbers * np.log1p(counted * explanation.members.sum()) + constants.PRICE * rows.maturity
    assert explanation.evidence == pytest.approx(expected, rel=1e-9)


def test_a_row_that_is_called_bad_pays_for_itself(monkeypatch):
    rows = scored_rows(shift=3.0, share=0.1)
    suspects = 0.9 * (np.arange(300) < 30.0)
    removed = {}
    for keeping in (0.0, 1.5):
        monkeypatch.setattr(constants, "KEEPING", keeping)
        fitted = Explanation(rows, plain_mode(rows), 0.2, freedom=0).with_population(suspects).fit(1)
        assert fitted.handicaps.tolist() == pytest.approx([keeping * rows.maturity] * 2)
        removed[keeping] = 1.0 - fitted.weights.mean()
        shifted = Explanation(rows, plain_mode(rows), 0.2, freedom=0).with_population(suspects, placed=False)
        assert shifted.handicaps[1] == 0.0
    assert removed[1.5] < 0.9 * removed[0.0]


def test_without_a_limit_as_many_rows_are_wanted_as_are_bad():
    # Three rows in ten are off by four noise widths, and the limit is one in ten: it is spent, and more are wanted.
    rows = scored_rows(400, shift=4.0, share=0.3)
    suspects = 0.9 * (np.arange(400) < 120)
    explanation = Explanation(rows, plain_mode(rows), 0.1, freedom=0, keeping=0.0)
    explanation = explanation.with_population(suspects, placed=False).fit(25)
    removed = 1.0 - explanation.weights.mean()
    explanation.ask_without_limit(12)
    assert removed < 0.12
    assert explanation.wanted > 0.2
    assert 1.0 - explanation.weights.mean() == pytest.approx(removed)


def test_rows_within_the_limit_are_not_asked_about():
    rows = scored_rows(400, shift=9.0, share=0.1)
    enough = Explanation(rows, plain_mode(rows), 0.2, freedom=0).with_population(0.9 * (np.arange(400) < 40)).fit(25)
    before = enough.wanted
    enough.ask_without_limit(12)
    assert enough.wanted == before == pytest.approx(0.1, abs=0.02)


def test_a_row_does_not_predict_itself():
    rows = scored_rows(60)
    explanation = Explanation(rows, plain_mode(rows), 0.2, freedom=0)
    members = np.where(np.arange(60) < 30, 1.0, 0.0)
    population = BadPopulation(rows, explanation.scores, members, population_axes(rows, explanation.theta))
    design = np.column_stack([np.ones(60), rows.space.whitened])
    z = explanation.scores.point * explanation.scores.scale
    ridge = np.diag([1e-6, 1.0, 1.0])
    for row in (0, 7, 45):
        others = members * (np.arange(60) != row)
        fit = np.linalg.solve((design.T * others) @ design + ridge, design.T @ (others * z))
        assert population.prediction[row] == pytest.approx(design[row] @ fit, rel=1e-8)


def test_a_population_follows_few_axes_that_are_not_chosen_to_suit_it():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((400, 40))
    X[:40] += 6.0 / np.sqrt(40.0)
    theta = rng.standard_normal(40)
    y = X @ theta + rng.standard_normal(400)
    models = [robula.LinearModel(X, response, noise_scale=1.0) for response in (y, rng.permutation(y))]
    axes, other = (population_axes(ScoredRows(model), theta) for model in models)
    np.testing.assert_array_equal(axes, other)
    assert axes.shape[0] == 40
    assert 2 <= axes.shape[1] <= 5
    np.testing.assert_allclose(axes.T @ axes, np.eye(axes.shape[1]), atol=1e-12)
    # The group's direction and that of the fitted value are among them.
    whitened = ScoredRows(models[0]).space.whitened
    for values in (np.arange(400) < 40.0, X @ theta):
        centred = values - values.mean()
        within = whitened @ (axes @ (axes.T @ (whitened.T @ centred))) / 400
        assert within @ centred > 0.6 * centred @ (whitened @ (whitened.T @ centred)) / 400


def test_lighter_tails_than_declared_are_held_back():
    law = RowLaw(np.zeros((4, 0)), np.zeros((4, 0)), True, constants.HARDLY)
    heavier, lighter = np.array([0.0, 0.0, -0.1]), np.array([0.0, 0.0, 0.1])
    assert law.log_prior(heavier) == pytest.approx(-0.5 * (0.1 / constants.SHAPE) ** 2)
    assert law.log_prior(lighter) == pytest.approx(-0.5 * (0.1 / constants.HARDLY) ** 2)


def test_an_explanation_is_given_up_only_where_its_rise_would_not_reach():
    """A law that is free takes many steps to explain gross rows by its tails."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = X @ [1.0, -1.0] + rng.standard_normal(300)
    y[:40] *= 10.0
    rows = ScoredRows(unknown_scale(X, y))

    def fitted(reach: float) -> Explanation:
        return Explanation(rows, plain_mode(rows), 0.2, gross=False).fit(60, reach)

    whole = fitted(-np.inf).evidence
    assert fitted(whole - 5.0).evidence == whole
    assert fitted(whole + 1000.0).evidence < whole - 1.0


def test_explanations_are_alike_if_one_law_calls_the_same_rows_bad():
    rows = scored_rows(300, shift=40.0, share=0.05)
    one = Explanation(rows, plain_mode(rows), 0.2, freedom=0).fit(30)
    again = Explanation(rows, plain_mode(rows) + 0.05, 0.2, freedom=0).fit(30)
    assert one.is_like(again)
    assert not one.is_like(Explanation(rows, plain_mode(rows), 0.2, freedom=1).fit(30))
    assert not one.is_like(Explanation(rows, plain_mode(rows), 0.2, freedom=0, gross=False).fit(30))


def test_a_law_that_is_passed_on_is_begun_from_and_not_shared():
    rows = scored_rows()
    one = Explanation(rows, plain_mode(rows), 0.2).fit(5)
    other = Explanation(rows, one.theta, 0.2, law=one.law)
    np.testing.assert_array_equal(other.law.parameters, one.law.parameters)
    before = one.law.parameters.copy()
    other.fit(5)
    np.testing.assert_array_equal(one.law.parameters, before)
    # A law of another freedom has other parameters: it is begun anew.
    assert Explanation(rows, one.theta, 0.2, freedom=1, law=one.law).law.freedom == 1
