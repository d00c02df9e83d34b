"""When selections are made anew, which chains share one, and what that leaves unchanged."""

from __future__ import annotations

import numpy as np
import pytest

import robula
from robula.target.robust_gradient import EARLY, MOST_STEPS, REACH, RefreshWhenMoved, Sharing, robust_gradient

PROBLEM = robula.simulate.linear_regression(n_clean=200, dim=4, contamination=0.1, seed=0)
FROZEN = {"contamination": 0.1, "selector": "recursive", "kernel": "ula"}


class Counting(robula.RecursiveMean):
    """The recursive mean, remembering where it was asked."""

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "asked", [])

    def select_rows(self, model, theta, contamination):
        self.asked.append(theta.copy())
        return super().select_rows(model, theta, contamination)


def selections_made(refresh_every, chains=4, steps=60, burn_in=0, spread=0.0):
    selector = Counting()
    gradient = robust_gradient(PROBLEM.model, selector, 0.1, refresh_every, 1.0, burn_in)
    theta = spread * np.arange(chains)[:, None] * np.ones(4)
    for _ in range(steps):
        gradient(theta)
    assert gradient.made == len(selector.asked)
    return gradient, selector.asked


def test_every_chain_has_its_own_selection_at_every_step_in_the_paper():
    gradient, asked = selections_made(1, steps=5)
    assert len(asked) == 20
    assert len({id(selection) for selection in gradient.selections}) == 4


def test_a_selection_is_kept_for_k_steps_and_shared_by_two_groups():
    gradient, asked = selections_made(20)
    assert len(asked) == 2 * 3
    assert len({id(selection) for selection in gradient.selections}) == 2
    assert gradient.selections[0] is gradient.selections[2]


def test_chains_do_not_share_before_the_end_of_burn_in_nor_when_apart():
    assert len(selections_made(20, burn_in=60)[1]) == 4 * 3
    assert len(selections_made(20, spread=10.0)[1]) == 4 * 3
    assert len(selections_made(20, chains=2)[1]) == 2 * 3


def test_groups_take_turns_in_saying_where_the_selection_is_made():
    sharing = Sharing(1.0, 0)
    turns = [tuple(sharing.anchors(np.zeros((6, 2)), 1)) for _ in range(3)]
    assert {turn[0] for turn in turns} == {0, 2, 4}
    assert {turn[1] for turn in turns} == {1, 3, 5}
    far = np.zeros((6, 2))
    far[4] = 2 * REACH
    assert 4 in sharing.anchors(far, 1)


def test_auto_refreshes_early_after_a_move_and_after_a_while():
    refresh = RefreshWhenMoved(width=1.0, burn_in=40)
    theta = np.zeros((2, 3))
    assert all(refresh.due(theta) for _ in range(int(EARLY * 40)))
    assert not refresh.due(theta)
    theta[1, 0] = 0.99 * REACH
    assert not refresh.due(theta)
    theta[1, 0] = 1.01 * REACH
    assert refresh.due(theta)
    assert [refresh.due(theta) for _ in range(MOST_STEPS)] == [False] * (MOST_STEPS - 1) + [True]


def test_a_selector_that_ignores_theta_selects_once():
    gradient = robust_gradient(PROBLEM.model, robula.SampleMean(), 0.1, 1, 1.0, 0)
    theta = np.zeros((4, 4))
    first = gradient.selections
    np.testing.assert_allclose(gradient(theta)[0], PROBLEM.model.gradients(theta[0]).mean(axis=0))
    assert gradient.selections is first
    assert gradient.made == 1


@pytest.mark.parametrize("refresh_every", [1, 7, "auto"])
def test_the_same_seed_gives_the_same_bits(refresh_every):
    runs = [
        robula.sample(
            PROBLEM.model,
            contamination=0.1,
            selector="recursive",
            refresh_every=refresh_every,
            draws=30,
            burn_in=20,
            seed=3,
        )
        for _ in range(2)
    ]
    np.testing.assert_array_equal(runs[0].draws, runs[1].draws)
    np.testing.assert_array_equal(runs[0].row_weights, runs[1].row_weights)
    assert runs[0].settings["refresh_every"] == refresh_every


def test_frozen_runs_make_fewer_selections_than_steps():
    often = robula.sample(
        PROBLEM.model, contamination=0.1, selector="recursive", refresh_every=1, draws=100, burn_in=50
    )
    auto = robula.sample(
        PROBLEM.model, contamination=0.1, selector="recursive", refresh_every="auto", draws=100, burn_in=50
    )
    assert often.settings["selections"] == 4 * 150
    assert auto.settings["selections"] < 4 * 150 / 3


@pytest.mark.parametrize("bad", [0, -1, 1.5, "often", None, True])
def test_other_refresh_rules_are_refused(bad):
    with pytest.raises(robula.exceptions.InputError, match="refresh_every"):
        robula.sample(PROBLEM.model, contamination=0.1, refresh_every=bad)
