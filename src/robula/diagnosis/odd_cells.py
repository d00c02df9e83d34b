"""Cells of a table that are odd: for their column, for the other columns of their row, or because they are codes.

After "Detecting Deviating Data Cells" [rousseeuw2018], shorter: every column is brought to normal scores by quantiles
of its own middle, in its own units and in logarithms; correlations are those of clipped scores [raymaekers2021], so
that one bad cell spoils neither the scale of its column nor what is expected of the other cells of its row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from robula._types import BoolArray, FloatArray, IntArray
from robula.diagnosis.missing_codes import FEW_VALUES, missing_codes

# Quantiles that say how a side of a column spreads: less than a tenth of the rows lies beyond the second.
_INNER, _OUTER = float(ndtri(0.75)), float(ndtri(0.9))
# Standard error of the logarithm of their ratio, times the root of the rows on that side.
_ERROR_OF_A_RATIO = 1.05
# How fast logarithms of a deviation may grow, and the power that a short tail is raised to at most.
_LOG_RATES = np.geomspace(0.01, 50.0, 60)
_SHORTEST_TAIL = 0.7
# Scores are clipped here before they are correlated, and before they explain other cells.
_CLIP, _WIDE_CLIP = 2.5, 4.0
# Ridge of the correlation matrix: columns may be copies of each other.
_RIDGE = 0.02
# A value that a tenth of the rows has is a state of its own.
_SPIKE = 0.1
# Share of positive cells from which on a column is also looked at in logarithms.
_POSITIVE = 0.98
# Most rows that may share a rare value, more decimals than others; and most decimals that others may have.
_RARE, _MOST_DECIMALS = 0.06, 3
# Scores of what is not measured by a tail.
_CODE_SCORE, _APART_SCORE, _DECIMALS_SCORE = 10.0, 6.0, 4.6
#: Least score of a cell that is called odd; with more cells, the one that a single normal cell of all would pass.
LEAST_ODD = 4.0
# Quantiles are taken of so many rows at most, evenly spread over the table.
_ENOUGH_ROWS = 20_000


class Why(IntEnum):
    """Why a cell is odd."""

    NOT = 0
    CODE = 1  #: a code for "missing"
    COLUMN = 2  #: far out in its column
    ROW = 3  #: odd for the other columns of its row
    DECIMALS = 4  #: written with more decimals than its column


@dataclass(frozen=True, eq=False)
class OddCells:
    """How odd every cell is.

    Attributes
    ----------
    names : tuple of str, p of them
    values : ndarray, shape (n, p)
    scores : ndarray, shape (n, p)
        Normal scores: a cell beyond 4 or so is odd; the sign says whether it is too high or too low.
    why : ndarray of int, shape (n, p)
        Members of :class:`Why`.
    codes : dict of str to tuple of float
        Values that stand for "missing", by column.
    limit : float
        Score from which on a cell is called odd.
    usual : ndarray, shape (2, p)
        Ends of the middle nine tenths of each column.
    """

    names: tuple[str, ...]
    values: FloatArray
    scores: FloatArray
    why: IntArray
    codes: dict[str, tuple[float, ...]]
    limit: float
    usual: FloatArray

    @cached_property
    def oddest(self) -> IntArray:
        """Place of each row's oddest column, shape (n,)."""
        place: IntArray = np.abs(self.scores).argmax(axis=1)
        return place

    @cached_property
    def row_scores(self) -> FloatArray:
        """Score of each row's oddest cell, without sign, shape (n,); 0 where there is no column."""
        scores: FloatArray = np.abs(self.scores).max(axis=1, initial=0.0)
        return scores

    def reason(self, row: int, column: int | None = None) -> str:
        """Why a cell is odd, in words; of the row's oddest cell by default; empty where it is not odd."""
        if not self.names:
            return ""
        place = int(self.oddest[row]) if column is None else column
        value, score, why = float(self.values[row, place]), float(self.scores[row, place]), Why(self.why[row, place])
        if abs(score) < self.limit:
            return ""
        low, high = self.usual[:, place]
        words = {
            Why.CODE: "is a code for missing",
            Why.COLUMN: f"is too {'high' if score > 0 else 'low'} for its column, usually {low:.4g} to {high:.4g}",
            Why.ROW: f"is too {'high' if score > 0 else 'low'} for the row's other columns",
            Why.DECIMALS: "has more decimals than its column",
            Why.NOT: "",
        }[why]
        return f"{self.names[place]} = {value:.6g} {words}{self._slip(value, place) if why != Why.CODE else ''}"

    def _slip(self, value: float, place: int) -> str:
        """A power of ten that would make the value usual."""
        low, high = self.usual[:, place]
        if low <= value <= high:
            return ""
        fits = [power for power in (1, -1, 2, -2, 3, -3) if low <= value * 10.0**power <= high]
        if not fits or value == 0.0:
            return ""
        return f"; {'times' if fits[0] > 0 else 'divided by'} {10 ** abs(fits[0])} it would be usual"


