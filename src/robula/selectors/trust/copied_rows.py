"""Rows that were copied into a table many times over: together they count as one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robula._types import FloatArray, IntArray
from robula.models.law import ModelWithLaw
from robula.selectors.trust import trust_constants as constants


class CopiedRows(NamedTuple):
    """A table in which some rows are copies of one another.

    Attributes
    ----------
    distinct : ndarray of int, shape (m,)
        Places of the rows without the copies, one of each group of them kept.
    place : ndarray of int, shape (n,)
        Which of the distinct rows each row is.
    times : ndarray of int, shape (n,)
        How often each row is in the table, if it was copied in; 1 for the others, also where chance repeats them.
    """

    distinct: IntArray
    place: IntArray
    times: IntArray

    @property
    def copies(self) -> int:
        """How many rows are there only because another one was copied."""
        return len(self.place) - len(self.distinct)

    def left_of(self, contamination: float) -> float:
        """The share of the distinct rows that may be called bad besides the copies: room for one at least."""
        return max(contamination * len(self.place) - self.copies, 1.0) / len(self.distinct)

    def spread(self, weights: FloatArray) -> FloatArray:
        """Weights (n,) of all rows from those (m,) of the distinct ones: which of k copies is the right one is open."""
        return weights[self.place] / self.times


def copied_rows(model: ModelWithLaw) -> CopiedRows | None:
    """Look for rows that are in the table five times as often as any other that is not; None if there are none.

    Chance repeats rows too where columns are coarse, but then it repeats many of them.
    """
    if model.response is None or np.unique(model.response, return_counts=True)[1].max() < constants.COPIED:
        return None
    recorded = model.covariates if model.cells is None else model.cells
    # Zeros have one sign after the sum; whole rows are compared as strings of bytes.
    table = np.ascontiguousarray(np.column_stack([recorded, model.response]) + 0.0)
    rows = table.view(np.dtype((np.void, table.itemsize * table.shape[1])))[:, 0]
    _, first, which, often = np.unique(rows, return_index=True, return_inverse=True, return_counts=True)
    ordered = np.sort(often)[::-1]
    steps = np.flatnonzero(ordered[:-1] >= constants.COPIED * ordered[1:])
    if not len(steps):
        return None
    copied = often >= ordered[steps[-1]]
    if int((often - 1)[copied].sum()) > constants.MOST_BAD * model.n_rows:
        return None
    every = np.arange(model.n_rows)
    stands_for = np.where(copied[which], first[which], every)
    distinct = np.unique(stands_for)
    return CopiedRows(distinct, np.searchsorted(distinct, stands_for), np.where(copied, often, 1)[which])
