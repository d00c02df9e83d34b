"""The scikit-learn estimators: right numbers, users' units, pipelines and grids."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import robula
from robula.sklearn import RobustBayesianClassifier, RobustBayesianRegressor, RobustPoissonRegressor
from robula.sklearn.noise_scale import robust_noise_scale

SHORT = {"draws": 200, "burn_in": 200, "chains": 2}
# Logistic and Poisson regression warn about the paper's estimator; these tests are not about it.
pytestmark = pytest.mark.filterwarnings("ignore::robula.exceptions.RobulaWarning")


def regression(n: int = 300, bad: int = 0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 20.0, 0.05] + [0.0, 500.0, -3.0]
    y = 7.0 + X @ [1.0, 0.1, 30.0] + 2.0 * rng.normal(size=n)
    y[:bad] = -999.0
    return X, y


def test_units_are_the_users_whatever_is_sampled():
    """Standardised inside or not, the same prior and data give the same posterior; plain rows, so it is exact."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 2)) * [1.0, 2.0] + [0.5, -1.0]
    y = 1.0 + X @ [1.0, -0.5] + 0.5 * rng.normal(size=200)
    prior = robula.NormalPrior([0.0, 1.0, -1.0], [4.0, 1.0, 2.0])
    exact = robula.LinearModel(X, y, noise_scale=0.5, prior=prior, intercept=True).gaussian_posterior()
    widths = np.sqrt(np.diag(exact.covariance))
    for standardize in (True, False):
        fitted = RobustBayesianRegressor(
            contamination=0.0, noise_scale=0.5, prior=prior, standardize=standardize, draws=2000, selector="mean"
        ).fit(X, y)
        means = fitted.posterior_.mean
        errors = np.array([np.std(fitted.posterior_.draws.mean(axis=1), axis=0, ddof=1) / 2.0])
        # Four chains' means give the Monte Carlo error; 6 of them on 3 degrees of freedom, plus a floor.
        assert (np.abs(means - exact.mean) < 6 * errors + 0.05 * widths).all()
        moved = fitted.coordinates_.to_user(fitted.model_.gaussian_posterior().mean)
        np.testing.assert_allclose(moved, exact.mean, rtol=1e-9)


def test_bad_rows_are_found_and_do_not_move_the_fit():
    X, y = regression(bad=20)
    fitted = RobustBayesianRegressor(contamination=0.1).fit(X, y)
    clean = LinearRegression().fit(X[20:], y[20:])
    assert fitted.outlier_mask_[:20].all()
    np.testing.assert_allclose(fitted.predict(X[20:]), clean.predict(X[20:]), atol=1.5)
    assert abs(fitted.noise_scale_ / 2.0 - 1.0) < 0.15
    mean, deviation = fitted.predict(X[:5], return_std=True)
    assert mean.shape == deviation.shape == (5,)
    assert (deviation > fitted.noise_scale_).all()
    plain = LinearRegression().fit(X, y)
    assert abs(plain.predict(X[20:]) - clean.predict(X[20:])).mean() > 20  # what the bad rows do otherwise


def test_predictive_intervals_cover():
    """The share of new rows within 1.96 predictive deviations, 2000 rows: 5 binomial errors are 2.5 %."""
    X, y = regression(bad=15)
    fitted = RobustBayesianRegressor(contamination=0.1).fit(X, y)
    new_X, new_y = regression(n=2000, seed=9)
    mean, deviation = fitted.predict(new_X, return_std=True)
    assert 0.90 < np.mean(np.abs(new_y - mean) < 1.96 * deviation) < 0.99


