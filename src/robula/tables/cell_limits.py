"""Which cells of other rows are mistakes, column by column: what a table in memory says of rows that it has not."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from robula._types import FloatArray
from robula.tables.cell_mistakes import CODE_ODDS, anything, odds_by_column
from robula.tables.column_scores import Column, column_by_itself
from robula.tables.missing_codes import FEW_VALUES

#: Values of each column that stand for "missing".
Codes = tuple[tuple[float, ...], ...]
# Scores nearer to the middle are never a mistake, and those farther are one whatever the column.
_NEAR, _FAR = 2.0, 1e6


class CellLimits:
    """Log odds that rows have a wrong cell, by the columns of a table.

    Each cell is judged by its own column only: rows are read again in every pass, and hardly one is outside the limits.

    Parameters
    ----------
    values : ndarray, shape (n, p)
        The table.
    codes : tuple of tuple of float, p of them, optional
    """

    def __init__(self, values: FloatArray, codes: Codes = ()) -> None:
        width = values.shape[1]
        self._codes = {place: of_column for place, of_column in enumerate(codes) if of_column}
        self._lowest, self._highest = np.full(width, -np.inf), np.full(width, np.inf)
        self._columns: dict[int, tuple[Column, float]] = {}
        for place, cells in enumerate(values.T):
            known = ~np.isin(cells, self._codes.get(place, ()))
            if len(np.unique(cells[known])) <= FEW_VALUES:
                continue
            column = column_by_itself(place, cells, known, None)
            suspects = column.judged & (anything(column.scores) + _before(column) >= 0.0)
            column = column_by_itself(place, cells, known, suspects)
            before = _before(column)
            farthest = _farthest(before)
            self._columns[place] = column.light(), before
            self._lowest[place], self._highest[place] = column.value_at(-farthest), column.value_at(farthest)

    def __call__(self, values: FloatArray) -> FloatArray:
        """Log odds (m,) of rows (m, p), 0 where they are not above it."""
        odds = np.zeros(len(values))
        rows = np.zeros(0, dtype=np.intp)
        if (values.max(axis=0) > self._highest).any() or (values.min(axis=0) < self._lowest).any():
            rows = np.flatnonzero(((values > self._highest) | (values < self._lowest)).any(axis=1))
        for place, (column, before) in self._columns.items() if len(rows) else ():
            cells = values[rows, place]
            judged = column.allows(cells)
            odds[rows[judged]] = np.maximum(odds[rows[judged]], before + anything(column.own_scores(cells[judged])))
        for place, codes in self._codes.items():
            odds[np.isin(values[:, place], codes)] = CODE_ODDS
        return odds


def _before(column: Column) -> float:
    return odds_by_column(column, np.flatnonzero(column.judged & (np.abs(column.scores) > _NEAR)))


def _farthest(before: float) -> float:
    """Score at which a cell is a mistake as likely as not."""
    return float(brentq(lambda score: before + float(anything(np.array([score]))[0]), _NEAR, _FAR))
