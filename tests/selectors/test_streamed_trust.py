"""The trust rule in passes: rules for any rows say what the fit says of its own, and the budget holds over all rows."""

from __future__ import annotations

import numpy as np
import pytest

import robula
from robula.models import large_model, law
from robula.models.large_model import LargeModel
from robula.selectors.trust.feature_space import BlockMap, FeatureMap
from robula.selectors.trust.streamed_population import PopulationRule
from robula.selectors.trust.streamed_rules import rules_of
from robula.selectors.trust.streamed_trust import prepared_for
from robula.selectors.trust.trust_selector import TrustSelector, judge, weigh

PRIOR = robula.NormalPrior(0.0, 1.0)


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    monkeypatch.setattr(large_model, "SAMPLE_ROWS", 1500)


def two_groups(rows: int, share: float = 0.12, seed: int = 3) -> robula.LinearModel:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 3))
    y = X @ [1.0, -1.0, 0.5] + rng.standard_normal(rows)
    # Anywhere: where the features foretold them, most would be excused.
    bad = rng.uniform(size=rows) < share
    y[bad] += 8.0
    return robula.LinearModel(X, y, noise_scale="estimate", prior=PRIOR, intercept=True)


def test_coordinates_of_a_block_are_those_of_the_map():
    rng = np.random.default_rng(0)
    columns = [np.ones(300), *rng.standard_normal((2, 300)), rng.integers(0, 2, 300), 1e6 + rng.gamma(2.0, size=300)]
    own = np.column_stack(columns)
    block_map = BlockMap(own, ())
    found, known = block_map(own[:50]), FeatureMap(own).space.take(np.arange(50))
    for name in ("whitened", "inner", "distance"):
        np.testing.assert_allclose(getattr(found, name), getattr(known, name), atol=1e-7, err_msg=name)
    other = own[:50].copy()
    other[:3, 1] = [1e6, -1e4, 300.0]
    moved = block_map(other)
    assert moved.distance[:3].min() > known.distance.max()
    assert np.abs(moved.inner).max() <= 4.0
    np.testing.assert_allclose(moved.inner[3:], known.inner[3:], atol=1e-7)
    assert moved.apart[:3].min() > 3.0
    assert not moved.apart[3:].any()
    nothing = BlockMap(np.ones((10, 1)), ())(np.ones((4, 1)))
    assert nothing.inner.shape == (4, 0)


def test_a_population_has_the_density_that_its_fit_gives_other_rows():
    fit = weigh(two_groups(1200), 0.2).explanations["a bad population"]
    population = fit.populations[0]
    rule = PopulationRule(population, fit.rows, fit.members[:, 0])
    np.testing.assert_allclose(
        rule.among(fit.rows, fit.scores)[1], population.among(fit.rows, fit.scores)[1], rtol=1e-9, atol=1e-9
    )


@pytest.mark.filterwarnings("ignore::robula.exceptions.BreakdownWarning")
@pytest.mark.parametrize("budget", [0.11, 0.2])
def test_passes_agree_with_all_rows_whether_the_budget_is_spent_or_not(budget):
    model = two_groups(6000)
    exact = judge(model, budget)
    passes = robula.trust(LargeModel.of(model), budget)
    assert np.abs(passes.weights - exact.weights).mean() < 0.005
    assert passes.share == pytest.approx(exact.share, abs=0.002)
    # The distance of the sample's answer from that of all rows is no doubt about them.
    assert np.linalg.norm(passes.widening, 2) < 1.1 * np.linalg.norm(exact.widening, 2)


def test_many_rows_in_memory_are_judged_by_passes_and_give_the_same_answer(monkeypatch):
    model = two_groups(4000)
    with monkeypatch.context() as patch:
        patch.setattr(large_model, "SAMPLE_ROWS", 50_000)
        assert not LargeModel.is_judged_by_passes(model)
        known = robula.sample(model, contamination=0.2, draws=50, seed=1)
    assert LargeModel.is_judged_by_passes(model)
    asked = []
    monkeypatch.setattr(LargeModel, "of", classmethod(lambda cls, *a, of=LargeModel.of: asked.append(1) or of(*a)))
    found = robula.sample(model, contamination=0.2, draws=50, seed=1)
    assert asked
    assert found.setup is not None
    assert np.abs(found.row_weights - known.row_weights).mean() < 0.005
    for other in (two_groups(1500), robula.MeanModel(np.zeros((4000, 2)) + np.arange(2.0))):
        assert not LargeModel.is_judged_by_passes(other)


@pytest.mark.filterwarnings("ignore::robula.exceptions.BreakdownWarning")
def test_cells_of_a_model_are_looked_at_once_for_all_contaminations(monkeypatch):
    monkeypatch.setattr(large_model, "_JUDGED_AT_ONCE", 500)
    looks, look = [], law.odd_cells
    monkeypatch.setattr(law, "odd_cells", lambda *a, **k: looks.append(1) or look(*a, **k))
    model = two_groups(1200)
    first, again = (prepared_for(TrustSelector(), model, 0.11).found for _ in range(2))
    np.testing.assert_array_equal(first.weights, again.weights)
    prepared_for(TrustSelector(), model, 0.2)
    assert len(looks) == 1
    prepared_for(TrustSelector(), model.take(np.arange(1100)), 0.2)
    assert len(looks) == 2


def test_trust_is_that_of_sample_for_many_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_500, 2))
    y = X @ [1.0, -1.0] + rng.standard_normal(len(X))
    y[:1000] += 5.0
    model = robula.LinearModel(X, y, noise_scale="estimate")
    posterior = robula.sample(model, contamination=0.1, draws=20, burn_in=20, chains=1, progress=False)
    np.testing.assert_array_equal(robula.trust(model, 0.1).weights, posterior.row_weights)


def test_unmistakable_means_the_same_in_blocks():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((600, 2))
    y = X @ [1.0, -1.0] + rng.standard_normal(600)
    y[:30] += rng.uniform(4.0, 30.0, 30)
    model = robula.LinearModel(X, y, noise_scale="estimate")
    fit = weigh(model, 0.2).explanations["gross rows"]
    (rule,) = rules_of([fit], model)
    judged = rule.judge(model, fit.theta, rule.coordinates(model.covariates))
    # Blocks know no leverages; what rows pay for being called bad is in neither.
    np.testing.assert_allclose(judged.decisive(), fit.decisive, rtol=0.05, atol=0.1)
    assert (judged.log_odds - judged.prior_odds < judged.decisive() - 1.0).all()
