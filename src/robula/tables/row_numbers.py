"""Rows that a user names: numbers and ranges, or a file that lists them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd

from robula._types import BoolArray
from robula._validation import show
from robula.exceptions import InputError
from robula.tables.table_files import read_table

#: The column of a file that holds the numbers, as in rows.csv of a run.
COLUMN = "row"
# Its name there if the table has a column "row" of its own, too.
_COLUMN = re.compile(r"(robula_)*row")
_RANGE = re.compile(r"(\d+)(?:\s*-\s*(\d+))?")


def named_rows(text: str, table: pd.DataFrame) -> BoolArray:
    """Return which rows of a table, numbered from 1, are named: "3,17,40-52", or a file with a column ``row``."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    matches = [_RANGE.fullmatch(part) for part in parts]
    ends = [(int(match[1]), int(match[2] or match[1])) for match in matches if match]
    if not parts or len(ends) < len(parts):
        ends = [(number, number) for number in _numbers_in_file(text)]
    named = np.zeros(len(table), dtype=bool)
    for first, last in ends:
        if not 1 <= first <= last <= len(table):
            wrong = f"{first}" if first == last else f"{first}-{last}"
            raise InputError(f"--drop-rows names {wrong}; the file has rows 1 to {len(table)}.")
        named[first - 1 : last] = True
    if named.all():
        raise InputError(
            f"--drop-rows names all {len(table)} rows. A run's rows.csv lists every row: keep the lines that are to go."
        )
    return named


def _numbers_in_file(name: str) -> list[int]:
    path = Path(name)
    if not path.is_file():
        raise InputError(
            f"--drop-rows {show(name)} is neither row numbers, such as 3,17,40-52, nor a file with a column {COLUMN!r}."
        )
    table = read_table(path)
    column = max(filter(_COLUMN.fullmatch, table.columns), key=len, default=None)
    if column is None:
        raise InputError(
            f"{path.name} has no column {COLUMN!r} with the numbers of rows; it has {show(list(table.columns), 200)}."
        )
    numbers = pd.to_numeric(table[column], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    strange = ~(numbers == np.floor(numbers))
    if strange.any():
        cell = table[column].iloc[int(strange.argmax())]
        raise InputError(f"{path.name} has {show(str(cell))} in its column {column!r}; rows are whole numbers from 1.")
    return [int(number) for number in numbers]
