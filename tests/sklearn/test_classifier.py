"""The scikit-learn classifier: probabilities, names of the classes, two of them and more."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.multiclass import OneVsRestClassifier

from robula.exceptions import InputError
from robula.models import MultinomialModel
from robula.models.posterior_mode import laplace
from robula.sklearn import (
    RobustBayesianClassifier,
)
from robula.sklearn.refits import Refits

SHORT = {"draws": 200, "burn_in": 200, "chains": 2}
# Logistic and Poisson regression warn about the paper's estimator; these tests are not about it.
pytestmark = pytest.mark.filterwarnings("ignore::robula.exceptions.RobulaWarning")


def test_classifier_probabilities_and_names():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = np.where(rng.uniform(size=400) < 1 / (1 + np.exp(-2 * X[:, 0])), "yes", "no")
    fitted = RobustBayesianClassifier(contamination=0.0, selector="mean", **SHORT).fit(X, y)
    assert list(fitted.classes_) == ["no", "yes"]
    proba = fitted.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert fitted.coef_.shape == (1, 2)
    assert fitted.intercept_.shape == (1,)
    assert abs(fitted.coef_[0, 0] - 2.0) < 0.7
    draws = fitted.posterior_.flat_draws
    by_hand = (1 / (1 + np.exp(-(draws[:, :1] + draws[:, 1:] @ X[:3].T)))).mean(axis=0)
    np.testing.assert_allclose(proba[:3, 1], by_hand)
    assert fitted.score(X, y) > 0.7


def test_three_classes_through_one_vs_rest():
    rng = np.random.default_rng(0)
    y = np.arange(150) % 3
    X = rng.normal(size=(150, 2)) + np.array([[0, 0], [4, 0], [0, 4]])[y]
    short = {**SHORT, "draws": 60}
    fitted = OneVsRestClassifier(RobustBayesianClassifier(contamination=0.0, selector="mean", **short)).fit(X, y)
    assert fitted.score(X, y) > 0.9


def test_three_classes_by_themselves():
    """Softmax of the lines averaged over the draws, in the user's units; coefficients add up to 0 over the classes."""
    rng = np.random.default_rng(0)
    labels = np.array(["a", "b", "c"])[np.arange(240) % 3]
    X = (rng.normal(size=(240, 2)) + np.array([[0, 0], [3, 0], [0, 3]])[np.arange(240) % 3]) * [10.0, 0.1] + [
        100.0,
        0.0,
    ]
    options = {"contamination": 0.0, "selector": "mean", **SHORT, "draws": 60}
    fitted = RobustBayesianClassifier(**options).fit(pd.DataFrame(X, columns=["u", "v"]), labels)
    assert isinstance(fitted.model_, MultinomialModel)
    assert fitted.coef_.shape == (3, 2)
    np.testing.assert_allclose(fitted.coef_.sum(axis=0), 0.0, atol=1e-9)
    assert fitted.posterior_.parameter_names == ("b:intercept", "b:u", "b:v", "c:intercept", "c:u", "c:v")
    proba = fitted.predict_proba(pd.DataFrame(X, columns=["u", "v"]))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    lines = fitted.posterior_.flat_draws.reshape(-1, 2, 3)
    eta = np.concatenate([np.zeros((len(lines), 1, 3)), lines], axis=1) @ np.column_stack([np.ones(3), X[:3]]).T
    by_hand = (np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)).mean(axis=0).T
    np.testing.assert_allclose(proba[:3], by_hand, rtol=1e-6)
    assert (fitted.predict(pd.DataFrame(X, columns=["u", "v"])) == labels).mean() > 0.8
    # Which class comes first does not matter: the default prior treats them alike.
    turned = np.array(["c", "a", "b"])[np.arange(240) % 3]  # "b" is the first class now
    other = RobustBayesianClassifier(**options).fit(X, turned)
    first, last = (laplace(Refits(each, X)._sampled).mean for each in (fitted, other))
    np.testing.assert_allclose(first[:3], -last[3:], rtol=1e-5)


def test_the_only_class_is_named_as_it_was_given():
    with pytest.raises(InputError, match=r"only one class: 1\.0\.$"):
        RobustBayesianClassifier().fit(np.zeros((4, 1)), np.ones(4))
