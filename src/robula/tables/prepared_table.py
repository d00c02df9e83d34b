"""The rows and columns of a table that a model can be made of, or why none can."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from robula._types import BoolArray
from robula._validation import show
from robula.exceptions import InputError
from robula.tables.encoding import Encoding, learn_encoding, row_list, with_numbers

#: More columns than this are hardly meant.
MOST_COLUMNS = 500


class PreparedTable(NamedTuple):
    """The rows and columns of a table that a model can be made of.

    Attributes
    ----------
    rows : DataFrame
        Complete rows; columns of numbers as floats.
    encoding : Encoding
    used : ndarray of bool
        Which rows of the table these are.
    notes : list of str
        What was done, in sentences.
    """

    rows: pd.DataFrame
    encoding: Encoding
    used: BoolArray
    notes: list[str]


def prepare_table(
    table: pd.DataFrame,
    *,
    target: str | None,
    features: list[str] | None = None,
    exclude: Sequence[str] = (),
    drop_missing: bool = False,
) -> PreparedTable:
    """Pick columns, read numbers, find complete rows and learn the encoding of the features."""
    columns = pick_columns(table, target, features, list(exclude))
    numbers = with_numbers(table, columns if target is None else [*columns, target])
    used = complete_rows(numbers, table, drop=drop_missing)
    if used.sum() < 2:
        raise InputError(f"{int(used.sum())} row(s) without missing values are left; 2 or more are needed.")
    rows = numbers[used]
    encoding = learn_encoding(rows, columns)
    notes = [] if used.all() else [f"{int((~used).sum())} row(s) with missing values were left out."]
    notes += [
        f"{column!r} is compared with {levels[0]!r}, its commonest value."
        for column, levels in encoding.categories.items()
    ]
    return PreparedTable(rows, encoding, used, notes)


def pick_columns(table: pd.DataFrame, target: str | None, features: list[str] | None, exclude: list[str]) -> list[str]:
    """Return the feature columns: those named, or all but the target and the excluded."""
    for name in [*(features or []), *exclude, *([target] if target is not None else [])]:
        if name not in table.columns:
            raise InputError(f"there is no column {name!r}; the file has {show(list(table.columns), 200)}.")
    chosen = features if features is not None else [name for name in table.columns if name != target]
    chosen = [name for name in dict.fromkeys(chosen) if name not in exclude]
    if target in chosen:
        raise InputError(f"the target {target!r} is among the features too.")
    if not chosen:
        raise InputError("there is no feature column; name some with --features, or check the delimiter of the file.")
    if len(chosen) > MOST_COLUMNS:
        raise InputError(
            f"there are {len(chosen)} feature columns, and at most {MOST_COLUMNS} can be used; name the ones that "
            "matter with --features."
        )
    return chosen


def complete_rows(table: pd.DataFrame, original: pd.DataFrame, *, drop: bool) -> BoolArray:
    """Return which rows have no missing value, or refuse them unless they are to be dropped."""
    missing = table.isna()
    complete = np.asarray(~missing.any(axis=1))
    if complete.all() or drop:
        return complete
    rows = list(table.index[~complete])
    column = next(name for name in table.columns if missing[name].any())
    first = missing.index[missing[column]][0]
    cell = original[column][first]
    what = "nothing" if pd.isna(cell) else show(str(cell))
    raise InputError(
        f"{len(rows)} row(s) have missing, unreadable or infinite values: {row_list(rows)} (such as {what} in column "
        f"{column!r} of row {first}). Fill them in, or leave these rows out with --drop-missing."
    )


def response_of(prepared: PreparedTable, target: str, model: str, *, classes: bool) -> pd.Series:
    """Return the target's column: labels of two classes as texts, or numbers."""
    y = prepared.rows[target]
    if classes:
        return two_classes(y)
    if y.dtype.kind not in "iuf":
        raise InputError(f"the target {target!r} is a column of texts; the {model} model needs numbers.")
    return y


def two_classes(y: pd.Series) -> pd.Series:
    """Return labels as texts, whole numbers without their decimals; refuse all but two."""
    whole = y.dtype.kind == "f" and bool((y == y.round()).all())
    labels = (y.astype(int) if whole else y).astype(str)
    found = labels.value_counts()
    if len(found) != 2:
        rare = found.index[-1]
        rows = list(labels.index[labels == rare])[:5]
        raise InputError(
            f"the target has {len(found)} different values, and the logistic model needs two"
            + (f" ({rare!r} is in row(s) {rows})." if len(found) > 2 else ".")
        )
    return labels


def require_numbers(encoding: Encoding) -> list[str]:
    """Return the columns, or refuse those of texts."""
    if encoding.categories:
        raise InputError(
            f"the mean model needs numbers, and {next(iter(encoding.categories))!r} is a column of texts; leave it out "
            "with --exclude."
        )
    return encoding.numbers
