"""Bring the committed results back as finished cells, so that a run on another machine goes on where they end."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from benchmarks.leaderboard.registry import jobs
from robula.experiments.runner import Job

_TEXT = ("kind", "dataset", "attack", "method")


def restore(committed: Path, folder: Path) -> int:
    """Write a cell file for every line of the committed table that has none yet; return how many."""
    if not committed.exists():
        return 0
    with committed.open(newline="") as file:
        rows = {_row_name(row): row for row in map(_typed, csv.DictReader(file))}
    written = 0
    folder.mkdir(parents=True, exist_ok=True)
    for job in jobs():
        row, path = rows.get(_job_name(job)), folder / f"{job.key}.json"
        if row is not None and not path.exists():
            path.write_text(json.dumps({"rows": [row]}))
            written += 1
    return written


def _typed(row: dict[str, str]) -> dict[str, Any]:
    kept: dict[str, Any] = {name: value if name in _TEXT else float(value) for name, value in row.items() if value}
    for name in ("dim", "seed"):
        if name in kept:
            kept[name] = int(kept[name])
    return kept


def _row_name(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in ("kind", "dataset", "attack", "dim", "epsilon", "seed", "method"))


def _job_name(job: Job) -> tuple[Any, ...]:
    given, kind = job.parameters, job.kind.removeprefix("leaderboard-")
    attack = given.get("attack", given.get("flips", "mean shift"))
    seed = given.get("seed", given.get("run"))
    return (kind, given.get("dataset"), attack, given.get("dim"), given.get("contamination"), seed, given["method"])
