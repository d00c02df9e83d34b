"""Fit a regression to Parquet files of any size, in passes: here, or by the workers of a Dask cluster."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from robula._files import matching_files
from robula._imports import import_extra
from robula._option_words import as_options
from robula.exceptions import InputError, RobulaWarning
from robula.tables.encoding import Encoding
from robula.tables.row_source import DaskSource, ParquetSource, RowSource
from robula.workflow.fit_table import make_estimator, residuals_of
from robula.workflow.table_fit import Options, TableFit

# Worker processes of a cluster of our own.
_WORKERS = 2
#: The weights of all rows, in the order of the files, beside the tables of the rows in memory.
WEIGHTS = "row_weights.npy"


def is_pattern(data: Path) -> bool:
    """Whether a path stands for files, such as data/*.parquet, rather than for one."""
    return any(sign in str(data) for sign in "*?[")


@contextmanager
def rows_of(
    pattern: str, target: str, features: Sequence[str] | None, exclude: Sequence[str], dask: bool, scheduler: str | None
) -> Iterator[RowSource]:
    """Yield the rows of Parquet files: read here, or by the workers of a cluster, one that runs or one of our own."""
    local = ParquetSource(pattern, target=target, features=features)
    names = [name for name in local.names or () if name not in exclude]
    if not dask:
        yield ParquetSource(pattern, target=target, features=names)
        return
    frames: Any = import_extra("dask.dataframe", "dask", "--dask")
    distributed: Any = import_extra("distributed", "dask", "--dask")
    with ExitStack() as ours:
        given: Any = ours.enter_context(_own_cluster(distributed)) if scheduler is None else scheduler
        ours.enter_context(distributed.Client(given))
        whole = frames.read_parquet(matching_files(pattern), columns=[*names, target], split_row_groups=True)
        yield DaskSource(whole[names], whole[target])


def _own_cluster(distributed: Any) -> Any:
    return distributed.LocalCluster(n_workers=_WORKERS, threads_per_worker=1, processes=True, dashboard_address=None)


def fit_files(rows: RowSource, *, model: str, target: str, options: Options, staging: Path) -> tuple[TableFit, Any]:
    """Fit a model to rows that are read in passes; the weights of all of them are written to ``staging``.

    Returns
    -------
    fit : TableFit
        Draws of all rows; tables and residuals of the rows that were read into memory.
    table : DataFrame
        These rows, under their numbers.
    """
    single = {
        "--missing": options.missing,
        "--drop-missing": options.drop_missing,
        "--drop-rows": options.drop_rows,
        "--checkpoint": options.checkpoint,
        "--kernel": options.sampler.get("kernel"),
        "--exposure": options.exposure,
        "--row-weights": options.row_weights,
    }
    given = [name for name, value in single.items() if value]
    if given:
        raise InputError(f"{' and '.join(given)} can be used with a single file, not with rows in passes.")
    estimator = make_estimator(model, options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RobulaWarning)
        estimator.fit(rows, None)
    posterior = estimator.posterior_
    with open(staging / WEIGHTS, "wb") as file:
        np.save(file, posterior.row_weights.astype(np.float32))
    names = [str(name) for name in estimator.feature_names_in_]
    fitted = estimator.model_
    table = pd.DataFrame(fitted.design[:, int(estimator.fit_intercept) :], columns=names, index=estimator.places_ + 1)
    table[target] = fitted.y
    notes = [
        f"{len(posterior.row_weights)} rows were read in {posterior.settings['passes']} passes. Tables and pictures "
        f"show a random {len(table)} of them; the weights of all are in {WEIGHTS}."
    ]
    told = [as_options(str(item.message)) for item in caught if issubclass(item.category, RobulaWarning)]
    notes += dict.fromkeys(told)
    shown = replace(posterior, row_weights=posterior.row_weights[estimator.places_])
    fit = TableFit(
        model=model,
        target=target,
        encoding=Encoding(names, {}),
        posterior=shown,
        used=np.ones(len(table), dtype=bool),
        plain=None,
        residuals=residuals_of(estimator, target),
        sensitivity=None,
        facts=estimator.facts(),
        notes=notes,
        fitted=fitted,
    )
    return fit, table
