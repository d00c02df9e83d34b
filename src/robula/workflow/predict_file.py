"""Predictions for new rows from a stored run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit

from robula._types import FloatArray
from robula._validation import show
from robula.exceptions import InputError
from robula.tables.encoding import complete_rows, with_numbers
from robula.tables.read_table import read_table
from robula.workflow.run_folder import StoredRun, read_run

# Rows whose predictors for all draws are held at a time.
_ROWS_AT_A_TIME = 500
_LARGEST_LOG_RATE = 40.0


def predict_file(folder: Path, path: Path, *, drop_missing: bool = False) -> pd.DataFrame:
    """Return one line a row of the file: its number, the prediction and a 95 % interval.

    linear: predictive mean, deviation and interval of a new response. poisson: the same of a new count. logistic: the
    probability of the second class, averaged over the draws, its interval over the draws, and the likelier class.
    """
    run = read_run(folder)
    if run.model == "mean":
        raise InputError("a mean model has nothing to predict; its draws and row weights are in the folder.")
    table = read_table(path)
    lost = [column for column in run.encoding.columns if column not in table.columns]
    if lost:
        raise InputError(f"{path.name} has no column {lost[0]!r}; the fit used {show(run.encoding.columns, 200)}.")
    numbers = with_numbers(table, run.encoding.columns)
    for column in run.encoding.numbers:
        if numbers[column].dtype.kind != "f":
            raise InputError(
                f"column {column!r} was a column of numbers in the fit, and is one of texts in {path.name}."
            )
    used = complete_rows(numbers, table, drop=drop_missing)
    if not used.any():
        raise InputError(f"no row of {path.name} is without missing values.")
    part = numbers[used]
    design = np.column_stack([np.ones(len(part)), run.encoding.design(part).to_numpy()])
    chunks = [
        _predict(run, design[first : first + _ROWS_AT_A_TIME]) for first in range(0, len(design), _ROWS_AT_A_TIME)
    ]
    result = pd.concat(chunks, ignore_index=True)
    result.insert(0, "row", part.index)
    return result


def _predict(run: StoredRun, design: FloatArray) -> pd.DataFrame:
    eta = design @ run.draws.reshape(-1, run.draws.shape[-1]).T
    if run.model == "linear":
        mean = eta.mean(axis=1)
        deviation = np.sqrt(eta.var(axis=1) + (run.noise_scale or 0.0) ** 2)
        return pd.DataFrame(
            {"prediction": mean, "sd": deviation, "low": mean - 1.96 * deviation, "high": mean + 1.96 * deviation}
        )
    if run.model == "poisson":
        rate = np.exp(np.minimum(eta, _LARGEST_LOG_RATE))
        # One new count a draw, the same for the same rows: a fixed seed.
        counts = np.random.default_rng(0).poisson(rate)
        low, high = np.quantile(counts, [0.025, 0.975], axis=1)
        mean = rate.mean(axis=1)
        return pd.DataFrame({"prediction": mean, "sd": np.sqrt(mean + rate.var(axis=1)), "low": low, "high": high})
    probability = expit(eta)
    low, high = np.quantile(probability, [0.025, 0.975], axis=1)
    mean = probability.mean(axis=1)
    labels = np.asarray(run.classes, dtype=object)[(mean > 0.5).astype(int)]
    return pd.DataFrame({"prediction": labels, "probability": mean, "low": low, "high": high})
