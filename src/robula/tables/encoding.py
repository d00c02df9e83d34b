"""Columns of a table to the columns of a regression, by scikit-learn's transformers, and as JSON."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder

from robula._validation import show
from robula.exceptions import InputError
from robula.tables.arrays import LARGEST

#: A text column with more different values than this is a name or a date, not a category.
MOST_LEVELS = 30
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
    missing : list of str
        Codes that stand for "missing" in any column.
    """

    numbers: list[str]
    categories: dict[str, list[str]]
    missing: list[str] = field(default_factory=list)

    @property
    def columns(self) -> list[str]:
        """The table's columns that are used."""
        return [*self.numbers, *self.categories]

    @property
    def names(self) -> list[str]:
        """Names of the columns that :meth:`design` returns."""
        levels = [f"{column}={level}" for column, levels in self.categories.items() for level in levels[1:]]
        return [*self.numbers, *levels]

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
            categories=[list(levels) for levels in self.categories.values()], drop="first", sparse_output=False
        )
        transformer = ColumnTransformer(
            [("numbers", "passthrough", self.numbers), ("categories", encoder, list(self.categories))]
        )
        texts = table[self.columns].astype(dict.fromkeys(self.categories, object))
        for column in self.categories:
            texts[column] = [str(value) for value in texts[column]]
        values = np.asarray(transformer.fit_transform(texts), dtype=np.float64)
        return pd.DataFrame(values, columns=self.names, index=table.index)

    def to_json(self) -> dict[str, Any]:
        """Return plain lists and dicts."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Encoding:
        """Return what :meth:`to_json` described."""
        return cls(
            [str(name) for name in stored["numbers"]],
            {str(name): [str(level) for level in levels] for name, levels in stored["categories"].items()},
            [str(code) for code in stored.get("missing", ())],
        )


def row_list(rows: Sequence[Any]) -> str:
    """Return the first few row numbers, and how many more there are."""
    more = f" and {len(rows) - 10} more" if len(rows) > 10 else ""
    return ", ".join(str(row) for row in rows[:10]) + more


def read_numbers(series: pd.Series) -> pd.Series | None:
    """Return a column as floats, unreadable and absurdly large cells as NaN, or None where it is a column of texts."""
    if series.dtype.kind in "mM" or isinstance(series.dtype, pd.PeriodDtype | pd.IntervalDtype):
        raise InputError(
            f"column {series.name!r} holds dates, durations or intervals ({series.dtype}); turn it into a number, such "
            f"as days since a date, or leave it out with --exclude {shlex.quote(str(series.name))}."
        )
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
            _refuse_number_formats(table[column])
            raise InputError(
                f"the text column {column!r} has {len(levels)} different values in {len(table)} rows: a name, a date "
                f"or an identifier, not a category. Leave it out with --exclude {column}, or group its values first."
            )
        if len(levels) > 1:
            categories[column] = [str(level) for level in levels.index]
    if not numbers and not categories:
        raise InputError(f"the feature column(s) {show(features, 120)} have the same value in every row.")
    return Encoding(numbers, categories)


def _refuse_number_formats(column: pd.Series) -> None:
    """Refuse a column that would be numbers but for commas, blanks, currency or per cent signs."""
    texts = column.astype(str)
    bare = pd.to_numeric(texts.str.replace(r"[\s,'%$\u20ac\u00a3]", "", regex=True), errors="coerce")
    if bare.notna().mean() >= _NUMERIC_SHARE:
        raise InputError(
            f"column {column.name!r} has numbers that are written as texts, such as {show(texts.iloc[0])}; write them "
            "with digits and a decimal point only, or leave the column out with --exclude."
        )


def with_numbers(table: pd.DataFrame, columns: list[str], missing: Sequence[str] = ()) -> pd.DataFrame:
    """Return the columns with those that are numbers as floats, and cells with a code for "missing" empty."""
    cells = table[columns]
    if missing:
        cells = cells.mask(cells.apply(coded_cells, codes=missing))
    read = {column: read_numbers(cells[column]) for column in columns}
    return pd.DataFrame(
        {column: cells[column] if values is None else values for column, values in read.items()}, index=table.index
    )


def coded_cells(column: pd.Series, codes: Sequence[str]) -> pd.Series:
    """Return which cells hold one of the codes: as a number ("-999" is -999.0 too), or as a text."""
    numbers = pd.to_numeric(pd.Series(codes, dtype=object), errors="coerce").dropna().astype(np.float64)
    if column.dtype.kind in "iuf":
        return column.isin(numbers)
    return column.astype(str).str.strip().isin(codes) | pd.to_numeric(column, errors="coerce").isin(numbers)
