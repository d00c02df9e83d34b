"""Refuse numbers that a model cannot have: in which rows they are, and whether they look like a code for "missing"."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from robula._types import BoolArray, FloatArray
from robula.exceptions import InputError
from robula.tables.missing_codes import looks_like_a_code

if TYPE_CHECKING:
    import pandas as pd


def refuse_values(
    values: FloatArray, wrong: BoolArray, name: str, *, what: str, advice: str, labels: pd.Index | None = None
) -> None:
    """Refuse values (n,) where any is wrong.

    Parameters
    ----------
    values : ndarray, shape (n,)
    wrong : ndarray of bool, shape (n,)
    name : str
        Of the values: "y".
    what : str
        What the wrong ones are: "that are not counts".
    advice : str
        What is allowed and what to do, in sentences.
    labels : Index, optional
        What the user calls the rows; without it they are named by their places.
    """
    if not wrong.any():
        return
    first = int(wrong.argmax())
    place = f"{name}[{first}]={values[first]:g}" if labels is None else f"{values[first]:g} in row {labels[first]}"
    raise InputError(
        f"{name} has {int(wrong.sum())} value(s) {what}, first {place}; {advice}{code_hint(values[wrong])}"
    )


def code_hint(values: FloatArray) -> str:
    """Say which of some wrong values (k,) looks like a code for "missing", the commonest; nothing if none does."""
    different, counts = np.unique(values, return_counts=True)
    codes = [place for place in np.argsort(-counts) if looks_like_a_code(float(different[place]))]
    if not codes:
        return ""
    code, times = different[codes[0]], counts[codes[0]]
    often = "once" if times == 1 else f"{times} times"
    return f" {code:g}, {often}, looks like a code for missing: take {code:g} for missing and drop these rows."
