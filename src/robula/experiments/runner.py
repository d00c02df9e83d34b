"""Run independent jobs on all cores, keep each finished one in a file, resume after a kill.

A job's result is written to a temporary file and renamed, so a file is whole or absent whatever happens to the
process. Every job runs in a worker with one BLAS thread, also when there is a single worker: the numbers do not
depend on the number of workers.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import multiprocessing
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robula._files import write_text
from robula.exceptions import (
    BreakdownWarning,
    ConvergenceWarning,
    RobulaError,
    StepSizeWarning,
    TruncationBiasWarning,
)
from robula.run.driver import track

#: What a job returns: rows for the table, and longer lists of numbers for the figures.
Outcome = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """A call of a registered function.

    Attributes
    ----------
    kind : str
        Name of the function in :data:`robula.experiments.registry.WORK`.
    parameters : dict
        Its keyword arguments; only what JSON can hold.
    """

    kind: str
    parameters: dict[str, Any]

    @property
    def key(self) -> str:
        """A file name that no other job has: kind, the telling parameters, and a hash of all of them."""
        text = json.dumps([self.kind, self.parameters], sort_keys=True)
        words = [
            str(self.parameters[name])
            for name in ("dataset", "attack", "n_clean", "dim", "contamination", "flips", "run", "method", "reading")
            if name in self.parameters
        ]
        return "-".join([self.kind, *words, hashlib.sha256(text.encode()).hexdigest()[:10]])

    def run(self, work: dict[str, Callable[..., Outcome]]) -> Outcome:
        """Do it."""
        return work[self.kind](**self.parameters)


_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run_jobs(
    jobs: Sequence[Job],
    folder: Path,
    workers: int,
    resume: bool,
    progress: bool,
    registry: str = "robula.experiments.registry",
) -> list[Outcome]:
    """Run the jobs and return their outcomes in the order of ``jobs``.

    Parameters
    ----------
    folder : Path
        Where finished jobs are kept, one JSON file each.
    resume : bool
        Take finished jobs from the folder instead of running them again; otherwise the folder's files of these jobs
        go first.
    registry : str, optional
        Module whose ``WORK`` holds the jobs' functions; the workers import it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for leftover in folder.glob("*.part"):
        leftover.unlink()
    paths = {job.key: folder / f"{job.key}.json" for job in jobs}
    if not resume:
        for path in paths.values():
            path.unlink(missing_ok=True)
    # Longest first, so that the last worker does not end alone with a big one.
    missing = [job for job in {job.key: job for job in jobs}.values() if _read(paths[job.key]) is None]
    missing.sort(key=_expected_cost, reverse=True)
    for job, outcome in track(_finished(missing, workers, registry), len(missing), "experiments", progress):
        write_text(paths[job.key], json.dumps(outcome))
    outcomes = [_read(paths[job.key]) for job in jobs]
    return [outcome for outcome in outcomes if outcome is not None]


def _finished(jobs: Sequence[Job], workers: int, registry: str) -> Iterator[tuple[Job, Outcome]]:
    if not jobs:
        return
    before = {name: os.environ.get(name) for name in _THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, "1"))
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(
            workers, mp_context=context, initializer=leave_with_parent, initargs=(os.getpid(),)
        ) as pool:
            futures = {pool.submit(_work, job, registry): job for job in jobs}
            try:
                for future in as_completed(futures):
                    yield futures[future], future.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def leave_with_parent(parent: int) -> None:
    """Leave when the parent is gone, be it before this line: a killed run must not leave workers behind."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _work(job: Job, registry: str) -> Outcome:
    work = importlib.import_module(registry).WORK
    # Small n with large d, large steps and short chains are part of the experiments, and R-hat of their tables; every
    # worker would print its own warning.
    for expected in (BreakdownWarning, ConvergenceWarning, StepSizeWarning, TruncationBiasWarning):
        warnings.simplefilter("ignore", expected)
    try:
        outcome: Outcome = job.run(work)
        return outcome
    except RobulaError as error:
        raise RuntimeError(f"job {job.key} failed: {error}") from error


def _read(path: Path) -> Outcome | None:
    """Return a finished job; None where its file is missing or cannot be read, so that it is run again."""
    try:
        outcome = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return outcome if isinstance(outcome, dict) and isinstance(outcome.get("rows"), list) else None


def _expected_cost(job: Job) -> float:
    """Order of magnitude of a job's work; only the order of the jobs depends on it."""
    parameters = job.parameters
    rows = parameters.get("n_clean", 0) / (1.0 - parameters.get("contamination", 0.0))
    if job.kind == "regression":
        return float(rows * parameters["dim"] + 20 * parameters["dim"] ** 2)
    if job.kind == "logistic":
        return {"phishing": 1e9, "astro": 1e8}.get(parameters["dataset"], 1e7)
    return float(0.02 * rows * parameters.get("dim", 0))


def tidy(outcomes: Iterable[Outcome]) -> list[dict[str, Any]]:
    """Return the table rows of all outcomes, in order."""
    return [row for outcome in outcomes for row in outcome["rows"]]
