"""The rows and columns of a table that a model can be made of, or why none can."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from robula._types import BoolArray, FloatArray
from robula._validation import show
from robula.exceptions import InputError
from robula.tables.encoding import Encoding, coded_cells, learn_encoding, row_list, with_numbers
from robula.tables.row_numbers import named_rows

#: More columns than this are hardly meant.
MOST_COLUMNS = 500
#: And more classes than this are numbers, or names.
MOST_CLASSES = 50
# Columns with missing values that are named, those with most first.
_MOST_NAMED = 3
# With fewer rows left than this share, a column that is nearly empty is the reason, as a rule.
_LEAST_LEFT = 0.5


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
    beside: Sequence[str] = (),
    missing: Sequence[str] = (),
    drop_missing: bool = False,
    drop_rows: str | None = None,
) -> PreparedTable:
    """Pick columns, read numbers, find complete rows and learn the encoding of the features.

    Columns ``beside`` the features, such as an exposure, are read and must be complete, but are no features. Cells with
    one of the codes ``missing`` are empty. ``drop_rows`` is as for :func:`robula.tables.row_numbers.named_rows`.
    """
    if len({*beside, target}) <= len(beside) or (set(beside) & set(features or ())):
        raise InputError("the target, the exposure, the row weights and the features must be different columns.")
    columns = pick_columns(table, target, features, [*exclude, *beside])
    read = [*columns, *beside, *([] if target is None else [target])]
    left = table if drop_rows is None else table[~named_rows(drop_rows, table)]
    numbers = with_numbers(left, read, missing)
    rows = numbers[complete_rows(numbers, left, drop=drop_missing, remedy=", or columns with --exclude")]
    if len(rows) < 2:
        lacking = f" {_lacking(numbers)} Leave out such columns with --exclude." if len(numbers) > len(rows) else ""
        raise InputError(f"{len(rows)} row(s) without missing values are left, and 2 or more are needed.{lacking}")
    encoding = replace(learn_encoding(rows, columns), missing=list(missing))
    if target is not None and rows[target].nunique() < 2:
        raise InputError(
            f"the target {target!r} is {rows[target].iloc[0]} in every row: there is nothing to explain. Name "
            "another column with --target."
        )
    notes = [f"{len(table) - len(left)} row(s) of --drop-rows were left out."] if len(left) < len(table) else []
    if len(rows) < len(left):
        notes.append(f"{len(left) - len(rows)} row(s) with missing values were left out. {_lacking(numbers)}")
    if len(rows) < _LEAST_LEFT * len(left):
        notes.append(f"only {len(rows)} of {len(table)} rows are left: leave out such columns with --exclude instead.")
    unseen = [code for code in missing if not any(coded_cells(table[name], [code]).any() for name in read)]
    notes += [f"no cell of the columns that are used has the code {code!r} of --missing." for code in unseen]
    notes += [
        f"{column!r} is compared with {levels[0]!r}, its commonest value."
        for column, levels in encoding.categories.items()
    ]
    notes += doubtful_columns(rows, encoding, regression=target is not None)
    return PreparedTable(rows, encoding, np.asarray(table.index.isin(rows.index)), notes)


def doubtful_columns(rows: pd.DataFrame, encoding: Encoding, *, regression: bool) -> list[str]:
    """Say which columns of numbers can hardly be meant as features: row numbers, constants, copies, too many."""
    notes = []
    first: dict[bytes, str] = {}
    for name in encoding.numbers:
        values = rows[name].to_numpy(dtype=np.float64)
        if (values == values[0]).all():
            what = f"is {values[0]:g} in every row: the data say nothing about it"
        elif _counts_rows(values, rows.index.to_numpy(dtype=np.float64)):
            what = "counts the rows: an identifier, it seems"
        elif values.tobytes() in first:
            what = f"is the same as {first[values.tobytes()]!r} in every row: the data cannot tell the two apart"
        else:
            first[values.tobytes()] = name
            continue
        notes.append(f"{name!r} {what}. It was used; leave it out with --exclude {shlex.quote(str(name))}.")
    if regression and len(encoding.names) >= len(rows):
        notes.append(
            f"there are {len(rows)} rows for {len(encoding.names)} columns and an intercept: the prior decides much of "
            "the answer, and bad rows can hardly be told from good ones. Name fewer columns with --features."
        )
    return notes


def _counts_rows(values: FloatArray, places: FloatArray) -> bool:
    """Whether a column of three or more is the number of the row in the file, up to where it starts."""
    return len(values) >= 3 and bool((values - places == values[0] - places[0]).all())


def pick_columns(table: pd.DataFrame, target: str | None, features: list[str] | None, exclude: list[str]) -> list[str]:
    """Return the feature columns: those named, or all but the target and the excluded."""
    for name in [*(features or []), *exclude, *([target] if target is not None else [])]:
        if name not in table.columns:
            numbers = pd.to_numeric(pd.Series(list(table.columns)), errors="coerce").notna().all()
            hint = " These are numbers: the first line of the file must have the names." if numbers else ""
            if len(table.columns) == 1:
                hint = " Columns are told apart by commas, semicolons or tabs: check the delimiter of the file."
            raise InputError(f"there is no column {name!r}; the file has {show(list(table.columns), 200)}.{hint}")
    if target in exclude:
        raise InputError(f"the target {target!r} cannot be left out with --exclude: it is what is explained.")
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


def complete_rows(table: pd.DataFrame, original: pd.DataFrame, *, drop: bool, remedy: str = "") -> BoolArray:
    """Return which rows have no missing value, or refuse them unless they are to be dropped.

    ``remedy`` says what else could be done about them.
    """
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
        f"{column!r} of row {first}). {_lacking(table)} Fill them in, or leave these rows out with "
        f"--drop-missing{remedy}."
    )


def _lacking(table: pd.DataFrame) -> str:
    """Say which columns lack most values."""
    counts = table.isna().sum().sort_values(ascending=False, kind="stable")
    worst = "; ".join(f"{name!r} lacks {count}" for name, count in counts[counts > 0].head(_MOST_NAMED).items())
    return f"By column: {worst}."


def response_of(prepared: PreparedTable, target: str, model: str, *, classes: bool) -> pd.Series:
    """Return the target's column: labels as texts, or numbers."""
    y = prepared.rows[target]
    if classes:
        return class_labels(y, model)
    if y.dtype.kind not in "iuf":
        raise InputError(
            f"the target {target!r} is a column of texts, such as {show(str(y.iloc[0]))}; the {model} model needs "
            "numbers. Name another column with --target, or use --model logistic or multinomial for classes."
        )
    return y


def class_labels(y: pd.Series, model: str) -> pd.Series:
    """Return labels as texts, whole numbers without their decimals; two classes for logistic, or a few."""
    whole = y.dtype.kind == "f" and bool((y == y.round()).all())
    labels = (y.astype(int) if whole else y).astype(str)
    found = labels.value_counts()
    most = 2 if model == "logistic" else MOST_CLASSES
    if not 2 <= len(found) <= most:
        rare = found.index[-1]
        rows = list(labels.index[labels == rare])[:5]
        hint = " For more classes than two, use --model multinomial." if model == "logistic" else ""
        raise InputError(
            f"the target has {len(found)} different values, and the {model} model needs "
            + ("two" if most == 2 else f"two to {most}")
            + (f" ({rare!r} is in row(s) {row_list(rows)}).{hint}" if len(found) > 2 else ".")
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
