"""Models that are not convex, with bad rows: a Gaussian mixture's means and a Bayesian neural network.

    python -m benchmarks.nonconvex [--seeds 5] [--write]

Held-out log-likelihood on clean test data of plain Langevin on all rows, of the robust run, and of plain Langevin on the clean
rows, and the share of the gap that the robust run closes. Every method climbs from the same twelve random starts
(`robula.restarts`) and runs four chains from its four best ends; test data have no part in that. `--write` writes docs/nonconvex.md and its figure.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

import robula
from benchmarks.large_network import measure_large

#: The robust run: which rows, and how long a selection is kept. All runs use the same kernel.
SELECTOR: str | robula.selectors.Selector = robula.selectors.TrimmedLikelihood()
KERNEL = "baoab"
REFRESH_EVERY = 20
CHAINS, STARTS, DRAWS, BURN_IN, THIN = 4, 12, 200, 300, 2
EPSILONS = (0.1, 0.2)
DOCS = Path(__file__).parents[1] / "docs"
METHODS = ("plain, all rows", "robust, all rows", "plain, clean rows")


class Data(NamedTuple):
    """Training rows with a mask of the bad ones, clean test rows, and random starts (s, d)."""

    train: Any
    bad: np.ndarray
    test: Any
    starts: np.ndarray
    model: Callable[[Any], Any]


class Result(NamedTuple):
    """Held-out mean log-likelihood of all chains together, and of each alone; starts that reached the best mode."""

    together: float
    alone: np.ndarray
    agreeing: int
    r_hat: float
    bad_weight: float
    draws: np.ndarray


# --- a mixture of three normals in the plane, weights and covariances known -------------------------------------------

CENTRES = np.array([[4.0, 0.0], [-2.0, 3.5], [-2.0, -3.5]])


def mixture_model(rows: np.ndarray) -> Any:
    """Three means, equal weights, identity covariances, prior N(0, 100)."""
    import jax
    import jax.numpy as jnp

    def log_likelihood(means: Any, row: Any) -> Any:
        squares = jnp.sum((means - row) ** 2, axis=1)
        return jax.scipy.special.logsumexp(-0.5 * squares) - jnp.log(3.0) - jnp.log(2 * jnp.pi)

    return robula.from_jax(log_likelihood, rows, log_prior=robula.NormalPrior(0.0, 100.0), init=rows[:3])


def mixture_data(epsilon: float, seed: int) -> Data:
    """300 clean rows; of the bad ones two thirds in a far cluster and one third scattered."""
    rng = np.random.default_rng([seed, 1])

    def clean(count: int) -> np.ndarray:
        return CENTRES[rng.integers(3, size=count)] + rng.standard_normal((count, 2))

    count = round(300 * epsilon / (1 - epsilon))
    cluster = np.array([9.0, 9.0]) + rng.standard_normal((2 * count // 3, 2))
    scattered = rng.uniform(-20, 20, (count - len(cluster), 2))
    train = np.concatenate([clean(300), cluster, scattered])
    bad = np.arange(len(train)) >= 300
    # Three rows picked at random, bad ones included: what one does without knowing better.
    starts = np.stack([train[rng.choice(len(train), 3, replace=False)].ravel() for _ in range(STARTS)])
    return Data(train, bad, clean(2000), starts, mixture_model)


# --- a network with one hidden layer ---------------------------------------------------------------------------------

HIDDEN, NOISE = 20, 0.2


def network_model(rows: Any) -> Any:
    """Rows y = network(x) + N(0, 0.2^2); 20 tanh units, prior N(0, 1) on weights scaled for their number."""
    import jax.numpy as jnp

    def predict(parameters: Any, x: Any) -> Any:
        hidden = jnp.tanh(3.0 * parameters["in"] * x + 3.0 * parameters["shift"])
        return hidden @ parameters["out"] * (4.0 / HIDDEN**0.5) + parameters["level"]

    def log_likelihood(parameters: Any, row: Any) -> Any:
        standardized = (row["y"] - predict(parameters, row["x"])) / NOISE
        return -0.5 * standardized**2 - jnp.log(NOISE) - 0.5 * jnp.log(2 * jnp.pi)

    rng = np.random.default_rng(0)
    init = {name: rng.standard_normal(HIDDEN) for name in ("in", "shift", "out")} | {"level": 0.0}
    return robula.from_jax(log_likelihood, rows, log_prior=robula.NormalPrior(0.0, 1.0), init=init)


def network_data(epsilon: float, seed: int) -> Data:
    """300 clean rows of a sine; bad ones lie on a line above it, in the right half."""
    rng = np.random.default_rng([seed, 2])

    def clean(count: int) -> dict[str, np.ndarray]:
        x = rng.uniform(-1.5, 1.5, count)
        return {"x": x, "y": np.sin(3 * x) + NOISE * rng.standard_normal(count)}

    count = round(300 * epsilon / (1 - epsilon))
    good = clean(300)
    x = rng.uniform(0.0, 1.5, count)
    train = {"x": np.append(good["x"], x), "y": np.append(good["y"], 3.0 + NOISE * rng.standard_normal(count))}
    bad = np.arange(300 + count) >= 300
    starts = rng.standard_normal((STARTS, 3 * HIDDEN + 1))
    return Data(train, bad, clean(1000), starts, network_model)


PROBLEMS: dict[str, Callable[[float, int], Data]] = {"mixture": mixture_data, "network": network_data}


def subset(rows: Any, keep: np.ndarray) -> Any:
    """The rows of an array or of a dict of arrays."""
    return {name: values[keep] for name, values in rows.items()} if isinstance(rows, dict) else rows[keep]


def run(data: Data, method: str, epsilon: float, seed: int) -> Result:
    """One method on one data set."""
    rows = subset(data.train, ~data.bad) if method == METHODS[2] else data.train
    robust = method == METHODS[1]
    model, contamination, selector = data.model(rows), epsilon if robust else 0.0, SELECTOR if robust else "mean"
    found = robula.restarts(model, data.starts, contamination=contamination, selector=selector)
    posterior = robula.sample(
        model,
        contamination=contamination,
        selector=selector,
        likelihood_rows="weights",
        kernel=KERNEL,
        refresh_every=REFRESH_EVERY if robust else 10**6,
        start=found.theta[:CHAINS],
        chains=CHAINS,
        draws=DRAWS,
        burn_in=BURN_IN,
        thin=THIN,
        seed=seed,
        progress=False,
    )
    values = data.model(data.test).log_likelihood(posterior.draws)
    alone = (logsumexp(values, axis=1) - np.log(DRAWS)).mean(axis=-1)
    together = (logsumexp(values, axis=(0, 1)) - np.log(values.shape[0] * values.shape[1])).mean()
    bad_weight = float(posterior.row_weights[data.bad].mean()) if robust else float(method == METHODS[0])
    r_hat = robula.diagnose(posterior).r_hat
    return Result(float(together), alone, found.agreeing, r_hat, bad_weight, posterior.draws)


def measure(seeds: int) -> dict[tuple[str, float], list[dict[str, Result]]]:
    """Every problem, epsilon and seed."""
    results: dict[tuple[str, float], list[dict[str, Result]]] = {}
    for problem, make in PROBLEMS.items():
        for epsilon in EPSILONS:
            found = []
            for seed in range(seeds):
                data = make(epsilon, seed)
                found.append({method: run(data, method, epsilon, seed) for method in METHODS})
                print(
                    problem,
                    epsilon,
                    seed,
                    {
                        name: (
                            round(r.together, 3),
                            r.alone.round(2).tolist(),
                            r.agreeing,
                            round(r.r_hat, 2),
                            round(r.bad_weight, 2),
                        )
                        for name, r in found[-1].items()
                    },
                    flush=True,
                )
            results[problem, epsilon] = found
    return results


def closed(one: dict[str, Result]) -> float:
    """Share of the gap between plain on all rows and plain on the clean ones."""
    plain, robust, clean = (one[method].together for method in METHODS)
    return (robust - plain) / (clean - plain)


def table(results: dict[tuple[str, float], list[dict[str, Result]]]) -> str:
    """Medians and ranges over the seeds."""
    lines = [
        "| problem | epsilon | plain, all rows | robust | plain, clean rows | share of the gap closed | robust at least as good as plain | starts of 12 in the best mode, plain / robust / clean | range of the four chains' own scores, same order | largest R-hat, same order | weight of bad rows |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (problem, epsilon), found in results.items():
        cells = []
        for method in METHODS:
            values = np.array([one[method].together for one in found])
            cells.append(f"{np.median(values):.3f} ({values.min():.3f} to {values.max():.3f})")
        share = np.array([closed(one) for one in found])
        wins = sum(one[METHODS[1]].together >= one[METHODS[0]].together for one in found)
        agreeing = " / ".join(f"{np.median([one[method].agreeing for one in found]):.0f}" for method in METHODS)
        ranges = " / ".join(f"{np.median([np.ptp(one[method].alone) for one in found]):.2f}" for method in METHODS)
        hats = " / ".join(f"{np.median([one[method].r_hat for one in found]):.1f}" for method in METHODS)
        weight = np.mean([one[METHODS[1]].bad_weight for one in found])
        lines.append(
            f"| {problem} | {epsilon:g} | {' | '.join(cells)} | {np.median(share):.0%} ({share.min():.0%} to {share.max():.0%}) | {wins} of {len(found)} | {agreeing} | {ranges} | {hats} | {weight:.2f} |"
        )
    return "\n".join(lines)


def draw_figure(results: dict[tuple[str, float], list[dict[str, Result]]]) -> None:
    """The network's bands and the mixture's means, first seed, and the shares for all seeds."""
    import jax
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(13, 7.5), layout="constrained")
    colours = ("tab:red", "tab:blue", "tab:green")
    epsilon = EPSILONS[-1]
    grid = np.linspace(-1.5, 1.5, 121)
    data = network_data(epsilon, 0)
    for axis, method, colour in zip(axes[0], METHODS, colours, strict=True):
        draws = results["network", epsilon][0][method].draws.reshape(-1, data.starts.shape[1])[::5]
        curves = np.stack([_network_curve(jax, theta, grid) for theta in draws])
        low, middle, high = np.quantile(curves, [0.05, 0.5, 0.95], axis=0)
        axis.scatter(data.train["x"], data.train["y"], s=6, c=np.where(data.bad, "k", "0.7"))
        axis.fill_between(grid, low, high, color=colour, alpha=0.3)
        axis.plot(grid, middle, color=colour)
        axis.set_title(f"network, {method}, epsilon {epsilon:g}\nmedian and 90 % band")
    mixture = mixture_data(epsilon, 0)
    for axis, method, colour in zip(axes[1, :2], METHODS[:2], colours[:2], strict=True):
        draws = results["mixture", epsilon][0][method].draws.reshape(-1, 2)
        axis.scatter(*mixture.train.T, s=6, c=np.where(mixture.bad, "k", "0.7"))
        axis.scatter(*draws.T, s=3, color=colour, alpha=0.3)
        axis.set_title(f"mixture, {method}, epsilon {epsilon:g}\ndraws of the means, four starts")
    axis = axes[1, 2]
    for index, found in enumerate(results.values()):
        share = [closed(one) for one in found]
        axis.scatter(np.full(len(share), index), share, color="tab:blue", alpha=0.6)
        axis.hlines(np.median(share), index - 0.2, index + 0.2, color="k")
    axis.axhline(0.0, color="tab:red", lw=1)
    axis.axhline(1.0, color="tab:green", lw=1)
    axis.set_xticks(range(len(results)), [f"{problem}\n{eps:g}" for problem, eps in results])
    axis.set_title("share of the held-out gap closed, every seed")
    figure.savefig(DOCS / "images" / "nonconvex.png", dpi=110)


def _network_curve(jax: Any, theta: np.ndarray, grid: np.ndarray) -> np.ndarray:
    # JAX flattens a dict by sorted keys: in, level, out, shift.
    weights, level, out, shift = (
        theta[:HIDDEN],
        theta[HIDDEN],
        theta[HIDDEN + 1 : 2 * HIDDEN + 1],
        theta[2 * HIDDEN + 1 :],
    )
    return np.tanh(3.0 * np.outer(grid, weights) + 3.0 * shift) @ out * (4.0 / HIDDEN**0.5) + level


def main() -> None:
    """Measure, print, and write on request."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="write docs/nonconvex.md and its figure")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", robula.exceptions.RobulaWarning)
        results = measure(options.seeds)
        large = measure_large()
    print(table(results))
    print(large)
    if options.write:
        draw_figure(results)
        page = (DOCS / "nonconvex.md").read_text()
        for name, text in (("measured", table(results)), ("large", large)):
            begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
            page = f"{page[: page.index(begin) + len(begin)]}\n\n{text}\n\n{page[page.index(end) :]}"
        (DOCS / "nonconvex.md").write_text(page)


if __name__ == "__main__":
    main()
