"""Interleaved timing: what is compared is measured side by side in one process, because machines are noisy."""

from __future__ import annotations

import platform
import subprocess
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy


class Row(NamedTuple):
    """One line of the table: what was measured, the figure, and the limit it is to stay below."""

    section: str
    case: str
    quantity: str
    value: float
    limit: float | None = None

    @property
    def verdict(self) -> str:
        """Whether the figure is within its limit."""
        if self.limit is None:
            return ""
        return "yes" if self.value <= self.limit else "NO"


def medians(cases: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median seconds of one call of each case over interleaved repeats.

    Each repeat calls a case once to fill the caches it would find filled in a chain, then for about 5 ms. Processor
    time, not wall-clock time: another program on the machine then disturbs less.
    """
    counts = {name: max(1, int(0.005 / max(_seconds(case, 1), 1e-6))) for name, case in cases.items()}
    times: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(repeats):
        for name, case in cases.items():
            case()
            times[name].append(_seconds(case, counts[name]))
    return {name: float(np.median(values)) for name, values in times.items()}


def _seconds(case: Callable[[], object], count: int) -> float:
    began = time.process_time()
    for _ in range(count):
        case()
    return (time.process_time() - began) / count


def environment() -> dict[str, str]:
    """Machine, versions, date and commit, as they go above a committed table."""
    root = Path(__file__).parents[2]
    git = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=root, capture_output=True, text=True, check=False)
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "commit": git.stdout.strip() or "unknown",
        "processor": _processor(),
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "SciPy": scipy.__version__,
        "BLAS threads": "1",
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]}, {len(names)} cores" if names else platform.machine()
