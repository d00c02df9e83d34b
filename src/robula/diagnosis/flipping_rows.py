"""The smallest set of rows whose removal turns a conclusion: ranked by influence, again and again, then refitted once.

Rows can mask each other: where a group pulls the fit through itself, no single one of them seems to matter. So rows are
ranked not only at the fit of all rows but also at the fit without the set found last, and without the rows that carry
most of what is known about the quantity; there a masked group stands out [broderick2020, kuschnig2021].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from robula._intervals import LEVEL
from robula._types import FloatArray, IntArray
from robula.diagnosis.without_rows import Estimate, WithoutRows, interval, solve
from robula.models.law import ModelWithLaw

# Sets of more than this share of the rows are not looked for: then a conclusion hangs on no few rows.
_LARGEST_SET = 0.2
# Shares of the rows, those that know most about a quantity, that are set aside to find rows which mask each other.
_ASIDE = (0.2, 0.07, 0.02)
# Rankings of the rows; refits, where the first falls short of what was predicted; rows that a sentence names.
_RANKINGS, _REFITS, _NAMED_ROWS = 6, 3, 8


@dataclass(frozen=True, eq=False)
class Hinge:
    """What a conclusion hangs on.

    Attributes
    ----------
    quantity : str
    conclusion : "sign" or "interval"
    rows : ndarray of int, or None
        The smallest set that was found, the most influential first; None if no set of up to a fifth of the rows was.
    n_rows : int
        Rows that count at all.
    before, predicted, refitted : Estimate
        With all rows; without these, as predicted from the draws; and as refitted, the others' weights held. The last
        two are None where there is no set.
    confirmed : bool
        Whether the refit turns the conclusion too.
    """

    quantity: str
    conclusion: str
    rows: IntArray | None
    n_rows: int
    before: Estimate
    predicted: Estimate | None
    refitted: Estimate | None
    confirmed: bool

    @property
    def text(self) -> str:
        """One sentence."""
        return self.words()

    def words(self, labels: Sequence[Any] | None = None) -> str:
        """One sentence, in which rows go by these labels."""
        what = f"The sign of {self.quantity}"
        if self.conclusion == "interval":
            holds = self.before.low <= 0.0 <= self.before.high
            what = f"That the {100 * LEVEL:.0f} % interval of {self.quantity} {'holds' if holds else 'excludes'} 0"
        if self.rows is None or self.refitted is None:
            share = f"{100 * _LARGEST_SET:.0f} %"
            return f"{what} hangs on no few rows: no set of up to {share} of {self.n_rows:,} was found that turns it."
        count = len(self.rows)
        named = [str(row if labels is None else labels[row]) for row in self.rows[:_NAMED_ROWS]]
        one = count == 1
        # Rows of weight 0 are on the page and not among these.
        rows = (
            f"{count:,} row{'' if one else 's'} of the {self.n_rows:,} that count "
            f"({', '.join(named)}{', ...' if count > _NAMED_ROWS else ''})"
        )
        without = f"without {'it' if one else 'them'} {self.refitted.text} instead of {self.before.text}"
        if self.confirmed:
            return f"{what} hangs on {rows}: {without}."
        return f"{what} may hang on {rows}, as the draws predict, but a refit does not confirm it: {without}."

    def __repr__(self) -> str:
        return f"Hinge: {self.text}"


def smallest_set(
    without: WithoutRows, name: str, values: Callable[[FloatArray], FloatArray], place: int, conclusion: str
) -> Hinge:
    """Look for the smallest set of rows that turns a conclusion about one quantity.

    Parameters
    ----------
    values : function of draws (S, d), which gives the quantity's values (S,)
    place : int
        Its place among the directions.
    conclusion : "sign" or "interval"
    """
    before = interval(values(without.draws))
    margin = _margin(before, conclusion)
    counted = int((without.weights > 0).sum())
    limit, sign = int(_LARGEST_SET * counted), -_side(before, conclusion)

    def predicted(rows: IntArray) -> Estimate:
        return without.estimate(before, place, rows, without.move(rows))

    def shorter(found: _Found | None, ranking: IntArray) -> _Found | None:
        most = limit if found is None else len(found.rows) - 1
        rows = _shortest_prefix(ranking[:most], lambda rows: margin(predicted(rows)))
        return found if rows is None else _Found(rows, ranking[:limit])

    found = shorter(None, _ranked(without.linear_slopes[:, place] * without.weights * sign))
    if without.model.dense_curvature:
        for aside in _carriers(without, place):
            found = shorter(found, _ranked_without(without, place, sign, aside))
        for _ in range(_RANKINGS):
            last = found
            if last is not None:
                found = shorter(last, _ranked_without(without, place, sign, last.rows))
            if found is last:
                break
    if found is None:
        return Hinge(name, conclusion, None, counted, before, None, None, False)
    best = found.rows
    refitted = without.refit(values, best)
    for _ in range(_REFITS):
        if margin(refitted) < 0.0:
            break
        # The prediction was a little too bold: ask for as much more, and refit again.
        missed = margin(refitted) - margin(predicted(best))
        longer = _shortest_prefix(found.ranking, partial(lambda missed, rows: margin(predicted(rows)) + missed, missed))
        if longer is None or len(longer) <= len(best):
            break
        best, refitted = longer, without.refit(values, longer)
    return Hinge(name, conclusion, best, counted, before, predicted(best), refitted, margin(refitted) < 0.0)


def _side(before: Estimate, conclusion: str) -> float:
    """The side of 0 that rows are to be removed for: -1 lowers the mean, 1 raises it."""
    here = 1.0 if before.mean >= 0.0 else -1.0
    leaves = conclusion == "sign" or not before.low <= 0.0 <= before.high
    return -here if leaves else here


def _margin(before: Estimate, conclusion: str) -> Callable[[Estimate], float]:
    """What an estimate lacks to turn the conclusion: below 0 where it is turned."""
    here = 1.0 if before.mean >= 0.0 else -1.0
    if conclusion == "sign":
        return lambda found: here * found.mean
    if before.low > 0.0 or before.high < 0.0:
        return lambda found: found.low if here > 0 else -found.high
    return lambda found: -found.low if here > 0 else found.high


class _Found(NamedTuple):
    """A set of rows that turns the conclusion, and the ranking that begins with it."""

    rows: IntArray
    ranking: IntArray


def _ranked_without(without: WithoutRows, place: int, sign: float, aside: IntArray) -> IntArray:
    """All rows, those first that pull the quantity most at the fit without some of them."""
    there = without.theta + without.move(aside)
    pull = solve(without.precision_left(aside, there), without.directions[place])
    return _ranked((without.model.gradients(there) @ pull) * without.model.counted(without.weights) * sign)


def _carriers(without: WithoutRows, place: int) -> list[IntArray]:
    """The rows that know most about a quantity, whatever their responses: some of them, and fewer."""
    if not isinstance(without.model, ModelWithLaw):
        return []
    features = without.model.features(without.theta) @ solve(without.precision, without.directions[place])
    known = (features.reshape(len(features), -1) ** 2).sum(axis=1) * without.model.counted(without.weights)
    order = np.argsort(-known, kind="stable")
    return [order[: int(share * len(order))] for share in _ASIDE]


def _ranked(gains: FloatArray) -> IntArray:
    """Rows with a positive gain, the largest first."""
    order = np.argsort(-gains, kind="stable")
    return order[: int((gains > 0).sum())]


def _shortest_prefix(ranking: IntArray, margin: Callable[[IntArray], float]) -> IntArray | None:
    """The first rows of a ranking, as few as turn the conclusion: doubled until they do, then halved between.

    To one row in 256: that a conclusion hangs on 5120 rows or on 5100 is the same.
    """
    if not len(ranking):
        return None
    short, long = 0, 1
    while not margin(ranking[:long]) < 0.0:
        if long == len(ranking):
            return None
        short, long = long, min(2 * long, len(ranking))
    while long - short > max(1, long // 256):
        middle = (short + long) // 2
        if margin(ranking[:middle]) < 0.0:
            long = middle
        else:
            short = middle
    return ranking[:long]
