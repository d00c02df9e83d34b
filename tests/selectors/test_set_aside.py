"""Rows that are settled first: a row that is in the table many times over counts once, unmistakably wrong ones not."""

from __future__ import annotations

import numpy as np
import pytest

import robula
from robula.exceptions import BreakdownWarning
from robula.models import law
from robula.selectors.trust.set_aside import set_aside
from robula.selectors.trust.streamed_trust import prepared_for
from tests.helpers import unknown_scale


def table(copies=(0,), times=30, rows=300, seed=2):
    """Rows, responses, and which rows are copies (each of ``copies`` is there ``times`` times)."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 3))
    y = X @ [1.0, -1.0, 0.5] + rng.standard_normal(rows)
    copied = np.zeros(rows, dtype=bool)
    for index, row in enumerate(copies):
        places = rows - 1 - index * (times - 1) - np.arange(times - 1)
        X[places], y[places], copied[places] = X[row], y[row], True
    return X, y, copied


def test_copies_of_a_row_count_once_and_the_answer_is_that_without_them():
    X, y, copied = table()
    without = robula.trust(unknown_scale(X[~copied], y[~copied]), 0.2)
    found = robula.trust(unknown_scale(X, y), 0.2)
    np.testing.assert_allclose(found.theta, without.theta, atol=1e-4)
    group = np.flatnonzero(copied | (np.arange(len(y)) == 0))
    assert found.copied.tolist() == group.tolist()
    np.testing.assert_allclose(found.weights[group], found.weights[group][0])
    assert found.weights[group].sum() == pytest.approx(1.0, abs=0.01)
    assert found.share == pytest.approx(29 / 300, abs=0.002)
    # Which of the copies is the right one is no doubt about the answer.
    np.testing.assert_allclose(found.widening, without.widening, atol=1e-4)


def test_several_rows_may_be_copied():
    X, y, copied = table(copies=(0, 1), times=20)
    found = set_aside(unknown_scale(X, y))
    assert found is not None
    assert found.number == 38
    assert set(found.copied) == {0, 1, *np.flatnonzero(copied)}


@pytest.mark.parametrize("why", ["continuous", "coarse", "a few", "pairs", "one row only", "half of the response"])
def test_rows_that_chance_or_the_design_repeats_are_no_copies(why):
    rng = np.random.default_rng(3)
    X, y, _ = table()
    if why == "continuous":
        X, y, _ = table(copies=())
    elif why == "coarse":
        X, y = rng.integers(0, 2, (300, 2)).astype(float), rng.integers(0, 4, 300).astype(float)
    elif why == "a few":
        X, y, _ = table(copies=())
        often = np.repeat(np.arange(60), [7, 3, 3, *[2] * 10, *[1] * 47])
        X, y = X[often], y[often]
    elif why == "pairs":
        X, y = np.repeat(X[:150], 2, axis=0), np.repeat(y[:150], 2)
    elif why == "one row only":
        X, y = np.repeat(X[:1], 300, axis=0), np.repeat(y[:1], 300)
    else:
        X, y, _ = table(copies=())
        y[:150] = 0.0
    assert set_aside(unknown_scale(X, y)) is None


def test_copies_are_counted_before_other_rows_are_called_bad():
    """30 rows may go, 29 are copies: of the 20 that are off by four widths hardly one goes."""
    X, y, _ = table()
    y[10:30] += 4.0
    found = robula.trust(unknown_scale(X, y), 0.1)
    assert float((1.0 - found.weights).sum()) <= 0.1 * 300 + 1.0


def test_copies_beyond_the_limit_go_too_with_a_warning():
    X, y, copied = table(times=60)
    with pytest.warns(BreakdownWarning, match="copies of another row"):
        found = robula.trust(unknown_scale(X, y), 0.1)
    assert found.beyond_budget == 59 - 30
    assert found.weights[copied].max() < 0.02


def test_the_verdict_says_it():
    X, y, _ = table()
    posterior = robula.sample(unknown_scale(X, y), contamination=0.2, draws=300, progress=False, seed=1)
    diagnosis = robula.diagnose(posterior)
    assert diagnosis.verdict == "usable with care"
    assert "30 rows are copies of one another" in diagnosis.text


def test_long_tables_in_memory_too():
    X, y, copied = table(times=1000, rows=24_000)
    model = unknown_scale(X, y)
    found = prepared_for(robula.selectors.TrustSelector(), model, 0.1).found
    assert found.weights[copied].max() < 0.01
    assert found.weights[~copied][1:].mean() > 0.99


def test_rows_with_a_cell_that_is_wrong_for_sure_are_not_among_those_that_are_judged():
    X, y, _ = table(copies=())
    X[:20, 1] *= 1e4
    aside = set_aside(unknown_scale(X, y))
    assert aside.kept.tolist() == list(range(20, 300))
    found = robula.trust(unknown_scale(X, y), 0.2)
    without = robula.trust(unknown_scale(X[20:], y[20:]), 0.2)
    assert not found.weights[:20].any()
    np.testing.assert_allclose(found.theta, without.theta, atol=1e-4)


def test_copies_and_wrong_cells_together():
    X, y, copied = table(times=20)
    X[100:110, 0] = 1e6
    aside = set_aside(unknown_scale(X, y))
    assert set(aside.copied) == {0, *np.flatnonzero(copied)}
    assert aside.number == 19 + 10
    weights = aside.spread(np.ones(len(aside.kept)))
    assert weights.sum() == pytest.approx(300 - 29)
    assert not weights[100:110].any()


def test_cells_are_looked_at_once_for_a_model_and_anew_for_other_rows(monkeypatch):
    X, y, _ = table(copies=())
    model, calls = unknown_scale(X, y), []
    whole = law.odd_cells
    monkeypatch.setattr(law, "odd_cells", lambda *rows, **options: calls.append(1) or whole(*rows, **options))
    first = model.cell_odds()
    assert model.cell_odds() is first
    assert len(calls) == 1
    backwards = model.take(np.arange(300)[::-1])
    np.testing.assert_allclose(backwards.cell_odds(), first[::-1], atol=1e-9)
    assert len(calls) == 2


def labelled(rows=1200, wrong=24, seed=0):
    """Labels of log amounts, of which some rows have the amount itself; which rows, and the slope of the others."""
    rng = np.random.default_rng(seed)
    amount = rng.lognormal(3.5, 1.2, rows)
    x = np.log(amount)
    y = (rng.random(rows) < 1 / (1 + np.exp(2.0 - 0.6 * (x - 3.5)))).astype(float)
    bad = rng.choice(rows, wrong, replace=False)
    x[bad] = amount[bad]
    return x[:, None], y, bad


def test_labelled_rows_with_a_wrong_cell_do_not_own_the_slope():
    X, y, bad = labelled()
    prior = robula.NormalPrior(0.0, 25.0)

    def slope(rows):
        model = robula.LogisticModel(X[rows], y[rows], prior=prior, intercept=True)
        return model, robula.sample(model, contamination=0.0, draws=500, progress=False).mean[1]

    (model, plain), (_, clean) = slope(np.arange(len(y))), slope(np.setdiff1d(np.arange(len(y)), bad))
    posterior = robula.sample(model, contamination=0.1, draws=500, progress=False)
    assert abs(plain - clean) > 0.4  # Negative control: without the rule they do.
    # A third of the wrong cells are no farther than cells of other tables go; log odds that bend explain them as well.
    assert abs(posterior.mean[1] - clean) < 0.5 * abs(plain - clean)
    set_apart = posterior.settings["rows_found"]["wrong_cells"]
    assert len(set_apart) > 10
    assert set(set_apart) <= set(bad)
    assert any("whatever their label" in finding for finding in robula.diagnose(posterior).findings)


def test_many_labelled_rows_are_looked_at_too(monkeypatch):
    X, y, bad = labelled(2000, 40)
    monkeypatch.setattr("robula.models.large_model.SAMPLE_ROWS", 1000)
    model = robula.LogisticModel(X, y, prior=robula.NormalPrior(0.0, 25.0), intercept=True)
    found = robula.trust(model, 0.1)
    assert 10 < len(found.wrong_cells) <= 40
    assert set(found.wrong_cells) <= set(bad)


def test_exposures_in_another_unit_are_wrong_cells():
    rng = np.random.default_rng(1)
    X, exposure = rng.standard_normal((600, 2)), rng.uniform(0.3, 1.0, 600)
    y = rng.poisson(exposure * np.exp(0.4 + X @ [0.3, -0.2])).astype(float)
    exposure[:18] *= 365.0
    model = robula.PoissonModel(X, y, exposure=exposure, prior=robula.NormalPrior(0.0, 25.0), intercept=True)
    found = robula.trust(model, 0.1)
    assert found.weights[:18].max() < 0.05
    assert found.weights[18:].mean() > 0.99
    np.testing.assert_allclose(found.theta, [0.4, 0.3, -0.2], atol=0.15)


def test_a_copy_of_a_model_never_has_the_cells_of_another():
    X, y, _ = table(copies=())
    model = unknown_scale(X, y)
    assert len(model.cell_odds()) == 300
    for rows in (200, 150, 100, 50) * 5:
        model = unknown_scale(X, y)
        model.cell_odds()
        # The model is gone before its part has a part: identities are given out again.
        model = model.take(np.arange(rows))
        assert len(model.take(np.arange(40)).cell_odds()) == 40
        assert len(model.cell_odds()) == rows
