"""Fit a model to a table: features encoded, sampled robustly, compared with the plain answer."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.utils.validation import has_fit_parameter

from robula._intervals import TAILS
from robula._option_words import as_options
from robula._threads import few_threads_for_small_data
from robula._types import BoolArray, FloatArray
from robula._validation import check_count, check_name
from robula.diagnosis.prediction_errors import prediction_errors
from robula.exceptions import InputError, RobulaWarning
from robula.models import MODELS
from robula.models.gaussian_posterior import GaussianPosterior
from robula.models.mean_model import MeanModel
from robula.models.model import Model
from robula.models.priors import NormalPrior
from robula.reporting.quantities import quantities
from robula.result.posterior import Posterior
from robula.run.checkpoint import checkpoints_at
from robula.run.sampler import sample
from robula.sklearn import ESTIMATORS
from robula.sklearn.coordinates import robust_coordinates
from robula.sklearn.refits import Refits
from robula.tables.encoding import Encoding
from robula.tables.prepared_table import PreparedTable, prepare_table, require_numbers, response_of

# Assumed shares of bad rows at which the answer is shown, beside the declared one.
_LEVELS = (0.0, 0.05, 0.1, 0.2, 0.3)
# Prior variance of a mean in robustly standardised columns.
_MEAN_PRIOR_VARIANCE = 100.0
# A covariance by minimum determinant needs this many rows per column.
_ROWS_PER_COLUMN = 5
# More than these are slips of the pen: the steps alone would take days, or the draws more than most machines' memory.
_MOST_DRAWS, _MOST_BURN_IN, _MOST_CHAINS, _MOST_KEPT = 10**7, 10**7, 10**4, 5 * 10**7


@dataclass(frozen=True)
class Options:
    """What a fit can be told, beside the table and its columns."""

    contamination: Any = 0.1
    noise_scale: float | None = None
    exposure: str | None = None
    row_weights: str | None = None
    missing: tuple[str, ...] = ()
    drop_missing: bool = False
    drop_rows: str | None = None
    draws: int = 1000
    burn_in: int = 300
    chains: int = 4
    seed: int = 0
    sensitivity: bool = True
    checkpoint: Path | None = None
    sampler: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse absurd numbers before anything is done."""
        check_count(self.draws, "--draws", 1, _MOST_DRAWS)
        check_count(self.burn_in, "--burn-in", 0, _MOST_BURN_IN)
        check_count(self.chains, "--chains", 1, _MOST_CHAINS)
        if self.draws * self.chains > _MOST_KEPT:
            raise InputError(
                f"--draws {self.draws} in --chains {self.chains} are {self.draws * self.chains:.3g} draws; at most "
                f"{_MOST_KEPT:.0e} are kept. Some thousands are enough for means and intervals."
            )

    def for_estimator(self) -> dict[str, Any]:
        """Return the parameters of the scikit-learn estimators."""
        return {
            "contamination": self.contamination,
            "draws": self.draws,
            "burn_in": self.burn_in,
            "chains": self.chains,
            "random_state": self.seed,
            **self.sampler,
        }

    def for_sampler(self) -> dict[str, Any]:
        """Return the arguments of :func:`robula.sample`."""
        options = self.for_estimator()
        seed = options.pop("random_state")
        return {**options, "seed": seed, "progress": False}


@dataclass(frozen=True)
class TableFit:
    """A fit and what its report needs.

    Attributes
    ----------
    used : ndarray of bool
        Which rows of the table were not left out.
    plain : GaussianPosterior or None
        The answer that trusts every row.
    residuals : dict of ndarray
        Prediction errors of the rows used, as normal scores.
    facts : dict
        What a prediction needs beside the posterior.
    fitted : Model
        The model in the units of the file: the posterior is its posterior.
    """

    model: str
    target: str | None
    encoding: Encoding
    posterior: Posterior
    used: BoolArray
    plain: GaussianPosterior | None
    residuals: dict[str, FloatArray]
    sensitivity: pd.DataFrame | None
    facts: dict[str, Any]
    notes: list[str]
    fitted: Model


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
        result = _fit_means(prepared, options) if target is None else _fit_regression(prepared, model, target, options)
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


def _levels(declared: Any) -> list[float]:
    return sorted({*_LEVELS, *([float(declared)] if isinstance(declared, float | int) else [])})


