"""The ablation: every part can be switched off, is on again afterwards, and is missed while it is off."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from benchmarks.ablation import jobs, run, summary
from benchmarks.ablation_parts import PARTS, without

import robula
from robula.selectors.trust import trust_search
from tests.helpers import unknown_scale


def shifted_weights() -> np.ndarray:
    """Weights of 60 of 300 rows that are 6 noise widths too high."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = X @ [1.0, -1.0] + rng.standard_normal(300)
    y[:60] += 6.0
    return robula.trust(unknown_scale(X, y), 0.3).weights[:60]


def test_a_part_that_finds_rows_is_missed_and_comes_back():
    whole, shifts = shifted_weights(), trust_search._shifts
    with without("shifted rows"):
        assert trust_search._shifts is not shifts
        lame = shifted_weights()
    assert trust_search._shifts is shifts
    assert whole.mean() < 0.05 < 0.9 < lame.mean()
    np.testing.assert_array_equal(shifted_weights(), whole)


@pytest.mark.parametrize("part", PARTS)
def test_every_part_can_be_left_out(part):
    """On a problem small enough for all of them; what they are worth is measured by the command."""
    problem = robula.simulate.contaminated_regression("two_clusters", 80, 2, 0.1, 0)
    with without(part):
        assert np.isfinite(robula.trust(problem.model, 0.2).theta).all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_table_has_a_line_for_each_part():
    quick = [job for job in jobs(quick=True) if job[1] == "paper 5"]
    lines = pd.DataFrame([run((part, *job)) for part in ("(the rule)", "shifted rows") for job in quick])
    assert set(lines["without"]) == {"(the rule)", "shifted rows"}
    filled = lines.assign(removed=np.nan, gain=np.nan, agrees=np.nan)
    assert [line.split(" | ")[0] for line in summary(filled).splitlines()[2:]] == ["| (the rule)", "| shifted rows"]
