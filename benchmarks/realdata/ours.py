"""robula, through its scikit-learn classes only."""

from __future__ import annotations

import numpy as np

import robula
from benchmarks.realdata.fit import CountLaw, Fit, LabelLaw, Law, StudentLaw
from robula.sklearn import RobustBayesianClassifier, RobustBayesianRegressor, RobustPoissonRegressor

_ESTIMATORS = {
    "regression": RobustBayesianRegressor,
    "count": RobustPoissonRegressor,
    "binary": RobustBayesianClassifier,
}
_HALF = 0.5


def robula_fit(X: np.ndarray, y: np.ndarray, family: str, contamination: float | str) -> Fit:
    """The default estimator of a family at this contamination."""
    model = _ESTIMATORS[family](contamination=contamination).fit(X, y)
    coef = np.ravel(model.coef_)
    draws = np.asarray(model.posterior_.draws)
    widths = draws.reshape(-1, draws.shape[-1]).std(axis=0)[1 : len(coef) + 1]
    weights = np.asarray(model.row_weights_)

    def predict(rows: np.ndarray) -> Law:
        if family == "binary":
            return LabelLaw(model.predict_proba(rows)[:, 1])
        mean, deviation = model.predict(rows, return_std=True)
        return StudentLaw(mean, deviation) if family == "regression" else CountLaw(mean, deviation**2)

    return Fit(
        float(np.ravel(model.intercept_)[0]),
        coef,
        predict,
        1.0 - weights,
        weights < _HALF,
        weights,
        widths,
        robula.diagnose(model.posterior_).verdict,
    )