class _Column(NamedTuple):
    """A column that is judged.

    Attributes
    ----------
    place : int
    judged : ndarray of bool, shape (n,)
        Cells that are numbers, no codes, and not the one value that many rows share.
    versions : list of ndarray, shape (n,)
        Normal scores in its own units and, where it is positive, in logarithms; 0 where a cell has none.
    """

    place: int
    judged: BoolArray
    versions: list[FloatArray]


def odd_cells(values: FloatArray, names: Sequence[str], response: FloatArray | None = None) -> OddCells:
    """Look for odd cells.

    Parameters
    ----------
    values : ndarray, shape (n, p)
        Columns of numbers; NaN is a missing cell.
    names : sequence of str, p of them
    response : ndarray, shape (n,), optional
        What else is known of the rows: helps to say what a cell should be, and is not judged itself.
    """
    values = np.asarray(values, dtype=np.float64)
    rows, columns = values.shape
    known = np.isfinite(values)
    scores, why = np.zeros(values.shape), np.zeros(values.shape, dtype=np.intp)
    codes: dict[str, tuple[float, ...]] = {}
    explaining = np.zeros((rows, columns + (response is not None)))
    found: list[_Column] = []
    usual = np.zeros((2, columns))
    for place in range(columns):
        column = values[:, place]
        different, counts = np.unique(column[known[:, place]], return_counts=True)
        if len(different) < 2:
            continue
        told = missing_codes(different, counts) if len(different) > 2 else ()
        if told:
            codes[str(names[place])] = told
            coded = np.isin(column, told)
            known[:, place] &= ~coded
            scores[coded, place], why[coded, place] = _CODE_SCORE, Why.CODE
        usual[:, place] = np.quantile(column[known[:, place]], [0.05, 0.95])
        if len(different) - len(told) <= FEW_VALUES:
            apart = _apart(column, known[:, place])
            scores[apart != 0, place], why[apart != 0, place] = apart[apart != 0], Why.COLUMN
            explaining[:, place] = _standardized(column, known[:, place])
            continue
        judged = known[:, place].copy()
        if counts.max() > _SPIKE * rows:
            judged &= column != different[counts.argmax()]
        versions = _versions(column, judged)
        found.append(_Column(place, judged, versions))
        explaining[:, place] = np.where(known[:, place], np.clip(versions[0], -_WIDE_CLIP, _WIDE_CLIP), 0.0)
        for version in versions:
            _raise(scores, why, place, np.where(judged, version, 0.0), Why.COLUMN)
        finer = _finer(column, judged)
        _raise(
            scores,
            why,
            place,
            np.where(finer, np.where(scores[:, place] < 0, -1.0, 1.0), 0.0) * _DECIMALS_SCORE,
            Why.DECIMALS,
        )
    if response is not None:
        explaining[:, -1] = _standardized(np.asarray(response, dtype=np.float64), np.ones(rows, dtype=bool))
    _judge_by_row(found, explaining, scores, why)
    cells = max(int(known.sum()), 1)
    limit = max(LEAST_ODD, float(-ndtri(0.5 / cells)))
    return OddCells(tuple(map(str, names)), values, scores, why, codes, limit, usual)


def _judge_by_row(found: Sequence[_Column], explaining: FloatArray, scores: FloatArray, why: IntArray) -> None:
    """Score what each cell differs from what the clipped scores (n, q) of its row's other cells lead to expect."""
    clipped = np.clip(explaining, -_CLIP, _CLIP)
    middle, deviations = clipped.mean(axis=0), clipped.std(axis=0)
    deviations = np.where(deviations > 0, deviations, 1.0)
    clipped, standard = (clipped - middle) / deviations, (explaining - middle) / deviations
    correlations = clipped.T @ clipped / max(len(clipped), 1)
    precision = np.linalg.inv((1.0 - _RIDGE) * correlations + _RIDGE * np.eye(len(correlations)))
    for column in found:
        slopes = -precision[:, column.place] / precision[column.place, column.place]
        slopes[column.place] = 0.0
        expected = standard @ slopes
        centred = expected[column.judged] - expected[column.judged].mean()
        for version in column.versions:
            inside = np.clip(version[column.judged], -_CLIP, _CLIP)
            slope = float(centred @ inside) / max(float(centred @ centred), 1e-9)
            left = _outlyingness(version - slope * expected, column.judged)
            _raise(scores, why, column.place, np.where(column.judged, left, 0.0), Why.ROW)


