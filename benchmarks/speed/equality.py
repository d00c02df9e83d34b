"""Frozen against refreshed selections: how far freezing moves the posterior."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator

import numpy as np

import robula
from benchmarks.speed.timing import Row
from robula.selectors import SELECTORS
from robula.target import robust_gradient

CONTAMINATION = 0.2
#: Chains and draws with a new selection at every step; the spectral filter takes 30 times as long as the others.
EXACT = {"recursive": (8, 3000), "geometric_median": (8, 1500), "spectral": (4, 300)}


def equality_rows(quick: bool) -> Iterator[Row]:
    """Must-show 2: mean and spread with frozen selections minus those with a new one at every step."""
    for dim in (20, 50):
        problem = robula.simulate.linear_regression(n_clean=1000, dim=dim, contamination=CONTAMINATION, seed=1)
        for name, make in SELECTORS.items():
            # Selections that stay for the whole run have nothing to compare.
            slow = name == "spectral" and dim > 20
            if make().prepared(problem.model, CONTAMINATION).depends_on_theta and not slow:
                yield from _compare(problem, name, dim, quick)


def reach_rows(quick: bool) -> Iterator[Row]:
    """What the reach of ``refresh_every="auto"`` does to cost and spread, with the paper's estimator."""
    problem = robula.simulate.linear_regression(n_clean=1000, dim=20, contamination=CONTAMINATION, seed=1)
    section = '2. Reach of refresh_every="auto", recursive, d = 20, epsilon = 0.2'
    usual = robust_gradient.REACH
    for reach in (1.0, 2.0, 4.0):
        robust_gradient.REACH = reach
        draws = 300 if quick else 3000
        posterior, gap = _run(problem, "recursive", "auto", draws if reach < 3 else 10 * draws, 8)
        case = f"reach {reach:g} widths"
        steps = posterior.settings["burn_in"] + posterior.settings["draws"]
        yield Row(section, case, "selections per chain and step", posterior.settings["selections"] / (8 * steps))
        yield Row(section, case, "bias, widths", gap.bias)
        yield Row(section, case, "its Monte Carlo error, widths", gap.bias_mcse)
        yield Row(section, case, "spread", gap.spread)
        yield Row(section, case, "its Monte Carlo error", gap.spread_mcse)
    robust_gradient.REACH = usual


def _compare(problem: robula.simulate.Problem, selector: str, dim: int, quick: bool) -> Iterator[Row]:
    chains, draws = EXACT[selector]
    draws = draws // 10 if quick else draws
    width = math.sqrt(np.trace(problem.clean_posterior.covariance))
    reference, gap = _run(problem, selector, 1, draws, chains)
    section = f"2. Frozen against a new selection at every step, paper's regression, d = {dim}, epsilon = 0.2"
    for refresh_every in (50, "auto"):
        # Draws under one selection say little about the others: frozen runs need as many selections as draws elsewhere.
        case = f"{selector}, refresh_every={refresh_every}"
        try:
            posterior, other = _run(problem, selector, refresh_every, 10 * draws, 8)
        except robula.exceptions.DivergenceError as error:
            yield Row(section, case, "diverged: its frozen curvature is beyond 2 / step; at step", error.step)
            continue
        moved = float(np.linalg.norm(posterior.mean - reference.mean)) / width
        error = math.hypot(gap.bias_mcse, other.bias_mcse)
        yield Row(section, case, "distance of the means, widths", moved, 2 * error)
        yield Row(section, case, "its Monte Carlo error, widths", error, 0.1)
        error = math.hypot(gap.spread_mcse, other.spread_mcse)
        yield Row(section, case, "difference of the spreads, widths", abs(other.spread - gap.spread), 2 * error)
        yield Row(section, case, "its Monte Carlo error, widths", error, 0.1)
        yield Row(section, case, "spread", other.spread)
        yield Row(section, case, "spread with a new selection at every step", gap.spread)


def _run(
    problem: robula.simulate.Problem, selector: str, refresh_every: int | str, draws: int, chains: int
) -> tuple[robula.Posterior, robula.metrics.Gap]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", robula.exceptions.RobulaWarning)
        posterior = robula.sample(
            problem.model, contamination=CONTAMINATION, selector=selector, likelihood_rows="n", kernel="ula",
            refresh_every=refresh_every, draws=draws, burn_in=200, chains=chains, seed=5, progress=False,
            start=problem.clean_posterior.mean,
        )  # fmt: skip
    return posterior, robula.metrics.clean_posterior_gap(posterior, problem.clean_posterior)
