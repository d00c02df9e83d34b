"""Cells of a table that are odd: codes, far out given the other cells of their row, or written unlike their column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from robula._types import BoolArray, FloatArray, IntArray
from robula.tables.cell_mistakes import CODE_ODDS, NEVER, Mistake, exchanged, log_odds_of_mistakes
from robula.tables.column_scores import Column, column_by_itself, given_the_others, standardized, without_end_state
from robula.tables.missing_codes import FEW_VALUES, Repeated, repeated_apart

# Most rows that may share more decimals than others, or stand apart; and most decimals that others may have.
_RARE, _MOST_DECIMALS = 0.06, 3
# A value is seldom that is there a tenth as often as those near it, in twentieths of the column: tails are seldom too.
_SELDOM, _PARTS = 0.1, 20
# A value of a column of few values stands apart beyond three of their steps.
_STEPS = 3.0
# Score of a value that stands apart.
_APART_SCORE = 6.0
# Nine tenths of right cells have scores of this size at most.
_USUAL = float(ndtri(0.95))
# A cell farther out in its column needs no other reason to be odd.
_FAR = 3.5
#: Score of a cell that is a mistake as likely as not: that of an event which a normal law has once in 30,000 times.
LEAST_ODD = 4.0


class Why(IntEnum):
    """Why a cell is odd."""

    NOT = 0
    CODE = 1  #: a code for "missing"
    COLUMN = 2  #: far out in its column
    ROW = 3  #: odd for the other columns of its row
    DECIMALS = 4  #: written with more decimals than its column
    SELDOM = 5  #: a value of its own where others are repeated
    EXCHANGED = 6  #: fits another column of its row, which fits this one
    REPEATED = 7  #: may be a code: repeated and apart from all others, but 0 or a number that looks like none


@dataclass(frozen=True, eq=False)
class OddCells:
    """How odd every cell is.

    Attributes
    ----------
    names : tuple of str, p of them
    values : ndarray, shape (n, p)
    log_odds : ndarray, shape (n, p)
        That a cell is a mistake; odd cells are those at 0 and above.
    high : ndarray of bool, shape (n, p)
        Whether a cell is rather too high than too low.
    why : ndarray of int, shape (n, p)
        Members of :class:`Why`.
    mistakes : dict of (int, int) to Mistake
        What odd cells most likely are, by row and column.
    codes : dict of str to tuple of float
        Values that stand for "missing", by column.
    doubtful : dict of str to tuple of float
        Values that may stand for "missing", by column.
    judges : dict of int to Column
        What cells of columns of many values were judged by, by place.
    of_column : ndarray, shape (2, p)
        Ends of the middle nine tenths of the right cells of each column.
    """

    names: tuple[str, ...]
    values: FloatArray
    log_odds: FloatArray
    high: BoolArray
    why: IntArray
    mistakes: dict[tuple[int, int], Mistake]
    codes: dict[str, tuple[float, ...]]
    doubtful: dict[str, tuple[float, ...]]
    judges: dict[int, Column]
    of_column: FloatArray

    @property
    def limit(self) -> float:
        """Score from which on a cell is called odd."""
        return LEAST_ODD

    @cached_property
    def scores(self) -> FloatArray:
        """The log odds as normal scores with a sign, shape (n, p); beyond :attr:`limit` a cell is odd."""
        size = np.sqrt(np.maximum(LEAST_ODD**2 + 2.0 * self.log_odds, 0.0))
        return np.where(self.high, size, -size)

    @cached_property
    def oddest(self) -> IntArray:
        """Place of each row's oddest column, shape (n,)."""
        place: IntArray = self.log_odds.argmax(axis=1)
        return place

    @cached_property
    def row_log_odds(self) -> FloatArray:
        """Log odds of each row's oddest cell, shape (n,)."""
        odds: FloatArray = self.log_odds.max(axis=1, initial=NEVER)
        return odds

    @cached_property
    def row_scores(self) -> FloatArray:
        """Score of each row's oddest cell, without sign, shape (n,); 0 where there is no column."""
        scores: FloatArray = np.abs(self.scores).max(axis=1, initial=0.0)
        return scores

    def partner(self, row: int, column: int) -> int:
        """Place of the column that a cell is most likely exchanged with; -1 if it is not."""
        mistake = self.mistakes.get((row, column))
        return -1 if mistake is None else mistake.partner

    def usual(self, row: int, column: int) -> tuple[float, float]:
        """Ends of the middle nine tenths of what a cell is judged by: its column, given the rest of its row."""
        judge = self.judges.get(column)
        if judge is None:
            low, high = self.of_column[:, column].tolist()
            return low, high
        low, high = (judge.value_at(judge.expected[row] + judge.given.value_at(score)) for score in (-_USUAL, _USUAL))
        return low, high

    def reason(self, row: int, column: int | None = None) -> str:
        """Why a cell is odd, in words; of the row's oddest cell by default; empty where it is not odd."""
        if not self.names:
            return ""
        place = int(self.oddest[row]) if column is None else column
        if self.log_odds[row, place] < 0.0:
            return ""
        low, high = self.usual(row, place)
        cell = float(self.values[row, place])
        given = ", given the row's other columns" if place in self.judges and len(self.names) > 1 else ""
        mistake = self.mistakes.get((row, place), Mistake(row, place, 1.0, -1))
        direction = "high" if self.high[row, place] else "low"
        words = {
            Why.CODE: "is a code for missing",
            Why.REPEATED: f"is in {(self.values[:, place] == cell).sum():,} rows and far from all "
            "others: is it a code for missing?",
            Why.COLUMN: f"is too {direction} for its column, usually {low:.4g} to {high:.4g}{given}",
            Why.ROW: f"is too {direction} for the row's other columns, with which {low:.4g} to {high:.4g} is usual",
            Why.DECIMALS: "has more decimals than its column",
            Why.SELDOM: "is a value that hardly another row has",
            Why.EXCHANGED: f"and {self.names[mistake.partner]} = {self.values[row, mistake.partner]:.6g} "
            "would be usual if exchanged",
            Why.NOT: "",
        }[Why(self.why[row, place])]
        slip = ""
        if mistake.factor != 1.0 and low <= cell / mistake.factor <= high:
            slip = f"; {'divided by' if mistake.factor > 1 else 'times'} "
            slip += f"{max(mistake.factor, 1 / mistake.factor):.4g} it would be usual"
        return f"{self.names[place]} = {cell:.6g} {words}{slip}"


