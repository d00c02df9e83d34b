"""A group of rows that would be called bad if nothing were paid for it, and whether it is bad or contested.

What rows pay for being called bad is for a law that is only nearly right: a group may show what it lacks. Rows that are
all off by the same amount, wherever they are, show nothing where the others follow the declared law itself, as far as
they can tell. A group with a place of its own may always be a curve or a column that the model has not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from robula.selectors.trust import trust_constants as constants
from robula.selectors.trust.beginnings import suspects_by_place, suspects_by_score
from robula.selectors.trust.explanation import Explanation
from robula.selectors.trust.explanation_kinds import Kind
from robula.selectors.trust.leaders import SETTLE, best, best_allowed, leading
from robula.selectors.trust.row_law import AS_DECLARED

# Groups are only named in most tables: fewer steps than for explanations that are followed.
_LOOKS = ((3, 2), (8, 1))


class BadGroup(NamedTuple):
    """The best group for whose rows nothing is paid.

    Attributes
    ----------
    found : Explanation
        The group, with the law that suits the other rows best.
    settled : bool
        Whether it is bad; otherwise it is contested.
    """

    found: Explanation
    settled: bool


def bad_group(explanations: Mapping[Kind, Explanation], begin: Explanation) -> BadGroup | None:
    """Look for a group that wins by 20 to 1 where nothing is paid; None if there is none, or the law counts as exact.

    ``begin`` says where theta is. Clean rows are 5 to 19 nats against a group, a fifth of the rows at one far place 10
    to 140 for it, and laws that bend or grow with the features as much.
    """
    followed = best_allowed(list(explanations.values()))
    rows, budget = followed.rows, followed.budget
    if rows.exact_law:
        return None
    law = Explanation(rows, begin.theta, budget, freedom=AS_DECLARED, keeping=0.0)
    by_place, by_score = suspects_by_place(rows, budget, thorough=True), suspects_by_score(rows, law.theta)
    begun = [law.with_population(who) for who in by_place.values() if who.any()]
    begun += [law.with_population(by_score[side], placed=False) for side in ("high", "low") if by_score[side].any()]
    if not begun:
        return None
    group = leading(begun, _LOOKS)[0].fit(SETTLE)
    freer = [group.with_law(freedom).fit(SETTLE) for freedom in rows.freedoms if freedom != group.freedom]
    found = best([group, *freer])
    beats = group.evidence > max(begin.evidence + begin.paid + constants.PRICE, followed.evidence)
    if found is group and beats and _is_anywhere(group):
        return BadGroup(group, True)
    contested = found.evidence > followed.evidence + followed.paid + constants.PRICE
    return BadGroup(found, False) if contested else None


def _is_anywhere(group: Explanation) -> bool:
    """Whether its rows are all shifted by one amount, in any place, and a minority that no limit cut short.

    Few rows cannot show that the others follow the law.
    """
    few = group.wanted <= min(group.budget, constants.LARGEST_GROUP)
    return few and group.rows.maturity == 1.0 and not any(population.placed for population in group.populations)
