"""Simulation-based calibration at contamination 0: ranks of the truth among the draws must be uniform.

    python -m benchmarks.calibration [--replications 1000] [--seed 0] [--kernel auto] [--page docs/calibration.md]

Parameters are drawn from the prior and data from the model; the posterior's draws are then, if the sampler is right,
exchangeable with the parameters (Talts et al. 2018). For every parameter the ranks go into ten bins and a chi-square
test. ULA at its default step is the negative control.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import stats

import robula

ROWS, DIM, BINS = 60, 3, 10
#: Draws that the truth is ranked among: 99 give 100 ranks, ten to a bin.
RANKED, CHAINS = 99, 11
PRIOR = robula.NormalPrior(0.0, 1.0)


def linear(rng: np.random.Generator) -> tuple[robula.models.Model, np.ndarray]:
    """Correlated columns of unlike scales, prior N(0, 1)."""
    theta = rng.standard_normal(DIM)
    X = rng.standard_normal((ROWS, DIM)) * [0.2, 1.0, 3.0]
    X[:, 1] += X[:, 2]
    y = X @ theta + rng.standard_normal(ROWS)
    return robula.LinearModel(X, y, noise_scale=1.0, prior=PRIOR), theta


def logistic(rng: np.random.Generator) -> tuple[robula.models.Model, np.ndarray]:
    """Labels from the model, prior N(0, 1)."""
    theta = rng.standard_normal(DIM)
    X = rng.standard_normal((ROWS, DIM)) * [0.5, 1.0, 2.0]
    y = rng.uniform(size=ROWS) < 1.0 / (1.0 + np.exp(-X @ theta))
    # Labels as 0 and 1, whatever the draw: one class alone is allowed.
    return robula.LogisticModel(X, y.astype(int), prior=PRIOR), theta


def _simulated(kind: type, rng: np.random.Generator) -> tuple[robula.models.Model, np.ndarray]:
    """Parameters from the model's own prior, responses by its own law; features small enough for a log link."""
    X = rng.standard_normal((ROWS, DIM)) * [0.3, 0.5, 0.8]
    model = kind(X, np.ones(ROWS), prior=PRIOR)
    theta = rng.standard_normal(model.dim)
    if model.dim > DIM:  # the log dispersion: N(-1, 2^2), whatever the responses
        theta[-1] = model.initial[-1] + robula.models.priors.LOG_SCALE_SD * theta[-1]
    return model.with_response(model.simulate(theta, rng)), theta


def poisson(rng: np.random.Generator) -> tuple[robula.models.Model, np.ndarray]:
    """Counts from the model, prior N(0, 1)."""
    return _simulated(robula.PoissonModel, rng)


def negative_binomial(rng: np.random.Generator) -> tuple[robula.models.Model, np.ndarray]:
    """Counts from the model; the prior of the log dispersion is N(-1, 2^2)."""
    return _simulated(robula.models.NegativeBinomialModel, rng)


MODELS: dict[str, Callable[[np.random.Generator], tuple[robula.models.Model, np.ndarray]]] = {
    "linear": linear,
    "logistic": logistic,
    "poisson": poisson,
    "negative_binomial": negative_binomial,
}


def ranks(name: str, kernel: str | robula.kernels.Kernel, replications: int, seed: int = 0) -> np.ndarray:
    """Rank of each true parameter among 99 thinned draws, shape (replications, d), in 0..99."""
    result = []
    with warnings.catch_warnings():
        # Of 99 draws no chain can tell that it has converged.
        warnings.simplefilter("ignore", robula.exceptions.ConvergenceWarning)
        for index in range(replications):
            rng = np.random.default_rng([seed, index])
            model, theta = MODELS[name](rng)
            posterior = robula.sample(
                model,
                contamination=0.0,
                selector="mean",
                kernel=kernel,
                draws=RANKED // CHAINS,
                chains=CHAINS,
                burn_in=60,
                thin=8,
                refresh_every=10**6,
                # Of their own for every seed, lest two runs share the sampler's noise.
                seed=np.random.SeedSequence([seed, index, 1]),
                progress=False,
            )
            result.append((posterior.flat_draws < theta).sum(axis=0))
    return np.stack(result)


def bin_counts(rank: np.ndarray) -> np.ndarray:
    """How many ranks of each parameter fall into each of the ten bins, shape (d, 10)."""
    return np.stack([np.bincount(column * BINS // (RANKED + 1), minlength=BINS) for column in rank.T])


def p_values(rank: np.ndarray) -> np.ndarray:
    """Chi-square test of uniform ranks for each parameter, shape (d,)."""
    return np.array([stats.chisquare(count).pvalue for count in bin_counts(rank)])


def main() -> None:
    """Print the p-values, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kernel", default="auto")
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    lines = []
    for kernel in (options.kernel, "ula"):
        for name in MODELS:
            # One control is enough, and Euler's step is no match for the prior's rare huge rates.
            if kernel == "ula" and name != "linear":
                continue
            found = ranks(name, kernel, options.replications, options.seed)
            for place, (p, counts) in enumerate(zip(p_values(found), bin_counts(found), strict=True)):
                shown = " ".join(str(count) for count in counts)
                lines.append(f"| {kernel} | {name} | {place} | {shown} | {p:.2g} |")
                print(lines[-1], flush=True)
    if options.page is not None:
        options.page.write_text(_page(lines, options.replications), encoding="utf-8")


def _page(lines: list[str], replications: int) -> str:
    head = f"""# Calibration by simulation

Written by `python -m benchmarks.calibration --replications {replications} --page docs/calibration.md`.

Parameters are drawn from the prior, {ROWS} rows from the model, and the truth is ranked among {RANKED} thinned draws of `robula.sample`
at contamination 0 (Talts et al. 2018). If the sampler is right, each of the ten bins holds a tenth of the {replications} ranks;
p is the chi-square test's. `auto` draws independently for linear regression (`"exact"`) and by Metropolis-adjusted Hamiltonian steps
for the others (`"hmc"`); the last parameter of the negative binomial model is the log dispersion. `ula`, Euler's scheme at its default
step, is the negative control: on columns of such unlike scales it has not arrived after as many steps, and the test must say so.

| kernel | model | parameter | ranks in ten bins | p |
|---|---|---|---|---|
"""
    return head + "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
