"""Read a CSV or Parquet file as a table, or refuse it in one sentence; write one, harmless in a spreadsheet."""

from __future__ import annotations

import csv
import io
import os
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from robula._files import write_text
from robula._imports import import_extra
from robula._validation import show
from robula.exceptions import InputError

_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab"}
# Characters that a header has at most.
_HEADER = 2**20
_PARQUET = {".parquet", ".pq"}
# What pandas says before it says what is wrong.
_PANDAS = "Error tokenizing data. C error: "
# How files begin that people take for tables.
_NOT_CSV = {
    b"PK\x03\x04": "a workbook or a zip archive",
    b"\xd0\xcf\x11\xe0": "an Excel workbook",
    b"\x1f\x8b": "compressed",
    b"PAR1": "Parquet under another name (call it .parquet)",
    b'{"': "JSON",
    b"[{": "JSON",
    b"<!": "HTML",
    b"<?xml": "XML",
}


def read_table(path: Path) -> pd.DataFrame:
    """Return the table with its data rows numbered from 1.

    CSV files have a header; the delimiter (comma, semicolon or tab) and, in semicolon files, the decimal comma are
    recognised. Anything else that cannot be read is an InputError.
    """
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder; pass a CSV or Parquet file.")
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}.")
    table = _read_parquet(path) if path.suffix.lower() in _PARQUET else _read_csv(path)
    table.columns = pd.Index([str(column) for column in table.columns])
    twice = [name for name, count in Counter(table.columns).items() if count > 1]
    if twice:
        raise InputError(f"{path.name}: the column {twice[0]!r} comes twice; give every column a name of its own.")
    if table.empty:
        raise InputError(f"{path.name} has a header and no data rows; one line a row is needed below it.")
    table.index = pd.RangeIndex(1, len(table) + 1)
    return table


def _read_parquet(path: Path) -> pd.DataFrame:
    import_extra("pyarrow", "parquet", "reading Parquet files")
    try:
        return pd.read_parquet(path, engine="pyarrow").reset_index(drop=True)
    except Exception as error:  # a damaged file can fail anywhere inside Arrow
        raise InputError(f"{path.name} cannot be read as Parquet ({_first_line(error)}).") from error


def _read_csv(path: Path) -> pd.DataFrame:
    raw = path.read_bytes()
    if not raw.strip():
        raise InputError(f"{path.name} is empty; pass a CSV file with a header and one line a row.")
    for start, kind in _NOT_CSV.items():
        if raw.lstrip().startswith(start):
            raise InputError(f"{path.name} is {kind}, not a CSV file; save it as CSV (UTF-8, with a header).")
    if b"\0" in raw[:65536]:
        raise InputError(f"{path.name} is not text (it holds zero bytes); pass a CSV file, or Parquet as .parquet.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path.name} is not UTF-8 text (byte {error.start}); save it as a CSV file in UTF-8."
        ) from error
    header, delimiter = _header(text, path.name)
    twice = [name for name, count in Counter(header).items() if count > 1]
    if twice:
        raise InputError(f"{path.name}: the column {twice[0]!r} comes twice; give every column a name of its own.")
    table = _parse(text, delimiter, ".", path.name)
    if delimiter == ";":
        # Where a comma separates decimals, columns of numbers come out as text.
        other = _parse(text, delimiter, ",", path.name)
        if _numeric_columns(other) > _numeric_columns(table):
            return other
    return table


def _header(text: str, name: str) -> tuple[list[str], str]:
    """Return the first record, and the delimiter that gives it the most fields."""
    best: tuple[list[str], str] = ([], ",")
    for delimiter in _DELIMITERS:
        try:
            record = next(csv.reader(io.StringIO(text[:_HEADER]), delimiter=delimiter, skipinitialspace=True), [])
        except csv.Error as error:
            raise InputError(f"{name} is not a CSV file ({error}).") from error
        if len(record) > len(best[0]):
            best = (record, delimiter)
    return best


def _parse(text: str, delimiter: str, decimal: str, name: str) -> pd.DataFrame:
    with warnings.catch_warnings():
        # pandas only warns where rows are longer than the header; that is data lost.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            return pd.read_csv(
                io.StringIO(text),
                sep=delimiter,
                decimal=decimal,
                index_col=False,
                skipinitialspace=True,
                low_memory=False,
            )
        except (pd.errors.ParserError, pd.errors.ParserWarning, pd.errors.EmptyDataError, csv.Error) as error:
            raise InputError(
                f"{name} cannot be read as a table with {_DELIMITERS[delimiter]}s between the columns "
                f"({_first_line(error)}); check quoting and that every row has as many fields as the header."
            ) from error
        except (ValueError, OverflowError) as error:
            raise InputError(f"{name} cannot be read as a table ({_first_line(error)}).") from error


def _numeric_columns(table: pd.DataFrame) -> int:
    return sum(dtype.kind in "iuf" for dtype in table.dtypes)


def _first_line(error: BaseException) -> str:
    said = str(error).strip() or type(error).__name__
    return show(said.splitlines()[0].removeprefix(_PANDAS), limit=160)


# A spreadsheet takes a cell that begins with one of these for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
# Rows of a table that are turned into text at a time: as objects they take four times their memory.
_WRITTEN_AT_ONCE = 2**14


def write_table(table: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table without its index; see :func:`csv_text`."""
    write_text(path, csv_text(table))


def csv_text(table: pd.DataFrame) -> str:
    """Return a table as CSV, with an apostrophe before texts that a spreadsheet would run as a formula."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow([_harmless(str(name)) for name in table.columns])
    for first in range(0, len(table), _WRITTEN_AT_ONCE):
        part = table.iloc[first : first + _WRITTEN_AT_ONCE]
        writer.writerows(zip(*(_as_written(part.iloc[:, place]) for place in range(table.shape[1])), strict=True))
    return written.getvalue()


def _as_written(column: pd.Series) -> list[Any]:
    """Cells of a column: Python's own numbers, texts made harmless, and nothing where a cell is missing.

    What ``DataFrame.to_csv`` writes, in three fifths of its time.
    """
    missing = column.isna().to_numpy(dtype=bool)
    # Short floats and dates have fewer digits as texts than as Python's own.
    short = column.dtype.kind in "Mm" or (column.dtype.kind == "f" and column.dtype != np.float64)
    cells: list[Any] = (column.astype(str) if short else column).tolist()
    if column.dtype.kind not in "biuf":
        cells = [_harmless(cell) for cell in cells]
    for place in np.flatnonzero(missing).tolist():
        cells[place] = ""
    return cells


def _harmless(cell: Any) -> Any:
    if not isinstance(cell, str) or not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell)  # -999 in a column of texts is a number to a spreadsheet, too
        return cell
    except ValueError:
        return f"'{cell}"
