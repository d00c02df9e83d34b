"""Rows that are settled before the others are judged: unmistakably wrong cells, and copies of one row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robula._types import BoolArray, FloatArray, IntArray
from robula.models.law import ModelWithLaw
from robula.selectors.trust import trust_constants as constants


class SetAside(NamedTuple):
    """A table in which some rows are wrong for sure, or copies of one another: they must not say what is usual.

    Attributes
    ----------
    kept : ndarray of int, shape (m,)
        Places of the rows that are judged, one of each group of copies among them.
    place : ndarray of int, shape (n,)
        Which of the kept rows each row is; 0 for wrong ones.
    times : ndarray, shape (n,)
        How often each row is in the table, if it was copied in; infinity for wrong rows; 1 for the others, also where
        chance repeats them.
    """

    kept: IntArray
    place: IntArray
    times: FloatArray

    @property
    def number(self) -> int:
        """How many rows are not judged."""
        return len(self.place) - len(self.kept)

    @property
    def wrong(self) -> IntArray:
        """Places of rows with a wrong cell."""
        return np.flatnonzero(np.isinf(self.times))

    @property
    def copied(self) -> IntArray:
        """Places of rows that are copies of one another."""
        return np.flatnonzero((self.times > 1.0) & np.isfinite(self.times))

    def left_of(self, contamination: float) -> float:
        """The share of the kept rows that may be called bad besides these: room for one at least."""
        return max(contamination * len(self.place) - self.number, 1.0) / len(self.kept)

    def spread(self, weights: FloatArray) -> FloatArray:
        """Weights (n,) of all rows from those (m,) of the kept ones: which of k copies is the right one is open."""
        return weights[self.place] / self.times


def set_aside(model: ModelWithLaw, odds: FloatArray | None = None) -> SetAside | None:
    """Look for rows with an unmistakably wrong cell and for rows that were copied in; None if there are none.

    ``odds`` are the log odds (n,) of a wrong cell in each row, if they are known otherwise than from the model. Labels
    are too few values to tell rows that were copied in from those that chance repeats.
    """
    if model.response_kind == "vector":
        return None
    # A label hardly tells whether its row's cells are right, so that they alone decide, at the price that a row pays
    # whose number agrees with the model.
    label = model.response_kind == "label"
    least = constants.MOST_FOR_APART - (constants.GROSS_ODDS if label else 0.0)
    wrong: BoolArray = (model.cell_odds() if odds is None else odds) >= least
    if wrong.sum() > constants.MOST_BAD * model.n_rows:
        wrong = np.zeros(model.n_rows, dtype=np.bool_)
    stands_for, times = _copies(model, wrong)
    kept = np.unique(stands_for[~wrong])
    if len(kept) == model.n_rows:
        return None
    place = np.where(wrong, 0, np.searchsorted(kept, stands_for))
    return SetAside(kept, place, np.where(wrong, np.inf, times))


def _copies(model: ModelWithLaw, wrong: BoolArray) -> tuple[IntArray, FloatArray]:
    """The row that each row (n,) is a copy of, itself for most, and how often that one is in the table.

    A copy is there five times as often as any row that is none. Chance repeats rows too where columns are coarse, but
    then it repeats many of them.
    """
    every, once = np.arange(model.n_rows), np.ones(model.n_rows)
    if model.response_kind == "label" or model.response is None:
        return every, once
    response = model.response
    if np.unique(response[~wrong], return_counts=True)[1].max() < constants.COPIED:
        return every, once
    recorded = model.covariates if model.cells is None else model.cells
    # Zeros have one sign after the sum; whole rows are compared as strings of bytes.
    table = np.ascontiguousarray(np.column_stack([recorded, response])[~wrong] + 0.0)
    rows = table.view(np.dtype((np.void, table.itemsize * table.shape[1])))[:, 0]
    _, first, which, often = np.unique(rows, return_index=True, return_inverse=True, return_counts=True)
    ordered = np.sort(often)[::-1]
    steps = np.flatnonzero(ordered[:-1] >= constants.COPIED * ordered[1:])
    if not len(steps):
        return every, once
    copied = often >= ordered[steps[-1]]
    if int((often - 1)[copied].sum()) > constants.MOST_BAD * model.n_rows:
        return every, once
    right = every[~wrong]
    every[right] = np.where(copied[which], right[first[which]], right)
    once[right] = np.where(copied, often, 1)[which]
    return every, once
