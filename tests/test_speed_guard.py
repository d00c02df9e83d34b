"""Fails when an exact or a frozen step becomes 1.5 times slower relative to what it must call anyway.

Ratios within one process, in processor time. Noise makes a ratio larger or smaller at random, a slower step makes all
of them larger: the smallest of three tries counts.
"""

from __future__ import annotations

import pytest
from benchmarks.speed.steps import exact_ratio, frozen, frozen_ratio, logistic_problem, plain_pass
from benchmarks.speed.timing import medians
from threadpoolctl import threadpool_limits

import robula

# Speed is measured at the paper's own default, at which Algorithm 2 is warned of.
pytestmark = pytest.mark.filterwarnings("ignore::robula.exceptions.BreakdownWarning")
#: Ratios on the machine of benchmarks/results/speed.md.
EXACT, FROZEN_SINGLE, FROZEN_RECURSIVE = 1.7, 1.0, 2.2
SLOWER = 1.5


def smallest(measure, limit: float) -> float:
    ratios = []
    with threadpool_limits(1):
        while len(ratios) < 3 and not (ratios and min(ratios) < limit):
            ratios.append(measure())
    return min(ratios)


def test_the_exact_step_stays_near_its_primitives():
    assert smallest(lambda: exact_ratio(7)[2], SLOWER * EXACT) < SLOWER * EXACT


@pytest.mark.parametrize(
    ("selector", "usual"), [(robula.SampleMean(), FROZEN_SINGLE), (robula.RecursiveMean(), FROZEN_RECURSIVE)]
)
def test_the_frozen_step_stays_near_a_plain_one(selector, usual):
    assert smallest(lambda: frozen_ratio(15, selector), SLOWER * usual) < SLOWER * usual


def test_the_guard_notices_a_slower_step():
    """Negative control: a frozen step that makes two passes more is caught."""

    def slower() -> float:
        model, theta = logistic_problem(1250, 200)
        plain, step = plain_pass(model, theta), frozen(model, robula.SampleMean(), theta, len(theta))
        times = medians({"plain": plain, "slower": lambda: (step(), plain(), plain())}, 5)
        return times["slower"] / times["plain"]

    assert smallest(slower, SLOWER * FROZEN_SINGLE) > SLOWER * FROZEN_SINGLE
