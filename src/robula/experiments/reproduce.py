"""Re-run the paper's section 6 and say, claim by claim, what holds."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from robula._version import __version__
from robula.datasets.dataset_loaders import BUILT_IN, load
from robula.exceptions import DatasetUnavailableError
from robula.experiments.choices import BY_FIGURE, READINGS
from robula.experiments.claims import NOT_RUN, Claim, with_readings
from robula.experiments.claims_logistic import comparison_table, flipped_claims, uncorrupted_claims
from robula.experiments.claims_synthetic import (
    beyond_the_figures,
    likelihood_claims,
    recovery_claims,
    regression_claims,
)
from robula.experiments.figures import curves_figure, gap_figure, likelihood_figure, recovery_figure
from robula.experiments.registry import FIGURES, FULL, QUICK, Plan, jobs_for, reading_jobs
from robula.experiments.runner import Job, Outcome, run_jobs, tidy

#: Headings of the figures.
TITLES = {
    "figure1": "Figure 1. Mean estimation: recovery error",
    "figure2": "Figure 2. Mean estimation: average held-out log-likelihood",
    "figure3": "Figure 3. Linear regression: recovery error",
    "figure4": "Figure 4. Logistic regression, uncorrupted data",
    "figure5": "Figure 5. Logistic regression, flipped labels",
}


def reproduce(
    figures: Sequence[str],
    out: Path,
    *,
    quick: bool = False,
    workers: int = 1,
    resume: bool = False,
    seed: int = 0,
    progress: bool = True,
    plan: Plan | None = None,
) -> list[Claim]:
    """Run the experiments of the given figures and write tables, pictures, settings and claims below ``out``.

    Parameters
    ----------
    figures : sequence of {"figure1", ..., "figure5"}
    out : Path
        One folder a figure, and ``claims.json`` with all of them.
    quick : bool
        A reduced version of everything.
    workers : int
        Worker processes; the numbers do not depend on it.
    resume : bool
        Keep the jobs that an earlier, interrupted call finished.
    plan : Plan, optional
        Other sizes than the full or quick ones.

    Returns
    -------
    list of Claim
    """
    plan = plan or (QUICK if quick else FULL)
    plan, missing = _with_available_data(plan) if {"figure4", "figure5"} & set(figures) else (plan, {})
    jobs = {figure: jobs_for(figure, plan, seed) for figure in figures}
    others = {figure: reading_jobs(figure, plan, seed) for figure in figures}
    wanted = [job for figure in figures for group in (jobs[figure], *others[figure].values()) for job in group]
    everything = list({job.key: job for job in wanted}.values())
    outcomes = run_jobs(everything, out / "jobs", workers, resume, progress)
    by_key = dict(zip((job.key for job in everything), outcomes, strict=True))
    claims: list[Claim] = []
    for figure in figures:
        found = [by_key[job.key] for job in jobs[figure]]
        otherwise = {
            READINGS[reading].label: _claims_of(figure, plan, group, [by_key[job.key] for job in group])
            for reading, group in others[figure].items()
        }
        claims += _finish_figure(figure, plan, jobs[figure], found, otherwise, missing, out / figure, seed)
    _write_json(out / "claims.json", [claim.as_dict() for claim in claims])
    return claims


def _finish_figure(
    figure: str,
    plan: Plan,
    jobs: Sequence[Job],
    outcomes: Sequence[Outcome],
    otherwise: dict[str, list[Claim]],
    missing: dict[str, str],
    folder: Path,
    seed: int,
) -> list[Claim]:
    folder.mkdir(parents=True, exist_ok=True)
    table = pd.DataFrame(tidy(outcomes))
    pictures = _pictures(figure, plan, jobs, outcomes, table)
    claims = with_readings(_claims_of(figure, plan, jobs, outcomes), otherwise)
    claims += [
        Claim(figure, f"{name}: all claims", "data set not available", NOT_RUN, reason)
        for name, reason in missing.items()
        if name in (plan.uncorrupted if figure == "figure4" else plan.flips if figure == "figure5" else {})
        or (figure == "figure4" and name in FULL.uncorrupted)
        or (figure == "figure5" and name in FULL.flips)
    ]
    table.to_csv(folder / f"{figure}.csv", index=False)
    for name, picture in pictures.items():
        for suffix in ("png", "svg"):
            picture.savefig(folder / f"{name}.{suffix}", dpi=150)
    settings = {
        "figure": figure,
        "seed": seed,
        "plan": asdict(plan),
        "choices where the paper is silent": BY_FIGURE[figure],
        "step sizes": _step_sizes(table),
        "missing data sets": missing,
        "robula": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
    _write_json(folder / "settings.json", settings)
    _write_json(folder / "claims.json", [claim.as_dict() for claim in claims])
    return claims


def _pictures(
    figure: str, plan: Plan, jobs: Sequence[Job], outcomes: Sequence[Outcome], table: pd.DataFrame
) -> dict[str, Figure]:
    default, title = plan.default, TITLES[figure]
    if table.empty:
        return {}
    if figure in ("figure1", "figure3"):
        kind = "Mean estimation" if figure == "figure1" else "Linear regression"
        return {
            figure: recovery_figure(table, default, title),
            f"{figure}-gap": gap_figure(table, default, f"{kind}: distance to the exact clean posterior"),
        }
    if figure == "figure2":
        return {figure: likelihood_figure(table, default, title)}
    shown = {
        name if figure == "figure4" else f"{name}, {100 * flips:g} % flipped": outcome["points"]
        for (name, flips, run), outcome in zip(_labels(jobs), outcomes, strict=True)
        if run == 0 and flips == (0.0 if figure == "figure4" else plan.flips[name])
    }
    return {figure: curves_figure(list(shown), list(shown.values()), title)}


def _claims_of(figure: str, plan: Plan, jobs: Sequence[Job], outcomes: Sequence[Outcome]) -> list[Claim]:
    """Return the claims about a figure, found on the outcomes of these jobs."""
    table, default = pd.DataFrame(tidy(outcomes)), plan.default
    if table.empty:
        return []
    if figure == "figure1":
        return recovery_claims(figure, table, default) + beyond_the_figures(figure, table, default)
    if figure == "figure2":
        return likelihood_claims(table, default)
    if figure == "figure3":
        return regression_claims(table, default) + beyond_the_figures(figure, table, default)
    compared = comparison_table(_labels(jobs), [outcome["points"] for outcome in outcomes])
    return uncorrupted_claims(compared, table) if figure == "figure4" else flipped_claims(compared, table, plan.flips)


def _labels(jobs: Sequence[Job]) -> list[tuple[str, float, int]]:
    return [(job.parameters["dataset"], job.parameters["flips"], job.parameters["run"]) for job in jobs]


def _with_available_data(plan: Plan) -> tuple[Plan, dict[str, str]]:
    """Drop the data sets that cannot be had; scikit-learn's Wisconsin set stands in for "breast-cancer"."""
    missing: dict[str, str] = {}
    for name in [*plan.uncorrupted, *plan.flips]:
        try:
            load(name)
        except DatasetUnavailableError as error:
            missing[name] = str(error)
    flips = {name: share for name, share in plan.flips.items() if name not in missing}
    if "breast-cancer" in missing:
        flips = {BUILT_IN: plan.flips["breast-cancer"], **flips}
    uncorrupted = {name: runs for name, runs in plan.uncorrupted.items() if name not in missing}
    return replace(plan, flips=flips, uncorrupted=uncorrupted), missing


def _step_sizes(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Mean step size of every setting and algorithm."""
    if "step_size" not in table:
        return []
    names = [name for name in ("dataset", "flips", "n_clean", "dim", "contamination", "algorithm") if name in table]
    grouped = table.groupby(names, sort=False)["step_size"].mean().reset_index()
    records: list[dict[str, Any]] = json.loads(grouped.to_json(orient="records"))
    return records


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=2, default=str) + "\n")


def figure_names(which: str) -> tuple[str, ...]:
    """Return the figures that "figureN" or "all" stands for."""
    return FIGURES if which == "all" else (which,)
