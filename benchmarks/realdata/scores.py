"""The figures of a cell."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold

from benchmarks.realdata.errors import Problem
from benchmarks.realdata.fit import Fit, plain_law
from benchmarks.realdata.reference import PlainFit, plain_fit

_FOLDS = 5
_HALF = 0.5
_LONGEST_WARNING = 90

Method = Callable[[np.ndarray, np.ndarray], Fit]


def figures(problem: Problem, method: Method, folded: bool) -> dict[str, Any]:
    """Fit all rows, compare, and cross-validate if asked for."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        began = time.perf_counter()
        fit = method(problem.X, problem.y)
        seconds = time.perf_counter() - began
    row = {
        "rows": len(problem.y),
        "columns": problem.X.shape[1],
        **_weights(fit, problem.bad),
        **_errors(fit, problem),
        **_row_list(fit, problem.bad),
        "verdict": fit.verdict,
        "warnings": _told(seen),
    }
    if folded:
        row |= _cross_validate(problem, method)
    return {**row, "seconds": seconds}


def _weights(fit: Fit, bad: np.ndarray | None) -> dict[str, float]:
    if fit.weights is None:
        return {}
    told = {"removed": float(np.mean(1.0 - fit.weights)), "below_half": int((fit.weights < _HALF).sum())}
    if bad is None or not bad.any():
        return told
    return told | {"good_weight": float(fit.weights[~bad].mean()), "bad_weight": float(fit.weights[bad].mean())}


def _errors(fit: Fit, problem: Problem) -> dict[str, float]:
    """Distance from the plain fit: of the rows known to be right in its HC3 standard errors, or of all rows in widths."""
    family, bad = problem.data.family, problem.bad
    if bad is None:
        reference = plain_fit(problem.X, problem.y, family)
        widths = reference.classical_errors[1:] if fit.widths is None else fit.widths
        return {"move": _rms((fit.coef - reference.coef) / widths)}
    reference = plain_fit(problem.X[~bad], problem.y[~bad], family)
    apart = (fit.coef - reference.coef) / reference.standard_errors[1:]
    return {"error": _rms(apart), "error_max": float(np.abs(apart).max()), "size": _size(problem, reference)}


def _size(problem: Problem, reference: PlainFit) -> float:
    """How far off the bad rows lie: the median of their residuals, in noise scales of the right rows."""
    rows = problem.bad
    residuals = np.abs(problem.y[rows] - reference.mean(problem.X[rows]))
    return float(np.median(residuals) / reference.sigma) if rows.any() else np.nan


def _row_list(fit: Fit, bad: np.ndarray | None) -> dict[str, float]:
    """How well the rows are ranked, what share of the listed is bad, and what share of the bad is listed."""
    if bad is None or not bad.any() or fit.suspicion is None:
        return {}
    hits = int((fit.listed & bad).sum())
    listed = int(fit.listed.sum())
    return {
        "auc": float(roc_auc_score(bad, np.nan_to_num(fit.suspicion))),
        "precision": hits / listed if listed else np.nan,
        "recall": hits / int(bad.sum()),
    }


def _cross_validate(problem: Problem, method: Method) -> dict[str, float]:
    """Five folds: trained on all rows of four, judged on the rows of the fifth that are right."""
    good = np.ones(len(problem.y), bool) if problem.bad is None else ~problem.bad
    splitter = (StratifiedKFold if problem.data.family == "binary" else KFold)(_FOLDS, shuffle=True, random_state=0)
    gains, covered, predicted, seen = [], [], [], []
    for train, test in splitter.split(problem.X, problem.y):
        test = test[good[test]]
        y = problem.y[test]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit of all rows has said it
            ours = method(problem.X[train], problem.y[train]).predict(problem.X[test])
            plain = plain_law(plain_fit(problem.X[train], problem.y[train], problem.data.family), problem.X[test])
            # The mean over folds of the mean over rows, as a user would compute it.
            gains.append(float(np.mean(ours.log_density(y)) - np.mean(plain.log_density(y))))
            covered.append(ours.covers(y))
        predicted.append(ours.mean)
        seen.append(y)
    return {
        "gain": float(np.mean(gains)),
        "coverage": float(np.concatenate(covered).mean()),
        "mean_ratio": float(np.concatenate(predicted).mean() / np.concatenate(seen).mean()),
    }


def _told(seen: list[warnings.WarningMessage]) -> str:
    """The warnings, each kind once; those of dependencies about their own future are no concern of the user."""
    quiet = (DeprecationWarning, FutureWarning, PendingDeprecationWarning)
    kept = [each for each in seen if not issubclass(each.category, quiet)]
    said = dict.fromkeys(f"{each.category.__name__}: {' '.join(str(each.message).split())}" for each in kept)
    return " | ".join(text[:_LONGEST_WARNING] for text in said)


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))