@pytest.mark.parametrize("contamination", [0.0, 0.1, 0.3])
def test_noise_scale_survives_leverage_and_sentinels(contamination):
    rng = np.random.default_rng(3)
    design = np.column_stack([np.ones(400), rng.normal(size=(400, 4))])
    y = design @ [1.0, 2.0, 3.0, 0.0, 0.0] + 0.5 * rng.normal(size=400)
    bad = int(contamination * 400)
    y[:bad] = -999.0
    design[: bad // 2, 1] = 50.0
    assert abs(robust_noise_scale(design, y, contamination) / 0.5 - 1.0) < 0.15


def test_noise_scale_of_few_rows_is_the_responses():
    assert robust_noise_scale(np.eye(5), np.array([0.0, 1.0, 2.0, 3.0, 4.0]), 0.1) == pytest.approx(1.4826, abs=1e-4)


def test_frames_in_names_out():
    X, y = regression()
    frame = pd.DataFrame(X, columns=["age", "intercept", "dose"])
    fitted = RobustBayesianRegressor(**SHORT).fit(frame, y)
    assert list(fitted.feature_names_in_) == ["age", "intercept", "dose"]
    assert fitted.posterior_.parameter_names == ("intercept", "age", "intercept.2", "dose")
    assert fitted.n_features_in_ == 3
    assert RobustBayesianRegressor(**SHORT).fit(X, y).posterior_.parameter_names == ("intercept", "x0", "x1", "x2")


def test_without_intercept_and_with_a_rare_category():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=200) + 5, (np.arange(200) % 10 == 0).astype(float)])
    y = X @ [2.0, 3.0] + rng.normal(size=200)
    fitted = RobustBayesianRegressor(fit_intercept=False, contamination=0.0, selector="mean").fit(X, y)
    assert fitted.intercept_ == 0.0
    assert abs(fitted.coef_ - [2.0, 3.0]).max() < 1.0
    assert fitted.posterior_.parameter_names == ("x0", "x1")


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


def test_poisson_mean_and_spread():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    y = rng.poisson(np.exp(3.0 + 0.5 * X[:, 0]))
    fitted = RobustPoissonRegressor(contamination=0.0, selector="mean").fit(X, y)
    assert abs(fitted.coef_ - [0.5, 0.0]).max() < 0.05
    assert abs(fitted.intercept_ - 3.0) < 0.05
    mean, deviation = fitted.predict(X, return_std=True)
    assert (deviation**2 >= mean).all()
    assert fitted.score(X, y) > 0.5
    with pytest.raises(ValueError, match="at least 0"):
        RobustPoissonRegressor().fit(X, y - 100)


@pytest.mark.parametrize(
    ("option", "value"),
    [("prior", 3.0), ("prior_scale", -1.0), ("contamination", 0.7), ("fit_intercept", "yes"), ("random_state", -1),
     ("noise_scale", 0.0), ("selector", "nope"), ("draws", 0)],
)  # fmt: skip
def test_bad_parameters_are_refused_at_fit(option, value):
    X, y = regression(n=50)
    estimator = RobustBayesianRegressor(**{**SHORT, option: value})
    with pytest.raises(ValueError, match=f"{option}"):
        estimator.fit(X, y)


def test_same_seed_same_bits_and_clone():
    X, y = regression(n=80)
    first = RobustBayesianRegressor(**SHORT).fit(X, y)
    np.testing.assert_array_equal(clone(first).fit(X, y).posterior_.draws, first.posterior_.draws)
    other = clone(first).set_params(random_state=1).fit(X, y)
    assert not np.array_equal(other.posterior_.draws, first.posterior_.draws)


def test_pipeline_with_categories_and_cross_validation_in_workers():
    X, y = regression(n=120)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(site=np.where(np.arange(120) % 2, "north", "south"))
    columns = make_column_transformer((OneHotEncoder(drop="first"), ["site"]), remainder=StandardScaler())
    pipeline = make_pipeline(columns, RobustBayesianRegressor(draws=50, burn_in=50, chains=2))
    scores = cross_val_score(pipeline, frame, y, cv=3, n_jobs=2)
    assert (scores > 0.0).all()


def test_grid_search_over_contamination_on_a_real_data_set():
    """Pima diabetes with 5 % of the rows damaged: the grid runs in a pipeline and refits."""
    try:
        data = robula.datasets.load("diabetes")
    except robula.exceptions.DatasetUnavailableError as error:
        pytest.skip(f"no data set: {error}")
    # Body mass index from the other measurements: a real regression.
    X, y = np.delete(data.X, 5, axis=1), np.array(data.X[:, 5])
    bad = np.random.default_rng(0).choice(len(y), size=len(y) // 20, replace=False)
    y[bad] = -999.0
    pipeline = Pipeline(
        [("scale", StandardScaler()), ("robust", RobustBayesianRegressor(draws=100, burn_in=100, chains=2))]
    )
    grid = GridSearchCV(
        pipeline, {"robust__contamination": [0.0, 0.1, 0.2]}, cv=3, scoring="neg_median_absolute_error"
    ).fit(X, y)
    assert grid.best_params_["robust__contamination"] > 0.0
    weights = grid.best_estimator_["robust"].row_weights_
    assert np.median(weights[bad]) < 0.1
