"""One of our methods on the paper's mean estimation."""

from __future__ import annotations

from typing import Any

from benchmarks.leaderboard import settings
from benchmarks.leaderboard.ours import run_ours, run_sizes
from benchmarks.leaderboard.scores import detection, posterior_scores
from robula.simulate import Problem, mean_estimation


def make_problem(dim: int, epsilon: float, seed: int) -> Problem:
    """Return the paper's section 6.1.1 problem."""
    return mean_estimation(settings.N_CLEAN, dim, epsilon, seed)


def run(problem: Problem, method: str, seed: int) -> dict[str, Any]:
    """Return the figures of a method; a mean's selection is exact for ever, so all methods can draw many."""
    posterior = run_ours(method, problem.model, run_sizes(method)[5], seed)
    auc = None if method == "ula" else detection(-posterior.row_weights, problem.outlier_mask)
    return {**posterior_scores(posterior.draws, problem), "auc": auc}
