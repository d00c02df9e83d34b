"""Normal scores of cells, of one column or of several at once."""

from __future__ import annotations

import numpy as np
import pytest

from robula.tables.column_scores import NormalScores


@pytest.fixture
def several() -> list[np.ndarray]:
    """A normal column, one with a long upper tail, one of few values below its median, and a uniform one."""
    rng = np.random.default_rng(2)
    below = np.concatenate([[-1.0, -2.0], np.zeros(300), rng.exponential(size=298)])
    return [rng.normal(size=600), rng.lognormal(size=600), below, rng.uniform(size=600)]


@pytest.mark.parametrize("tails", [False, True])
def test_several_columns_at_once_have_the_scores_that_each_has_alone(several, tails):
    alone = [NormalScores.of(values, tails) for values in several]
    together = NormalScores.stacked(alone)
    which = np.array([3, 0, 2, 1, 1, 0, 2])
    cells = np.array([0.2, -3.0, -1.5, 40.0, 0.01, 1e9, 2.0])
    expected = [alone[place](np.array([cell]))[0] for place, cell in zip(which, cells, strict=True)]
    np.testing.assert_array_equal(together.at(which)(cells), expected)


def test_scores_are_normal_and_go_back_to_their_values(several):
    scores = NormalScores.of(several[0], tails=True)
    # Three standard errors of a deviation by quartiles, 1.65 / sqrt(600) of it.
    assert np.quantile(scores(several[0]), [0.25, 0.75]) == pytest.approx([-0.674, 0.674], abs=0.2)
    for score in (-5.0, -0.3, 0.0, 0.5, 4.0):
        assert scores(np.array([scores.value_at(score)]))[0] == pytest.approx(score)


def test_a_side_that_too_few_rows_are_on_says_nothing(several):
    scores = NormalScores.of(several[2], tails=True)
    assert scores(np.array([-1e6]))[0] == 0.0
    assert scores.value_at(-1.0) == -np.inf
    assert scores(np.array([1e6]))[0] > 6.0


def test_a_long_tail_makes_far_cells_less_odd_and_a_short_one_odder(several):
    _, long, _, short = several
    for values, sign in ((long, -1.0), (short, 1.0)):
        far = np.array([np.median(values) + 10.0 * np.ptp(np.quantile(values, [0.5, 0.75]))])
        with_tails, without = (NormalScores.of(values, tails)(far)[0] for tails in (True, False))
        assert sign * (with_tails - without) > 0.0
