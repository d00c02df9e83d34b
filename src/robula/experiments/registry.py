"""Which jobs make which figure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from robula.experiments.choices import LETTER
from robula.experiments.logistic import logistic_job
from robula.experiments.runner import Job, Outcome
from robula.experiments.synthetic import mean_job, regression_job

#: Functions that a job may name.
WORK: dict[str, Callable[..., Outcome]] = {"mean": mean_job, "regression": regression_job, "logistic": logistic_job}

FIGURES = ("figure1", "figure2", "figure3", "figure4", "figure5")


@dataclass(frozen=True)
class Plan:
    """Sizes of a reproduction; :data:`FULL` is the paper's, :data:`QUICK` a reduced version of everything.

    Attributes
    ----------
    default : dict
        n_clean, dim and contamination while another one is varied.
    sweeps, regression_sweeps : dict
        Values of the one that is varied.
    runs : int
        Repetitions of each setting.
    flips : dict
        For each data set of figure 5, its share of flipped labels in the figure.
    flip_levels : tuple
        Levels at which the pattern of figure 5 is looked for.
    reading_runs : int
        Repetitions under each other reading of the paper; 0 does without them.
    reading_sizes : tuple
        n_clean at which figure 1's saturation is looked for under each reading.
    """

    default: dict[str, Any]
    sweeps: dict[str, tuple[Any, ...]]
    regression_sweeps: dict[str, tuple[Any, ...]]
    runs: int
    mean_steps: tuple[int, int]
    regression_steps: tuple[int, int]
    uncorrupted: dict[str, int]
    flips: dict[str, float]
    flip_levels: tuple[float, ...]
    flip_runs: int
    other_flip_runs: int
    chains: int
    segment: dict[str, int]
    budget: dict[str, dict[str, int]]
    rows: dict[str, int] = field(default_factory=dict)
    reading_runs: int = 0
    reading_sizes: tuple[int, ...] = ()


_EPSILONS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.45)
_BUDGET = {"Rob-ULA": 12_000, "ULA": 64_000}

FULL = Plan(
    default={"n_clean": 1000, "dim": 200, "contamination": 0.2},
    sweeps={
        "n_clean": (250, 500, 1000, 2000, 4000, 8000),
        "dim": (25, 50, 100, 200, 300, 400),
        "contamination": _EPSILONS,
    },
    regression_sweeps={
        "n_clean": (250, 500, 1000, 2000, 4000, 8000),
        "dim": (25, 50, 100, 200, 300, 400),
        "contamination": (*_EPSILONS, 0.49),
    },
    runs=10,
    mean_steps=(300, 1000),
    regression_steps=(100, 300),
    uncorrupted={"astro": 2, "phishing": 1},
    flips={"breast-cancer": 0.1, "german": 0.1, "diabetes": 0.15},
    flip_levels=(0.05, 0.1, 0.15, 0.2),
    flip_runs=5,
    other_flip_runs=1,
    chains=4,
    segment={"default": 1000, "phishing": 300},
    budget={"default": _BUDGET, "phishing": {"Rob-ULA": 1200, "ULA": 64_000}},
    reading_runs=1,
    reading_sizes=(8000, 16_000, 32_000, 64_000),
)

QUICK = Plan(
    default={"n_clean": 500, "dim": 50, "contamination": 0.2},
    sweeps={"n_clean": (250, 500, 1000), "dim": (25, 50, 100), "contamination": (0.1, 0.2, 0.4)},
    regression_sweeps={"n_clean": (250, 500, 1000), "dim": (25, 50, 100), "contamination": (0.1, 0.2, 0.49)},
    runs=2,
    mean_steps=(300, 1000),
    regression_steps=(100, 300),
    uncorrupted={"astro": 1, "phishing": 1},
    flips={"breast-cancer": 0.1, "german": 0.1, "diabetes": 0.15},
    flip_levels=(0.05, 0.2),
    flip_runs=1,
    other_flip_runs=1,
    chains=4,
    segment={"default": 400},
    budget={"default": {"Rob-ULA": 800, "ULA": 3200}},
    rows={"astro": 2000, "phishing": 1000},
)


def settings_of(plan: Plan, sweeps: dict[str, tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Every setting of the sweeps once, the default first."""
    settings = [dict(plan.default)]
    for name, values in sweeps.items():
        for value in values:
            setting = {**plan.default, name: value}
            if setting not in settings:
                settings.append(setting)
    return settings


