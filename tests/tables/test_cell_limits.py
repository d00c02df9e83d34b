"""Cells of rows that a table has not: outside its columns' limits, or codes."""

from __future__ import annotations

import numpy as np

from robula.tables.cell_limits import CellLimits

RNG = np.random.default_rng(1)
TABLE = np.column_stack([RNG.normal(50.0, 5.0, 1000), RNG.lognormal(2.0, 1.0, 1000), RNG.integers(0, 2, 1000)])


def test_usual_cells_give_no_odds_and_wrong_ones_do():
    limits = CellLimits(TABLE)
    usual = np.column_stack([RNG.normal(50.0, 5.0, 500), RNG.lognormal(2.0, 1.0, 500), np.ones(500)])
    assert (limits(usual) > 0.0).mean() < 0.005
    assert limits(np.array([[500.0, 5.0, 1.0], [50.0, 1e30, 1.0], [-400.0, 5.0, 0.0]])).min() > 5.0


def test_a_tenth_of_wrong_cells_does_not_widen_the_limits():
    spoilt = TABLE.copy()
    spoilt[:100, 0] *= 10.0
    limits = CellLimits(spoilt)
    assert limits(spoilt[:100]).min() > 3.0
    assert (limits(TABLE[100:]) > 0.0).mean() < 0.01


def test_codes_are_unmistakable_wherever_they_are():
    limits = CellLimits(TABLE, ((49.0,), (), ()))
    assert limits(np.array([[49.0, 5.0, 1.0]]))[0] > 20.0
    assert limits(np.array([[49.5, 5.0, 1.0]]))[0] == 0.0


def test_limits_are_where_odds_begin():
    """What is skipped for being inside the limits is what would have no odds."""
    limits = CellLimits(TABLE)
    for end, step in ((limits._highest[0], 1.0), (limits._lowest[0], -1.0)):
        inside, outside = (np.array([[end + sign * 1e-6 * step, 5.0, 1.0]]) for sign in (-1.0, 1.0))
        assert limits(inside)[0] == 0.0
        assert 0.0 <= limits(outside)[0] < 1e-3
