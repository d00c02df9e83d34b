"""Wrong labels for binary data: at random, or where a model is surest."""

from __future__ import annotations

import numpy as np

from robula._types import ArrayInput, BoolArray
from robula._validation import check_contamination
from robula.exceptions import InputError
from robula.tables.arrays import as_vector


def random_flips(rows: int, share: float, rng: np.random.Generator) -> BoolArray:
    """Return which of ``rows`` labels to flip: a random ``share`` of them, shape (rows,)."""
    share = check_contamination(share)
    flips: BoolArray = rng.permutation(rows) < round(share * rows)
    return flips


def confident_flips(probabilities: ArrayInput, share: float) -> BoolArray:
    """Return which labels to flip: the ``share`` of rows whose own label is most probable, ties in row order.

    Parameters
    ----------
    probabilities : array-like, shape (n,)
        Probability that a model of the clean data gives to each row's own label.
    share : float
    """
    share = check_contamination(share)
    values = as_vector(probabilities, "probabilities", np.size(probabilities))
    if not ((values >= 0.0) & (values <= 1.0)).all():
        raise InputError("probabilities must lie between 0 and 1: the probability of each row's own label.")
    flips = np.zeros(len(values), dtype=np.bool_)
    flips[np.argsort(-values, kind="stable")[: round(share * len(values))]] = True
    return flips
