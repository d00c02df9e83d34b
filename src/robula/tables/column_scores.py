"""Normal scores of cells: how far out each is, given the other cells of its row.

A table is looked at twice. At first a side of a column spreads as a normal law with its median deviation, which a fifth
of wrong cells hardly moves; the second time the cells that looked wrong are left out, and tails are estimated too.

After "Detecting Deviating Data Cells" [rousseeuw2018], shorter: every column is brought to normal scores by quantiles
of its own middle, in its own units or in logarithms; correlations are those of clipped scores [raymaekers2021], so that
one bad cell spoils neither the scale of its column nor what is expected of the other cells of its row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from robula._types import BoolArray, FloatArray, IntArray
from robula.tables.missing_codes import STATE

# Quantiles that say how a side of a column spreads: less than a tenth of the rows lies beyond the second.
_INNER, _OUTER = float(ndtri(0.75)), float(ndtri(0.9))
# Standard error of the logarithm of their ratio, times the root of the rows on that side.
_ERROR_OF_A_RATIO = 1.05
# The power that a short tail is raised to at most: the columns of a table are hardly shorter than uniform.
_SHORTEST_TAIL = 0.7
# Deviations beyond so many middle ones are no farther out: their powers and squares would overflow.
_FARTHEST = 1e100
# Scores are clipped here before they are correlated, and before they explain other cells.
_CLIP, _WIDE_CLIP = 2.5, 4.0
# Ridge of the correlation matrix: columns may be copies of each other.
_RIDGE = 0.02
# What is nearer to the end of a column than a tenth of the other rows is at its end.
_END = 0.1
# Share of positive cells from which on a column may be taken in logarithms.
_POSITIVE = 0.98
# Quantiles are taken of so many rows at most, evenly spread over the table.
_ENOUGH_ROWS = 20_000
_FEWEST_ON_A_SIDE = 5
# No number has a larger logarithm.
_LARGEST_LOG = 700.0


class NormalScores(NamedTuple):
    """What turns numbers into normal scores: their median, and the middle deviation and power of each side.

    Numbers, or arrays (k,) of several columns at once. A side that too few rows are on has an infinite deviation.
    """

    middle: FloatArray | float
    inner_below: FloatArray | float
    power_below: FloatArray | float
    inner_above: FloatArray | float
    power_above: FloatArray | float

    @classmethod
    def of(cls, usual: FloatArray, tails: bool) -> NormalScores:
        """By the quantiles of each side of the middle; a longer or shorter side is a power of a normal one.

        Without ``tails`` a side is a normal one.
        """
        usual = usual[:: max(1, len(usual) // _ENOUGH_ROWS)]
        middle = float(np.median(usual))
        sides = []
        for sign in (-1.0, 1.0):
            side = sign * (usual - middle)
            side = side[side > 0]
            if len(side) < _FEWEST_ON_A_SIDE:
                sides += [np.inf, 1.0]
                continue
            inner, outer = np.quantile(side, [0.5, 0.8])
            power = np.log(_ratio(float(outer / inner), len(side))) / np.log(_OUTER / _INNER) if tails else 1.0
            sides += [float(inner), max(float(power), _SHORTEST_TAIL)]
        return cls(middle, *sides)

    @classmethod
    def stacked(cls, several: Sequence[NormalScores]) -> NormalScores:
        """Return those of several columns as one."""
        return cls(*(np.array(numbers) for numbers in zip(*several, strict=True)))

    def at(self, columns: IntArray) -> NormalScores:
        """Return those of the columns (m,) that cells are in, of stacked ones."""
        return NormalScores(*(np.asarray(numbers)[columns] for numbers in self))

    def value_at(self, score: float) -> float:
        """The number that has a score; infinite on a side that too few rows are on."""
        below = score < 0
        inner, power = (self.inner_below, self.power_below) if below else (self.inner_above, self.power_above)
        size = abs(score) / _INNER
        return float(self.middle + np.copysign(inner, score) * (size**power if size > 1.0 else size))

    def __call__(self, values: FloatArray) -> FloatArray:
        """Scores, of the shape of the values; 0 on a side that too few rows are on."""
        deviations = values - self.middle
        below = deviations < 0.0
        relative = np.abs(deviations) / np.where(below, self.inner_below, self.inner_above)
        power = np.where(below, self.power_below, self.power_above)
        grown = np.minimum(np.maximum(relative, 1.0), _FARTHEST) ** (1.0 / power)
        scores: FloatArray = np.copysign(_INNER * np.where(relative > 1.0, grown, relative), deviations)
        return scores


@dataclass(frozen=True, eq=False)
class Column:
    """A column whose cells have scores.

    Attributes
    ----------
    place : int
    judged : ndarray of bool, shape (n,)
        Cells that are numbers, no codes, and not the one value at its end that many rows share.
    logarithmic : bool
        Whether its cells are taken in logarithms.
    own, given : NormalScores
        Of the column, and of what is left of its scores after the other columns.
    slopes : ndarray, shape (q,)
        What is expected of its score, by the explaining scores of the other columns.
    expected : ndarray, shape (n,)
    scores : ndarray, shape (n,)
        Given the other columns; 0 where a cell is not judged.
    """

    place: int
    judged: BoolArray
    logarithmic: bool
    own: NormalScores
    given: NormalScores
    slopes: FloatArray
    expected: FloatArray
    scores: FloatArray

    def light(self) -> Column:
        """The column without the rows that it was made of."""
        nothing = np.zeros(0)
        return replace(self, judged=np.zeros(0, dtype=bool), expected=nothing, scores=nothing)

    def value_at(self, score: float) -> float:
        """The value that has a score in this column, whatever the rest of its row is."""
        value = self.own.value_at(score)
        return float(np.exp(min(value, _LARGEST_LOG))) if self.logarithmic else value

    def allows(self, values: FloatArray) -> BoolArray:
        """Which values the column can have."""
        return values > 0 if self.logarithmic else np.ones(len(values), dtype=bool)

    def own_scores(self, values: FloatArray) -> FloatArray:
        """Scores (m,) of values in this column, whatever the rest of their row is."""
        return self.own(np.log(values) if self.logarithmic else values)

    def scores_of(self, values: FloatArray, expected: FloatArray) -> FloatArray:
        """Scores (m,) that values would have in rows of which this is expected."""
        return self.given(self.own_scores(values) - expected)

    def explains(self, values: FloatArray) -> FloatArray:
        """Scores (m,) as they explain other cells."""
        return explaining_score(self.own_scores(values))


def explaining_score(scores: FloatArray) -> FloatArray:
    """Scores as they explain other cells: none explains more for being farther out."""
    return np.clip(scores, -_WIDE_CLIP, _WIDE_CLIP)


def column_by_itself(place: int, values: FloatArray, known: BoolArray, suspects: BoolArray | None) -> Column:
    """A column of many values, judged without the others.

    Parameters
    ----------
    place : int
    values : ndarray, shape (n,)
    known : ndarray of bool, shape (n,)
        Cells that are numbers and no codes.
    suspects : ndarray of bool, shape (n,), or None
        Cells that looked wrong at first, and do not say what is usual; None at the first look.
    """
    judged = without_end_state(values, known)
    usual = judged if suspects is None else judged & ~suspects
    positive = usual & (values > 0)
    logarithmic = bool(positive.sum() > _POSITIVE * usual.sum()) and (
        _skewness(np.log(values[positive])) < _skewness(values[usual])
    )
    if logarithmic:
        judged, usual = judged & (values > 0), positive
    own = NormalScores.of(np.log(values[usual]) if logarithmic else values[usual], suspects is not None)
    nothing = np.zeros(len(values))
    column = Column(place, judged, logarithmic, own, own, np.zeros(0), nothing, nothing)
    scores = nothing.copy()
    scores[judged] = column.own_scores(values[judged])
    return replace(column, scores=scores)


def without_end_state(values: FloatArray, known: BoolArray) -> BoolArray:
    """Known cells (n,) but for the one value at an end of the column that many rows share."""
    different, counts = np.unique(values[known], return_counts=True)
    most = different[counts.argmax()]
    others = values[known & (values != most)]
    at_an_end = min((others < most).mean(), (others > most).mean()) < _END
    return known & (values != most) if at_an_end and counts.max() > STATE * len(values) else known


def given_the_others(columns: Sequence[Column], explaining: FloatArray, suspects: BoolArray | None) -> list[Column]:
    """The columns, judged by how each cell differs from what the explaining scores (n, q) of its row predict.

    ``suspects`` (n, p) are the cells that looked wrong at first; None at the first look.
    """
    clipped = np.clip(explaining, -_CLIP, _CLIP)
    middle, deviations = clipped.mean(axis=0), clipped.std(axis=0)
    deviations = np.where(deviations > 0, deviations, 1.0)
    standard = (clipped - middle) / deviations
    correlations = standard.T @ standard / max(len(standard), 1)
    precision = np.linalg.inv((1.0 - _RIDGE) * correlations + _RIDGE * np.eye(len(correlations)))
    found = []
    centred_explaining = explaining - middle
    for column in columns:
        slopes = -precision[:, column.place] / precision[column.place, column.place] / deviations
        slopes[column.place] = 0.0
        expected = centred_explaining @ slopes
        usual = column.judged if suspects is None else column.judged & ~suspects[:, column.place]
        # The ridge and clipping shrink slopes; one regression on what they predict makes up for it.
        centred = expected[usual] - expected[usual].mean()
        inside = np.clip(column.scores[usual], -_CLIP, _CLIP)
        slope = float(centred @ inside) / max(float(centred @ centred), 1e-9)
        left = column.scores - slope * expected
        given = NormalScores.of(left[usual], suspects is not None)
        scores = np.where(column.judged, given(left), 0.0)
        found.append(replace(column, given=given, slopes=slope * slopes, expected=slope * expected, scores=scores))
    return found


def standardized(column: FloatArray, known: BoolArray) -> FloatArray:
    """A column of few values as it explains others: clipped, 0 where it is not known."""
    middle, spread = column[known].mean(), column[known].std()
    scores = np.where(known, column - middle, 0.0) / (spread if spread > 0 else 1.0)
    return np.clip(scores, -_WIDE_CLIP, _WIDE_CLIP)


def _ratio(found: float, rows: int) -> float:
    """Ratio of the two quantiles, moved by its standard error towards that of a normal side: chance is no tail."""
    error = _ERROR_OF_A_RATIO / np.sqrt(rows)
    off = np.log(max(found, 1.01)) - np.log(_OUTER / _INNER)
    return float(_OUTER / _INNER * np.exp(np.sign(off) * max(abs(off) - error, 0.0)))


def _skewness(values: FloatArray) -> float:
    """Of the middle four fifths."""
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
    return abs(float((high - middle) - (middle - low))) / max(float(high - low), 1e-300)
