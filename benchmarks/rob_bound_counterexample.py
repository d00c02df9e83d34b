"""Algorithm 2 as printed against lem:rob_bound: a tight group of bad rows that no level cuts.

python -m benchmarks.rob_bound_counterexample [--out benchmarks/results/rob_bound_counterexample.md]

Prints the table of docs/errata.md and writes it. Takes about a minute on one core.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np

import robula
from robula import theory

CONTAMINATION = 0.15
N_CLEAN = 6800
DIMS = (16, 32, 64, 128, 256, 512, 1024)
SEEDS = (0, 1, 2)
#: Fourth-moment constant of a Gaussian, for the lemma's own bound.
GAUSSIAN = 3.0
ESTIMATORS: dict[str, robula.selectors.RobustMean] = {
    "plain mean": robula.SampleMean(),
    "Algorithm 2": robula.RecursiveMean(),
    "all_rows": robula.RecursiveMean(variant="all_rows"),
    "lai2016": robula.RecursiveMean(variant="lai2016"),
    "spectral": robula.SpectralFilter(),
}


def errors(dim: int, seed: int) -> tuple[dict[str, float], list[float]]:
    """Distance of each estimate from the clean rows' mean, and Algorithm 2's share of bad rows at every level."""
    problem = robula.simulate.hidden_cluster(N_CLEAN, dim, CONTAMINATION, seed=seed)
    rows, bad = problem.model.z, problem.outlier_mask
    centre = rows[~bad].mean(axis=0)
    found = {
        name: float(np.linalg.norm(robula.robust_mean(rows, CONTAMINATION, estimator) - centre))
        for name, estimator in ESTIMATORS.items()
    }
    parts = robula.RecursiveMean().select(rows, CONTAMINATION).parts
    return found, [float(part.weights[bad].sum() / part.weights.sum()) for part in parts]


def table() -> str:
    """Return the page: one line a dimension, means over the seeds."""
    heads = ["d", "distance s", *ESTIMATORS, "lemma, C_1 = 1", "proved for all_rows", "bad share by level"]
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for dim in DIMS:
        runs = [errors(dim, seed) for seed in SEEDS]
        means = [float(np.mean([found[name] for found, _ in runs])) for name in ESTIMATORS]
        lemma = theory.gradient_error_bound(dim, CONTAMINATION, 1.0, GAUSSIAN, 1.0, log_dim=1.0 + np.log(dim))
        proved = theory.all_rows_error_bound(dim, CONTAMINATION, 1.0, GAUSSIAN)
        shares = " ".join(f"{share:.2f}" for share in np.mean([share for _, share in runs], axis=0))
        values = [f"{dim}", f"{0.625 * dim**0.5:.1f}", *(f"{mean:.2f}" for mean in means)]
        lines.append(f"| {' | '.join([*values, f'{lemma:.2f}', f'{proved:.1f}', shares])} |")
    intro = (
        f"Distance from the mean of the clean rows: {N_CLEAN} clean rows N(theta, I), a share {CONTAMINATION:g} of all "
        f"rows in one tight group at distance s = 5/8 sqrt(d); means over {len(SEEDS)} seeds. Written by "
        "`python -m benchmarks.rob_bound_counterexample`.\n"
    )
    return "\n".join(["# lem:rob_bound and Algorithm 2 as printed\n", intro, *lines, ""])


def main() -> None:
    """Print the table and write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/rob_bound_counterexample.md"))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", robula.exceptions.BreakdownWarning)
    page = table()
    print(page)
    arguments.out.write_text(page)


if __name__ == "__main__":
    main()