def odd_cells(
    values: FloatArray, names: Sequence[str], response: FloatArray | None = None, *, sure: bool = False
) -> OddCells:
    """Look for odd cells, twice: the second time without those that looked odd at first.

    Parameters
    ----------
    values : ndarray, shape (n, p)
        Columns of numbers; NaN is a missing cell.
    names : sequence of str, p of them
    response : ndarray, shape (n,), optional
        What else is known of the rows: helps to say what a cell should be, and is not judged itself.
    sure : bool
        Count as codes only what is one for sure, as :func:`repeated_apart` does.
    """
    table = _Table(np.asarray(values, dtype=np.float64), tuple(map(str, names)), response, sure)
    first = table.judged(None)
    return table.look((first.log_odds >= 0.0) | table.exchanged(first.alone))


class _Judged(NamedTuple):
    """Columns by themselves and given the others, log odds (n, p) that cells are mistakes, and which those are."""

    alone: list[Column]
    columns: list[Column]
    log_odds: FloatArray
    found: list[Mistake]


class _Table:
    """What is known of a table before its cells are judged: codes, columns of few values, how cells are written."""

    def __init__(self, values: FloatArray, names: tuple[str, ...], response: FloatArray | None, sure: bool) -> None:
        self.values, self.names = values, names
        rows, width = values.shape
        self.known = np.isfinite(values)
        self.codes: dict[str, tuple[float, ...]] = {}
        self.doubtful: dict[str, tuple[float, ...]] = {}
        self.may_be_codes = np.zeros(values.shape, dtype=bool)
        self.apart: dict[int, FloatArray] = {}
        self.places: list[int] = []
        self.explaining = np.zeros((rows, width + (response is not None)))
        self.finer, self.seldom = np.zeros(values.shape, dtype=bool), np.zeros(values.shape, dtype=bool)
        for place in range(width):
            self._read(place, sure)
        if response is not None:
            numbers = np.asarray(response, dtype=np.float64)
            self.explaining[:, -1] = standardized(numbers, np.ones(rows, dtype=bool))

    def _read(self, place: int, sure: bool) -> None:
        cells, known = self.values[:, place], self.known[:, place]
        different, counts = np.unique(cells[known], return_counts=True)
        if len(different) < 2:
            return
        told = repeated_apart(different, counts, sure=sure) if len(different) > 2 else Repeated((), ())
        if told.codes:
            self.codes[self.names[place]] = told.codes
            known &= ~np.isin(cells, told.codes)
        if told.doubtful:
            self.doubtful[self.names[place]] = told.doubtful
            self.may_be_codes[:, place] = np.isin(cells, told.doubtful)
        # Where no value is so often there that one that is there once is seldom beside it, none is.
        if len(different) > 2 and _SELDOM * counts.max() >= 1.0:
            self.seldom[:, place] = _seldom(cells, known)
        if len(different) - len(told.codes) - len(told.doubtful) <= FEW_VALUES:
            self.apart[place] = _apart(cells, known)
            self.explaining[:, place] = standardized(cells, known & ~self.may_be_codes[:, place])
            return
        self.finer[:, place] = _finer(cells, known)
        self.places.append(place)

    def judged(self, suspects: BoolArray | None) -> _Judged:
        """Judge the cells by those that are not suspects (n, p); by all of them at the first look."""
        explaining, alone = self.explaining.copy(), []
        for place in self.places:
            cells, doubtful = self.values[:, place], None if suspects is None else suspects[:, place]
            column = column_by_itself(place, cells, self.known[:, place], doubtful)
            alone.append(column)
            explains = column.judged if doubtful is None else column.judged & ~doubtful
            explaining[explains, place] = column.explains(cells[explains])
        columns = given_the_others(alone, explaining, suspects)
        log_odds, found = log_odds_of_mistakes(self.values, columns, self.apart, self.finer | self.seldom)
        log_odds[np.isfinite(self.values) & ~self.known] = CODE_ODDS
        # Whether it is a code is open; how far out it is may say more.
        log_odds[self.may_be_codes] = np.maximum(log_odds[self.may_be_codes], 0.0)
        return _Judged(alone, columns, log_odds, found)

    def exchanged(self, alone: Sequence[Column]) -> BoolArray:
        """Cells (n, p) that look exchanged by their columns alone.

        Where many are, the two columns look related, and given each other such cells look right.
        """
        found = np.zeros(self.values.shape, dtype=bool)
        unrelated = given_the_others(alone, np.zeros_like(self.explaining), None)
        for first, second, rows, odds in exchanged(self.values, unrelated):
            found[rows[odds >= 0.0], first] = found[rows[odds >= 0.0], second] = True
        return found

    def look(self, suspects: BoolArray) -> OddCells:
        """Judge the cells by those that are not suspects (n, p), and say why they are odd."""
        is_code = np.isfinite(self.values) & ~self.known
        alone, columns, log_odds, found = self.judged(suspects | self.may_be_codes)
        high, why = _reasons(columns, alone, self.apart, self.finer, self.seldom)
        why[is_code] = Why.CODE
        high |= is_code
        for mistake in found:
            if mistake.partner >= 0:
                why[mistake.row, mistake.place] = Why.EXCHANGED
        why[self.may_be_codes] = Why.REPEATED
        mistakes = {(mistake.row, mistake.place): mistake for mistake in found}
        judges, usual = {column.place: column for column in columns}, self._usual(log_odds < 0.0)
        return OddCells(
            self.names, self.values, log_odds, high, why, mistakes, self.codes, self.doubtful, judges, usual
        )

    def _usual(self, right: BoolArray) -> FloatArray:
        """Ends (2, p) of the middle nine tenths of the cells of each column that are right (n, p)."""
        ends = np.zeros((2, len(self.names)))
        for place, cells in enumerate(self.values.T):
            usual = cells[right[:, place] & self.known[:, place]]
            if len(usual):
                ends[:, place] = np.quantile(usual, [0.05, 0.95])
        return ends


