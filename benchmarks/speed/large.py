"""A million rows in a file: peak memory and time of frozen steps, measured in a process of its own.

    python -m benchmarks.speed.large FOLDER ROWS

prints one JSON line. The process does nothing else, so that its peak resident memory is that of the sampling.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import robula
from benchmarks.speed.timing import Row
from robula.kernels.ula import ULA
from robula.target.frozen_gradient import FrozenGradient

DIM, CHAINS, STEPS, ROUNDS = 50, 4, 200, 4


def write_rows(folder: Path, rows: int) -> None:
    """Write a logistic regression with a tenth of its labels flipped, in blocks."""
    rng = np.random.default_rng(0)
    truth = rng.standard_normal(DIM) / DIM**0.5
    X = np.memmap(folder / "X.dat", dtype=np.float64, mode="w+", shape=(rows, DIM))
    y = np.memmap(folder / "y.dat", dtype=np.float64, mode="w+", shape=(rows,))
    for start in range(0, rows, 50_000):
        block = rng.standard_normal((min(50_000, rows - start), DIM))
        labels = rng.uniform(size=len(block)) < 1 / (1 + np.exp(-block @ truth))
        X[start : start + len(block)] = block
        y[start : start + len(block)] = labels ^ (rng.uniform(size=len(block)) < 0.1)
    X.flush()
    y.flush()


def measure(folder: Path, rows: int) -> dict[str, float]:
    """Seconds of 200 steps of four chains with each kind of selection, interleaved, and the peak memory."""
    X = np.memmap(folder / "X.dat", dtype=np.float64, mode="r", shape=(rows, DIM))
    y = np.memmap(folder / "y.dat", dtype=np.float64, mode="r", shape=(rows,))
    model = robula.LogisticModel(X, y, prior=robula.NormalPrior(0.0, 1.0))
    origin, weights = np.zeros((CHAINS, DIM)), np.ones(rows)
    recursive = robula.selectors.SubsetSelector(robula.RecursiveMean(), rows=20_000)
    began = time.process_time()
    several = [recursive.select_rows(model, np.full(DIM, 0.01 * group), 0.2) for group in range(2)]
    refresh = (time.process_time() - began) / 2
    single = [_largest_cut(selection) for selection in several]
    gradients = {
        "plain": lambda theta: model.weighted_gradient(theta, weights) / rows,
        "single part": FrozenGradient(model, tuple(single[chain % 2] for chain in range(CHAINS))),
        "recursive": FrozenGradient(model, tuple(several[chain % 2] for chain in range(CHAINS))),
    }
    seconds = dict.fromkeys(gradients, 0.0)
    for _ in range(ROUNDS):
        for name, gradient in gradients.items():
            rngs = [np.random.default_rng(chain) for chain in range(CHAINS)]
            state = ULA().init(rngs, origin)
            began = time.process_time()
            for _ in range(STEPS // ROUNDS):
                state, _ = ULA().step(rngs, state, lambda theta, g=gradient: rows * g(theta) - theta, 1.0 / rows)
            seconds[name] += time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 2**30
    return {**seconds, "refresh": refresh, "peak GiB": peak}


def _largest_cut(selection: robula.selectors.Selection) -> robula.selectors.Selection:
    """One weight vector for the whole space, as a filter would give it."""
    return robula.selectors.Selection((robula.selectors.Part(selection.weights),), selection.dim)


def large_rows(quick: bool) -> Iterator[Row]:
    """Must-show 4, in a child process."""
    rows = 100_000 if quick else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        write_rows(Path(folder), rows)
        command = [sys.executable, "-m", "benchmarks.speed.large", folder, str(rows)]
        found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    section = f"4. {rows:,} x {DIM} logistic, memory map, 4 chains, {STEPS} steps"
    yield Row(section, "plain", "seconds (processor)", found["plain"])
    yield Row(section, "single part", "frozen / plain", found["single part"] / found["plain"], 1.3)
    yield Row(section, "recursive", "frozen / plain", found["recursive"] / found["plain"], 3.0)
    each = found["refresh"] / (found["plain"] / STEPS)
    yield Row(section, "recursive on 20,000 rows, rule on all", "one selection, in plain passes", each)
    yield Row(section, "all of it", "peak resident memory, GiB", found["peak GiB"], 1.5)


if __name__ == "__main__":
    with threadpool_limits(1):
        print(json.dumps(measure(Path(sys.argv[1]), int(sys.argv[2]))))
