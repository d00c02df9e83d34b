"""A network of 5,000 parameters on 2,000 rows: what a refresh, a step and its memory cost, in plain gradients.

python -m benchmarks.large_network
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import robula
from robula.target.drift import RobustDrift
from robula.target.robust_gradient import robust_gradient

ROWS, INPUTS, WIDTH = 2000, 12, 64
CHUNKS = (50, 500, 2000)
REPEATS = 5


def large_model(chunk_size: int) -> Any:
    """Two hidden layers of 64 tanh units: 12 * 64 + 64 + 64 * 64 + 64 + 64 + 1 = 5,057 parameters."""
    import jax.numpy as jnp

    def log_likelihood(parameters: Any, row: Any) -> Any:
        first = jnp.tanh(row["x"] @ parameters["w1"] + parameters["b1"])
        second = jnp.tanh(first @ parameters["w2"] + parameters["b2"])
        return -0.5 * ((row["y"] - second @ parameters["w3"] - parameters["b3"]) / 0.2) ** 2

    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, INPUTS))
    y = np.sin(X[:, 0]) + 0.2 * rng.standard_normal(ROWS)
    y[: ROWS // 10] += 5.0
    init = {
        "w1": rng.standard_normal((INPUTS, WIDTH)) / INPUTS**0.5,
        "b1": np.zeros(WIDTH),
        "w2": rng.standard_normal((WIDTH, WIDTH)) / WIDTH**0.5,
        "b2": np.zeros(WIDTH),
        "w3": rng.standard_normal(WIDTH) / WIDTH**0.5,
        "b3": 0.0,
    }
    prior = robula.NormalPrior(0.0, 1.0)
    return robula.from_jax(log_likelihood, {"x": X, "y": y}, log_prior=prior, init=init, chunk_size=chunk_size)


def seconds(function: Callable[[], object]) -> float:
    """Median time of a call after one to compile."""
    function()
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def peak_memory() -> float:
    """Largest resident memory of this process so far, in MB (Linux; getrusage would count the parent's)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return float(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def one_chunk_size(chunk_size: int) -> dict[str, float]:
    """Times in seconds, and by how many MB the peak memory of this process grew."""
    import jax

    jax.numpy.zeros(1).block_until_ready()
    before = peak_memory()
    model = large_model(chunk_size)
    theta, ones = model.initial, np.ones(ROWS)
    found = {"plain gradient": seconds(lambda: model.weighted_gradient(theta, ones))}
    kernel = robula.kernels.LeimkuhlerMatthews()
    rngs = [np.random.default_rng(0)]

    def step_of(selector: Any) -> Callable[[], object]:
        kept = robust_gradient(model, selector, 0.1, refresh_every=10**9, width=1.0, burn_in=0)
        drift = RobustDrift(model, kept, "weights", 0.1, 1e6)
        state = kernel.init(rngs, theta[None])
        drift(theta[None])
        return lambda: kernel.step(rngs, state, drift, 1e-6)

    trimmed = robula.selectors.TrimmedLikelihood()
    found["step, selection kept"] = seconds(step_of(trimmed))
    found["refresh, TrimmedLikelihood"] = seconds(lambda: trimmed.select_rows(model, theta, 0.1))
    found["memory, MB"] = peak_memory() - before
    return found


def measure_large() -> str:
    """One process a chunk size, so that peak memory is its own; as a table."""
    rows = []
    for chunk_size in CHUNKS:
        command = [sys.executable, "-m", "benchmarks.large_network", str(chunk_size)]
        rows.append(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    names = list(rows[0])
    lines = [
        f"| d = {large_model(ROWS).dim}, n = {ROWS} | " + " | ".join(f"chunk_size {size}" for size in CHUNKS) + " |",
        "|---|" + "---|" * len(CHUNKS),
    ]
    for name in names:
        if "MB" in name:
            cells = [f"{row[name]:.0f}" for row in rows]
        else:
            cells = [f"{1e3 * row[name]:.0f} ms ({row[name] / row['plain gradient']:.2g} gradients)" for row in rows]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    model = large_model(CHUNKS[-1])
    points = model.gradients(model.initial)
    began = time.perf_counter()
    robula.SpectralFilter().select(points, 0.1)
    spectral = time.perf_counter() - began
    lines += [
        "",
        f"One refresh with `SpectralFilter`, on the {points.nbytes / 2**20:.0f} MB matrix of gradients: {spectral:.0f} s "
        f"({spectral / rows[-1]['plain gradient']:.0f} gradients). It works at this size, but not inside a chain.",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(one_chunk_size(int(sys.argv[1]))))
    else:
        print(measure_large())
