"""Measure what the answer hangs on: influence against refits, odd rows that are found, good rows that are flagged.

python -m benchmarks.rows_to_check [influence] [odd] [flag] [--quick] [--every N] [--write]

--every N takes each Nth problem of the part "flag", which fits every one. --write puts the tables into benchmarks/results/rows_to_check.md. The development data are found by ROBULA_REALDATA_DIR.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402  (after the threads are set)
import pandas as pd  # noqa: E402

import robula  # noqa: E402
from benchmarks.realdata.catalogue import TUNED  # noqa: E402
from benchmarks.realdata.sets import AbsentError, DataSet, load, stable_seed  # noqa: E402
from robula.diagnosis.flagged_rows import flagged_by_probability  # noqa: E402
from robula.diagnosis.rows_to_check import odd_rows  # noqa: E402
from robula.models.posterior_mode import weighted_mode  # noqa: E402
from robula.simulate.attacks import ATTACKS, contaminated_regression  # noqa: E402
from robula.sklearn import (  # noqa: E402
    RobustBayesianClassifier,
    RobustBayesianRegressor,
    RobustPoissonRegressor,
)

RESULTS = Path(__file__).parent / "results" / "rows_to_check.md"
_ESTIMATORS = {
    "regression": RobustBayesianRegressor,
    "count": RobustPoissonRegressor,
    "binary": RobustBayesianClassifier,
}
#: Constants of the rule for cells were chosen on these sets. The other half is not untouched: what the rule before missed
#: there was seen, and the end state in ``_seldom`` was added after a look at it (0.878 of its problems solved before, 0.873
#: after).
CHOSEN_ON = ("Auto", "College_Apps", "Computers", "Housing_log", "Mroz", "bioChemists", "wine_proline")
#: Errors in one feature, chosen while the rule was developed on these same sets: decimal slips, unit errors, codes; columns are also swapped.
ERRORS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "decimal slip, x 10": lambda x: 10.0 * x,
    "decimal slip, / 10": lambda x: x / 10.0,
    "unit error, x 1000": lambda x: 1000.0 * x,
    "unit error, x 2.54": lambda x: 2.54 * x,
    "code -999": lambda x: np.full_like(x, -999.0),
    "code 9999": lambda x: np.full_like(x, 9999.0),
}
SWAP = "columns swapped"
SHARES = (0.01, 0.02, 0.05)
_COLUMNS_A_SET = 3
_FEWEST_VALUES = 10
_BEYOND = 0.03
_FDR = 0.1
_FEW_DRAWS = 20
#: A problem is solved where this share of its bad rows is in the first part of the list.
_ENOUGH = 0.9


class Spoiled(NamedTuple):
    """A set with errors in one feature of some rows (X), and with the same in all of them (all_bad)."""

    data: DataSet
    column: int
    kind: str
    share: float
    X: np.ndarray
    bad: np.ndarray
    all_bad: np.ndarray


def spoiled(quick: bool) -> Iterator[Spoiled]:
    """Every set, column, kind and share; rows that an error leaves as they were are not bad."""
    for name in [name for family in TUNED.values() for name in family]:
        try:
            data = load(name)
        except AbsentError as error:
            print(f"{name} is left out: {error}")
            continue
        columns = [j for j in range(data.X.shape[1]) if len(np.unique(data.X[:, j])) > _FEWEST_VALUES]
        for column in columns[: 1 if quick else _COLUMNS_A_SET]:
            for kind in (*ERRORS, SWAP):
                for share in SHARES[:1] if quick else SHARES:
                    rng = np.random.default_rng(stable_seed(name, column, kind, share))
                    rows = rng.choice(len(data.y), max(1, round(share * len(data.y))), replace=False)
                    X, all_bad = data.X.copy(), data.X.copy()
                    if kind != SWAP:
                        all_bad[:, column] = ERRORS[kind](data.X[:, column])
                    elif len(columns) > 1:
                        other = int(rng.choice([j for j in columns if j != column]))
                        all_bad[:, [column, other]] = data.X[:, [other, column]]
                    X[rows] = all_bad[rows]
                    bad = (X != data.X).any(axis=1)
                    if bad.any():
                        yield Spoiled(data, column, kind, share, X, bad, all_bad)


def _fitted(data: DataSet, X: np.ndarray) -> tuple[np.ndarray, bool]:
    """Row weights of the default rule, which do not hang on the number of draws, and whether it found the law off."""
    fitted = _ESTIMATORS[data.family](contamination=0.1, draws=_FEW_DRAWS).fit(X, data.y)
    return fitted.row_weights_, bool(fitted.posterior_.settings["rows_found"]["law"])


def taught(problem: Spoiled) -> float:
    """Share of the bad rows that a classifier finds which was shown this very error in all other rows.

    Boosted trees learn to tell right rows from the same rows with the error, on two thirds of them, and rank the last
    third. What they miss is hardly in the data: nobody else can know the column and the kind of error beforehand.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    def seen(X: np.ndarray) -> np.ndarray:
        decimals = [np.abs(X[:, problem.column] * ten - np.round(X[:, problem.column] * ten)) > 1e-8 for ten in (1, 10)]
        return np.column_stack([X, *decimals, problem.data.y])

    right, wrong, given = seen(problem.data.X), seen(problem.all_bad), seen(problem.X)
    rows = len(problem.bad)
    part, scores = np.random.default_rng(0).integers(0, 3, rows), np.zeros(rows)
    for last in range(3):
        known = part != last
        model = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=15, random_state=0)
        model.fit(np.vstack([right[known], wrong[known]]), np.repeat([0, 1], known.sum()))
        scores[~known] = model.decision_function(given[~known])
    place = np.argsort(np.argsort(-scores))
    return float((place[problem.bad] < _first(problem)).mean())


