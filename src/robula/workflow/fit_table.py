"""Fit a model to a table: features encoded, sampled robustly, compared with the plain answer."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.covariance import MinCovDet

from robula._types import BoolArray, FloatArray
from robula._validation import check_name
from robula.exceptions import InputError, RobulaWarning
from robula.models import MODELS
from robula.models.gaussian_posterior import GaussianPosterior
from robula.models.linear_model import LinearModel
from robula.models.mean_model import MeanModel
from robula.models.posterior_mode import laplace
from robula.models.priors import NormalPrior
from robula.result.posterior import Posterior
from robula.run.sampler import sample
from robula.sklearn import RobustBayesianClassifier, RobustBayesianRegressor, RobustPoissonRegressor
from robula.sklearn.coordinates import robust_coordinates
from robula.tables.encoding import Encoding, complete_rows, learn_encoding, pick_columns, with_numbers

ESTIMATORS = {
    "linear": RobustBayesianRegressor,
    "logistic": RobustBayesianClassifier,
    "poisson": RobustPoissonRegressor,
}
# Assumed shares of bad rows at which the answer is shown, beside the declared one.
_LEVELS = (0.0, 0.05, 0.1, 0.2, 0.3)
# A covariance by minimum determinant needs this many rows per column.
_ROWS_PER_COLUMN = 5


@dataclass(frozen=True)
class Options:
    """What a fit can be told, beside the table and its columns."""

    contamination: Any = 0.1
    noise_scale: float | None = None
    drop_missing: bool = False
    draws: int = 1000
    burn_in: int = 300
    chains: int = 4
    seed: int = 0
    sensitivity: bool = True
    sampler: dict[str, Any] = field(default_factory=dict)

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
        Which rows of the table had no missing value.
    plain : GaussianPosterior or None
        The answer that trusts every row.
    residuals : dict of ndarray
        Prediction errors of the rows used, over their expected size.
    """

    model: str
    target: str | None
    encoding: Encoding
    posterior: Posterior
    used: BoolArray
    plain: GaussianPosterior | None
    residuals: dict[str, FloatArray]
    sensitivity: pd.DataFrame | None
    noise_scale: float | None
    classes: list[str] | None
    notes: list[str]


def fit_table(
    table: pd.DataFrame,
    *,
    model: str,
    target: str | None = None,
    features: list[str] | None = None,
    exclude: list[str] | None = None,
    options: Options | None = None,
) -> TableFit:
    """Fit ``model`` ("linear", "logistic", "poisson" or "mean") to the columns of a table."""
    options = options or Options()
    check_name(model, "model", MODELS)
    if (target is None) != (model == "mean"):
        raise InputError(
            "the mean model has no target; leave --target out."
            if model == "mean"
            else f"the {model} model needs --target, the column to explain."
        )
    columns = pick_columns(table, target, features, exclude or [])
    numbers = with_numbers(table, columns if target is None else [*columns, target])
    used = complete_rows(numbers, table, drop=options.drop_missing)
    if used.sum() < 2:
        raise InputError(f"{int(used.sum())} row(s) without missing values are left; 2 or more are needed.")
    part = numbers[used]
    encoding = learn_encoding(part, columns)
    notes = [] if used.all() else [f"{int((~used).sum())} row(s) with missing values were left out."]
    notes += [
        f"{column!r} is compared with {levels[0]!r}, its commonest value."
        for column, levels in encoding.categories.items()
    ]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RobulaWarning)
        if target is None:
            result = _fit_means(part, encoding, used, options)
        else:
            result = _fit_regression(part, model, target, encoding, used, options)
    told = [str(item.message) for item in caught if issubclass(item.category, RobulaWarning)]
    return replace(result, notes=[*notes, *result.notes, *dict.fromkeys(told)])


def _fit_regression(
    part: pd.DataFrame, model: str, target: str, encoding: Encoding, used: BoolArray, options: Options
) -> TableFit:
    design, y, classes = encoding.design(part), part[target], None
    if model == "logistic":
        y = _two_classes(y)
        classes = sorted(set(y))
    elif y.dtype.kind not in "iuf":
        raise InputError(f"the target {target!r} is a column of texts; the {model} model needs numbers.")
    elif model == "poisson" and (y < 0).any():
        rows = list(part.index[y < 0])
        raise InputError(f"the target {target!r} has negative values in row(s) {rows[:10]}; counts are at least 0.")
    estimator = ESTIMATORS[model](**options.for_estimator())
    if options.noise_scale is not None:
        if model != "linear":
            raise InputError(f"--noise-scale is for the linear model; the {model} model has none.")
        estimator.set_params(noise_scale=options.noise_scale)
    fitted = estimator.fit(design, y.to_numpy())
    noise = getattr(fitted, "noise_scale_", None)
    notes = ["Columns were standardised robustly for sampling; all figures are in the units of the file."]
    if noise is not None and options.noise_scale is None:
        notes.append(f"The noise scale, {noise:.4g}, was estimated robustly from the same rows and then held fixed.")
    return TableFit(
        model=model,
        target=target,
        encoding=encoding,
        posterior=fitted.posterior_,
        used=used,
        plain=_plain(fitted, options.noise_scale is None),
        residuals={f"prediction error of {target}": _residuals(fitted, design, y)},
        sensitivity=_regression_path(fitted, design, y, options) if options.sensitivity else None,
        noise_scale=noise,
        classes=classes,
        notes=notes,
    )


