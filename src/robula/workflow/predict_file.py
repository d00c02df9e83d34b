"""Predictions from a run on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from robula._validation import show
from robula.exceptions import InputError
from robula.sklearn import ESTIMATORS
from robula.tables.encoding import with_numbers
from robula.tables.prepared_table import complete_rows
from robula.tables.table_files import read_table
from robula.workflow.run_folder import read_run


def predict_file(folder: Path, path: Path, *, drop_missing: bool = False) -> pd.DataFrame:
    """Return one line a row of the file: its number, the prediction and a 95 % interval.

    Regressions: predictive mean, deviation and interval of a new response, for the exposure in the file where the fit
    had one. logistic: the likelier class, the probability of the second class, averaged over the draws, and its
    interval over the draws. multinomial: the likeliest class, and the same of its own probability.
    """
    run = read_run(folder)
    if run.model not in ESTIMATORS:
        raise InputError(f"a {run.model} model has nothing to predict; its draws and row weights are in the folder.")
    estimator = ESTIMATORS[run.model].restored(run.posterior, run.facts, len(run.encoding.names))
    table = read_table(path)
    exposure = run.facts.get("exposure")
    needed = [*run.encoding.columns, *([] if exposure is None else [exposure])]
    lost = [column for column in needed if column not in table.columns]
    if lost:
        raise InputError(f"{path.name} has no column {lost[0]!r}; the fit used {show(needed, 200)}.")
    numbers = with_numbers(table, needed, run.encoding.missing)
    for column in [*run.encoding.numbers, *needed[len(run.encoding.columns) :]]:
        if numbers[column].dtype.kind != "f":
            raise InputError(
                f"column {column!r} was a column of numbers in the fit, and is one of texts in {path.name}."
            )
    used = complete_rows(numbers, table, drop=drop_missing)
    if not used.any():
        raise InputError(f"no row of {path.name} is without missing values.")
    rows = numbers[used]
    exposed = {} if exposure is None else {"exposure": rows[exposure].to_numpy(dtype=np.float64)}
    found = estimator.predictive(run.encoding.design(rows).to_numpy(), **exposed)
    return pd.DataFrame(
        {
            "row": rows.index,
            "prediction": found.prediction,
            estimator.spread_name: found.spread,
            "low": found.low,
            "high": found.high,
        }
    )
