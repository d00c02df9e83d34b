"""Labels that a plane separates are found, wholly or in part, and those that overlap are not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import robula
from robula.models.separation import separating_parameter

PRIOR = robula.NormalPrior(0.0, 10.0)
RNG = np.random.default_rng(0)
X = pd.DataFrame({"age": RNG.uniform(20.0, 60.0, 300), "rare": np.arange(300) < 4})
OVERLAP = RNG.logistic(size=300) < (X["age"] - 40.0) / 10.0


def found(model, rows=None):
    return separating_parameter(model, model.initial, np.ones(model.n_rows, bool) if rows is None else rows)


@pytest.mark.parametrize("kind", [robula.LogisticModel, robula.MultinomialModel])
def test_two_classes(kind):
    ages = X[["age"]]
    assert found(kind(ages, OVERLAP, prior=PRIOR, intercept=True)) is None
    whole = found(kind(ages, ages["age"] > 40.0, prior=PRIOR, intercept=True))
    assert whole.complete
    assert whole.parameter.endswith("age")
    # Four rows of a rare category have one label.
    part = found(kind(X.astype(float), OVERLAP | X["rare"], prior=PRIOR, intercept=True))
    assert not part.complete
    assert part.parameter.endswith("rare")


def test_three_classes():
    ages, noisy = X[["age"]], X["age"] + RNG.normal(0.0, 8.0, 300)
    assert found(robula.MultinomialModel(ages, np.digitize(noisy, [35, 45]), prior=PRIOR, intercept=True)) is None
    cut = robula.MultinomialModel(ages, np.digitize(X["age"], [35, 45]), prior=PRIOR, intercept=True)
    assert found(cut).complete


def test_only_the_rows_that_are_asked_about_count():
    wrong = (X["age"] > 40.0) ^ (np.arange(300) < 9)
    model = robula.LogisticModel(X[["age"]], wrong, prior=PRIOR, intercept=True)
    assert found(model) is None
    assert found(model, np.arange(300) >= 9).complete


def test_only_labels_have_it():
    assert found(robula.PoissonModel(X[["age"]], np.arange(300), prior=PRIOR)) is None
