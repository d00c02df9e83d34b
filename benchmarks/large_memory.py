"""Rows in memory: `robula fit` of a long CSV, labels of many columns, and passes against the rule on all rows.

    python -m benchmarks.large_memory fit FOLDER    # seconds of `robula fit`, 100 000 x 20, with its report
    python -m benchmarks.large_memory wide          # logistic regression, 5 000 x 200: plain passes' worth
    python -m benchmarks.large_memory exact         # weights and theta at n = 100 000 against all rows at once

Each prints a Markdown table.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import robula
from benchmarks.large_data import BUDGET, DIM, block_of
from robula.models.precision import weighted_precision
from robula.selectors.trust.trust_selector import judge

ROWS = 100_000
WIDE = 5_000, 200
PRIOR = robula.NormalPrior(0.0, 1.0)


def fit_table(folder: Path) -> Iterator[str]:
    """Run the command on a CSV with a tenth of bad rows, by its defaults."""
    folder.mkdir(parents=True, exist_ok=True)
    X, y = block_of("linear", 0, ROWS)
    names = ",".join([*(f"x{column}" for column in range(DIM)), "y"])
    np.savetxt(folder / "rows.csv", np.column_stack([X, y]), delimiter=",", header=names, comments="", fmt="%.17g")
    command = [sys.executable, "-W", "ignore", "-m", "robula", "fit", str(folder / "rows.csv"), "--target", "y"]
    began = time.perf_counter()
    subprocess.run([*command, "--out", str(folder / "run")], capture_output=True, check=True)
    seconds = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    yield "| rows | seconds | CPU s | peak memory, MB |"
    yield "|---|---|---|---|"
    yield f"| {ROWS:,} | {seconds:.1f} | {used.ru_utime + used.ru_stime:.1f} | {used.ru_maxrss / 1024:.0f} |"


def wide_table() -> Iterator[str]:
    """Selection of many columns' labels in plain passes: one weighted gradient of four chains each."""
    rng = np.random.default_rng(0)
    rows, columns = WIDE
    X = rng.standard_normal(WIDE)
    chance = 1.0 / (1.0 + np.exp(-2.0 * X @ rng.standard_normal(columns) / columns**0.5))
    y = (rng.uniform(size=rows) < chance) ^ (rng.uniform(size=rows) < 0.1)
    model = robula.LogisticModel(X, y.astype(np.float64), prior=PRIOR)
    began = time.process_time()
    found = robula.trust(model, BUDGET)
    seconds = time.process_time() - began
    times = []
    for _ in range(50):
        began = time.process_time()
        model.weighted_gradient(np.zeros((4, columns)), found.weights)
        times.append(time.process_time() - began)
    plain = float(np.median(times))
    yield "| rows | columns | CPU s | plain pass, ms | plain passes' worth |"
    yield "|---|---|---|---|---|"
    yield f"| {rows:,} | {columns} | {seconds:.2f} | {1e3 * plain:.2f} | {seconds / plain:.0f} |"


def problems() -> Iterator[tuple[str, type, dict[str, object], np.ndarray, np.ndarray]]:
    """Name, model, its options, X and y."""
    noise: dict[str, object] = {"noise_scale": "estimate"}
    rng = np.random.default_rng(2)
    yield "linear, a group", robula.LinearModel, noise, *block_of("linear", 0, ROWS)
    X = rng.standard_normal((ROWS, DIM))
    truth, bad = rng.standard_normal(DIM) / DIM**0.5, rng.uniform(size=ROWS) < 0.1
    y = X @ truth + rng.standard_normal(ROWS)
    y[bad] += 20.0 * rng.standard_cauchy(int(bad.sum()))
    yield "linear, gross rows", robula.LinearModel, noise, X, np.clip(y, -1e6, 1e6)
    yield "logistic, flipped labels", robula.LogisticModel, {}, *block_of("logistic", 0, ROWS)
    labels = rng.uniform(size=ROWS) < 1.0 / (1.0 + np.exp(-2.0 * X @ truth))
    X[bad] = 0.3 * X[bad] + 2.0 * np.sign(truth)
    labels[bad] = False
    yield "logistic, a group labelled 0", robula.LogisticModel, {}, X, labels.astype(np.float64)


def exact_table() -> Iterator[str]:
    """Passes over a sample and all rows, against the rule on all rows at once."""
    yield "| problem | CPU s in passes | CPU s at once | mean absolute difference of weights | of theta, posterior widths |"
    yield "|---|---|---|---|---|"
    for name, kind, options, X, y in problems():
        began = time.process_time()
        streamed = robula.trust(robula.LargeModel(kind, X, y, prior=PRIOR, **options), BUDGET)
        middle = time.process_time()
        model = kind(X, y, prior=PRIOR, **options)
        whole = judge(model, BUDGET)
        ended = time.process_time()
        widths = np.sqrt(np.diag(np.linalg.inv(weighted_precision(model, whole.weights, whole.theta))))
        apart = float(np.abs((streamed.theta - whole.theta) / widths).max())
        weights = float(np.abs(streamed.weights - whole.weights).mean())
        yield f"| {name} | {middle - began:.1f} | {ended - middle:.1f} | {weights:.4f} | {apart:.2f} |"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    what = sys.argv[1]
    table = fit_table(Path(sys.argv[2])) if what == "fit" else wide_table() if what == "wide" else exact_table()
    for line in table:
        print(line, flush=True)
