"""Write a table as CSV: whole or not at all, and harmless in a spreadsheet."""

from __future__ import annotations

import os
from typing import Any

import pandas as pd

from robula._files import write_text

# A spreadsheet takes a cell that begins with one of these for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_table(table: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table without its index; see :func:`csv_text`."""
    write_text(path, csv_text(table))


def csv_text(table: pd.DataFrame) -> str:
    """Return a table as CSV, with an apostrophe before texts that a spreadsheet would run as a formula."""
    columns = [table.iloc[:, position] for position in range(table.shape[1])]
    safe = pd.concat([column if column.dtype.kind in "biuf" else column.map(_harmless) for column in columns], axis=1)
    text: str = safe.to_csv(
        index=False, header=[_harmless(str(column.name)) for column in columns], lineterminator="\n"
    )
    return text


def _harmless(cell: Any) -> Any:
    if not isinstance(cell, str) or not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell)  # -999 in a column of texts is a number to a spreadsheet, too
        return cell
    except ValueError:
        return f"'{cell}"
