"""Measure how often 95 % intervals cover the truth under the leaderboard's attacks, beside those of the clean rows.

python -m benchmarks.coverage [--datasets 100] [--results benchmarks/results]

A cell is an attack, n and d; its data sets take the leaderboard's shares of bad rows in turn, from seed 1000 on. Each is one
line of coverage.csv, with the rule it was made with: a run that was stopped goes on, and another rule starts anew. The
figures are in coverage.md.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import os
import warnings
from functools import cache
from pathlib import Path
from typing import NamedTuple

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402  (after the threads are set)
import pandas as pd  # noqa: E402

import robula  # noqa: E402
from benchmarks.leaderboard.settings import EPSILONS, LIMIT  # noqa: E402
from robula.simulate.attacks import ATTACKS, contaminated_regression  # noqa: E402

_SEED = 1000
CLEAN = "no bad rows"
_SIZES = ((300, 5), (300, 20), (1000, 5), (1000, 20))
_DRAWS = 1000
#: Of the issue: coverage is asked for where the bias itself is below half a width.
_BIASED = 0.5


class Line(NamedTuple):
    """One data set: bias and spread against the clean posterior, and the shares of parameters that are covered."""

    rule: str
    attack: str
    n: int
    d: int
    seed: int
    share: float
    bias: float
    spread: float
    covers: float
    oracle: float


@cache
def rule() -> str:
    """What tells one trust rule from another: a hash of the files that weights come from, as the run began."""
    digest = hashlib.sha256()
    for room in ("tables", "models", "selectors"):
        for file in sorted((Path(robula.__file__).parent / room).rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:10]


def measure(attack: str, n: int, d: int, number: int) -> Line:
    """Fit one data set."""
    seed, share = _SEED + number, 0.0 if attack == CLEAN else EPSILONS[number % len(EPSILONS)]
    name = next(iter(ATTACKS)) if attack == CLEAN else attack
    problem = contaminated_regression(name, n_clean=n, dim=d, contamination=share, seed=seed)
    posterior = robula.sample(problem.model, contamination=LIMIT, draws=_DRAWS, seed=seed, progress=False)
    low, high = np.quantile(posterior.flat_draws, [0.025, 0.975], axis=0)
    clean = problem.clean_posterior
    width = np.sqrt(np.diag(clean.covariance))
    away = posterior.mean - clean.mean
    return Line(
        rule(),
        attack,
        n,
        d,
        seed,
        share,
        float(np.sqrt(away @ np.linalg.solve(clean.covariance, away) / d)),
        float(np.mean(posterior.flat_draws.std(axis=0) / width)),
        float(np.mean((low <= problem.truth) & (problem.truth <= high))),
        float(np.mean(np.abs(clean.mean - problem.truth) <= 1.96 * width)),
    )


def page(table: pd.DataFrame, datasets: int) -> str:
    """The figures in Markdown."""
    cells = table.groupby(["attack", "n", "d"])[["bias", "spread", "covers", "oracle"]].mean()
    cells["bias"] = table.groupby(["attack", "n", "d"])["bias"].median()
    attacked = cells.drop(index=CLEAN, level="attack")
    fair = attacked[attacked["bias"] < _BIASED]
    clean = cells.xs(CLEAN, level="attack")
    # A cell mixes shares of bad rows, found ones and others; where theta is right, are the widths?
    near = table[(table["attack"] != CLEAN) & (table["bias"] < _BIASED)]
    lines = ["| attack | n | d | bias, median | spread | 95 % covers | clean rows' covers |", "|" + "---|" * 7]
    lines += [
        f"| {' | '.join(map(str, key))} | {' | '.join(f'{value:.3f}' for value in row)} |"
        for key, row in zip(cells.index, cells.to_numpy(), strict=True)
    ]
    worst = "none" if fair.empty else f"{fair['covers'].min():.3f} ({', '.join(map(str, fair['covers'].idxmin()))})"
    return (
        f"# Coverage of the truth\n\n`python -m benchmarks.coverage --datasets {datasets}`, {len(table)} data sets, "
        f"limit {LIMIT:g}, bias in posterior widths of the clean rows.\n\n"
        f"Mean coverage {attacked['covers'].mean():.3f}, of the clean rows' posterior {attacked['oracle'].mean():.3f} "
        f"(within 0.02 is asked for). Worst of the {len(fair)} of {len(attacked)} cells with a median bias below "
        f"{_BIASED:g} widths: {worst}; above 0.85 is asked for. Mean coverage over these cells "
        f"{fair['covers'].mean():.3f}. Over the {len(near)} single data sets with a bias below {_BIASED:g} it is "
        f"{near['covers'].mean():.3f}, of the clean rows' {near['oracle'].mean():.3f}. Spread without bad rows {clean['spread'].min():.3f} to "
        f"{clean['spread'].max():.3f} (0.97 to 1.03 is asked for).\n\n" + "\n".join(lines) + "\n"
    )


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", type=int, default=100, help="data sets a cell")
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    arguments.results.mkdir(parents=True, exist_ok=True)
    file = arguments.results / "coverage.csv"
    if not file.exists():
        file.write_text(",".join(Line._fields) + "\n", encoding="utf-8")
    known = pd.read_csv(file)
    done = set(known.loc[known["rule"] == rule(), ["attack", "n", "d", "seed"]].itertuples(index=False, name=None))
    with file.open("a", newline="", encoding="utf-8") as lines:
        writer = csv.writer(lines)
        # Data set by data set: a run that is stopped has all cells.
        for number in range(arguments.datasets):
            for n, d in _SIZES:
                for attack in (CLEAN, *ATTACKS):
                    if (attack, n, d, _SEED + number) not in done:
                        writer.writerow(measure(attack, n, d, number))
                        lines.flush()
    table = pd.read_csv(file)
    table = table[(table["rule"] == rule()) & (table["seed"] < _SEED + arguments.datasets)]
    text = page(table, arguments.datasets)
    (arguments.results / "coverage.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
