"""The committed table: lines are appended whole, the last line of a cell counts."""

from __future__ import annotations

import csv
import fcntl
import io
import math
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.realdata.plan import Cell

KEYS = list(Cell._fields)
FIGURES = [
    "family", "tuned_on", "gross", "rows", "columns", "removed", "below_half", "good_weight", "bad_weight", "move",
    "error", "error_max", "size", "gain", "coverage", "mean_ratio", "auc", "precision", "recall", "verdict", "warnings",
    "seconds", "skipped", "failed",
]  # fmt: skip
COLUMNS = [*KEYS, *FIGURES]
_WHOLE = ["rows", "columns", "below_half"]
_TEXT = ["set", "kind", "method", "contamination", "family", "verdict", "warnings", "skipped", "failed"]


def read(path: Path) -> pd.DataFrame:
    """One line a cell, in the order they were finished; a line that was cut off by a kill is no line."""
    if not path.exists():
        return pd.DataFrame(columns=COLUMNS)
    text = path.read_text()
    whole = text[: text.rfind("\n") + 1]
    table = pd.read_csv(
        io.StringIO(whole), dtype=dict.fromkeys(_TEXT, "object"), keep_default_na=False, na_values=["", "nan"]
    )
    table[_TEXT] = table[_TEXT].fillna("")
    table[_WHOLE] = table[_WHOLE].astype("Int64")
    return table.drop_duplicates(KEYS, keep="last").reset_index(drop=True)


def finished(path: Path) -> set[Cell]:
    """The cells that need not be run again; those that failed are tried again."""
    table = read(path)
    return {Cell(*key) for key in table.loc[table["failed"] == "", KEYS].itertuples(index=False, name=None)}


def append(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Add lines, all of them or none."""
    lines = io.StringIO()
    writer = csv.DictWriter(lines, COLUMNS, lineterminator="\n")
    for row in rows:
        writer.writerow({name: _short(value) for name, value in row.items()})
    with _locked(path) as file:
        text = file.read()
        if not text:
            file.write(",".join(COLUMNS) + "\n")
        elif not text.endswith("\n"):
            file.truncate(len(text[: text.rfind("\n") + 1].encode()))
        file.seek(0, os.SEEK_END)
        file.write(lines.getvalue())
        file.flush()
        os.fsync(file.fileno())


def rewrite(path: Path, change: Callable[[pd.DataFrame], pd.DataFrame]) -> pd.DataFrame:
    """Replace the table by a changed one, in a fixed order, whole or not at all."""
    with _locked(path):
        table = change(read(path)).sort_values(KEYS, kind="stable").reset_index(drop=True)
        beside = path.with_suffix(".part")
        table.to_csv(beside, index=False, lineterminator="\n", columns=COLUMNS)
        os.replace(beside, path)
    return table


@contextmanager
def _locked(path: Path) -> Iterator[io.TextIOWrapper]:
    """The file, while nobody else writes to it: rivals and robula may run at the same time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with path.open("a+", newline="") as file:
            file.seek(0)
            yield file


def _short(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return "" if math.isnan(value) else f"{value:.5g}"
