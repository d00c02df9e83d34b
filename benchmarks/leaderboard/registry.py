"""The work that the experiments' runner can find, and the list of jobs."""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.leaderboard import logistic, mean, regression, settings
from benchmarks.leaderboard.ours import SkippedError
from robula.experiments.runner import Job, Outcome


def regression_job(attack: str, dim: int, contamination: float, seed: int, method: str) -> Outcome:
    """A regression cell."""
    where = {"attack": attack, "dim": dim, "epsilon": contamination, "seed": seed, "method": method}
    return _outcome(
        "regression", where, lambda: (regression.make_problem(attack, dim, contamination, seed), regression.run)
    )


def mean_job(dim: int, contamination: float, seed: int, method: str, attack: str = "mean shift") -> Outcome:
    """A mean estimation cell."""
    where = {"attack": attack, "dim": dim, "epsilon": contamination, "seed": seed, "method": method}
    return _outcome("mean", where, lambda: (mean.make_problem(attack, dim, contamination, seed), mean.run))


def logistic_job(dataset: str, flips: str, run: int, method: str) -> Outcome:
    """A logistic cell; ``run`` is the number of the split."""
    where = {"dataset": dataset, "attack": flips, "seed": run, "method": method}
    return _outcome("logistic", where, lambda: (logistic.make_problem(dataset, flips, run), logistic.run))


WORK: dict[str, Callable[..., Outcome]] = {
    "leaderboard-regression": regression_job,
    "leaderboard-mean": mean_job,
    "leaderboard-logistic": logistic_job,
}


def _outcome(
    kind: str, where: dict[str, Any], prepare: Callable[[], tuple[Any, Callable[..., dict[str, Any]]]]
) -> Outcome:
    row: dict[str, Any] = {"kind": kind, **where}
    began = time.perf_counter()
    try:
        problem, run = prepare()
        began = time.perf_counter()
        with warnings.catch_warnings():
            # Convergence and truncation warnings are what the figures show.
            warnings.simplefilter("ignore")
            row |= run(problem, where["method"], where["seed"])
    except SkippedError as error:
        row["skipped"] = str(error)
    except Exception as error:  # one broken cell must not end a run of hours; it is listed, and tried again next time
        row["error"] = "".join(traceback.format_exception_only(error)).strip()
    row["seconds"] = round(time.perf_counter() - began, 3)
    return {"rows": [row]}


def jobs(methods: Iterable[str] | None = None, quick: bool = False) -> list[Job]:
    """Return the jobs of these methods (all by default), seed by seed: an interrupted run has whole tables of fewer seeds."""
    chosen = None if methods is None else set(methods)
    found = [*_regression_jobs(quick), *_mean_jobs(quick), *_logistic_jobs(quick)]
    return sorted((job for job in found if chosen is None or job.parameters["method"] in chosen), key=_round)


def _round(job: Job) -> int:
    """Which of three equal parts of the run a job belongs to."""
    if "run" in job.parameters:
        return int(job.parameters["run"]) * 3 // settings.SPLITS
    return min(int(job.parameters["seed"]) - settings.SEEDS[0], 2)


def known_methods() -> tuple[str, ...]:
    """Return the names that --methods takes."""
    return tuple(dict.fromkeys((*settings.OURS, *settings.REGRESSION_RIVALS, *settings.LOGISTIC_RIVALS)))


def _regression_jobs(quick: bool) -> list[Job]:
    dims, seeds = ((5,), (101,)) if quick else (settings.DIMS, settings.SEEDS)
    attacks = ("paper", "sentinel_response") if quick else settings.REGRESSION_ATTACKS
    epsilons = (0.2,) if quick else settings.EPSILONS
    cells = [("none", dim, 0.0, seed) for dim in dims for seed in (seeds if quick else settings.CLEAN_SEEDS)]
    cells += [
        (attack, dim, epsilon, seed) for dim in dims for seed in seeds for epsilon in epsilons for attack in attacks
    ]
    return [
        Job(
            "leaderboard-regression",
            {"attack": attack, "dim": dim, "contamination": epsilon, "seed": seed, "method": method},
        )
        for attack, dim, epsilon, seed in cells
        for method in (*settings.OURS, *settings.REGRESSION_RIVALS)
    ]


def _mean_jobs(quick: bool) -> list[Job]:
    dims, seeds = ((5,), (101,)) if quick else (settings.DIMS, settings.SEEDS)
    cells = [
        (attack, dim, epsilon, seed)
        for attack in settings.MEAN_ATTACKS
        for dim in dims
        for seed in seeds
        for epsilon in ((0.2,) if quick else (0.0, *settings.EPSILONS))
        if epsilon > 0 or attack == settings.MEAN_ATTACKS[0]  # without bad rows there is one problem
    ]
    # The first attack is the default of the job, so that finished cells keep their names.
    return [
        Job(
            "leaderboard-mean",
            {"dim": dim, "contamination": epsilon, "seed": seed, "method": method}
            | ({} if attack == settings.MEAN_ATTACKS[0] else {"attack": attack}),
        )
        for attack, dim, epsilon, seed in cells
        for method in (*settings.OURS, *settings.RELATED)
    ]


def _logistic_jobs(quick: bool) -> list[Job]:
    if quick:
        return []  # needs the data sets
    return [
        Job("leaderboard-logistic", {"dataset": dataset, "flips": flips, "run": split, "method": method})
        for dataset in settings.DATASETS
        for split in range(settings.SPLITS)
        for flips in settings.FLIPS
        for method in (*settings.LOGISTIC_OURS, *settings.LOGISTIC_RIVALS)
    ]
