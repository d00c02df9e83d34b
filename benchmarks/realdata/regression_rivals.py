"""Rivals for linear regression: least squares, robust regression, and outlier removal before least squares."""

from __future__ import annotations

import importlib

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import HuberRegressor, LinearRegression, TheilSenRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.realdata.fast_s import fast_s
from benchmarks.realdata.fit import Fit, StudentLaw
from benchmarks.realdata.reference import plain_fit

#: Share that IsolationForest is told to remove, robula's own default.
DECLARED = 0.1
# scikit-learn's 10,000 subsets take a second each time; the estimate's own noise is small with these.
_THEIL_SEN_SUBSETS = 2000
# Rows that lie this many noise scales off are listed, where a method has no rule of its own.
_OUTLYING = 3.0
_HALF = 0.5


def mad_scale(residuals: np.ndarray) -> float:
    """Median absolute deviation from 0, consistent for normal noise; never 0."""
    return max(float(np.median(np.abs(residuals))) / 0.6745, 1e-12)


def least_squares(X: np.ndarray, y: np.ndarray) -> Fit:
    """All rows; those beyond three noise scales are listed."""
    plain = plain_fit(X, y, "regression")
    return _linear(plain.intercept, plain.coef, X, y, plain.sigma)


def huber(X: np.ndarray, y: np.ndarray) -> Fit:
    """scikit-learn's HuberRegressor."""
    model, intercept, coef = _scaled(HuberRegressor(max_iter=1000), X, y)
    residuals = np.abs(y - intercept - X @ coef)
    weights = np.minimum(1.0, model.epsilon * model.scale_ / np.maximum(residuals, 1e-300))
    return _linear(intercept, coef, X, y, mad_scale(residuals), weights)


def theil_sen(X: np.ndarray, y: np.ndarray) -> Fit:
    """scikit-learn's TheilSenRegressor."""
    _, intercept, coef = _scaled(TheilSenRegressor(max_subpopulation=_THEIL_SEN_SUBSETS, random_state=0), X, y)
    return _linear(intercept, coef, X, y, mad_scale(y - intercept - X @ coef))


def rlm(X: np.ndarray, y: np.ndarray) -> Fit:
    """Statsmodels' RLM with Tukey's bisquare, from least squares."""
    api = importlib.import_module("statsmodels.api")
    scaler = StandardScaler().fit(X)
    found = api.RLM(y, _with_ones(scaler.transform(X)), M=api.robust.norms.TukeyBiweight()).fit(maxiter=200)
    return _from_statsmodels(found, scaler, X, y)


def mm(X: np.ndarray, y: np.ndarray) -> Fit:
    """Statsmodels' MM-estimator (RLMDetSMM, statsmodels 0.15) from a fast-S start: breakdown .5, efficiency .95."""
    module = importlib.import_module("statsmodels.robust.resistant_linear_model")
    scaler = StandardScaler().fit(X)
    design = _with_ones(scaler.transform(X))
    found = module.RLMDetSMM(y, design).fit(scale_binding=True, start=fast_s(design, y, np.random.default_rng(0)))
    return _from_statsmodels(found, scaler, X, y)


def isolation_forest(X: np.ndarray, y: np.ndarray) -> Fit:
    """The tenth of the rows (x, y) that IsolationForest finds oddest is removed, then least squares."""
    table = np.column_stack([X, y])
    suspicion = -IsolationForest(contamination=DECLARED, random_state=0).fit(table).score_samples(table)
    listed = suspicion > np.quantile(suspicion, 1.0 - DECLARED)
    return _after_removal(X, y, listed, suspicion)


def cleanlab(X: np.ndarray, y: np.ndarray) -> Fit:
    """Cleanlab's CleanLearning for regression around least squares."""
    learner = importlib.import_module("cleanlab.regression.learn").CleanLearning(LinearRegression(), seed=0)
    issues = learner.fit(X, y).get_label_issues()
    return _after_removal(X, y, issues["is_label_issue"].to_numpy(bool), -issues["label_quality"].to_numpy(float))


def _scaled(estimator: HuberRegressor | TheilSenRegressor, X: np.ndarray, y: np.ndarray) -> tuple:
    """Fit in standardised columns, as their pages advise; model, intercept and coefficients in the units of X."""
    pipeline = make_pipeline(StandardScaler(), estimator).fit(X, y)
    scaler, model = pipeline[0], pipeline[1]
    coef = model.coef_ / scaler.scale_
    return model, float(model.intercept_ - scaler.mean_ @ coef), coef


def _from_statsmodels(found: object, scaler: StandardScaler, X: np.ndarray, y: np.ndarray) -> Fit:
    params = np.asarray(found.params)
    coef = params[1:] / scaler.scale_
    intercept = float(params[0] - scaler.mean_ @ coef)
    return _linear(intercept, coef, X, y, max(float(found.scale), 1e-12), np.asarray(found.weights, dtype=float))


def _after_removal(X: np.ndarray, y: np.ndarray, listed: np.ndarray, suspicion: np.ndarray) -> Fit:
    plain = plain_fit(X[~listed], y[~listed], "regression")
    fit = _linear(plain.intercept, plain.coef, X, y, plain.sigma, (~listed).astype(float))
    return fit._replace(suspicion=suspicion)


def _linear(
    intercept: float, coef: np.ndarray, X: np.ndarray, y: np.ndarray, sigma: float, weights: np.ndarray | None = None
) -> Fit:
    """A fit with normal predictive laws; rows are suspected by their residuals."""
    residuals = np.abs(y - intercept - X @ coef)
    listed = residuals > _OUTLYING * sigma if weights is None else weights < _HALF

    def predict(rows: np.ndarray) -> StudentLaw:
        return StudentLaw(intercept + rows @ coef, np.full(len(rows), sigma))

    return Fit(intercept, coef, predict, residuals, listed, np.ones(len(y)) if weights is None else weights)


def _with_ones(columns: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(columns)), columns])