def _first(problem: Spoiled) -> float:
    """Length of the first part of the list: as many rows as are bad, and 3 % of all."""
    return float((problem.bad.mean() + _BEYOND) * len(problem.bad))


def odd(problems: Iterable[Spoiled], with_weights: bool = True) -> pd.DataFrame:
    """For each problem: the share of bad rows among the first of the list, their share and 3 % of the rows.

    Also the good share of the rows that are flagged. Without weights the list is that of odd cells alone, and what it
    misses is shown to a classifier that was taught the error.
    """
    lines = []
    for problem in problems:
        rows = len(problem.bad)
        began = time.perf_counter()
        weights, law_off = _fitted(problem.data, problem.X) if with_weights else (np.ones(rows), False)
        posterior = robula.Posterior(np.zeros((1, 4, 1)), weights, ("none",))
        listed = odd_rows(posterior, problem.X, response=problem.data.y)
        place = np.argsort(listed.order)
        found = (place[problem.bad] < _first(problem)).mean()
        flagged = flagged_by_probability(weights, _FDR, law_off)
        lines.append(
            {
                "set": problem.data.name,
                "error": problem.kind,
                "share": problem.share,
                "found": found,
                "in the first 3 %": (place[problem.bad] < _BEYOND * rows).mean(),
                "hidden": not with_weights and found < _ENOUGH and taught(problem) < _ENOUGH,
                "right cell": (listed.cells.oddest[problem.bad] == problem.column).mean(),
                "flagged": len(flagged) / rows,
                "good among flagged": (~problem.bad[flagged]).mean() if len(flagged) else 0.0,
                "seconds": time.perf_counter() - began,
            }
        )
    return pd.DataFrame(lines)


def zoo(quick: bool, every: int) -> pd.DataFrame:
    """Good rows among those flagged at fdr = 0.1, for every attack of the zoo; with ``every`` > 1, one seed of three."""
    lines = []
    for attack in ATTACKS:
        for dim in (5,) if quick else (5, 20):
            for epsilon in (0.1,) if quick else (0.05, 0.1, 0.2):
                for seed in range(1 if quick or every > 1 else 3):
                    problem = contaminated_regression(attack, n_clean=500, dim=dim, contamination=epsilon, seed=seed)
                    found = robula.trust(problem.model, 0.25)
                    flagged = flagged_by_probability(found.probabilities, _FDR, bool(found.law))
                    good = ~problem.outlier_mask[flagged]
                    lines.append(
                        {
                            "attack": attack,
                            "flagged": len(flagged) / problem.model.n_rows,
                            "found": (~good).sum() / max(problem.outlier_mask.sum(), 1),
                            "good among flagged": good.mean() if len(flagged) else 0.0,
                        }
                    )
    return pd.DataFrame(lines)


