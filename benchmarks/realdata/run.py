"""Run the cells of one problem."""

from __future__ import annotations

import time
import traceback
import warnings
from functools import partial
from typing import Any

from benchmarks.realdata.errors import AS_THEY_COME, KINDS, Problem, inject
from benchmarks.realdata.ours import robula_fit
from benchmarks.realdata.plan import AIR, OURS, RIVALS, Cell, folded
from benchmarks.realdata.scores import Method, figures
from benchmarks.realdata.sets import AbsentError, DataSet, load


def run_problem(cells: list[Cell]) -> list[dict[str, Any]]:
    """Return a line for each cell of one set, kind and rate; none where the data are not on this machine."""
    first = cells[0]
    try:
        data = load(first.set)
    except AbsentError:
        return []
    problem = inject(data, AS_THEY_COME if first.kind == AIR else first.kind, first.rate)
    return [_line(cell, data, problem) for cell in cells]


def _line(cell: Cell, data: DataSet, problem: Problem | None) -> dict[str, Any]:
    gross = KINDS[cell.kind].gross if cell.kind in KINDS else ""
    row: dict[str, Any] = {**cell._asdict(), "family": data.family, "tuned_on": data.tuned_on, "gross": gross}
    if problem is None:
        return {**row, "skipped": "has no such columns"}
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row |= figures(problem, _method(cell, data.family), folded(cell))
    except ImportError as error:
        row |= {"failed": f"{error}: pip install 'robula[bench]'"}
    except Exception as error:  # one broken cell must not end a run of hours; it is listed, and tried again next time
        row |= {"failed": "".join(traceback.format_exception_only(error)).strip().splitlines()[0][:200]}
        row |= {"seconds": time.perf_counter() - began}
    return row


def _method(cell: Cell, family: str) -> Method:
    if cell.method != OURS:
        return RIVALS[family][cell.method]
    told = cell.contamination
    return partial(robula_fit, family=family, contamination=told if told == "estimate" else float(told))
