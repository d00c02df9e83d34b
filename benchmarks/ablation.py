"""What each part of the excess rule buys: ``python -m benchmarks.ablation`` writes docs/ablation.md and its CSV.

Every part is switched off in turn, over all attacks of the zoo, d in {5, 20, 200}, epsilon in {0, 0.05, 0.1, 0.2} and
seeds that were not used to tune the rule. The contamination is declared as 0.2 everywhere. No sampling: the posterior
of the weighted rows is exact.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import numpy as np

import robula
from robula.selectors.excess.excess_selector import PARTS, ExcessSelector, PreparedExcess
from robula.simulate.attacks import ATTACKS

DOCS = Path(__file__).parents[1] / "docs"
DECLARED = 0.2
LEVELS = (0.05, 0.1, 0.2)
#: Clean data sets for each dimension: false alarms are rare, so there are many.
CLEAN_SEEDS = {5: 200, 20: 100, 200: 5}
FIRST_SEED = 1001
MEANING = {
    "nothing": "the whole rule",
    "start": "robust start: plain mode of the rows that are not flagged instead",
    "flags": "rows flagged by their features",
    "direction": "groups along the directions in which the scores vary most",
    "likeness": "groups of rows that are like the removed ones",
    "lean": "groups along the directions to which residuals of one size lean",
    "confirmation": "taking back what a refit does not confirm",
    "repeats": "repeated values of the response",
    "windows": "pairs and fours of bins",
}


def information_bound(contamination: float, rows: int, dim: int) -> float:
    """Bias, in posterior widths, that some attack forces on every method (docs/method.md)."""
    return float(1.57 * contamination / (1.0 - contamination) * np.sqrt(rows / dim))


def one_cell(attack: str, dim: int, contamination: float, seed: int, without: tuple[str, ...]) -> dict[str, object]:
    """Bias and spread of the weighted rows' posterior, in widths of the clean one."""
    problem = robula.simulate.contaminated_regression(attack, dim=dim, contamination=contamination, seed=seed)
    model, clean = problem.model, problem.clean_posterior
    began = time.perf_counter()
    prepared = ExcessSelector(without=without).prepared(model, DECLARED)
    assert isinstance(prepared, PreparedExcess)
    seconds = time.perf_counter() - began
    found = model.gaussian_posterior(prepared.selection.weights)
    width = np.sqrt(np.trace(clean.covariance))
    bias = float(np.linalg.norm(found.mean - clean.mean) / width)
    return {
        "without": without[0] if without else "nothing",
        "attack": attack,
        "dim": dim,
        "contamination": contamination,
        "seed": seed,
        "bias": round(bias, 4),
        "spread": round(float(np.sqrt(np.trace(found.covariance)) / width), 4),
        "within": bias <= max(1.0, 0.5 * information_bound(contamination, 1000, dim)),
        "seconds": round(seconds, 3),
    }


def known_law_bias(dim: int, contamination: float, seed: int) -> float:
    """Bias under "stealth_shift" when the share and the law of the bad rows, N(3, 1), are known: what weights can do.

    Each row has its exact probability of being clean as its weight, at the fixed point.
    """
    problem = robula.simulate.contaminated_regression("stealth_shift", dim=dim, contamination=contamination, seed=seed)
    model, clean = problem.model, problem.clean_posterior
    theta = clean.mean
    for _ in range(200):
        z = (model.y - model.predictor(theta)) / model.noise_scale
        odds = contamination / (1.0 - contamination) * np.exp(-0.5 * (z - 3.0) ** 2 + 0.5 * z**2)
        moved = model.gaussian_posterior(1.0 / (1.0 + odds)).mean
        change = float(np.abs(moved - theta).max())
        theta = moved
        if change < 1e-8:
            break
    return float(np.linalg.norm(theta - clean.mean) / np.sqrt(np.trace(clean.covariance)))


def run(plan: dict[int, int]) -> list[dict[str, object]]:
    """All cells of a plan {d: number of seeds}; clean data once for each, since every attack leaves them alone."""
    cells = []
    for without in ((), *((part,) for part in PARTS)):
        for dim, count in plan.items():
            for seed in range(FIRST_SEED, FIRST_SEED + CLEAN_SEEDS.get(dim, count)):
                cells.append(one_cell("paper", dim, 0.0, seed, without) | {"attack": "none"})
            for seed in range(FIRST_SEED, FIRST_SEED + count):
                cells += [one_cell(attack, dim, level, seed, without) for attack in ATTACKS for level in LEVELS]
        print(f"without {without}: done", flush=True)
    return cells