def _problems(quick: bool) -> Iterator[tuple[str, robula.models.Model, robula.Posterior]]:
    rng = np.random.default_rng(0)
    for rows, dim in ((300, 5),) if quick else ((300, 5), (10_000, 20)):
        X = rng.standard_normal((rows, dim))
        eta = X @ (0.3 * rng.standard_normal(dim))
        noise, prior = rng.standard_normal(rows), robula.NormalPrior(0.0, 10.0)
        labels = (rng.uniform(size=rows) < 1 / (1 + np.exp(-eta))).astype(float)
        models = {
            "linear": robula.LinearModel(X, eta + noise, noise_scale=1.0),
            "linear, scale unknown": robula.LinearModel(X, eta + noise, noise_scale="estimate", prior=prior),
            "logistic": robula.LogisticModel(X, labels, prior=prior),
            "poisson": robula.PoissonModel(X, rng.poisson(np.exp(0.5 * eta)), prior=prior),
        }
        for name, model in models.items():
            yield f"{name}, {rows} x {dim}", model, robula.sample(model, contamination=0.0, progress=False)
    for name in ("Auto",) if quick else ("Auto", "Carseats", "Wage", "bioChemists", "azpro", "Mroz", "Default"):
        try:
            data = load(name)
        except AbsentError as error:
            print(f"{name} is left out: {error}")
            continue
        fitted = _ESTIMATORS[data.family](contamination=0.1).fit(data.X, data.y)
        yield f"{name} ({data.family}), {len(data.y)} x {data.X.shape[1]}", fitted.model_, fitted.posterior_


def influence(quick: bool) -> pd.DataFrame:
    """Predicted change against a refit when 1 % of the rows go: the most influential ones, and random ones."""
    lines = []
    for name, model, posterior in _problems(quick):
        rng, weights = np.random.default_rng(0), posterior.row_weights
        began = time.process_time()
        found = robula.influence(model, posterior)
        seconds = time.process_time() - began
        mode = weighted_mode(model, weights, posterior.mean)
        count = max(1, round(0.01 * model.n_rows))
        worst, random = [], []
        for place in range(min(model.dim, 8)):
            for sign in (1.0, -1.0):
                rows = np.argsort(sign * found.slopes[:, place] * weights)[:count]
                true = _refit(model, weights, rows, mode)
                worst.append(abs(found.change(rows)[place] - true[place]) / abs(true[place]))
        for _ in range(10):
            rows = rng.choice(model.n_rows, count, replace=False)
            true = _refit(model, weights, rows, mode)
            error = np.linalg.norm((found.change(rows) - true) / found.sd)
            random.append(error / np.linalg.norm(true / found.sd))
        lines.append(
            {
                "problem": name,
                "most influential, median": np.median(worst),
                "largest": np.max(worst),
                "random, median": np.median(random),
                "largest ": np.max(random),
                "CPU seconds": seconds,
            }
        )
    return pd.DataFrame(lines)


def _refit(model: robula.models.Model, weights: np.ndarray, rows: np.ndarray, mode: np.ndarray) -> np.ndarray:
    left = weights.copy()
    left[rows] = 0.0
    return weighted_mode(model, left, mode) - mode


def _markdown(table: pd.DataFrame) -> str:
    lines = [" | ".join(map(str, table.columns)), " | ".join("---" for _ in table.columns)]
    for row in table.itertuples(index=False):
        lines.append(" | ".join(f"{value:.3f}" if isinstance(value, float) else str(value) for value in row))
    return "\n".join(f"| {line} |" for line in lines)


