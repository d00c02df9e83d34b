"""Columns of a table to the columns of a regression, by scikit-learn's transformers, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder

from robula._types import BoolArray
from robula._validation import show
from robula.exceptions import InputError
from robula.tables.arrays import LARGEST

#: A text column with more different values than this is a name or a date, not a category.
MOST_LEVELS = 30
#: More columns than this are hardly meant.
MOST_COLUMNS = 500
# A column of which this share can be read as numbers is a column of numbers with unreadable cells.
_NUMERIC_SHARE = 0.8


@dataclass(frozen=True)
class Encoding:
    """How features become numbers.

    Attributes
    ----------
    numbers : list of str
        Columns that are taken as they are.
    categories : dict of list
        For each other column its levels, the commonest first; that one is the baseline, the others get a column each.
    """

    numbers: list[str]
    categories: dict[str, list[str]]

    @property
    def columns(self) -> list[str]:
        """The table's columns that are used."""
        return [*self.numbers, *self.categories]

    def design(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the columns of the regression; the table has no missing values in them."""
        for column, levels in self.categories.items():
            strange = ~table[column].astype(str).isin(levels)
            if strange.any():
                rows = list(table.index[strange])
                raise InputError(
                    f"column {column!r} has values that were not in the data of the fit, such as "
                    f"{show(str(table[column][rows[0]]))} in row(s) {row_list(rows)}; known are {show(levels, 120)}."
                )
        encoder = OneHotEncoder(
            categories=[list(levels) for levels in self.categories.values()],
            drop="first",
            sparse_output=False,
            feature_name_combiner=lambda feature, level: f"{feature}={level}",
        )
        transformer = ColumnTransformer(
            [("numbers", "passthrough", self.numbers), ("categories", encoder, list(self.categories))],
            verbose_feature_names_out=False,
        )
        texts = table[self.columns].astype(dict.fromkeys(self.categories, object))
        for column in self.categories:
            texts[column] = [str(value) for value in texts[column]]
        values = np.asarray(transformer.fit_transform(texts), dtype=np.float64)
        names = [str(name) for name in transformer.get_feature_names_out()]
        return pd.DataFrame(values, columns=names, index=table.index)

    def to_json(self) -> dict[str, Any]:
        """Return plain lists and dicts."""
        return asdict(self)


def row_list(rows: Sequence[Any]) -> str:
    """Return the first few row numbers, and how many more there are."""
    more = f" and {len(rows) - 10} more" if len(rows) > 10 else ""
    return ", ".join(str(row) for row in rows[:10]) + more


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


def read_numbers(series: pd.Series) -> pd.Series | None:
    """Return a column as floats, unreadable and absurdly large cells as NaN, or None where it is a column of texts."""
    if series.dtype.kind in "iufb":
        numbers = series.astype(np.float64)
    else:
        present = series.notna()
        numbers = pd.to_numeric(series, errors="coerce").astype(np.float64)
        if not present.any() or numbers[present].notna().mean() < _NUMERIC_SHARE:
            return None
    return numbers.where(numbers.abs() <= LARGEST)


def learn_encoding(table: pd.DataFrame, features: list[str]) -> Encoding:
    """Decide for each feature whether it is a number or a category; the table is without missing values.

    A category with one value says nothing and is left out.
    """
    numbers, categories = [], {}
    for column in features:
        if table[column].dtype.kind in "iuf":
            numbers.append(column)
            continue
        levels = table[column].astype(str).value_counts(sort=True)
        if len(levels) > MOST_LEVELS or len(levels) > max(2, len(table) // 2):
            raise InputError(
                f"the text column {column!r} has {len(levels)} different values in {len(table)} rows: a name, a date "
                f"or an identifier, not a category. Leave it out with --exclude {column}, or group its values first."
            )
        if len(levels) > 1:
            categories[column] = [str(level) for level in levels.index]
    if not numbers and not categories:
        raise InputError(f"the feature column(s) {show(features, 120)} have the same value in every row.")
    return Encoding(numbers, categories)


def with_numbers(table: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Return the columns with those that are numbers as floats."""
    read = {column: read_numbers(table[column]) for column in columns}
    return pd.DataFrame(
        {column: table[column] if values is None else values for column, values in read.items()}, index=table.index
    )


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
