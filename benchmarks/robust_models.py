"""What bad rows do to each model that is taken by name, beside the plain posterior of all rows.

    python -m benchmarks.robust_models [--seeds 3] [--page docs/models.md]

Every problem has 500 rows of the model itself. A share of them is then spoiled: gross responses, responses and
features that lie far out together, or labels replaced by another class. Both posteriors, robula's and that of all rows,
are compared with the posterior of the good rows: the distance of the means in posterior widths, and the width.
"""

from __future__ import annotations

import argparse
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import robula
from robula.metrics import clean_posterior_gap
from robula.models import GammaModel, Model, MultinomialModel, NegativeBinomialModel, StudentTModel

ROWS, DECLARED = 500, 0.25
SHARES = (0.0, 0.05, 0.2)
LENGTH = {"draws": 500, "burn_in": 200, "chains": 2, "progress": False}
PRIOR = robula.NormalPrior(0.0, 4.0)
BEGIN, END = (
    "<!-- written by benchmarks.robust_models: begin -->\n",
    "<!-- written by benchmarks.robust_models: end -->",
)

Data = tuple[np.ndarray, np.ndarray]


class Line(NamedTuple):
    """One problem: what was fitted to what, and the distances to the good rows' posterior."""

    model: str
    attack: str
    share: float
    bias: float
    spread: float
    plain_bias: float
    good_lost: float


def _features(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.standard_normal((ROWS, 3))
    return X, 1.0 + X @ [0.5, -0.3, 0.2]


def _counts(rng: np.random.Generator) -> Data:
    X, eta = _features(rng)
    return X, rng.poisson(np.exp(eta + 1.0) * rng.gamma(4.0, 0.25, ROWS)).astype(float)


def _positive(rng: np.random.Generator) -> Data:
    X, eta = _features(rng)
    return X, np.exp(eta) * rng.gamma(3.0, 1.0 / 3.0, ROWS)


def _heavy_tailed(rng: np.random.Generator) -> Data:
    X, eta = _features(rng)
    return X, eta + rng.standard_t(4.0, ROWS)


def _classes(rng: np.random.Generator) -> Data:
    X, _ = _features(rng)
    eta = np.column_stack([np.zeros(ROWS), 0.5 + X @ [2.0, -1.0, 0.0], -0.5 + X @ [0.0, 1.5, 1.0]])
    reached = np.cumsum(np.exp(eta), axis=1)
    uniform = rng.uniform(size=(ROWS, 1)) * reached[:, -1:]
    return X, (uniform > reached).sum(axis=1).astype(float)


def _gross_counts(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Data:
    return X, 10.0 * y + 100.0


def _wrong_unit(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Data:
    return X, 100.0 * y


def _sentinel(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Data:
    return X, np.full(len(y), -999.0)


def _far_out(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Data:
    """Features around (5, -5, 5), where the linear predictor is 5 higher, and the responses of ordinary rows."""
    return 0.2 * X + [5.0, -5.0, 5.0], y


def _other_class(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Data:
    return X, (y + rng.integers(1, 3, len(y))) % 3


class Case(NamedTuple):
    """How clean data of a model are made, how they are fitted, and how rows are spoiled."""

    make: Callable[[np.random.Generator], Data]
    fit: Callable[[np.ndarray, np.ndarray], Model]
    attacks: dict[str, Callable[[np.ndarray, np.ndarray, np.random.Generator], Data]]


CASES = {
    "negative_binomial": Case(
        _counts,
        lambda X, y: NegativeBinomialModel(X, y, prior=PRIOR, intercept=True),
        {"counts times 10": _gross_counts, "leverage": _far_out},
    ),
    "poisson on the same counts": Case(
        _counts,
        lambda X, y: robula.PoissonModel(X, y, prior=PRIOR, intercept=True),
        {"counts times 10": _gross_counts},
    ),
    "gamma": Case(
        _positive,
        lambda X, y: GammaModel(X, y, prior=PRIOR, intercept=True),
        {"wrong unit": _wrong_unit, "leverage": _far_out},
    ),
    "student_t": Case(
        _heavy_tailed,
        lambda X, y: StudentTModel(X, y, prior=PRIOR, intercept=True),
        {"sentinel": _sentinel, "leverage": _far_out},
    ),
    "multinomial": Case(
        _classes, lambda X, y: MultinomialModel(X, y, prior=PRIOR, intercept=True), {"another class": _other_class}
    ),
}


def measure(name: str, attack: str, share: float, seed: int) -> Line:
    """Fit one problem three times: robustly, plainly, and without its bad rows."""
    case = CASES[name]
    rng = np.random.default_rng([seed, round(100 * share)])
    X, y = case.make(rng)
    bad = int(share * ROWS)
    X[:bad], y[:bad] = case.attacks[attack](X[:bad], y[:bad], rng)
    model = case.fit(X, y)
    with warnings.catch_warnings():
        # What is warned of here, rows beyond doubt and short chains, is in the figures.
        warnings.simplefilter("ignore", robula.exceptions.RobulaWarning)
        clean = robula.sample(model.take(np.arange(bad, ROWS)), contamination=0.0, selector="mean", seed=seed, **LENGTH)
        plain = robula.sample(model, contamination=0.0, selector="mean", seed=seed, **LENGTH)
        found = robula.sample(model, contamination=DECLARED, seed=seed, **LENGTH)
    gap = clean_posterior_gap(found, clean)
    plain_bias = clean_posterior_gap(plain, clean).bias
    lost = float((1.0 - found.row_weights[bad:]).mean())
    return Line(name, attack, share, gap.bias, gap.spread, plain_bias, lost)


def problems(seeds: int) -> Iterator[tuple[str, str, float, int]]:
    """Every case, attack and share; clean rows once a case."""
    for name, case in CASES.items():
        for index, attack in enumerate(case.attacks):
            for share in SHARES[index > 0 :]:
                for seed in range(seeds):
                    yield name, attack, share, seed


def table(lines: list[Line]) -> str:
    """Median over the seeds, one row a model, attack and share."""
    groups: dict[tuple[str, str, float], list[Line]] = {}
    for line in lines:
        groups.setdefault((line.model, "none" if not line.share else line.attack, line.share), []).append(line)
    text = [
        "| model | bad rows | share | bias | all rows' bias | spread | weight lost by good rows |",
        "|---|---|---|---|---|---|---|",
    ]
    for (name, attack, share), members in groups.items():
        middle = [float(np.median([line[field] for line in members])) for field in (3, 5, 4, 6)]
        text.append(f"| {name} | {attack} | {share:g} | " + " | ".join(f"{value:.2f}" for value in middle) + " |")
    return "\n".join(text) + "\n"


def main() -> None:
    """Print the table, and put it into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    lines = []
    for problem in problems(options.seeds):
        lines.append(measure(*problem))
        print(lines[-1], flush=True)
    print(table(lines))
    if options.page is not None:
        page = options.page.read_text(encoding="utf-8")
        page = re.sub(f"{BEGIN}.*{END}", lambda _: BEGIN + table(lines) + END, page, flags=re.DOTALL)
        options.page.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
