"""Rivals for counts and labels: statsmodels' Poisson and negative binomial regression, logistic regression, cleanlab."""

from __future__ import annotations

import importlib

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.realdata.fit import CountLaw, Fit, LabelLaw
from benchmarks.realdata.reference import inverse_link

# Pearson residuals beyond this are listed.
_OUTLYING = 3.0


def poisson_glm(X: np.ndarray, y: np.ndarray) -> Fit:
    """Statsmodels' GLM, Poisson."""
    api = importlib.import_module("statsmodels.api")
    scaler = StandardScaler().fit(X)
    found = api.GLM(y, _design(scaler, X), family=api.families.Poisson()).fit(maxiter=200)
    return count_fit(*_in_user_units(found.params, scaler), 0.0, X, y)


def negative_binomial(X: np.ndarray, y: np.ndarray) -> Fit:
    """Statsmodels' NegativeBinomial: variance = mean + alpha mean^2, alpha estimated."""
    api = importlib.import_module("statsmodels.api")
    scaler = StandardScaler().fit(X)
    design = _design(scaler, X)
    start = np.append(api.GLM(y, design, family=api.families.Poisson()).fit(maxiter=200).params, 1.0)
    found = api.NegativeBinomial(y, design).fit(start_params=start, disp=False, maxiter=500)
    return count_fit(*_in_user_units(found.params[:-1], scaler), max(float(found.params[-1]), 0.0), X, y)


def logistic(X: np.ndarray, y: np.ndarray) -> Fit:
    """scikit-learn's LogisticRegression without a penalty."""
    return _labels(_pipeline().fit(X, y), X, y)


def cleanlab_labels(X: np.ndarray, y: np.ndarray) -> Fit:
    """Cleanlab's label issues from five-fold probabilities, then logistic regression of the other rows."""
    cleaner = importlib.import_module("cleanlab.filter")
    rank = importlib.import_module("cleanlab.rank")
    labels = y.astype(int)
    probabilities = cross_val_predict(_pipeline(), X, labels, cv=5, method="predict_proba")
    listed = cleaner.find_label_issues(labels, probabilities)
    if len(np.unique(labels[~listed])) < 2:
        raise ValueError("cleanlab lists every row of a class")
    fit = _labels(_pipeline().fit(X[~listed], y[~listed]), X, y)
    suspicion = 1.0 - rank.get_label_quality_scores(labels, probabilities)
    return fit._replace(listed=listed, suspicion=suspicion, weights=(~listed).astype(float))


def count_fit(intercept: float, coef: np.ndarray, dispersion: float, X: np.ndarray, y: np.ndarray) -> Fit:
    """A log-linear fit of counts with variance mean + dispersion mean^2."""

    def predict(rows: np.ndarray) -> CountLaw:
        mean = inverse_link("count", intercept + rows @ coef)
        return CountLaw(mean, mean + dispersion * mean**2)

    law = predict(X)
    suspicion = np.abs(y - law.mean) / np.sqrt(law.variance)
    return Fit(intercept, coef, predict, suspicion, suspicion > _OUTLYING, np.ones(len(y)))


def _labels(pipeline: object, X: np.ndarray, y: np.ndarray) -> Fit:
    scaler, model = pipeline[0], pipeline[1]
    coef = model.coef_[0] / scaler.scale_
    intercept = float(model.intercept_[0] - scaler.mean_ @ coef)

    def predict(rows: np.ndarray) -> LabelLaw:
        return LabelLaw(inverse_link("binary", intercept + rows @ coef))

    suspicion = np.abs(y - predict(X).mean)
    return Fit(intercept, coef, predict, suspicion, np.zeros(len(y), bool), np.ones(len(y)))


def _pipeline() -> object:
    return make_pipeline(StandardScaler(), LogisticRegression(C=np.inf, max_iter=1000))


def _design(scaler: StandardScaler, X: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(X)), scaler.transform(X)])


def _in_user_units(params: np.ndarray, scaler: StandardScaler) -> tuple[float, np.ndarray]:
    coef = np.asarray(params)[1:] / scaler.scale_
    return float(params[0] - scaler.mean_ @ coef), coef
