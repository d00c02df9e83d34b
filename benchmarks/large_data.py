"""Rows in passes: CPU seconds, passes, peak memory, error against all rows in memory, and bytes that a cluster exchanges.

    python -m benchmarks.large_data rows FOLDER [ROWS ...]         # memory maps, each in a process of its own
    python -m benchmarks.large_data cluster FOLDER ROWS WORKERS... # Parquet made and read by worker processes
    python -m benchmarks.large_data kills FOLDER                   # 20 SIGKILLs of `robula fit` over an earlier run
    python -m benchmarks.large_data resumes FOLDER                 # 20 SIGKILLs of a checkpointed run

Each prints a Markdown table. Memory maps stay in FOLDER and are made once.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402  (after the threads are set)

DIM, BAD, BUDGET = 20, 0.1, 0.15
KINDS = ("linear", "logistic")


def block_of(kind: str, first: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows first, first + 1, ... of the problem: a tenth are a group that follows another law, or flipped labels."""
    truth = np.random.default_rng(0).standard_normal(DIM) / DIM**0.5
    rng = np.random.default_rng([1, first])
    X = rng.standard_normal((rows, DIM))
    bad = rng.uniform(size=rows) < BAD
    if kind == "logistic":
        y = rng.uniform(size=rows) < 1.0 / (1.0 + np.exp(-2.0 * X @ truth))
        return X, (y ^ bad).astype(np.float64)
    X[bad] = 0.5 * X[bad] + 1.0
    y = X @ truth + rng.standard_normal(rows)
    y[bad] += 8.0
    return X, y


def write_maps(folder: Path, kind: str, rows: int, step: int = 100_000) -> None:
    """Write the memory maps, if they are not there."""
    done = folder / f"{kind}{rows}.done"
    if done.exists():
        return
    X = np.memmap(folder / f"{kind}{rows}.X", dtype=np.float64, mode="w+", shape=(rows, DIM))
    y = np.memmap(folder / f"{kind}{rows}.y", dtype=np.float64, mode="w+", shape=(rows,))
    for first in range(0, rows, step):
        size = min(step, rows - first)
        X[first : first + size], y[first : first + size] = block_of(kind, first, size)
    X.flush()
    y.flush()
    done.touch()


