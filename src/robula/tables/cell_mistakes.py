"""How likely a cell is a mistake: anything, a slipped decimal point or another unit, or exchanged with its neighbour.

Every column is a mixture: right cells, whose scores follow a law with long tails, and a small share of each kind of
mistake, estimated from the column (expectation maximisation). So seven cells that would all fit times ten speak for
each other, and the one largest house of a town does not. What a cell looks like counts too: more decimals than its
column has, or a value that no other row has where others are repeated.

What nothing can see: an exchange of two columns of the same law, and a slip that lands among the usual values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from robula._types import BoolArray, FloatArray, IntArray
from robula.tables.column_scores import Column, NormalScores, explaining_score

# Degrees of freedom of right cells' scores, and spread of what may be anything. Chosen on half of the development data
# (benchmarks/rows_to_check.py says which); 3 to 6 and 5 to 10 do hardly worse.
_FREEDOM, _WIDE = 6.0, 5.0
# Mistakes of each kind that a column has before it is looked at: few have any. At most this share of them is believed.
_BEFORE, _MOST = 0.1, 0.2
# Decimal slips and thousands (g for kg). A factor of 2.54, inches for centimetres, is too near to the tails of right
# cells (docs/method.md, "Tables that nobody had looked at").
_FACTORS = tuple(power for factor in (10.0, 100.0, 1000.0) for power in (factor, 1.0 / factor))
# Cells nearer to what is expected are right, unless they look different; of a row, so many may be exchanged, if both
# together could become likelier by this much, in logs: an exchange is never expected in one row of 50.
_NEAR, _NEAR_IN_PAIRS, _CELLS_IN_PAIRS, _LEAST_GAIN = 1.5, 1.0, 6, 4.0
_ROUNDS = 30
#: Log odds of a cell that is right for sure, and of a code for "missing".
NEVER, CODE_ODDS = -50.0, 42.0


class Mistake(NamedTuple):
    """What a cell most likely is: its factor is 1 and its partner -1 where it is nothing in particular."""

    row: int
    place: int
    factor: float
    partner: int


def log_odds_of_mistakes(
    values: FloatArray, columns: Sequence[Column], apart: dict[int, FloatArray], different: BoolArray
) -> tuple[FloatArray, list[Mistake]]:
    """Log odds (n, p) that a cell is a mistake, and what those are that rather are one.

    Parameters
    ----------
    values : ndarray, shape (n, p)
    columns : sequence of Column
    apart : dict of int to ndarray (n,)
        Scores of columns of few values, by place.
    different : ndarray of bool, shape (n, p)
        Cells that look different from their column.
    """
    log_odds = np.full(values.shape, NEVER)
    told: dict[tuple[int, int], Mistake] = {}
    for place, scores in apart.items():
        rows = np.flatnonzero((scores != 0.0) | different[:, place])
        if len(rows):
            evidence = anything(scores[rows])[None, :]
            log_odds[rows, place] = _mixed(evidence, different[:, place], rows, _BEFORE)[0]
    for column in columns:
        place = column.place
        rows = np.flatnonzero((np.abs(column.scores) > _NEAR) | (different[:, place] & column.judged))
        if not len(rows):
            continue
        evidence = np.vstack([anything(column.scores[rows]), _scaled(column, values, rows)])
        found = _mixed(evidence, different[:, place], rows, _BEFORE)
        log_odds[rows, place] = np.logaddexp.reduce(found, axis=0)
        for spot in np.flatnonzero(log_odds[rows, place] >= 0.0):
            kind = int(found[:, spot].argmax())
            told[int(rows[spot]), place] = Mistake(int(rows[spot]), place, (1.0, *_FACTORS)[kind], -1)
    singly = log_odds.copy()
    for first, second, rows, odds in exchanged(values, columns):
        # Where one of the two cells alone explains more, the other is right.
        better = odds > np.maximum(singly[rows, first], singly[rows, second])
        for place, partner in ((first, second), (second, first)):
            larger = better & (odds > log_odds[rows, place])
            log_odds[rows[larger], place] = odds[larger]
            for row in rows[larger & (odds >= 0.0)].tolist():
                told[row, place] = Mistake(row, place, 1.0, partner)
    return log_odds, list(told.values())


def exchanged(values: FloatArray, columns: Sequence[Column]) -> Iterator[tuple[int, int, IntArray, FloatArray]]:
    """Yield pairs of columns with rows (m,) and their log odds (m,) that the two cells are exchanged."""
    first, second, rows = _pairs_that_gain(columns)
    if not len(rows):
        return
    places, logarithmic = np.array([column.place for column in columns]), np.array([c.logarithmic for c in columns])
    own, given = (NormalScores.stacked([getattr(column, which) for column in columns]) for which in ("own", "given"))
    slopes = np.stack([column.slopes for column in columns])[:, places]
    expected, scores = np.stack([c.expected for c in columns]), np.stack([c.scores for c in columns])
    one, other = values[rows, places[first]], values[rows, places[second]]
    possible = (~logarithmic[first] | (other > 0)) & (~logarithmic[second] | (one > 0))
    first, second, rows, one, other = (part[possible] for part in (first, second, rows, one, other))

    def in_column(which: IntArray, cells: FloatArray) -> FloatArray:
        """Scores of cells in columns (m,), whatever the rest of their row is."""
        return own.at(which)(np.where(logarithmic[which], np.log(np.where(cells > 0, cells, 1.0)), cells))

    there, here = in_column(first, other), in_column(second, one)
    moved_first = explaining_score(there) - explaining_score(in_column(first, one))
    moved_second = explaining_score(here) - explaining_score(in_column(second, other))
    evidence = -_right(scores[first, rows]) - _right(scores[second, rows])
    for at, also, score, moved in ((first, second, there, moved_second), (second, first, here, moved_first)):
        evidence += _right(given.at(at)(score - expected[at, rows] - slopes[at, also] * moved))
    # A density of logarithms is one of the values times the value.
    only_one = logarithmic[first] != logarithmic[second]
    sign = np.where(logarithmic[first[only_one]], 1.0, -1.0)
    evidence[only_one] += sign * np.log(one[only_one] / other[only_one])
    nothing = np.zeros(len(values), dtype=bool)
    # A column has many partners; with all of them together it is exchanged as often as it slips.
    before = _BEFORE / (len(columns) - 1)
    for group in _expected_groups(first, second, evidence, len(values)):
        odds = _mixed(evidence[None, group], nothing, rows[group], before)[0]
        yield int(places[first[group.start]]), int(places[second[group.start]]), rows[group], odds


def odds_by_column(column: Column, rows: IntArray) -> float:
    """Log odds before its score is seen that a cell of a column is a mistake of any kind, by these cells (m,)."""
    evidence = anything(column.scores[rows])[None, :]
    found = _mixed(evidence, np.zeros(len(column.scores), dtype=bool), rows, _BEFORE)
    return float((found - evidence)[0, 0]) if len(rows) else float(np.log(_BEFORE / len(column.scores)))


def _right(scores: FloatArray) -> FloatArray:
    """Log density of right cells' scores: Student's."""
    constant = gammaln(0.5 * (_FREEDOM + 1.0)) - gammaln(0.5 * _FREEDOM) - 0.5 * np.log(_FREEDOM * np.pi)
    density: FloatArray = constant - 0.5 * (_FREEDOM + 1.0) * np.log1p(scores**2 / _FREEDOM)
    return density


def anything(scores: FloatArray) -> FloatArray:
    """Log likelihood ratio of a mistake that may be anywhere (Cauchy) to a right cell."""
    ratio: FloatArray = -np.log(np.pi * _WIDE) - np.log1p((scores / _WIDE) ** 2) - _right(scores)
    return ratio


def _scaled(column: Column, values: FloatArray, rows: IntArray) -> FloatArray:
    """Log likelihood ratios (k, m) that cells were multiplied by each of the factors."""
    factors, judged = np.array(_FACTORS)[:, None], column.judged[rows]
    meant = np.where(judged, values[rows, column.place], 1.0) / factors
    ratio = _right(column.scores_of(meant, column.expected[rows])) - _right(column.scores[rows])
    # Values that were multiplied have more room. That divided ones crowd is no evidence: cells are rounded.
    spread = 0.0 if column.logarithmic else np.maximum(np.log(factors), 0.0)
    return np.where(judged, ratio - spread, NEVER)


def _mixed(evidence: FloatArray, different: BoolArray, rows: IntArray, before: float) -> FloatArray:
    """Log odds (k, m) of each kind of mistake against a right cell, with shares estimated from the column.

    Parameters
    ----------
    evidence : ndarray, shape (k, m)
        Log likelihood ratios of the kinds to a right cell.
    different : ndarray of bool, shape (n,)
        All cells that look different; how many of the right and of the wrong ones do is estimated too.
    rows : ndarray of int, shape (m,)
        The cells that are judged; all others are right.
    before : float
        Mistakes of each kind that are expected before the column is looked at.
    """
    total, looks = len(different), different[rows]
    all_different = float(different.sum())
    shares = np.full(len(evidence), before / total)
    among_right, among_wrong = (all_different + 0.5) / (total + 1.0), 0.5
    # Likelihoods of each kind and of a right cell, over the largest of them: exponentials are taken once.
    largest = np.maximum(evidence.max(axis=0), 0.0)
    likelihoods, right = np.exp(evidence - largest), np.exp(-largest)
    look = np.ones(len(rows))
    for step in range(_ROUNDS):
        if all_different:
            look = np.where(looks, among_wrong / among_right, (1.0 - among_wrong) / (1.0 - among_right))
        odds = shares / (1.0 - shares.sum())
        if step == _ROUNDS - 1:
            break
        each = look / (right + look * (odds @ likelihoods))
        of_kinds = odds * (likelihoods @ each)
        shares = (of_kinds + before) / (total + before * len(evidence))
        shares *= min(1.0, _MOST / shares.sum())
        if all_different:
            wrong, both = float(of_kinds.sum()), float(odds @ (likelihoods @ (each * looks)))
            among_right = (all_different - both + 0.5) / (total - wrong + 1.0)
            among_wrong = max((both + 0.5) / (wrong + 1.0), among_right)
    found: FloatArray = np.log(odds)[:, None] + evidence + np.log(look)
    return found


def _pairs_that_gain(columns: Sequence[Column]) -> tuple[IntArray, IntArray, IntArray]:
    """Two columns and a row, (m,) each and sorted, where both cells are far out and an exchange may explain it.

    Of a row the farthest cells are looked at. At best both become usual, and all rows of a pair are exchanged.
    """
    none = np.zeros(0, dtype=np.intp)
    if len(columns) < 2:
        return none, none, none
    scores = np.abs(np.stack([column.scores for column in columns], axis=1))
    count = min(_CELLS_IN_PAIRS, len(columns))
    farthest = np.argpartition(-scores, count - 1, axis=1)[:, :count]
    size = np.take_along_axis(scores, farthest, axis=1)
    gains = np.where(size >= _NEAR_IN_PAIRS, _right(np.zeros(1)) - _right(size), -np.inf)
    one, other = np.triu_indices(count, 1)
    gain = gains[:, one] + gains[:, other]
    rows, pair = np.nonzero(gain > _LEAST_GAIN)
    ends = np.sort(np.stack([farthest[rows, one[pair]], farthest[rows, other[pair]]]), axis=0)
    order = np.lexsort((rows, ends[1], ends[0]))
    (first, second), rows, gain = ends[:, order], rows[order], gain[rows, pair][order]
    kept = _expected_groups(first, second, gain, len(scores))
    where = np.concatenate([np.arange(group.start, group.stop) for group in kept]) if kept else none
    return first[where], second[where], rows[where]


def _expected_groups(first: IntArray, second: IntArray, evidence: FloatArray, total: int) -> list[slice]:
    """Where in sorted pairs (m,) each pair stands whose rows can be likelier exchanged than not, by evidence (m,).

    That is if all of its rows that gain by it, of so many in all, were exchanged.
    """
    if not len(first):
        return []
    starts = np.flatnonzero(np.append(True, (np.diff(first) != 0) | (np.diff(second) != 0)))
    gaining = np.add.reduceat((evidence > 0.0).astype(np.float64), starts)
    most = np.maximum.reduceat(evidence, starts)
    expected = (gaining > 0.0) & (most + np.log(np.maximum(gaining, 1.0) / total) > 0.0)
    stops = np.append(starts[1:], len(first))
    return [slice(int(start), int(stop)) for start, stop in zip(starts[expected], stops[expected], strict=True)]
