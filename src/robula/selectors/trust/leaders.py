"""Of many explanations the few that lead: short looks at all of them, longer ones at fewer, the best until settled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robula.selectors.trust.explanation import Explanation
from robula.selectors.trust.limit import within_limit

#: Steps of each look, and how many explanations go on to the next; then at most so many steps until settled.
LOOKS = ((3, 6), (8, 3))
SETTLE = 60
_WITHOUT_LIMIT = 12


def leading(begun: list[Explanation], looks: tuple[tuple[int, int], ...]) -> list[Explanation]:
    """The few of many beginnings that lead after some looks and differ from each other, the best one first."""
    for steps, number in looks:
        seen = sorted((explanation.fit(steps) for explanation in begun), key=lambda seen: -seen.evidence)
        begun = []
        for explanation in seen:
            if len(begun) < number and not any(explanation.is_like(better) for better in begun):
                begun.append(explanation)
    return begun


def best_few(begun: list[Explanation]) -> list[Explanation]:
    """The few of many beginnings that lead and differ from each other, settled."""
    found: list[Explanation] = []
    for explanation in leading(begun, LOOKS):
        found.append(settled(explanation, _reach(found)))
    return found


def with_any_law(found: list[Explanation]) -> list[Explanation]:
    """These, and the best of them with laws of the other freedoms."""
    if not found:
        return found
    one = best(found)
    others = [one.with_law(freedom) for freedom in one.rows.freedoms if freedom != one.freedom]
    return found + [settled(other, _reach(found)) for other in others]


def settled(explanation: Explanation, reach: float = -np.inf) -> Explanation:
    """Return it fitted to the end, unless it stays below ``reach``, and asked what it wants without a limit."""
    explanation.fit(SETTLE, reach).ask_without_limit(_WITHOUT_LIMIT)
    return explanation


def best(explanations: Sequence[Explanation]) -> Explanation:
    """Return the explanation of the largest evidence; the first of equals."""
    return max(explanations, key=lambda explanation: explanation.evidence)


def best_allowed(explanations: list[Explanation]) -> Explanation:
    """The best that calls no more rows bad than the budget allows, or the best of all where none does."""
    return best(_allowed(explanations) or explanations)


def _reach(found: list[Explanation]) -> float:
    """The largest evidence of those that call no more rows bad than the budget allows: what others have to beat."""
    return max((explanation.evidence for explanation in _allowed(found)), default=-np.inf)


def _allowed(explanations: list[Explanation]) -> list[Explanation]:
    return [each for each in explanations if within_limit(each.wanted, each.budget, each.rows.count)]
