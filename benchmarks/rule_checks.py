"""What the trust rule does where the answer is known: wrong laws, unknown noise, labels, one row less, time.

python -m benchmarks.rule_checks [--quick] [laws scale labels stability time]

Each table is written to benchmarks/results/rule_<name>.md with the command that made it. Seeds from 500 on were not used
to choose any number of the rule. Weights are judged, not draws: a bias is that of the weighted rows' mode.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import robula
from robula.models.model import Model
from robula.models.posterior_mode import weighted_mode
from robula.models.precision import weighted_precision
from robula.simulate.attacks import ATTACKS

_RESULTS = Path(__file__).parent / "results"
_PRIOR = robula.NormalPrior(0.0, 100.0)
_SEED = 500

Row = tuple[Any, ...]


def _fit(model: Model, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mode (d,) of weighted rows and the covariance (d, d) there."""
    theta = weighted_mode(model, weights, model.initial)
    return theta, np.linalg.inv(weighted_precision(model, weights, theta))


def _bias(theta: np.ndarray, other: np.ndarray, covariance: np.ndarray) -> float:
    """Distance in posterior widths, root mean square over parameters."""
    away = theta - other
    return float(np.sqrt(away @ np.linalg.solve(covariance, away) / len(away)))


# Clean rows under a law that is not the declared one -----------------------------------------------------------------

_NOISE: dict[str, Callable[[np.random.Generator, np.ndarray], np.ndarray]] = {
    "gamma(3)": lambda rng, x: (rng.gamma(3.0, size=len(x)) - 3.0) / np.sqrt(3.0),
    "gamma(10)": lambda rng, x: (rng.gamma(10.0, size=len(x)) - 10.0) / np.sqrt(10.0),
    "t5": lambda rng, x: rng.standard_t(5, len(x)) / np.sqrt(5.0 / 3.0),
    "Laplace": lambda rng, x: rng.laplace(size=len(x)) / np.sqrt(2.0),
    "spread grows threefold": lambda rng, x: np.exp(np.log(3.0) * (x - 0.5)) * rng.standard_normal(len(x)),
    "curvature": lambda rng, x: 1.5 * (x - 0.5) ** 2 + rng.standard_normal(len(x)),
}


def _wrong_law(law: str, n: int, seed: int) -> Model:
    rng = np.random.default_rng(seed)
    if law == "correlated columns, mean":
        return robula.MeanModel(rng.standard_normal((n, 5)) @ np.linalg.cholesky(0.2 * np.eye(5) + 0.8).T)
    X = rng.standard_normal((n, 5))
    if law == "NB(4) under Poisson":
        mean = np.exp(1.0 + X @ np.full(5, 0.2))
        return robula.PoissonModel(X, rng.poisson(mean * rng.gamma(4.0, 0.25, n)), prior=_PRIOR, intercept=True)
    fitted = X @ np.full(5, 0.5)
    place = np.argsort(np.argsort(fitted)) / n
    y = fitted + _NOISE[law](rng, place)
    return robula.LinearModel(X, y, noise_scale="estimate", prior=_PRIOR, intercept=True)


def laws(quick: bool) -> Iterator[Row]:
    """Clean rows of another law | law | n | limit | removed, worst seed | bias, worst seed."""
    sizes = (1000,) if quick else (1000, 10_000, 100_000)
    for law in (*_NOISE, "NB(4) under Poisson", "correlated columns, mean"):
        for n in sizes:
            for limit in (0.1, 0.2, "estimate"):
                seeds = range(_SEED, _SEED + (1 if quick or n > 10_000 else 3))
                figures = []
                for seed in seeds:
                    model = _wrong_law(law, n, seed)
                    found = robula.trust(model, limit)  # type: ignore[arg-type]
                    theta, covariance = _fit(model, np.ones(n))
                    figures.append((found.share, _bias(found.theta, theta, covariance)))
                yield law, n, limit, *(f"{figure:.3f}" for figure in np.max(figures, axis=0))


# A noise scale that is not known -------------------------------------------------------------------------------------