def _raise(scores: FloatArray, why: IntArray, place: int, candidates: FloatArray, reason: Why) -> None:
    """Take over candidates (n,) where they are the larger scores."""
    larger = np.abs(candidates) > np.abs(scores[:, place])
    # A cell that is far out in its column needs no other reason.
    why[larger & (np.abs(scores[:, place]) < LEAST_ODD), place] = reason
    scores[larger, place] = candidates[larger]


def _versions(column: FloatArray, judged: BoolArray) -> list[FloatArray]:
    """Scores in the column's own units and, where it is (nearly) positive, in logarithms; the straightest first."""
    plain = np.where(np.isfinite(column), column, 0.0)
    found = [_outlyingness(plain, judged)]
    positive = judged & (column > 0)
    if positive.sum() > _POSITIVE * judged.sum():
        logarithms = np.log(np.where(positive, column, 1.0))
        found.append(np.where(positive, _outlyingness(logarithms, positive), 0.0))
        if _skewness(logarithms[positive]) < _skewness(plain[judged]):
            found.reverse()
    return found


def _outlyingness(values: FloatArray, judged: BoolArray) -> FloatArray:
    """Normal scores (n,) of values by the quantiles of each side of their middle.

    Where a side is longer than normal, logarithms of the deviation straighten it; where it is shorter, a power.
    """
    usual = values[judged]
    usual = usual[:: max(1, len(usual) // _ENOUGH_ROWS)]
    deviations = values - np.median(usual)
    usual = usual - np.median(usual)
    scores = np.zeros_like(values)
    for sign in (1.0, -1.0):
        side = sign * usual
        side = side[side > 0]
        if len(side) < 5:
            continue
        inner, outer = np.quantile(side, [0.5, 0.8])
        part = sign * deviations > 0
        relative = sign * deviations[part] / inner
        ratio, normal = _ratio(float(outer / inner), len(side)), _OUTER / _INNER
        if ratio > normal:
            falling = np.log1p(_LOG_RATES * ratio) / np.log1p(_LOG_RATES)
            rate = float(_LOG_RATES[min(int(np.searchsorted(-falling, -normal)), len(_LOG_RATES) - 1)])
            straight = np.log1p(rate * relative) / np.log1p(rate)
        else:
            power = max(float(np.log(ratio) / np.log(normal)), _SHORTEST_TAIL)
            straight = np.where(relative > 1, np.maximum(relative, 1.0) ** (1.0 / power), relative)
        scores[part] = sign * _INNER * straight
    return scores


def _ratio(found: float, rows: int) -> float:
    """Ratio of the two quantiles, moved by its standard error towards that of a normal side: chance is no tail."""
    error = _ERROR_OF_A_RATIO / np.sqrt(rows)
    off = np.log(max(found, 1.01)) - np.log(_OUTER / _INNER)
    return float(_OUTER / _INNER * np.exp(np.sign(off) * max(abs(off) - error, 0.0)))


def _skewness(values: FloatArray) -> float:
    """Of the middle four fifths."""
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
    return abs(float((high - middle) - (middle - low))) / max(float(high - low), 1e-300)


def _standardized(column: FloatArray, known: BoolArray) -> FloatArray:
    """A column as it explains others: clipped, 0 where it is not known."""
    middle, spread = column[known].mean(), column[known].std()
    scores = np.where(known, column - middle, 0.0) / (spread if spread > 0 else 1.0)
    return np.clip(scores, -_WIDE_CLIP, _WIDE_CLIP)


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
            if abs(ends[-beyond] - rest[-1]) >= abs(rest[-1] - rest[0]) > 0:
                scores[np.isin(column, ends[-beyond:])] = sign * _APART_SCORE
    return scores


def _finer(column: FloatArray, judged: BoolArray) -> BoolArray:
    """Cells written with more decimals than nearly all others, where those have few; shape (n,)."""
    for decimals in range(_MOST_DECIMALS + 1):
        scaled = column * 10.0**decimals
        with np.errstate(invalid="ignore"):
            whole = np.abs(scaled - np.round(scaled)) <= 1e-9 * np.maximum(np.abs(scaled), 1.0)
        finer = judged & ~whole
        if finer.sum() <= _RARE * judged.sum():
            return finer
    return np.zeros(len(column), dtype=bool)
