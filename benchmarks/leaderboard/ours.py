"""robula's own methods."""

from __future__ import annotations

from typing import Any

import robula
from benchmarks.leaderboard import settings
from robula.models.model import Model
from robula.result.posterior import Posterior


class SkippedError(Exception):
    """The installed robula cannot run this method; the message says why."""


def run_sizes(method: str) -> dict[int, dict[str, int]]:
    """Draws, burn-in and chains of a method, by dimension."""
    return {"rob_ula": settings.ROB_ULA_RUNS, "ula": settings.ULA_RUNS}.get(method, settings.OUR_RUNS)


def run_ours(method: str, model: Model, sizes: dict[str, int], seed: int, **arguments: Any) -> Posterior:
    """Run "robula" (recommended), "robula_estimate", "rob_ula" (the paper's), "median_of_means" or "ula" (all rows)."""
    common: dict[str, Any] = {**sizes, **arguments, "seed": seed, "progress": False}
    if method == "rob_ula":
        return robula.rob_ula(model, contamination=settings.DECLARED, **common)
    if method == "ula":
        return robula.sample(model, contamination=0.0, selector="mean", kernel="ula", likelihood_rows="n", **common)
    recommended = {**settings.RECOMMENDED, **common}
    if method == "median_of_means":
        return robula.sample(model, contamination=settings.DECLARED, selector="median_of_means", **recommended)
    if method == "robula":
        return robula.sample(model, contamination=settings.LIMIT, **recommended)
    try:
        return robula.sample(model, contamination="estimate", **recommended)  # type: ignore[arg-type]
    except robula.exceptions.InputError as error:
        if "estimate" in str(error):
            raise SkippedError(str(error)) from error
        raise
