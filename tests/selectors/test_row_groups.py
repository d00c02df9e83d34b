"""The parts of the excess rule that form groups: directions, likeness to removed rows, and what a refit confirms."""

from __future__ import annotations

import numpy as np
import pytest

import robula
from robula.selectors.excess.row_groups import leaning_directions, likeness_to_removed, remove_alike, score_directions

ROWS, DIM = 1000, 5


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def one_hot(z):
    """Shares of rows with residuals z, as the rule makes them for a continuous response."""
    from robula.selectors.excess.excess_constants import BINS, EDGES

    shares = np.zeros((len(z), BINS))
    shares[np.arange(len(z)), np.digitize(z, EDGES[1:-1])] = 1.0
    return shares


def test_scores_point_along_the_direction_in_which_they_vary(rng):
    x = rng.standard_normal((ROWS, DIM))
    z = rng.standard_normal(ROWS) * np.where(np.abs(x[:, 2]) > 1.5, 2.5, 1.0)
    groups, side = next(score_directions(x / np.sqrt(ROWS), z, np.ones(ROWS)))
    outer = groups == groups.max()
    assert np.abs(x[outer, 2]).min() > 1.0
    assert abs(np.mean(side * np.sign(x[:, 2]))) > 0.8


def test_ordinary_residuals_that_all_pull_one_way_are_seen_to_lean(rng):
    x = rng.standard_normal((ROWS, DIM))
    z = rng.standard_normal(ROWS)
    bad = slice(0, 200)
    z[bad] = 1.5 * np.sign(x[bad, 3])
    _, side = next(leaning_directions(x / np.sqrt(ROWS), z, np.ones(ROWS)))
    agreement = np.mean(side * np.sign(x[:, 3]))
    assert abs(agreement) > 0.7
    # Negative control: without the bad rows no direction is that close to the axis.
    _, chance = next(leaning_directions(x / np.sqrt(ROWS), rng.standard_normal(ROWS), np.ones(ROWS)))
    assert abs(np.mean(chance * np.sign(x[:, 3]))) < 0.7


def test_likeness_is_high_for_rows_near_the_removed_ones(rng):
    x = rng.standard_normal((ROWS, DIM))
    x[:100] = [3.0, 0, 0, 0, 0] + 0.3 * rng.standard_normal((100, DIM))
    removed = np.zeros(ROWS)
    removed[:50] = 1.0
    likeness = likeness_to_removed(x / np.sqrt(ROWS), removed, 1.0 - removed)
    assert np.median(likeness[50:100]) > np.quantile(likeness[100:], 0.95)


def test_rows_like_the_removed_ones_lose_their_excess_and_others_do_not(rng):
    x = rng.standard_normal((ROWS, DIM))
    x[:200] = [3.0, 0, 0, 0, 0] + 0.3 * rng.standard_normal((200, DIM))
    z = rng.standard_normal(ROWS)
    z[:200] = rng.uniform(0.0, 8.0, 200)
    weights = np.where(np.abs(z) > 3.0, 0.0, 1.0)
    result = remove_alike(one_hot(z), np.ones(ROWS), weights, x / np.sqrt(ROWS), weights)
    assert (weights - result)[:200].sum() > 20.0
    assert (weights - result)[200:].sum() < 20.0
    assert (result <= weights).all()


def test_removed_rows_that_are_like_all_others_say_nothing(rng):
    x = rng.standard_normal((ROWS, DIM))
    z = rng.standard_normal(ROWS)
    weights = np.ones(ROWS)
    weights[rng.choice(ROWS, 150, replace=False)] = 0.0
    np.testing.assert_array_equal(remove_alike(one_hot(z), np.ones(ROWS), weights, x / np.sqrt(ROWS), weights), weights)


def test_features_without_variation_are_no_evidence(rng):
    x = np.full((ROWS, 1), 1.0 / np.sqrt(ROWS))
    weights = np.where(np.arange(ROWS) < 100, 0.0, 1.0)
    shares = one_hot(rng.standard_normal(ROWS))
    np.testing.assert_array_equal(remove_alike(shares, np.ones(ROWS), weights, x, weights), weights)


def test_clean_data_rarely_lose_rows():
    """Chance: 2 % of clean data sets were touched in 300; 6 of 60 or more has a probability below 0.002."""
    touched = 0
    for seed in range(2001, 2061):
        problem = robula.simulate.contaminated_regression("paper", dim=DIM, contamination=0.0, seed=seed)
        weights = robula.selectors.ExcessSelector().select_rows(problem.model, np.zeros(DIM), 0.2).weights
        touched += bool(weights.min() < 1.0)
    assert touched < 6


@pytest.mark.parametrize(
    ("attack", "part"), [("paper", "likeness"), ("common_gradient", "direction"), ("adaptive", "lean")]
)
def test_each_group_helps_where_it_is_meant_to(attack, part):
    """Mean bias over three seeds with the part is at most 0.85 of that without."""

    def bias(without: tuple[str, ...]) -> float:
        total = 0.0
        for seed in (3001, 3002, 3003):
            problem = robula.simulate.contaminated_regression(attack, dim=DIM, contamination=0.2, seed=seed)
            selector = robula.selectors.ExcessSelector(without=without)
            weights = selector.select_rows(problem.model, np.zeros(DIM), 0.2).weights
            clean = problem.clean_posterior
            gap = np.linalg.norm(problem.model.gaussian_posterior(weights).mean - clean.mean)
            total += float(gap / np.sqrt(np.trace(clean.covariance)))
        return total

    assert bias(()) < 0.85 * bias((part,))
