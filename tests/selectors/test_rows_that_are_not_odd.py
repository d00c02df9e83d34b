"""Rows that fit the law, laws that could spend any limit, and rows without noise: none of them makes bad rows."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import robula
from robula.exceptions import MisfitWarning
from robula.selectors.trust import trust_constants as constants
from robula.selectors.trust import trust_search
from robula.selectors.trust.law_words import share_words
from robula.selectors.trust.row_law import RowLaw, price_of_the_unseen
from robula.selectors.trust.trust_search import weigh_explanations
from tests.helpers import unknown_scale


def declared_law(n: int) -> RowLaw:
    return RowLaw(np.zeros((n, 0)), np.zeros((n, 0)), True, 0.03)


def test_a_row_pays_as_much_as_the_law_finds_it_likelier_than_a_row_at_its_edge():
    z = np.array([0.0, 1.0, -2.0, 2.58, 4.0])
    expected = [0.5 * 2.58**2, 0.5 * (2.58**2 - 1.0), 0.5 * (2.58**2 - 4.0), 0.0, 0.0]
    np.testing.assert_allclose(price_of_the_unseen(declared_law(5), z), expected, atol=1e-12)


def test_what_is_odd_is_said_by_the_fitted_law():
    law = declared_law(2)
    law.parameters[2] = -0.8
    z = np.array([3.5, -3.5])
    scores = law.normal_scores(z)
    # Heavy tails: three and a half widths out is nothing special there; and the scores are normal under the law.
    assert (np.abs(scores) < constants.SEEN).all()
    rng = np.random.default_rng(0)
    tails = np.sinh(np.arcsinh(rng.standard_normal(20_000)) * np.exp(0.8))
    sample = (tails - tails.mean()) / tails.std()
    many = declared_law(20_000)
    many.parameters[2] = -0.8
    # Five standard errors of a share.
    assert np.mean(np.abs(many.normal_scores(sample)) > 1.96) == pytest.approx(0.05, abs=0.01)


@pytest.fixture(scope="module")
def two_lines() -> robula.LinearModel:
    """A quarter of the rows follows another line: far more than a limit of 0.1 allows."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(300, 2))
    line = np.where(np.arange(300) < 75, 4.0 * x[:, 0] + 3.0, -2.0 * x[:, 0])
    return unknown_scale(x, line + 0.5 * rng.standard_normal(300))


def test_an_explanation_that_would_spend_more_than_the_limit_is_a_misfit(two_lines):
    with pytest.warns(MisfitWarning, match="more rows disagree"):
        found = robula.trust(two_lines, 0.1)
    assert found.misfit is not None
    verdict = weigh_explanations(two_lines, 0.1)
    assert verdict.beyond_budget
    assert {name for name, chance in verdict.probabilities.items() if chance > 0.0} <= {
        "nothing is wrong", "gross rows"
    }  # fmt: skip


@pytest.mark.parametrize(("called", "evidence", "wanted"), [(0.3, 50.0, 0.3), (0.1, 50.0, 0.1), (0.3, 11.0, 0.1)])
def test_who_spends_the_limit_wants_what_a_search_without_one_takes(monkeypatch, called, evidence, wanted):
    # It counts only if it takes clearly more, and is decisively better.
    rows = SimpleNamespace(exact_law=False, count=300)

    def fitted(called: float, evidence: float) -> SimpleNamespace:
        return SimpleNamespace(rows=rows, budget=0.1, called=called, evidence=evidence, wanted=called)

    searched = []
    monkeypatch.setattr(
        trust_search, "_explanations", lambda _, budget: searched.append(budget) or {"free": fitted(called, evidence)}
    )
    found = {"nothing is wrong": fitted(0.0, 0.0), "a bad population": fitted(0.1, 10.0)}
    trust_search._asked_without_limit(found)
    assert searched == [constants.MOST_BAD]
    assert found["a bad population"].wanted == wanted
    assert found["nothing is wrong"].wanted == 0.0
    # Nothing is asked where the limit is not spent.
    trust_search._asked_without_limit({"nothing is wrong": fitted(0.0, 0.0), "a bad population": fitted(0.05, 10.0)})
    assert len(searched) == 1


def test_rows_that_are_fitted_to_the_last_digit_do_not_make_the_others_bad():
    # As in survival data: time to progression is follow-up time where there was none.
    rng = np.random.default_rng(5)
    x = rng.normal(size=(300, 2))
    y = x[:, 0] + 2.0
    event = rng.random(300) < 0.4
    y[event] -= rng.exponential(1.0, event.sum())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MisfitWarning)
        found = robula.trust(unknown_scale(x, y), "estimate")
    assert found.misfit is not None
    assert "fitted to the last digit" in found.misfit
    assert found.weights.mean() > 0.95


@pytest.mark.parametrize("n", [300, 2500])
def test_rows_without_any_noise_are_all_kept(n):
    x = np.random.default_rng(0).normal(size=(n, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", MisfitWarning)
        found = robula.trust(unknown_scale(x, x @ [1.0, 2.0]), 0.1)
    np.testing.assert_array_equal(found.weights, 1.0)
    assert any("fitted to the last digit" in words for words in found.law)


def test_a_law_without_noise_can_still_be_improved():
    # Its information is a number of 17 digits in one direction, and the prior is lost beside it.
    bends = np.outer(np.ones(50), [1.0, -3.0, 7.0])
    law = RowLaw(np.zeros((50, 0)), bends, True, 0.03)
    law.parameters[0] = -20.0
    z = 1e-9 * np.random.default_rng(0).standard_normal(50)
    known = np.zeros(50, dtype=bool)
    law.improve(z, z, known, np.ones(50), law.scored(z, z, known))
    assert np.isfinite(law.parameters).all()


def test_a_response_that_is_nearly_always_the_same_makes_no_bad_rows_of_the_others():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(600, 2))
    y = np.where(np.arange(600) < 200, rng.normal(size=600), 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = robula.trust(unknown_scale(x, y), 0.1)
    assert found.weights.mean() > 0.95
    assert found.misfit is not None
    assert "67% of the responses are one and the same value" in found.misfit
    assert "computed from" not in found.misfit


def test_many_bad_rows_are_said_to_be_rarely_mistakes():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 2))
    y = x @ [1.0, -1.0] + rng.standard_normal(600) + 8.0 * (np.arange(600) < 150)
    found = robula.trust(unknown_scale(x, y), 0.3)
    assert found.weights[:150].mean() < 0.1
    assert any("gross errors are usually 1 to 10 %" in words for words in found.law)
    verdict = weigh_explanations(unknown_scale(x, y), 0.3)
    assert share_words(verdict, 0.1) == ()
    declared = weigh_explanations(robula.LinearModel(x, y, noise_scale=1.0, intercept=True), 0.3)
    assert share_words(declared, 0.25) == ()


@pytest.mark.parametrize(("rows", "bad", "said"), [(60, 5, True), (60, 0, False), (250, 20, False)])
def test_bad_rows_among_few_are_said_to_be_uncertain(rows, bad, said):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 2))
    y = x @ [1.0, -1.0] + rng.standard_normal(rows) + 12.0 * (np.arange(rows) < bad)
    found = robula.trust(unknown_scale(x, y), 0.2)
    assert (found.weights[:bad] < 0.1).all()
    assert any(f"of only {rows} rows" in words for words in found.law) == said
