"""Effective samples per second of every kernel, and of Student-t NUTS, measured side by side in one run.

    python -m benchmarks.kernels [--seeds 3] [--write]

The paper's regression (d = 20 and 200, epsilon 0.1 and 0.2) and the same with a design of condition number 1000. Our time is
that of the whole `robula.sample` call: robust centre, warm-up, selections. NUTS (NumPyro) counts its warm-up too, but not its
compilation, and the faster of its two chain methods. One BLAS thread. `--write` puts the tables into docs/kernels.md.
"""

from __future__ import annotations

import argparse
import platform
import time
import warnings
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

import robula
from robula.models.gaussian_posterior import GaussianPosterior
from robula.result.convergence import effective_sample_sizes

#: The recommended way to run: which rows, how many they stand for, and how long a selection is kept.
SELECTOR = "trust"
LIKELIHOOD_ROWS: Literal["n", "clean", "weights"] = "weights"
REFRESH_EVERY: int | Literal["auto"] = "auto"
CHAINS, DRAWS, BURN_IN = 4, 2000, 200
NUTS_DRAWS, NUTS_WARM_UP = 1000, 500
CASES = [(dim, epsilon, 1.0) for dim in (20, 200) for epsilon in (0.1, 0.2)] + [(20, 0.1, 1000.0)]
KERNELS: dict[str, str] = {
    "ULA": "ula",
    "LM": "lm",
    "preconditioned LM": "preconditioned_lm",
    "BAOAB": "baoab",
    "preconditioned BAOAB": "preconditioned_baoab",
    "HMC": "hmc",
    "exact": "exact",
}
NUTS = "Student-t NUTS"
PAGE = Path(__file__).parents[1] / "docs" / "kernels.md"
BEGIN, END = "<!-- measured: python -m benchmarks.kernels --write -->", "<!-- end of measured -->"


class Score(NamedTuple):
    """One run: effective samples per second (smallest and mean over the parameters), seconds, and the gap to clean."""

    smallest: float
    mean: float
    seconds: float
    bias: float
    spread: float


class Case(NamedTuple):
    """A contaminated regression and its exact clean posterior."""

    model: robula.LinearModel
    clean: GaussianPosterior


def make_case(dim: int, epsilon: float, condition: float, seed: int) -> Case:
    """The paper's regression, its columns mixed so that the Fisher information has the given condition number."""
    problem = robula.simulate.linear_regression(1000, dim, epsilon, seed=seed)
    if condition == 1.0:
        return Case(problem.model, problem.clean_posterior)
    rotation = np.linalg.qr(np.random.default_rng(seed).standard_normal((dim, dim)))[0]
    X = problem.model.design @ (rotation * np.geomspace(1.0, condition, dim) ** -0.5) @ rotation.T
    # A wide prior: one of N(0, 1) would mend the condition number by itself.
    model = robula.LinearModel(X, problem.model.y, noise_scale=1.0, prior=robula.NormalPrior(0.0, 100.0))
    return Case(model, model.gaussian_posterior((~problem.outlier_mask).astype(float)))


def score(draws: np.ndarray, seconds: float, clean: GaussianPosterior) -> Score:
    """Judge draws (chains, draws, d)."""
    sizes = effective_sample_sizes(draws)
    names = tuple(map(str, range(draws.shape[-1])))
    gap = robula.metrics.clean_posterior_gap(robula.Posterior(draws, np.ones(1), names), clean)
    return Score(float(sizes.min()) / seconds, float(sizes.mean()) / seconds, seconds, gap.bias, gap.spread)


def run_ours(case: Case, epsilon: float, kernel: str, seed: int) -> Score | None:
    """One call of ``robula.sample``; None if it diverged."""
    began = time.perf_counter()
    try:
        posterior = robula.sample(
            case.model,
            contamination=epsilon,
            selector=SELECTOR,
            kernel=kernel,
            likelihood_rows=LIKELIHOOD_ROWS,
            refresh_every=REFRESH_EVERY,
            draws=DRAWS,
            burn_in=BURN_IN,
            chains=CHAINS,
            seed=seed,
            progress=False,
        )
    except robula.exceptions.DivergenceError:
        return None
    return score(posterior.draws, time.perf_counter() - began, case.clean)


