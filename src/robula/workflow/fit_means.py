"""Fit the means of a table's columns, with a covariance estimated robustly beforehand."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd

from robula._types import FloatArray
from robula.exceptions import InputError
from robula.models.gaussian_posterior import GaussianPosterior
from robula.models.mean_model import MeanModel
from robula.models.priors import NormalPrior
from robula.result.posterior import Posterior
from robula.run.checkpoint import checkpoints_at
from robula.run.sampler import sample
from robula.sklearn.coordinates import robust_coordinates
from robula.tables.prepared_table import PreparedTable, require_numbers
from robula.workflow.assumed_shares import levels_shown, path_lines, path_table, shorter, unheard
from robula.workflow.table_fit import Options, TableFit

# Prior variance of a mean in robustly standardised columns.
_MEAN_PRIOR_VARIANCE = 100.0
# A covariance by minimum determinant needs this many rows per column.
_ROWS_PER_COLUMN = 5


def fit_means(prepared: PreparedTable, options: Options) -> TableFit:
    """Fit the mean model to the columns of a prepared table."""
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
        return posterior.in_user_units(lambda theta: coordinates.centre + coordinates.scale * theta)

    kept: dict[str, Any] = {} if options.checkpoint is None else {"checkpoint": checkpoints_at(options.checkpoint)}
    posterior = back(sample(model, **sampler, **kept))
    if posterior.settings.get("interrupted"):
        raise KeyboardInterrupt
    lines = []
    for level in levels_shown(options.contamination) if options.sensitivity else []:
        other = posterior
        if level != options.contamination:
            with unheard():
                other = back(sample(model, **{**sampler, "contamination": level, **shorter(options)}))
        lines += path_lines(level, other)
    return TableFit(
        model="mean",
        target=None,
        encoding=prepared.encoding,
        posterior=posterior,
        used=prepared.used,
        # Whoever trusts every row also takes the covariance from every row.
        plain=GaussianPosterior(values.mean(axis=0), np.atleast_2d(np.cov(values, rowvar=False)) / len(values)),
        residuals={},
        sensitivity=path_table(lines) if lines else None,
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