def _two_classes(y: pd.Series) -> pd.Series:
    """Return labels as texts, whole numbers without their decimals; refuse all but two."""
    whole = y.dtype.kind == "f" and bool((y == y.round()).all())
    labels = (y.astype(int) if whole else y).astype(str)
    found = labels.value_counts()
    if len(found) != 2:
        rare = found.index[-1]
        rows = list(labels.index[labels == rare])[:5]
        raise InputError(
            f"the target has {len(found)} different values, and the logistic model needs two"
            + (f" ({rare!r} is in row(s) {rows})." if len(found) > 2 else ".")
        )
    return labels


def _plain(fitted: Any, estimated_noise: bool) -> GaussianPosterior | None:
    """Return the answer that trusts every row, in the user's units."""
    model = fitted.model_
    found = laplace(model)
    if found is not None and isinstance(model, LinearModel) and estimated_noise and model.n_rows > model.dim:
        # Whoever trusts every row also takes the noise from every row.
        errors = model.y - model.predictor(found.mean)
        noise = max(float(np.sqrt((errors**2).sum() / (model.n_rows - model.dim))), model.noise_scale)
        found = LinearModel(model.design, model.y, noise_scale=noise, prior=model.prior).gaussian_posterior()
    if found is None:
        return None
    matrix = fitted.coordinates_.matrix()
    return GaussianPosterior(fitted.coordinates_.to_user(found.mean), matrix @ found.covariance @ matrix.T)


def _residuals(fitted: Any, design: pd.DataFrame, y: pd.Series) -> FloatArray:
    """Prediction errors over their expected size."""
    if isinstance(fitted, RobustBayesianClassifier):
        positive = np.clip(fitted.predict_proba(design)[:, 1], 1e-12, 1 - 1e-12)
        label = np.asarray(y == fitted.classes_[1], dtype=np.float64)
        return np.asarray((label - positive) / np.sqrt(positive * (1.0 - positive)))
    mean = fitted.predict(design)
    expected = np.sqrt(np.maximum(mean, 1e-12)) if isinstance(fitted, RobustPoissonRegressor) else fitted.noise_scale_
    return np.asarray((y.to_numpy(dtype=np.float64) - mean) / expected)


def _levels(declared: Any) -> list[float]:
    return sorted({*_LEVELS, *([float(declared)] if isinstance(declared, float | int) else [])})


def _path_lines(level: float, posterior: Posterior) -> list[tuple[float, str, float, float, float]]:
    flat = posterior.flat_draws
    low, high = np.quantile(flat, [0.025, 0.975], axis=0)
    return [
        (level, name, float(flat[:, index].mean()), float(low[index]), float(high[index]))
        for index, name in enumerate(posterior.parameter_names)
    ]


def _path_table(lines: list[tuple[float, str, float, float, float]]) -> pd.DataFrame:
    return pd.DataFrame(lines, columns=["contamination", "parameter", "mean", "low", "high"])


def _shorter(options: Options) -> dict[str, int]:
    return {"draws": max(100, options.draws // 4), "chains": min(2, options.chains)}


def _regression_path(fitted: Any, design: pd.DataFrame, y: pd.Series, options: Options) -> pd.DataFrame:
    """Refit, with fewer draws, for other assumed shares of bad rows."""
    lines = []
    for level in _levels(options.contamination):
        other = clone(fitted).set_params(contamination=level, **_shorter(options)).fit(design, y.to_numpy())
        lines += _path_lines(level, other.posterior_)
    return _path_table(lines)


def _fit_means(part: pd.DataFrame, encoding: Encoding, used: BoolArray, options: Options) -> TableFit:
    if encoding.categories:
        raise InputError(
            f"the mean model needs numbers, and {next(iter(encoding.categories))!r} is a column of texts; leave it out "
            "with --exclude."
        )
    if options.noise_scale is not None:
        raise InputError("--noise-scale is for the linear model; the mean model has none.")
    values = part[encoding.numbers].to_numpy(dtype=np.float64)
    coordinates = robust_coordinates(values, intercept=True)
    scaled = coordinates.columns(values)
    covariance = _robust_covariance(scaled, options)
    model = MeanModel(
        pd.DataFrame(scaled, columns=encoding.numbers), covariance=covariance, prior=NormalPrior(0.0, 100.0)
    )
    sampler = options.for_sampler()

    def back(posterior: Posterior) -> Posterior:
        return replace(posterior, draws=coordinates.centre + coordinates.scale * posterior.draws)

    posterior = back(sample(model, **sampler))
    lines = []
    for level in _levels(options.contamination) if options.sensitivity else []:
        lines += _path_lines(level, back(sample(model, **{**sampler, "contamination": level, **_shorter(options)})))
    return TableFit(
        model="mean",
        target=None,
        encoding=encoding,
        posterior=posterior,
        used=used,
        # Whoever trusts every row also takes the covariance from every row.
        plain=GaussianPosterior(values.mean(axis=0), np.atleast_2d(np.cov(values, rowvar=False)) / len(values)),
        residuals={},
        sensitivity=_path_table(lines) if lines else None,
        noise_scale=None,
        classes=None,
        notes=["The rows' covariance was estimated robustly from the same rows and then held fixed."],
    )


def _robust_covariance(scaled: FloatArray, options: Options) -> FloatArray:
    """Minimum covariance determinant; variances alone where there are few rows or a column hardly varies."""
    rows, columns = scaled.shape
    if rows >= _ROWS_PER_COLUMN * columns:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scikit-learn's own, about determinants, when columns are dependent
            found = MinCovDet(random_state=options.seed).fit(scaled).covariance_
        if np.linalg.eigvalsh(found)[0] > 1e-6:
            return np.asarray(found, dtype=np.float64)
    return np.eye(columns)
