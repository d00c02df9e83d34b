"""Predictions from a run on disk."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from robula._validation import show
from robula.exceptions import InputError
from robula.sklearn import ESTIMATORS
from robula.tables.encoding import with_numbers
from robula.tables.prepared_table import complete_rows
from robula.tables.read_table import read_table
from robula.workflow.run_folder import read_run


def predict_file(folder: Path, path: Path, *, drop_missing: bool = False) -> pd.DataFrame:
    """Return one line a row of the file: its number, the prediction and a 95 % interval.

    Regressions: predictive mean, deviation and interval of a new response. logistic: the probability of the second
    class, averaged over the draws, its interval over the draws, and the likelier class.
    """
    run = read_run(folder)
    if run.model not in ESTIMATORS:
        raise InputError(f"a {run.model} model has nothing to predict; its draws and row weights are in the folder.")
    estimator = ESTIMATORS[run.model].restored(run.posterior, run.facts, len(run.encoding.names))
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
    rows = numbers[used]
    found = estimator.predictive(run.encoding.design(rows).to_numpy())
    return pd.DataFrame(
        {
            "row": rows.index,
            "prediction": found.prediction,
            estimator.spread_name: found.spread,
            "low": found.low,
            "high": found.high,
        }
    )
