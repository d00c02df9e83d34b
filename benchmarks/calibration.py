"""Simulation-based calibration at contamination 0: ranks of the truth among the draws must be uniform.

    python -m benchmarks.calibration [--replications 1000] [--kernel preconditioned_lm]

Parameters are drawn from the prior and data from the model; the posterior's draws are then, if the sampler is right,
exchangeable with the parameters (Talts et al. 2018). For every parameter the ranks go into ten bins and a chi-square
test. ULA at its default step is printed as the negative control.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from scipy import stats

import robula

ROWS, DIM, BINS = 60, 3, 10
#: Draws that the truth is ranked among: 99 give 100 ranks, ten to a bin.
RANKED = 99


def linear(rng: np.random.Generator) -> tuple[robula.models.Model, np.ndarray]:
    """Correlated columns of unlike scales, prior N(0, 1)."""
    theta = rng.standard_normal(DIM)
    X = rng.standard_normal((ROWS, DIM)) * [0.2, 1.0, 3.0]
    X[:, 1] += X[:, 2]
    y = X @ theta + rng.standard_normal(ROWS)
    return robula.LinearModel(X, y, noise_scale=1.0, prior=robula.NormalPrior(0.0, 1.0)), theta


def logistic(rng: np.random.Generator) -> tuple[robula.models.Model, np.ndarray]:
    """Labels from the model, prior N(0, 1)."""
    theta = rng.standard_normal(DIM)
    X = rng.standard_normal((ROWS, DIM)) * [0.5, 1.0, 2.0]
    y = rng.uniform(size=ROWS) < 1.0 / (1.0 + np.exp(-X @ theta))
    # Labels as 0 and 1 with both present, whatever the draw.
    if y.all() or not y.any():
        return logistic(rng)
    return robula.LogisticModel(X, y.astype(int), prior=robula.NormalPrior(0.0, 1.0)), theta


MODELS: dict[str, Callable[[np.random.Generator], tuple[robula.models.Model, np.ndarray]]] = {
    "linear": linear,
    "logistic": logistic,
}


def ranks(name: str, kernel: str | robula.kernels.Kernel, replications: int, seed: int = 0) -> np.ndarray:
    """Rank of each true parameter among 99 thinned draws, shape (replications, d), in 0..99."""
    result = np.empty((replications, DIM), dtype=int)
    for index in range(replications):
        rng = np.random.default_rng([seed, index])
        model, theta = MODELS[name](rng)
        posterior = robula.sample(
            model,
            contamination=0.0,
            selector="mean",
            kernel=kernel,
            draws=RANKED // 3,
            chains=3,
            burn_in=60,
            thin=8,
            refresh_every=10**6,
            seed=index,
            progress=False,
        )
        result[index] = (posterior.flat_draws < theta).sum(axis=0)
    return result


def p_values(rank: np.ndarray) -> np.ndarray:
    """Chi-square test of uniform ranks for each parameter, shape (d,)."""
    counts = np.stack([np.bincount(column * BINS // (RANKED + 1), minlength=BINS) for column in rank.T])
    return np.array([stats.chisquare(count).pvalue for count in counts])


def main() -> None:
    """Print the p-values."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=1000)
    parser.add_argument("--kernel", default="preconditioned_lm")
    options = parser.parse_args()
    for kernel in (options.kernel, "ula"):
        for name in MODELS:
            values = p_values(ranks(name, kernel, options.replications))
            shown = ", ".join(f"{value:.2g}" for value in values)
            print(f"{kernel:<20}{name:<10}{options.replications} replications: p = {shown}", flush=True)


if __name__ == "__main__":
    main()