def scale(quick: bool) -> Iterator[Row]:
    """Rows shifted, noise scale unknown | shift | share | bias | of plain's | known law's | sigma covers."""
    for shift in (5.0, 2.0):
        for share in (0.2, 0.3) if shift > 2.0 else (0.2,):
            figures, covers = [], []
            for seed in range(_SEED, _SEED + (2 if quick else 20)):
                rng = np.random.default_rng(seed)
                X = rng.standard_normal((1000, 5))
                y = X @ np.full(5, 0.5) + rng.standard_normal(1000)
                bad = rng.uniform(size=1000) < share
                model = robula.LinearModel(X, y + shift * bad, noise_scale="estimate", prior=_PRIOR, intercept=True)
                clean, covariance = _fit(model.with_response(y).take(np.flatnonzero(~bad)), np.ones(int((~bad).sum())))
                found = robula.trust(model, 0.4)
                plain = _fit(model, np.ones(1000))[0]
                # What weights that know the bad rows' law can do: the probability of each row to be clean, from it.
                known = _known_law(model, clean, shift, share)
                figures.append([_bias(theta, clean, covariance) for theta in (found.theta, plain, known)])
                inside = 1.96 * np.sqrt(_wide(model, found)[-1, -1])
                covers.append(abs(found.theta[-1]) < inside)
            bias, plain, best = np.median(figures, axis=0)
            yield shift, share, f"{bias:.2f}", f"{bias / plain:.2f}", f"{best:.2f}", f"{np.mean(covers):.2f}"


def _known_law(model: Model, start: np.ndarray, shift: float, share: float) -> np.ndarray:
    theta = start
    for _ in range(20):
        residual = (model.y - model.predictor(theta)) / np.exp(theta[-1])  # type: ignore[attr-defined]
        odds = share / (1.0 - share) * np.exp(-0.5 * (residual - shift) ** 2 + 0.5 * residual**2)
        theta = weighted_mode(model, 1.0 / (1.0 + odds), theta)
    return theta


def _wide(model: Model, found: robula.selectors.trust.Trust) -> np.ndarray:
    covariance = np.linalg.inv(weighted_precision(model, found.weights, found.theta))
    return covariance if found.widening is None else found.widening @ covariance @ found.widening.T


# Labels --------------------------------------------------------------------------------------------------------------


def _labels(kind: str, share: float, seed: int) -> tuple[Model, Model, np.ndarray]:
    rng = np.random.default_rng(seed)
    n, d = 1000, 5
    X, theta = rng.standard_normal((n, d)), rng.normal(size=d)
    chance = 1.0 / (1.0 + np.exp(-X @ theta))
    y = (rng.uniform(size=n) < chance).astype(float)
    clean = robula.LogisticModel(X, y, prior=_PRIOR)
    if kind == "leverage":
        X, y, rows = X.copy(), y.copy(), rng.choice(n, int(share * n), replace=False)
        X[rows] = 5.0 * theta / np.linalg.norm(theta) + 0.5 * rng.standard_normal((len(rows), d))
        y[rows] = 0.0
    else:
        right = np.where(y > 0.5, chance, 1.0 - chance)
        targeted = kind == "targeted"
        flips = (
            robula.simulate.confident_flips(right, share) if targeted else robula.simulate.random_flips(n, share, rng)
        )
        y = np.where(flips, 1.0 - y, y)
    return clean, robula.LogisticModel(X, y, prior=_PRIOR), theta


def labels(quick: bool) -> Iterator[Row]:
    """Wrong labels, n = 1000, d = 5, limit 0.25 | kind | share | bias | plain's | 95 % covers | clean rows' covers | spread."""
    cases = (("random", 0.0), ("random", 0.05), ("random", 0.1), ("random", 0.2), ("targeted", 0.1), ("leverage", 0.05))
    for kind, share in cases:
        figures = []
        for seed in range(_SEED, _SEED + (3 if quick else 50)):
            clean, model, truth = _labels(kind, share, seed)
            found = robula.trust(model, 0.25)
            best, covariance = _fit(clean, np.ones(clean.n_rows))
            width, oracle = np.sqrt(np.diag(_wide(model, found))), np.sqrt(np.diag(covariance))
            plain = _fit(model, np.ones(model.n_rows))[0]
            figures.append(
                (
                    _bias(found.theta, best, covariance),
                    _bias(plain, best, covariance),
                    np.mean(np.abs(found.theta - truth) < 1.96 * width),
                    np.mean(np.abs(best - truth) < 1.96 * oracle),
                    np.mean(width / oracle),
                )
            )
        table = np.array(figures)
        middle, rest = np.median(table[:, :2], axis=0), table[:, 2:].mean(axis=0)
        yield kind, share, *(f"{value:.2f}" for value in (*middle, *rest))


