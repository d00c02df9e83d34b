"""Answers at other contaminations are those of a fit from the beginning."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from robula.sklearn import RobustBayesianClassifier, RobustBayesianRegressor, RobustPoissonRegressor
from robula.sklearn.refits import Refits

SHORT = {"draws": 50, "burn_in": 20, "chains": 2}


@pytest.mark.parametrize("kind", ["numbers", "counts", "classes"])
def test_refits_are_fits(kind):
    rng = np.random.default_rng(3)
    X, hours = 3.0 + rng.normal(size=(150, 2)), rng.uniform(0.5, 4.0, 150)
    eta = 0.5 * X[:, 0] - 0.2 * X[:, 1]
    estimator, y, of_rows = {
        "numbers": (RobustBayesianRegressor, eta + rng.normal(size=150), {"sample_weight": np.ones(150)}),
        "counts": (RobustPoissonRegressor, rng.poisson(hours * np.exp(eta)), {"exposure": hours}),
        "classes": (RobustBayesianClassifier, np.array(list("abc"))[np.digitize(eta, [0.5, 1.0])], {}),
    }[kind]
    fitted = estimator(contamination=0.1, **SHORT).fit(X, y, **of_rows)
    before = fitted.posterior_
    for level, found in zip((0.0, 0.2), Refits(fitted, X, of_rows).at((0.0, 0.2), draws=30), strict=True):
        expected = clone(fitted).set_params(contamination=level, draws=30).fit(X, y, **of_rows).posterior_
        np.testing.assert_allclose(found.draws, expected.draws, rtol=1e-10)
        np.testing.assert_allclose(found.row_weights, expected.row_weights)
        assert found.parameter_names == expected.parameter_names
    assert fitted.posterior_ is before
    assert fitted.contamination == 0.1