def page(cells: list[dict[str, object]]) -> str:
    """The table in Markdown."""
    dims = sorted({int(str(cell["dim"])) for cell in cells})
    bad_seeds = {
        dim: sorted({int(str(c["seed"])) for c in cells if c["dim"] == dim and c["contamination"]}) for dim in dims
    }
    seeds = ", ".join(f"{len(bad_seeds[dim])} at d={dim}" for dim in dims)
    clean_sets = sum(1 for cell in cells if not cell["contamination"] and cell["without"] == "nothing")
    lines = [
        "# What each part of the excess rule buys",
        "",
        "Written by `python -m benchmarks.ablation`; do not edit. Linear regression with 1000 clean rows, "
        f"{len(ATTACKS)} attacks, d in {dims}, epsilon in {list(LEVELS)}, seeds from {FIRST_SEED} on ({seeds}; not "
        "used for tuning), contamination declared as 0.2. Bias and spread are in widths of the exact clean posterior. "
        "Within target is bias at most max(1, half the information bound); see [the method](method.md). "
        f"The last two columns are of {clean_sets} data sets without bad rows.",
        "",
        "| left out | median bias | 90 % quantile | within target | spread in 0.85-1.15 | clean data sets that lose rows | "
        "mean bias, clean data |",
        "|---|---|---|---|---|---|---|",
    ]
    for part in ("nothing", *PARTS):
        rows = [cell for cell in cells if cell["without"] == part]
        bad = [cell for cell in rows if cell["contamination"]]
        bias = np.array([cell["bias"] for cell in bad], dtype=float)
        spread = np.array([cell["spread"] for cell in bad], dtype=float)
        clean = np.array([cell["bias"] for cell in rows if not cell["contamination"]], dtype=float)
        lines.append(
            f"| {MEANING[part]} | {np.median(bias):.2f} | {np.quantile(bias, 0.9):.2f} | "
            f"{np.mean([bool(cell['within']) for cell in bad]):.1%} | {np.mean((spread > 0.85) & (spread < 1.15)):.1%} | "
            f"{np.mean(clean > 0):.1%} | {clean.mean():.3f} |"
        )
    lines += ["", "## The whole rule by attack", "", "Median bias over the seeds, and mean spread.", ""]
    lines += ["| attack | " + " | ".join(f"d={d}, eps={e:g}" for d in dims for e in LEVELS) + " |"]
    lines += ["|---" * (1 + len(dims) * len(LEVELS)) + "|"]
    for attack in ATTACKS:
        entries = []
        for dim in dims:
            for level in LEVELS:
                some = [
                    cell
                    for cell in cells
                    if (cell["without"], cell["attack"], cell["dim"], cell["contamination"])
                    == ("nothing", attack, dim, level)
                ]
                bias = float(np.median([float(str(cell["bias"])) for cell in some]))
                spread = float(np.mean([float(str(cell["spread"])) for cell in some]))
                missed = bias > max(1.0, 0.5 * information_bound(level, 1000, dim))
                entries.append(f"{'**' * missed}{bias:.2f}{'**' * missed} / {spread:.2f}")
        lines.append(f"| {attack} | " + " | ".join(entries) + " |")
    lines += ["", "Bold: beyond the target. Every cell is in [ablation.csv](ablation.csv).", ""]
    lines += ["## How much is left to gain", ""]
    lines += [
        'Under "stealth_shift" with the share and the law of the bad rows known, and every row weighed by its exact '
        "probability of being clean, the median bias over the same seeds is:",
        "",
        "| | " + " | ".join(f"d={d}, eps={e:g}" for d in dims for e in LEVELS) + " |",
        "|---" * (1 + len(dims) * len(LEVELS)) + "|",
    ]
    oracle = [
        np.median(
            [known_law_bias(d, e, seed) for seed in sorted({int(str(c["seed"])) for c in cells if c["dim"] == d})]
        )
        for d in dims
        for e in LEVELS
    ]
    lines += ["| law known | " + " | ".join(f"{value:.2f}" for value in oracle) + " |", ""]
    return "\n".join(lines)


def main() -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", default="5:3,20:3,200:1", help="d:seeds, separated by commas")
    parser.add_argument("--out", type=Path, default=DOCS)
    options = parser.parse_args()
    cells = run({int(part.split(":")[0]): int(part.split(":")[1]) for part in options.plan.split(",")})
    with (options.out / "ablation.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(cells[0]))
        writer.writeheader()
        writer.writerows(cells)
    (options.out / "ablation.md").write_text(page(cells))


if __name__ == "__main__":
    main()
