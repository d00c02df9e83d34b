"""One method on a mean estimation: the paper's, or the attack that breaks its Algorithm 2."""

from __future__ import annotations

from typing import Any

from benchmarks.leaderboard import related, settings
from benchmarks.leaderboard.ours import run_ours, run_sizes
from benchmarks.leaderboard.scores import detection, posterior_scores
from benchmarks.leaderboard.weighted_rows import MeanRows
from robula.simulate import Problem, hidden_cluster, mean_estimation


def make_problem(attack: str, dim: int, epsilon: float, seed: int) -> Problem:
    """Return the paper's section 6.1.1 problem, or that with a tight group of bad rows inside the clean shell."""
    if attack == "hidden cluster":
        return hidden_cluster(settings.N_CLEAN, dim, epsilon, seed=seed)
    return mean_estimation(settings.N_CLEAN, dim, epsilon, seed)


def run(problem: Problem, method: str, seed: int) -> dict[str, Any]:
    """Return the figures of a method; a mean's selection is exact for ever, so all methods can draw many."""
    if method in settings.RELATED:
        draws, suspicion = related.run(method, MeanRows(problem.model.z), seed)
        auc = None if suspicion is None else detection(suspicion, problem.outlier_mask)
        return {**posterior_scores(draws, problem), "auc": auc}
    posterior = run_ours(method, problem.model, run_sizes(method)[5], seed)
    auc = None if method == "ula" else detection(-posterior.row_weights, problem.outlier_mask)
    return {**posterior_scores(posterior.draws, problem), "auc": auc}