def main() -> int:
    """Run what is asked for."""
    warnings.simplefilter("ignore")
    asked = [word for word in sys.argv[1:] if word in ("influence", "odd", "flag")] or ["influence", "odd", "flag"]
    quick = "--quick" in sys.argv
    how = f"`python -m benchmarks.rows_to_check {{}}{' --quick' if quick else ''}`"
    parts: dict[str, str] = {}
    if "influence" in asked:
        heading = "Influence: relative error of the predicted change when 1 % of the rows go"
        parts[heading] = f"{how.format('influence')}\n\n{_markdown(influence(quick))}"
    if "odd" in asked:
        parts["Odd rows: share of the bad rows among the first (their share + 3 % of the rows) of the list"] = (
            f"{how.format('odd')}, by odd cells alone, every row of weight 1\n\n{_odd_text(odd(spoiled(quick), False))}"
        )
    if "flag" in asked:
        every = int(sys.argv[sys.argv.index("--every") + 1]) if "--every" in sys.argv else 1
        thinned = f"flag --every {every}" if every > 1 else "flag"
        attacks, table = zoo(quick, every), odd(itertools.islice(spoiled(quick), 0, None, every))
        by_attack = attacks.groupby("attack")[["flagged", "found", "good among flagged"]].mean().reset_index()
        by_error = table.groupby("error")[["flagged", "good among flagged", "found"]].mean().reset_index()
        both = [attacks["good among flagged"].mean(), table["good among flagged"].mean()]
        parts["Flagged rows at fdr = 0.1: good ones among them"] = (
            f"{how.format(thinned)}\n\n{_markdown(by_attack)}\n\n{_markdown(by_error)}\n\nZoo {both[0]:.3f} "
            f"({len(attacks)} problems), development data with errors injected into a feature {both[1]:.3f} ({len(table)} "
            f"problems), mean {np.mean(both):.3f}; at most 0.12 is asked for. With weights and odd cells together "
            f"{table['found'].mean():.3f} of the bad rows are in the first part of the list, and "
            f"{(table['found'] >= _ENOUGH).mean():.3f} of the problems have at least 90 % there."
        )
    print("\n\n".join(f"## {heading}\n\n{text}" for heading, text in parts.items()))
    if "--write" in sys.argv:
        _write(parts)
    return 0


def _odd_text(table: pd.DataFrame) -> str:
    """Tables by error and by set, and sentences on both halves of the sets."""
    solved = table.assign(solved=table["found"] >= _ENOUGH)
    by_error = solved.groupby("error")[["found", "solved", "hidden", "right cell"]].mean().reset_index()
    by_set = solved.pivot_table(index="set", columns="error", values="solved").reset_index()
    halves = []
    for words, half in (
        (f"The sets that constants were chosen on ({', '.join(CHOSEN_ON)})", solved["set"].isin(CHOSEN_ON)),
        ("The other sets", ~solved["set"].isin(CHOSEN_ON)),
        ("All sets", solved["found"] >= 0.0),
    ):
        here = solved[half]
        seen = here[~here["hidden"]]
        few = here[here["share"] < _BEYOND]
        halves.append(
            f"{words}: {len(here)} problems, {here['found'].mean():.3f} of the bad rows found, {here['solved'].mean():.3f} "
            f"of the problems with at least 90 % found, {seen['solved'].mean():.3f} without the {here['hidden'].sum()} "
            f"hidden ones. Of 1 and 2 % bad rows, {few['in the first 3 %'].mean():.3f} are in the first 3 % of the list."
        )
    told = (
        "Solved: at least 90 % found. Hidden: not solved, nor by boosted trees that were taught this very error on other "
        "rows of the set."
    )
    by_half = "\n\n".join(halves)
    return f"{told}\n\n{_markdown(by_error)}\n\n{by_half}\n\nSolved, by set:\n\n{_markdown(by_set)}"


def _write(parts: dict[str, str]) -> None:
    """Replace the parts of the page that were measured, and keep the others."""
    old = RESULTS.read_text(encoding="utf-8").split("\n## ")[1:] if RESULTS.exists() else []
    kept = dict(section.strip().split("\n\n", 1) for section in old)
    page = "".join(f"\n## {heading}\n\n{text}\n" for heading, text in sorted({**kept, **parts}.items()))
    RESULTS.write_text(f"# Rows to check\n{page}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