def _reasons(
    columns: Sequence[Column],
    alone: Sequence[Column],
    apart: dict[int, FloatArray],
    finer: BoolArray,
    seldom: BoolArray,
) -> tuple[BoolArray, IntArray]:
    """Whether cells (n, p) are too high, and why they are odd if they are."""
    high, why = np.zeros(finer.shape, dtype=bool), np.zeros(finer.shape, dtype=np.intp)
    looks = np.where(finer, int(Why.DECIMALS), int(Why.SELDOM))
    for place, scores in apart.items():
        high[:, place] = scores > 0
        why[:, place] = np.where(scores != 0.0, int(Why.COLUMN), looks[:, place])
    for column, by_itself in zip(columns, alone, strict=True):
        place = column.place
        high[:, place] = column.scores > 0
        why[:, place] = np.where((finer | seldom)[:, place], looks[:, place], int(Why.ROW))
        why[np.abs(by_itself.scores) > _FAR, place] = Why.COLUMN
    return high, why


def _apart(column: FloatArray, known: BoolArray) -> FloatArray:
    """Scores of rare values that lie farther from the others than those reach; for columns of few values."""
    scores = np.zeros(len(column))
    different, counts = np.unique(column[known], return_counts=True)
    for sign in (1.0, -1.0):
        ends, numbers = (different, counts) if sign > 0 else (different[::-1], counts[::-1])
        for beyond in range(1, len(ends) - 1):
            if numbers[-beyond:].sum() > _RARE * len(column):
                break
            rest = ends[:-beyond]
            gap, steps = abs(ends[-beyond] - rest[-1]), np.abs(np.diff(rest))
            if gap >= max(steps.sum(), _STEPS * steps.max()):
                scores[np.isin(column, ends[-beyond:])] = sign * _APART_SCORE
    return scores


def _finer(column: FloatArray, known: BoolArray) -> BoolArray:
    """Cells written with more decimals than nearly all others, where those have few; shape (n,)."""
    for decimals in range(_MOST_DECIMALS + 1):
        scaled = column * 10.0**decimals
        with np.errstate(invalid="ignore"):
            whole = np.abs(scaled - np.round(scaled)) <= 1e-9 * np.maximum(np.abs(scaled), 1.0)
        finer = known & ~whole
        if finer.sum() <= _RARE * known.sum():
            return finer
    return np.zeros(len(column), dtype=bool)


def _seldom(column: FloatArray, known: BoolArray) -> BoolArray:
    """Cells whose value is hardly repeated while those near it, and most of the column, are; shape (n,)."""
    order = np.flatnonzero(known)
    order = order[np.argsort(column[order], kind="stable")]
    _, place, counts = np.unique(column[order], return_inverse=True, return_counts=True)
    often = counts[place]
    usual = float(np.median(often[without_end_state(column, known)[order]]))
    found = np.zeros(len(column), dtype=bool)
    for part in np.array_split(np.arange(len(order)), min(_PARTS, len(order))):
        found[order[part]] = often[part] <= _SELDOM * min(float(np.median(often[part])), usual)
    return found