# One row less, and time ----------------------------------------------------------------------------------------------


def stability(quick: bool) -> Iterator[Row]:
    """One row of 300 left out, d = 5, limit 0.2 | attack | moves above .2 widths | 95 % below | largest."""
    moves: list[float] = []
    for attack in ATTACKS:
        here = []
        for seed in range(_SEED, _SEED + (1 if quick else 3)):
            problem = robula.simulate.contaminated_regression(attack, 270, 5, 0.1, seed)
            whole = robula.trust(problem.model, 0.2)
            rng = np.random.default_rng(seed)
            for row in rng.choice(problem.model.n_rows, 3 if quick else 15, replace=False):
                rest = problem.model.take(np.delete(np.arange(problem.model.n_rows), row))
                here.append(_bias(robula.trust(rest, 0.2).theta, whole.theta, problem.clean_posterior.covariance))
        moves += here
        yield attack, f"{np.mean(np.array(here) > 0.2):.2f}", f"{np.quantile(here, 0.95):.2f}", f"{max(here):.2f}"
    yield "all", f"{np.mean(np.array(moves) > 0.2):.2f}", f"{np.quantile(moves, 0.95):.2f}", f"{max(moves):.2f}"


def seconds(quick: bool) -> Iterator[Row]:
    """Selection without draws, d = 20, 10 % bad rows, CPU seconds, best of three | n | linear | logistic."""
    for n in (1000,) if quick else (1000, 10_000, 100_000):
        problem = robula.simulate.contaminated_regression("two_clusters", int(0.9 * n), 20, 0.1, _SEED)
        rng = np.random.default_rng(_SEED)
        X = rng.standard_normal((n, 20))
        y = rng.uniform(size=n) < 1.0 / (1.0 + np.exp(-X @ np.full(20, 0.3)))
        flipped = robula.simulate.random_flips(n, 0.1, rng)
        logistic = robula.LogisticModel(X, np.where(flipped, ~y, y), prior=_PRIOR)
        yield n, *(f"{_cpu_seconds(model):.2f}" for model in (problem.model, logistic))


def _cpu_seconds(model: Model) -> float:
    taken = []
    for _ in range(3):
        began = time.process_time()
        robula.trust(model, 0.2)
        taken.append(time.process_time() - began)
    return min(taken)


TABLES = {"laws": laws, "scale": scale, "labels": labels, "stability": stability, "seconds": seconds}


def write(name: str, quick: bool) -> Path:
    """Make one table and write it as a page of its own."""
    title, *columns = [part.strip() for part in str(TABLES[name].__doc__).rstrip(".").split("|")]
    lines = [f"# {title}", "", f"`python -m benchmarks.rule_checks {name}`", "", f"| {' | '.join(columns)} |"]
    lines.append("|" + "---|" * len(columns))
    for row in TABLES[name](quick):
        lines.append(f"| {' | '.join(map(str, row))} |")
        print(lines[-1], flush=True)
    path = _RESULTS / f"rule_{name}.md"
    if not quick:
        path.write_text("\n".join(lines) + "\n")
    return path


def main() -> None:
    """Parse the arguments and write the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rule_checks", description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", default=[], metavar="|".join(TABLES))
    parser.add_argument("--quick", action="store_true", help="a minute; nothing is written")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in arguments.tables or TABLES:
        print(f"## {name}", flush=True)
        write(name, arguments.quick)


if __name__ == "__main__":
    main()
