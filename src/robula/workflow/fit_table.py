"""Fit a model to a table: features encoded, sampled robustly, compared with the plain answer."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.utils.validation import has_fit_parameter

from robula._option_words import as_options
from robula._threads import few_threads_for_small_data
from robula._types import FloatArray
from robula._validation import check_name
from robula.diagnosis.prediction_errors import prediction_errors
from robula.exceptions import InputError, RobulaWarning
from robula.models import MODELS
from robula.result.posterior import Posterior
from robula.sklearn import ESTIMATORS
from robula.sklearn.refits import Refits
from robula.tables.prepared_table import PreparedTable, prepare_table, response_of
from robula.workflow.assumed_shares import levels_shown, path_lines, path_table, shorter, unheard
from robula.workflow.fit_means import fit_means
from robula.workflow.table_fit import Options, TableFit


@few_threads_for_small_data
def fit_table(
    table: pd.DataFrame,
    *,
    model: str,
    target: str | None = None,
    features: list[str] | None = None,
    exclude: list[str] | None = None,
    options: Options | None = None,
) -> TableFit:
    """Fit ``model`` (a name in ``robula.models.MODELS``) to the columns of a table."""
    options = options or Options()
    check_name(model, "model", MODELS)
    if (target is None) != (model == "mean"):
        raise InputError(
            "the mean model has no target; leave --target out."
            if model == "mean"
            else f"the {model} model needs --target, the column to explain."
        )
    of_rows = {name: column for name, column in _columns_of_rows(options).items() if column is not None}
    if target is None and of_rows:
        raise InputError("--exposure and --row-weights are for regressions; the mean model has neither.")
    prepared = prepare_table(
        table,
        target=target,
        features=features,
        exclude=exclude or (),
        beside=list(of_rows.values()),
        missing=options.missing,
        drop_missing=options.drop_missing,
        drop_rows=options.drop_rows,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RobulaWarning)
        result = fit_means(prepared, options) if target is None else _fit_regression(prepared, model, target, options)
    told = [as_options(str(item.message)) for item in caught if issubclass(item.category, RobulaWarning)]
    return replace(result, notes=[*prepared.notes, *result.notes, *dict.fromkeys(told)])


def _columns_of_rows(options: Options) -> dict[str, str | None]:
    """What the estimators call the columns that say something of each row, and the columns."""
    return {"exposure": options.exposure, "sample_weight": options.row_weights}


def _of_rows(prepared: PreparedTable, estimator: Any, options: Options, model: str) -> dict[str, pd.Series]:
    """Return those columns, under the rows' numbers in the file, for the estimator's ``fit``."""
    found = {}
    for name, column in _columns_of_rows(options).items():
        if column is None:
            continue
        if not has_fit_parameter(estimator, name):
            raise InputError(f"--exposure is for models with a log link; the {model} model has none.")
        values = prepared.rows[column]
        if values.dtype.kind not in "iuf":
            raise InputError(f"column {column!r} is one of texts; --exposure and --row-weights need numbers.")
        found[name] = values.astype(np.float64)
    return found


def _fit_regression(prepared: PreparedTable, model: str, target: str, options: Options) -> TableFit:
    estimator = make_estimator(model, options)
    y = response_of(prepared, target, model, classes=is_classifier(estimator))
    design = prepared.encoding.design(prepared.rows)
    of_rows = _of_rows(prepared, estimator, options, model)
    fitted: Any = estimator.fit(design, y.to_numpy(), **of_rows)
    refits = Refits(fitted, design, of_rows)
    notes = ["Columns were standardised robustly for sampling; all figures are in the units of the file."]
    if options.exposure is not None:
        notes.append(f"Coefficients are of the mean per unit of {options.exposure!r}, the exposure.")
    if options.row_weights is not None:
        notes.append(
            f"A row counts {options.row_weights!r} times; its weight below, how far it is trusted, comes on top."
        )
    return TableFit(
        model=model,
        target=target,
        encoding=prepared.encoding,
        posterior=fitted.posterior_,
        used=prepared.used,
        plain=refits.plain(),
        residuals=residuals_of(fitted, target),
        sensitivity=_regression_path(fitted.posterior_, refits, options) if options.sensitivity else None,
        facts={**fitted.facts(), "exposure": options.exposure},
        notes=notes,
        fitted=fitted.model_,
    )


def make_estimator(model: str, options: Options) -> Any:
    """Return the estimator of a model, as the options have it."""
    estimator: Any = ESTIMATORS[model](**options.for_estimator())
    if options.noise_scale is not None:
        if "noise_scale" not in estimator.get_params():
            raise InputError(f"--noise-scale is for the linear model; the {model} model has none.")
        estimator.set_params(noise_scale=options.noise_scale)
    estimator._checkpoint = options.checkpoint
    return estimator


def residuals_of(fitted: Any, target: str) -> dict[str, FloatArray]:
    """Prediction errors at the posterior mean, by the name they have on the page; none of labels."""
    errors = prediction_errors(fitted.model_, fitted.posterior_.mean)
    return {} if errors is None else {f"prediction error of {target}": errors}


def _regression_path(posterior: Posterior, refits: Refits, options: Options) -> pd.DataFrame:
    """Refit, with fewer draws, for other assumed shares of bad rows."""
    levels = levels_shown(options.contamination)
    others = [level for level in levels if level != options.contamination]
    with unheard():
        found = dict(zip(others, refits.at(others, **shorter(options)), strict=True))
    return path_table([line for level in levels for line in path_lines(level, found.get(level, posterior))])
