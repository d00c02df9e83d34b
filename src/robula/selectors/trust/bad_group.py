"""A group of rows that would be called bad if nothing were paid for it: bad where the others follow the declared law.

What rows pay for being called bad is for a law that is only nearly right: a group may show what it lacks. Where the
rows that are left follow the declared law itself, as far as they can tell, it lacks nothing that a group could show.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy.special import fdtri

from robula._types import FloatArray
from robula.selectors.trust import trust_constants as constants
from robula.selectors.trust.beginnings import suspects_by_place, suspects_by_score
from robula.selectors.trust.chance_of_mistake import Places
from robula.selectors.trust.explanation import FREEDOMS, Explanation
from robula.selectors.trust.leaders import SETTLE, best, best_allowed, leading

# Groups are only named in most tables: fewer steps than for explanations that are followed.
_LOOKS = ((3, 2), (8, 1))


class BadGroup(NamedTuple):
    """The best group for whose rows nothing is paid.

    Attributes
    ----------
    found : Explanation
        The group, with the law that suits the other rows best.
    settled : bool
        Whether the others follow the declared law, so that the group is bad; otherwise it is contested.
    """

    found: Explanation
    settled: bool


def bad_group(explanations: Mapping[str, Explanation], begin: Explanation) -> BadGroup | None:
    """Look for a group that wins by 20 to 1 where nothing is paid; None if there is none, or the law counts as exact.

    ``begin`` says where theta is. Clean rows are 5 to 19 nats against a group, a fifth of the rows at one far place 10
    to 140 for it, and laws that bend or grow with the features as much.
    """
    followed = best_allowed(list(explanations.values()))
    rows, budget = followed.rows, followed.budget
    if rows.exact_law:
        return None
    law = Explanation(rows, begin.theta, budget, freedom=0, keeping=0.0)
    by_place, by_score = (
        suspects_by_place(rows, budget, thorough=True),
        suspects_by_score(rows, law.theta, budget, thorough=False),
    )
    begun = [law.with_population(who) for who in by_place.values() if who.any()]
    begun += [law.with_population(by_score[side], placed=False) for side in ("high", "low") if by_score[side].any()]
    if not begun:
        return None
    group = leading(begun, _LOOKS)[0].fit(SETTLE)
    freer = [group.with_law(freedom).fit(SETTLE) for freedom in FREEDOMS if freedom != group.freedom]
    declared = group.evidence > best(freer).evidence
    beats = group.evidence > max(begin.evidence + begin.paid + constants.PRICE, followed.evidence)
    if declared and beats and _is_decided(group) and _others_follow_the_law(group):
        return BadGroup(group, True)
    found = best([group, *freer])
    contested = found.evidence > followed.evidence + followed.paid + constants.PRICE
    return BadGroup(found, False) if contested else None


def _is_decided(group: Explanation) -> bool:
    """Whether it is a minority that no limit cut short, and rows are clearly of it or not."""
    bad = 1.0 - group.weights
    few = group.wanted <= min(group.budget, constants.LARGEST_GROUP)
    return few and float(bad @ bad) >= constants.DECIDED * float(bad.sum())


def _others_follow_the_law(group: Explanation) -> bool:
    """Whether neither scores of the other rows nor their sizes can be foretold from where the rows are.

    Few rows cannot show it.
    """
    if group.rows.maturity < 1.0:
        return False
    places, scores = Places(group.rows), group.scores.point
    return not any(_foretold(places.columns, values, group.weights) for values in (scores, np.abs(scores)))


def _foretold(columns: FloatArray, values: FloatArray, weights: FloatArray) -> bool:
    """Whether columns (n, k) foretell values (n,) more than chance does once in a thousand data sets (an F test)."""
    roots = np.sqrt(weights)
    basis, sizes, _ = np.linalg.svd(roots[:, None] * columns, full_matrices=False)
    basis = basis[:, sizes > 1e-6 * sizes[0]]
    rank, total = basis.shape[1], float(weights.sum())
    freedom = total - rank
    if rank < 2:
        return False
    if freedom < rank:
        return True
    about_mean = roots * (values - float(weights @ values) / total)
    explained = float(((basis.T @ about_mean) ** 2).sum())
    left = float(about_mean @ about_mean) - explained
    by_chance = float(fdtri(rank - 1, freedom, 1.0 - constants.FORETOLD)) * (rank - 1) * left / freedom
    return bool(explained > by_chance)