def run_nuts(case: Case, seed: int) -> Score:
    """Student-t likelihood (4 degrees of freedom, known scale, same prior), the faster chain method, compiled before."""
    import jax
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC

    variance = float(case.model.prior.covariance.value)  # type: ignore[attr-defined]

    def model(X: Any, y: Any) -> None:
        beta = numpyro.sample("beta", dist.Normal(0.0, variance**0.5).expand([X.shape[1]]).to_event(1))
        numpyro.sample("y", dist.StudentT(4.0, X @ beta, 1.0), obs=y)

    X, y = jax.numpy.asarray(case.model.design), jax.numpy.asarray(case.model.y)
    results = []
    for method in ("vectorized", "sequential"):
        sampler = MCMC(
            numpyro.infer.NUTS(model),
            num_warmup=NUTS_WARM_UP,
            num_samples=NUTS_DRAWS,
            num_chains=CHAINS,
            chain_method=method,
            progress_bar=False,
        )
        sampler.run(jax.random.PRNGKey(seed + 1000), X, y)
        began = time.perf_counter()
        sampler.run(jax.random.PRNGKey(seed), X, y)
        draws = np.asarray(sampler.get_samples(group_by_chain=True)["beta"], dtype=np.float64)
        results.append(score(draws, time.perf_counter() - began, case.clean))
    return max(results, key=lambda result: result.smallest)


def measure(seeds: int) -> dict[tuple[int, float, float], dict[str, list[Score | None]]]:
    """Run every case and contender, seed by seed, contenders interleaved."""
    results: dict[tuple[int, float, float], dict[str, list[Score | None]]] = {}
    for case_key in CASES:
        dim, epsilon, condition = case_key
        rows: dict[str, list[Score | None]] = {name: [] for name in (*KERNELS, NUTS)}
        for seed in range(seeds):
            case = make_case(dim, epsilon, condition, seed)
            for name, kernel in KERNELS.items():
                rows[name].append(run_ours(case, epsilon, kernel, seed))
            rows[NUTS].append(run_nuts(case, seed))
        results[case_key] = rows
        print(table(case_key, rows), flush=True)
    return results


def table(case_key: tuple[int, float, float], rows: dict[str, list[Score | None]]) -> str:
    """One case as a table: medians over the seeds."""
    dim, epsilon, condition = case_key
    title = f"d = {dim}, epsilon = {epsilon:g}" + (f", condition number {condition:g}" if condition > 1 else "")
    lines = [
        f"**{title}**",
        "",
        "| kernel | effective samples/s, worst parameter | mean | against NUTS | against ULA | seconds | bias | spread |",
        "|---|---|---|---|---|---|---|---|",
    ]
    middle = {
        name: np.median([tuple(row) for row in found if row is not None], axis=0)
        for name, found in rows.items()
        if any(found)
    }
    for name, found in rows.items():
        if name not in middle:
            lines.append(f"| {name} | diverged | | | | | | |")
            continue
        smallest, mean, seconds, bias, spread = middle[name]
        against_nuts = f"{smallest / middle[NUTS][0]:.2g}"
        against_ula = f"{smallest / middle['ULA'][0]:.2g}" if "ULA" in middle else ""
        lost = found.count(None)
        note = f" ({lost} of {len(found)} diverged)" if lost else ""
        lines.append(
            f"| {name}{note} | {smallest:.0f} | {mean:.0f} | {against_nuts} | {against_ula} | {seconds:.2f} | {bias:.2f} | {spread:.2f} |"
        )
    return "\n".join([*lines, ""])


def main() -> None:
    """Measure, print, and write on request."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/kernels.md")
    options = parser.parse_args()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", robula.exceptions.RobulaWarning)
        results = measure(options.seeds)
    text = "\n".join(
        [
            f"{CHAINS} chains; ours {BURN_IN} + {DRAWS} steps, selector {SELECTOR!r}, refresh_every {REFRESH_EVERY!r} ('auto' keeps a selection for K = 50 steps unless a chain moves far), "
            f"likelihood_rows {LIKELIHOOD_ROWS!r}; NUTS {NUTS_WARM_UP} + {NUTS_DRAWS}. Medians of {options.seeds} seed(s). "
            f"Bias and spread against the exact clean posterior, in its widths. Python {platform.python_version()}, NumPy {np.__version__}.",
            "",
            *(table(key, rows) for key, rows in results.items()),
        ]
    )
    if options.write:
        page = PAGE.read_text()
        before, after = page[: page.index(BEGIN) + len(BEGIN)], page[page.index(END) :]
        PAGE.write_text(f"{before}\n\n{text}\n{after}")


if __name__ == "__main__":
    main()