def jobs_for(figure: str, plan: Plan, seed: int) -> list[Job]:
    """Return the jobs of one figure; figures 1 and 2 share theirs."""
    if figure in ("figure1", "figure2"):
        return _synthetic("mean", plan, plan.sweeps, plan.mean_steps, seed)
    if figure == "figure3":
        return _synthetic("regression", plan, plan.regression_sweeps, plan.regression_steps, seed)
    if figure == "figure4":
        return [_logistic(plan, name, 0.0, run, seed) for name, runs in plan.uncorrupted.items() for run in range(runs)]
    jobs = []
    for name, default in plan.flips.items():
        for level in sorted({default, *plan.flip_levels}):
            runs = plan.flip_runs if level == default else plan.other_flip_runs
            jobs += [_logistic(plan, name, level, run, seed) for run in range(runs)]
    return jobs


#: Readings that each figure is run under, beside the letter.
_READINGS = {
    "figure1": (LETTER, "single-share", "all-rows", "lai2016", "wide-prior"),
    "figure2": (LETTER, "single-share", "all-rows", "lai2016", "wide-prior"),
    "figure3": ("single-share", "all-rows", "lai2016", "wide-prior", "long-run"),
    "figure4": ("untuned", "lai2016", "wide-prior"),
    "figure5": ("untuned", "lai2016", "wide-prior"),
}


def reading_jobs(figure: str, plan: Plan, seed: int) -> dict[str, list[Job]]:
    """Return, reading by reading, the jobs that show whether a figure's verdicts depend on it.

    Figures 1 to 3 at the default and at the ends of the sweeps, where the curves meet, figures 1 and 2 at larger n too;
    figures 4 and 5 at the share of flips of the paper's plots. Phishing, which does not converge, is left out.
    """
    found: dict[str, list[Job]] = {}
    for reading in _READINGS[figure] if plan.reading_runs else ():
        if figure in ("figure1", "figure2"):
            large = [{**plan.default, "n_clean": size} for size in plan.reading_sizes]
            jobs = _at([*_ends(plan, plan.sweeps), *large], "mean", plan, plan.mean_steps, seed)
        elif figure == "figure3":
            jobs = _at(_ends(plan, plan.regression_sweeps), "regression", plan, plan.regression_steps, seed)
        else:
            shares = dict.fromkeys(plan.uncorrupted, 0.0) if figure == "figure4" else plan.flips
            jobs = [
                _logistic(plan, name, share, run, seed)
                for name, share in shares.items()
                for run in range(plan.reading_runs)
                if name != "phishing"
            ]
        found[reading] = [Job(job.kind, {**job.parameters, "reading": reading}) for job in jobs]
    return found


def _ends(plan: Plan, sweeps: dict[str, tuple[Any, ...]]) -> list[dict[str, Any]]:
    """The default, the two smallest n, the largest d and the three largest epsilon."""
    values = {
        "n_clean": sweeps["n_clean"][:2],
        "dim": sweeps["dim"][-1:],
        "contamination": sweeps["contamination"][-3:],
    }
    return settings_of(plan, values)


def _at(settings: list[dict[str, Any]], kind: str, plan: Plan, steps: tuple[int, int], seed: int) -> list[Job]:
    return [
        Job(kind, {**setting, "run": run, "seed": seed, "burn_in": steps[0], "draws": steps[1]})
        for setting in settings
        for run in range(plan.reading_runs)
    ]


def _synthetic(
    kind: str, plan: Plan, sweeps: dict[str, tuple[Any, ...]], steps: tuple[int, int], seed: int
) -> list[Job]:
    return [
        Job(kind, {**setting, "run": run, "seed": seed, "burn_in": steps[0], "draws": steps[1]})
        for setting in settings_of(plan, sweeps)
        for run in range(plan.runs)
    ]


def _logistic(plan: Plan, dataset: str, flips: float, run: int, seed: int) -> Job:
    parameters = {
        "dataset": dataset,
        "flips": flips,
        "run": run,
        "seed": seed,
        "chains": plan.chains,
        "segment": plan.segment.get(dataset, plan.segment["default"]),
        "budget": plan.budget.get(dataset, plan.budget["default"]),
        "rows": plan.rows.get(dataset),
    }
    return Job("logistic", parameters)