def _path_lines(level: float, posterior: Posterior) -> list[tuple[float, str, float, float, float]]:
    if posterior.settings.get("interrupted"):
        raise KeyboardInterrupt
    shown = quantities(posterior)
    low, high = np.quantile(shown.flat, TAILS, axis=0)
    return [
        (level, name, float(shown.flat[:, index].mean()), float(low[index]), float(high[index]))
        for index, name in enumerate(shown.names)
    ]


def _path_table(lines: list[tuple[float, str, float, float, float]]) -> pd.DataFrame:
    return pd.DataFrame(lines, columns=["contamination", "parameter", "mean", "low", "high"])


def _shorter(options: Options) -> dict[str, int]:
    return {"draws": max(100, options.draws // 4), "chains": min(2, options.chains)}


@contextmanager
def _unheard() -> Iterator[None]:
    """Let short runs at other shares warn nobody: what they say is not of the answer, and has no place in its notes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RobulaWarning)
        yield


def _regression_path(posterior: Posterior, refits: Refits, options: Options) -> pd.DataFrame:
    """Refit, with fewer draws, for other assumed shares of bad rows."""
    levels = _levels(options.contamination)
    others = [level for level in levels if level != options.contamination]
    with _unheard():
        found = dict(zip(others, refits.at(others, **_shorter(options)), strict=True))
    return _path_table([line for level in levels for line in _path_lines(level, found.get(level, posterior))])


def _fit_means(prepared: PreparedTable, options: Options) -> TableFit:
    names = require_numbers(prepared.encoding)
    if options.noise_scale is not None:
        raise InputError("--noise-scale is for the linear model; the mean model has none.")
    values = prepared.rows[names].to_numpy(dtype=np.float64)
    coordinates = robust_coordinates(values, intercept=True)
    scaled = coordinates.columns(values)
    covariance = _robust_covariance(scaled, options)
    model = MeanModel(
        pd.DataFrame(scaled, columns=names), covariance=covariance, prior=NormalPrior(0.0, _MEAN_PRIOR_VARIANCE)
    )
    sampler = options.for_sampler()

    def back(posterior: Posterior) -> Posterior:
        return posterior.in_user_units(coordinates.centre + coordinates.scale * posterior.draws)

    kept: dict[str, Any] = {} if options.checkpoint is None else {"checkpoint": checkpoints_at(options.checkpoint)}
    posterior = back(sample(model, **sampler, **kept))
    if posterior.settings.get("interrupted"):
        raise KeyboardInterrupt
    lines = []
    for level in _levels(options.contamination) if options.sensitivity else []:
        other = posterior
        if level != options.contamination:
            with _unheard():
                other = back(sample(model, **{**sampler, "contamination": level, **_shorter(options)}))
        lines += _path_lines(level, other)
    return TableFit(
        model="mean",
        target=None,
        encoding=prepared.encoding,
        posterior=posterior,
        used=prepared.used,
        # Whoever trusts every row also takes the covariance from every row.
        plain=GaussianPosterior(values.mean(axis=0), np.atleast_2d(np.cov(values, rowvar=False)) / len(values)),
        residuals={},
        sensitivity=_path_table(lines) if lines else None,
        facts={},
        notes=["The rows' covariance was estimated robustly from the same rows and then held fixed."],
        fitted=MeanModel(
            pd.DataFrame(values, columns=names),
            covariance=covariance * np.outer(coordinates.scale, coordinates.scale),
            prior=NormalPrior(coordinates.centre, _MEAN_PRIOR_VARIANCE * coordinates.scale**2),
        ),
    )


def _robust_covariance(scaled: FloatArray, options: Options) -> FloatArray:
    """Minimum covariance determinant; variances alone where there are few rows or a column hardly varies."""
    from sklearn.covariance import MinCovDet  # a seventh of a second, which regressions need not wait

    rows, columns = scaled.shape
    if rows >= _ROWS_PER_COLUMN * columns:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scikit-learn's own, about determinants, when columns are dependent
            found = MinCovDet(random_state=options.seed).fit(scaled).covariance_
        if np.linalg.eigvalsh(found)[0] > 1e-6:
            return np.asarray(found, dtype=np.float64)
    return np.eye(columns)
