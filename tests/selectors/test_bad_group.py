"""A group that follows another line: bad where the others follow the declared law, else contested."""

from __future__ import annotations

import numpy as np
import pytest

import robula
from robula.models import GammaModel
from robula.selectors.trust import bad_group, trust_constants
from robula.selectors.trust.chance_of_mistake import Places
from robula.selectors.trust.scored_rows import ScoredRows
from robula.selectors.trust.streamed_trust import trust_by_passes
from robula.selectors.trust.trust_search import BAD_GROUP

PRIOR = robula.NormalPrior(0.0, 100.0)


def far_group(rows: int, share: float, *, bend: float = 0.0, seed: int = 3) -> tuple[robula.Model, np.ndarray]:
    """Rows of a Gamma regression; a share of them is far out together, with the responses of ordinary ones."""
    rng = np.random.default_rng([rows, seed])
    X = rng.standard_normal((rows, 3))
    y = np.exp(1.0 + X @ [0.5, -0.3, 0.2] + bend * X[:, 0] ** 2) * rng.gamma(3.0, 1.0 / 3.0, rows)
    bad = np.arange(rows) < share * rows
    X[bad] = 0.2 * X[bad] + [5.0, -5.0, 5.0]
    return GammaModel(X, y, prior=robula.NormalPrior(0.0, 4.0), intercept=True), bad


@pytest.mark.parametrize("rows", [500, 2500])  # all rows are searched, or a sample of them
def test_a_group_is_bad_where_the_others_follow_the_declared_law(rows: int) -> None:
    model, bad = far_group(rows, 0.2)
    found = robula.trust(model, 0.25)
    assert found.explanations[BAD_GROUP] > 0.9
    assert found.weights[bad].max() < 0.1
    assert found.weights[~bad].mean() > 0.98
    assert not len(found.contested)
    assert any("follows another line and is called bad" in words for words in found.law)


def test_the_same_group_is_contested_where_the_others_bend() -> None:
    model, bad = far_group(500, 0.2, bend=0.2)
    found = robula.trust(model, 0.25)
    assert BAD_GROUP not in found.explanations
    assert found.weights[bad].mean() > 0.9
    assert set(found.contested) == set(np.flatnonzero(bad))


@pytest.mark.parametrize(("share", "limit"), [(0.2, 0.1), (0.35, 0.4)])
def test_a_group_beyond_the_limit_or_a_quarter_of_the_rows_is_not_called_bad(share: float, limit: float) -> None:
    model, bad = far_group(500, share)
    found = robula.trust(model, limit)
    assert found.explanations.get(BAD_GROUP, 0.0) < 0.5
    assert found.weights[bad].mean() > 0.5


def test_few_rows_cannot_show_that_they_follow_the_law() -> None:
    model, _ = far_group(int(trust_constants.FEW_ROWS) - 40, 0.2)
    assert BAD_GROUP not in robula.trust(model, 0.25).explanations


def test_rows_in_blocks_are_judged_alike() -> None:
    """Two groups, four deviations out and three widths off: most of their rows are not odd, and none pays."""
    problem = robula.simulate.contaminated_regression("two_clusters", 1000, 5, 0.1, seed=2)
    rows, bad = problem.model, problem.outlier_mask
    model = robula.LinearModel(rows.design, rows.y, noise_scale="estimate", prior=PRIOR)
    whole = robula.trust(model, 0.2)
    assert whole.explanations[BAD_GROUP] > 0.9
    found = trust_by_passes(robula.LargeModel.of(model), 0.2).found
    assert found.weights[bad].mean() < 0.05
    # A row votes for itself in blocks: of a hundred bad ones that is felt.
    assert np.abs(found.weights - whole.weights).mean() < 0.03


def test_clean_rows_are_no_group() -> None:
    """20 sets of clean rows: none has a group, and none loses a row."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((300, 3))
        y = X @ [1.0, -1.0, 0.5] + rng.standard_normal(300)
        found = robula.trust(robula.LinearModel(X, y, noise_scale="estimate", prior=PRIOR), 0.25)
        assert BAD_GROUP not in found.explanations
        assert found.weights.min() > 0.5


def test_scores_are_foretold_by_chance_once_in_a_thousand() -> None:
    """200 sets of scores that no place foretells: three or more alarms happen once in 900 runs. A bend alarms."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    model = robula.LinearModel(X, rng.standard_normal(400), noise_scale="estimate", prior=PRIOR)
    columns, weights = Places(ScoredRows(model)).columns, (rng.random(400) < 0.9).astype(float)
    assert sum(bad_group._foretold(columns, rng.standard_normal(400), weights) for _ in range(200)) < 3
    assert all(bad_group._foretold(columns, rng.standard_normal(400) + X[:, 0] ** 2, weights) for _ in range(20))
