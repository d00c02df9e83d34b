"""Rows that are off by one amount anywhere: bad where the others follow the declared law; groups in a place are not."""

from __future__ import annotations

import numpy as np
import pytest

import robula
from robula.selectors.trust import trust_constants
from robula.selectors.trust.streamed_trust import trust_by_passes

ALONE = "shifted rows, the others as declared"
PRIOR = robula.NormalPrior(0.0, 100.0)


def shifted_rows(
    rows: int, share: float, *, bend: float = 0.0, corner: bool = False, skewed: bool = False, seed: int = 3
) -> tuple[robula.LinearModel, np.ndarray]:
    """A line and rows four noise widths above it, anywhere or in a corner; many of them are not odd."""
    rng = np.random.default_rng([rows, seed])
    X = rng.standard_normal((rows, 3))
    noise = (rng.gamma(10.0, size=rows) - 10.0) / np.sqrt(10.0) if skewed else rng.standard_normal(rows)
    y = X @ [1.0, -1.0, 0.5] + bend * X[:, 0] ** 2 + noise
    order = np.argsort(-X[:, 1] - X[:, 2]) if corner else rng.permutation(rows)
    bad = np.isin(np.arange(rows), order[: round(share * rows)])
    y[bad] += 4.0
    return robula.LinearModel(X, y, noise_scale="estimate", prior=PRIOR, intercept=True), bad


@pytest.mark.parametrize("rows", [400, 2500])  # all rows are searched, or a sample of them
def test_shifted_rows_are_bad_where_the_others_follow_the_declared_law(rows: int) -> None:
    model, bad = shifted_rows(rows, 0.15)
    found = robula.trust(model, 0.25)
    assert found.explanations[ALONE] > 0.9
    assert found.weights[bad].mean() < 0.2
    assert found.weights[~bad].mean() > 0.95


@pytest.mark.parametrize("options", [{"bend": 0.5}, {"corner": True}])
def test_they_are_kept_where_the_others_bend_or_where_they_have_a_place(options: dict[str, float]) -> None:
    model, bad = shifted_rows(800, 0.15, **options)
    found = robula.trust(model, 0.25)
    assert found.explanations.get(ALONE, 0.0) < 0.5
    assert found.weights[bad].mean() > 0.5


@pytest.mark.parametrize(("share", "limit"), [(0.2, 0.1), (0.3, 0.4)])
def test_more_than_the_limit_or_a_quarter_of_the_rows_pay(share: float, limit: float) -> None:
    model, _ = shifted_rows(800, share)
    assert ALONE not in robula.trust(model, limit).explanations


def test_where_another_law_suits_the_others_better_rows_pay() -> None:
    model, _ = shifted_rows(800, 0.15, skewed=True)
    assert ALONE not in robula.trust(model, 0.25).explanations


def test_few_rows_cannot_show_that_they_follow_the_law() -> None:
    model, _ = shifted_rows(int(trust_constants.FEW_ROWS) - 40, 0.15)
    assert ALONE not in robula.trust(model, 0.25).explanations


def test_rows_in_blocks_are_judged_alike() -> None:
    model, bad = shifted_rows(1500, 0.15)
    whole = robula.trust(model, 0.25)
    assert whole.explanations[ALONE] > 0.9
    found = trust_by_passes(robula.LargeModel.of(model), 0.25).found
    assert found.weights[bad].mean() < whole.weights[bad].mean() + 0.02
    assert np.abs(found.weights - whole.weights).mean() < 0.005


def test_clean_rows_are_no_group() -> None:
    """20 sets of clean rows: none has a group, and none loses a row."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((300, 3))
        y = X @ [1.0, -1.0, 0.5] + rng.standard_normal(300)
        found = robula.trust(robula.LinearModel(X, y, noise_scale="estimate", prior=PRIOR), 0.25)
        assert ALONE not in found.explanations
        assert found.weights.min() > 0.5


@pytest.mark.parametrize("missing", ["sine", "step", "interaction of two classes"])
def test_what_the_model_lacks_costs_no_rows_among_normal_ones(missing: str) -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((600, 3))
    X[:, 1], X[:, 2] = rng.uniform(size=600) < 0.4, rng.uniform(size=600) < 0.15
    lacking = {
        "sine": 2.0 * np.sin(1.5 * X[:, 0]),
        "step": 4.0 * (X[:, 0] > 1.6),
        "interaction of two classes": 4.0 * X[:, 1] * X[:, 2],
    }
    y = X[:, 0] + lacking[missing] + rng.standard_normal(600)
    model = robula.LinearModel(X, y, noise_scale="estimate", prior=PRIOR, intercept=True)
    assert robula.trust(model, 0.25).share < 0.02