def _own_memory() -> float:
    """MB that this process holds itself; pages of a memory map are the system's and are not counted."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("RssAnon"))
    return float(line.split()[1]) / 1024


class PeakMemory:
    """The most that a process held itself while the block ran, looked at every 10 ms, in MB beyond what it held before."""

    def __enter__(self) -> PeakMemory:
        self._before = self._most = _own_memory()
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()
        return self

    def _watch(self) -> None:
        while not self._ended.wait(0.01):
            self._most = max(self._most, _own_memory())

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._watcher.join()

    @property
    def extra(self) -> float:
        """In MB."""
        return self._most - self._before


def measure(folder: Path, kind: str, rows: int) -> dict[str, float]:
    """Fit one memory map by the defaults; a plain pass is one weighted gradient of four chains."""
    import robula

    X = np.memmap(folder / f"{kind}{rows}.X", dtype=np.float64, mode="r", shape=(rows, DIM))
    y = np.memmap(folder / f"{kind}{rows}.y", dtype=np.float64, mode="r", shape=(rows,))
    made, options = (
        (robula.LinearModel, {"noise_scale": "estimate"}) if kind == "linear" else (robula.LogisticModel, {})
    )
    with PeakMemory() as memory:
        began = time.process_time()
        model = robula.LargeModel(made, X, y, prior=robula.NormalPrior(0.0, 1.0), **options)
        posterior = robula.sample(model, contamination=BUDGET)
        seconds = time.process_time() - began
    began = time.process_time()
    theta, weights = np.zeros((4, model.dim)), posterior.row_weights
    step = 100_000
    for first in range(0, rows, step):
        part = model._empty.with_rows(np.asarray(X[first : first + step]), np.asarray(y[first : first + step]))
        part.weighted_gradient(theta, weights[first : first + step])
    plain = time.process_time() - began
    return {
        "seconds": seconds,
        "plain": plain,
        "passes": posterior.settings["passes"],
        "gaussian_error": posterior.settings["gaussian_error"] or 0.0,
        "bad": 1.0 - float(weights.mean()),
        "memory": memory.extra,
    }


def rows_table(folder: Path, sizes: list[int]) -> Iterator[str]:
    """One line a problem, each measured in a process of its own."""
    yield "| problem | rows | CPU s | reads of the data | plain passes' worth | extra memory, MB | bad rows found | error of the normal law |"
    yield "|---|---|---|---|---|---|---|---|"
    for kind in KINDS:
        for rows in sizes:
            write_maps(folder, kind, rows)
            command = [
                sys.executable,
                "-W",
                "ignore",
                "-m",
                "benchmarks.large_data",
                "one",
                str(folder),
                kind,
                str(rows),
            ]
            found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            yield (
                f"| {kind} | {rows:,} | {found['seconds']:.1f} | {found['passes']} | {found['seconds'] / found['plain']:.0f} "
                f"| {found['memory']:.0f} | {found['bad']:.4f} | {found['gaussian_error']:.3f} |"
            )


def write_part(folder: str, index: int, rows: int) -> str:
    """Run in a worker: make one Parquet file of the linear problem."""
    import pandas as pd

    path = Path(folder) / f"part{index:05d}.parquet"
    if not path.exists():
        X, y = block_of("linear", index * rows, rows)
        frame = pd.DataFrame(X, columns=[f"x{column}" for column in range(DIM)])
        frame["y"] = y
        frame.to_parquet(path.with_suffix(".tmp"))
        os.replace(path.with_suffix(".tmp"), path)
    return str(path)


def cluster_table(folder: Path, rows: int, workers: list[int]) -> Iterator[str]:
    """Bytes between processes by the number of workers; from the second line on, a worker is killed three times."""
    import dask.dataframe
    from distributed import Client, LocalCluster

    import robula

    part = min(rows, 500_000)
    yield (
        "| workers | rows | passes | seconds | bytes between processes a pass | client's peak, MB | largest worker, MB "
        "| killed | largest difference of draws |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    first, took = None, 0.0
    for count in workers:
        with (
            LocalCluster(n_workers=count, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            folder.mkdir(parents=True, exist_ok=True)
            made = [client.submit(write_part, str(folder), index, part) for index in range(-(-rows // part))]
            files = client.gather(made)
            whole = dask.dataframe.read_parquet(files, split_row_groups=True)
            sent, began, killed = _bytes_of_loopback(), time.perf_counter(), []
            largest = [0.0]
            if first is not None:
                moments = [took * part for part in (0.15, 0.4, 0.65)]
                threading.Thread(target=_kill_workers, args=(cluster, moments, killed), daemon=True).start()
            threading.Thread(target=_watch, args=(cluster, largest), daemon=True).start()
            names = [name for name in whole.columns if name != "y"]
            model = robula.LargeModel(
                robula.LinearModel, whole[names], whole["y"], noise_scale="estimate", prior=robula.NormalPrior(0.0, 1.0)
            )
            posterior = robula.sample(model, contamination=BUDGET)
            sent, seconds = _bytes_of_loopback() - sent, time.perf_counter() - began
            passes = posterior.settings["passes"]
            own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            if first is None:
                first, took = posterior.draws, seconds
            apart = float(np.abs(first - posterior.draws).max())
            yield (
                f"| {count} | {rows:,} | {passes} | {seconds:.0f} | {sent / passes:,.0f} | {own:.0f} | {largest[0]:.0f} "
                f"| {len(killed)} | {apart:.1e} |"
            )


def _processes(cluster: Any) -> list[int]:
    return [nanny.pid for nanny in cluster.workers.values() if nanny.pid is not None]


def _kill_workers(cluster: Any, moments: list[float], killed: list[int]) -> None:
    """Kill a worker at each of these moments, in seconds from now; its nanny starts another."""
    began = time.perf_counter()
    for moment in moments:
        time.sleep(max(0.0, began + moment - time.perf_counter()))
        victim = _processes(cluster)[len(killed) % len(cluster.workers)]
        os.kill(victim, signal.SIGKILL)
        killed.append(victim)


def _watch(cluster: Any, largest: list[float]) -> None:
    """Note the largest peak memory of any worker, in MB, until the cluster closes."""
    while cluster.status.name == "running":
        for process in _processes(cluster):
            try:
                lines = Path(f"/proc/{process}/status").read_text().splitlines()
            except OSError:
                continue
            peaks = [float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")]
            largest[0] = max([largest[0], *peaks])
        time.sleep(0.2)


def _bytes_of_loopback() -> int:
    """Bytes received by the loopback device so far: all that processes of this machine told each other."""
    for line in Path("/proc/net/dev").read_text().splitlines():
        name, _, counts = line.partition(":")
        if name.strip() == "lo":
            return int(counts.split()[0])
    return 0


def kills_table(folder: Path, kills: int = 20) -> Iterator[str]:
    """`robula fit` over an earlier run, killed at random moments: every prediction is that of one of the two runs."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(3)
    for name, slope in (("a.csv", 1.0), ("b.csv", -1.0)):
        x = rng.standard_normal(200)
        lines = [f"{u:.6f},{slope * u + 0.1 * e:.6f}" for u, e in zip(x, rng.standard_normal(200), strict=True)]
        (folder / name).write_text("x,y\n" + "\n".join(lines) + "\n")
    (folder / "new.csv").write_text("x\n1.0\n")
    robula = [sys.executable, "-W", "ignore", "-m", "robula"]
    options = ["--target", "y", "--draws", "100", "--burn-in", "20", "--no-sensitivity", "--out", str(folder / "run")]

    def predict() -> float:
        done = subprocess.run(
            [*robula, "predict", str(folder / "run"), str(folder / "new.csv")],
            capture_output=True,
            text=True,
            check=True,
        )
        return float(done.stdout.splitlines()[1].split(",")[1])

    began = time.perf_counter()
    subprocess.run([*robula, "fit", str(folder / "a.csv"), *options], capture_output=True, check=True)
    whole = time.perf_counter() - began
    wrong = dead = new = 0
    for _ in range(kills):
        process = subprocess.Popen(
            [*robula, "fit", str(folder / "b.csv"), *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(float(rng.uniform(0.5, 1.1)) * whole)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            dead += 1
        process.wait()
        value = predict()
        wrong += not (abs(value - 1.0) < 0.2 or abs(value + 1.0) < 0.2)
        new += value < 0
    yield "| fits over an earlier run | killed | predictions of the new run | wrong predictions |"
    yield "|---|---|---|---|"
    yield f"| {kills} | {dead} | {new} | {wrong} |"


CHECKPOINTED = """
import sys, robula
model = robula.simulate.linear_regression(n_clean=150, dim=3, contamination=0.1, seed=3).model
options = dict(contamination=0.1, selector="recursive", kernel="preconditioned_lm", draws=20000, burn_in=30, seed=5)
path = sys.argv[1]
print("going", flush=True)
if path == "whole":
    posterior = robula.sample(model, **options)
elif sys.argv[2] == "resume":
    posterior = robula.resume(path, model)
else:
    posterior = robula.sample(model, checkpoint=path, checkpoint_every=0.01, **options)
print(__import__("hashlib").sha256(posterior.draws.tobytes()).hexdigest())
"""


def resumes_table(folder: Path, kills: int = 20) -> Iterator[str]:
    """A checkpointed run, killed and resumed again and again: its draws have the bits of a run that was left alone."""
    path, rng = folder / "run.ckpt", np.random.default_rng(4)
    path.unlink(missing_ok=True)

    def run(*words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-W", "ignore", "-c", CHECKPOINTED, *words]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    dead = 0
    for _ in range(kills):
        process = run(str(path), "resume" if path.exists() else "begin")
        assert process.stdout is not None
        process.stdout.readline()
        while not path.exists() and process.poll() is None:
            time.sleep(0.01)
        time.sleep(float(rng.uniform(0.0, 0.5)))
        dead += process.poll() is None
        process.kill()
        process.communicate()
    last, whole = (run(*words).communicate()[0].split()[-1] for words in ((str(path), "resume"), ("whole",)))
    yield "| SIGKILLs of a checkpointed run | that found it running | bits of a run left alone |"
    yield "|---|---|---|"
    yield f"| {kills} | {dead} | {last == whole} |"


if __name__ == "__main__":
    what, where = sys.argv[1], Path(sys.argv[2])
    if what == "one":
        print(json.dumps(measure(where, sys.argv[3], int(sys.argv[4]))))
    else:
        where.mkdir(parents=True, exist_ok=True)
        if what == "rows":
            table = rows_table(where, [int(float(size)) for size in sys.argv[3:]] or [10**5, 10**6])
        elif what == "cluster":
            table = cluster_table(where, int(float(sys.argv[3])), [int(count) for count in sys.argv[4:]])
        elif what == "resumes":
            table = resumes_table(where, *(int(count) for count in sys.argv[3:]))
        else:
            table = kills_table(where, *(int(count) for count in sys.argv[3:]))
        for line in table:
            print(line, flush=True)
