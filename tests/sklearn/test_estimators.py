"""The scikit-learn estimators: right numbers, users' units, pipelines and grids."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.stats import bernoulli, norm, poisson
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import robula
from robula.models import PoissonModel
from robula.sklearn import (
    RobustBayesianClassifier,
    RobustBayesianRegressor,
    RobustGammaRegressor,
    RobustNegativeBinomialRegressor,
    RobustPoissonRegressor,
    RobustStudentTRegressor,
)
from robula.sklearn.refits import Refits

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
        np.testing.assert_allclose(fitted.model_.gaussian_posterior().mean, exact.mean, rtol=1e-9)


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
    X = rng.normal(size=(400, 4))
    y = 1.0 + X @ [2.0, 3.0, 0.0, 0.0] + 0.5 * rng.normal(size=400)
    bad = int(contamination * 400)
    y[:bad] = -999.0
    X[: bad // 2, 1] = 50.0
    fitted = RobustBayesianRegressor(contamination=contamination, **SHORT).fit(X, y)
    assert abs(fitted.noise_scale_ / 0.5 - 1.0) < 0.15


def test_frames_in_names_out():
    X, y = regression()
    frame = pd.DataFrame(X, columns=["age", "intercept", "dose"])
    fitted = RobustBayesianRegressor(noise_scale="estimate", **SHORT).fit(frame, y)
    assert list(fitted.feature_names_in_) == ["age", "intercept", "dose"]
    assert fitted.posterior_.parameter_names == ("intercept", "age", "intercept.2", "dose", "log_noise_scale")
    assert fitted.n_features_in_ == 3
    known = RobustBayesianRegressor(noise_scale=2.0, **SHORT).fit(X, y)
    assert known.posterior_.parameter_names == ("intercept", "x0", "x1", "x2")


def test_rows_keep_their_labels():
    """After dropna places are no labels: table.loc[places] would be other rows."""
    X, y = regression(bad=5)
    table = pd.DataFrame(X, columns=list("abc"), index=pd.Index(np.arange(300) * 10 + 7))
    fitted = RobustBayesianRegressor(**SHORT).fit(table, y)
    assert sorted(fitted.distrusted_.index) == [7, 17, 27, 37, 47]
    assert list(fitted.distrusted_) == sorted(fitted.row_weights_[fitted.outlier_mask_])
    assert isinstance(fitted.row_weights_, np.ndarray)
    # A scaler makes an array of X; y still has its labels.
    piped = make_pipeline(StandardScaler(), RobustBayesianRegressor(**SHORT)).fit(
        table, pd.Series(y, index=table.index)
    )
    assert sorted(piped[-1].distrusted_.index) == [7, 17, 27, 37, 47]
    assert sorted(fitted.fit(X, y).distrusted_.index) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("estimator", [RobustPoissonRegressor, RobustNegativeBinomialRegressor, RobustGammaRegressor])
def test_a_response_that_cannot_be_is_named_by_its_label(estimator):
    table = pd.DataFrame({"x": np.arange(40.0)}, index=[f"r{place}" for place in range(40)])
    y = np.ones(40)
    y[[12, 30]] = -999.0
    with pytest.raises(ValueError, match=r"first -999 in row r12; .* -999, 2 times, looks like a code for missing"):
        estimator(**SHORT).fit(table, y)
    with pytest.raises(ValueError, match=r"first y\[12\]=-999"):
        estimator(**SHORT).fit(table.to_numpy(), y)
    y[[12, 30]] = 1.0
    with pytest.raises(ValueError, match=r"exposure has 1 value.*, first 0 in row r3; .*not exposed\.$"):
        estimator(**SHORT).fit(table, y, exposure=pd.Series(1.0, index=table.index).where(table.x != 3.0, 0.0))


def test_without_intercept_and_with_a_rare_category():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=200) + 5, (np.arange(200) % 10 == 0).astype(float)])
    y = X @ [2.0, 3.0] + rng.normal(size=200)
    options = {"fit_intercept": False, "contamination": 0.0, "selector": "mean"}
    fitted = RobustBayesianRegressor(noise_scale=1.0, **options).fit(X, y)
    assert fitted.intercept_ == 0.0
    assert abs(fitted.coef_ - [2.0, 3.0]).max() < 1.0
    assert fitted.posterior_.parameter_names == ("x0", "x1")


def test_weights_and_exposure_reach_the_model():
    rng = np.random.default_rng(4)
    X, hours, times = rng.normal(size=(200, 2)), rng.uniform(0.5, 8.0, 200), rng.integers(1, 4, 200)
    y = rng.poisson(hours * np.exp(1.0 + 0.4 * X[:, 0]) * rng.gamma(4.0, 0.25, 200))
    options = {"contamination": 0.0, "selector": "mean", **SHORT}
    for estimator in (RobustPoissonRegressor, RobustNegativeBinomialRegressor):
        fitted = estimator(**options).fit(X, y, sample_weight=times, exposure=hours)
        np.testing.assert_array_equal(fitted.model_.row_weights, times)
        np.testing.assert_allclose(fitted.model_.offset, np.log(hours))
        assert abs(fitted.intercept_ - 1.0) < 0.25
        exposed = fitted.predict(X, exposure=hours)
        np.testing.assert_allclose(exposed, hours * fitted.predict(X), rtol=1e-9)
        plain = Refits(fitted, X, {"sample_weight": times, "exposure": hours}).plain()
        assert np.abs(plain.mean[:3] - fitted.posterior_.mean[:3]).max() < 0.1
        with pytest.raises(ValueError, match="exposure has"):
            fitted.predict(X, exposure=-hours)
        with pytest.raises(ValueError, match="exposure has"):
            clone(fitted).fit(X, y, exposure=0 * hours)
    assert 0.1 < fitted.posterior_.variables["dispersion"].mean() < 0.5
    assert fitted.score(X, y, exposure=hours) > fitted.score(X, y)


@pytest.mark.parametrize("estimator", [RobustGammaRegressor, RobustStudentTRegressor])
def test_scales_are_in_the_users_units(estimator):
    """Moments of new responses against the law, and the restored estimator against the fitted one."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 1)) * 50.0
    gamma = estimator is RobustGammaRegressor
    y = (
        np.exp(3.0 + 0.01 * X[:, 0]) * rng.gamma(3.0, 1 / 3, 300)
        if gamma
        else X[:, 0] + 20.0 * rng.standard_t(4.0, 300)
    )
    fitted = estimator(contamination=0.0, selector="mean", **SHORT).fit(X, y)
    mean, deviation = fitted.predict(X[:3], return_std=True)
    if gamma:
        np.testing.assert_allclose(deviation / mean, 3.0**-0.5, rtol=0.2)
    else:
        np.testing.assert_allclose(deviation, 20.0 * 2.0**0.5, rtol=0.2)
        assert abs(fitted.scale_ / 20.0 - 1.0) < 0.2
    again = estimator.restored(fitted.posterior_, fitted.facts(), 1)
    np.testing.assert_allclose(again.predictive(X[:5]).high, fitted.predictive(X[:5]).high)


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


def test_the_posterior_is_of_the_model_beside_it():
    """Same units: the log-likelihoods ArviZ gets are those computed by hand from X, y and the draws."""
    X, y = regression(n=120)
    rng = np.random.default_rng(2)
    labels, counts = y > np.median(y), rng.poisson(np.exp(1.0 + 0.02 * (X[:, 1] - 500)))
    for estimator, response in (
        (RobustBayesianRegressor(noise_scale="estimate", **SHORT), y),
        (RobustBayesianRegressor(noise_scale=2.0, **SHORT), y),
        (RobustBayesianClassifier(**SHORT), labels),
        (RobustPoissonRegressor(**SHORT), counts),
    ):
        fitted = estimator.fit(X, response)
        draws = fitted.posterior_.draws
        eta = draws[..., :1] + draws[..., 1:4] @ X.T
        if isinstance(estimator, RobustBayesianRegressor):
            scale = 2.0 if estimator.noise_scale == 2.0 else np.exp(draws[..., 4:])
            by_hand = norm.logpdf(y, eta, scale)
        elif isinstance(estimator, RobustBayesianClassifier):
            by_hand = bernoulli.logpmf(labels, 1 / (1 + np.exp(-eta)))
        else:
            by_hand = poisson.logpmf(counts, np.exp(eta))
        stored = fitted.posterior_.to_arviz(model=fitted.model_, log_likelihood=True)["log_likelihood"]["y"]
        np.testing.assert_allclose(stored.to_numpy(), by_hand, rtol=1e-6, atol=1e-6)


def test_the_default_prior_is_the_same_in_both_units():
    """Log prior in the user's units is that of the standardised parameters, up to a constant."""
    X, y = regression(n=100)
    fitted = RobustBayesianRegressor(noise_scale=2.0, prior_scale=0.7, **SHORT).fit(X, y)
    coordinates = fitted._coordinates(X, y)
    thetas = np.random.default_rng(0).normal(size=(5, 4))
    inside = -0.5 * (thetas**2).sum(axis=1) / 0.7**2
    outside = fitted.model_.prior.log_density(coordinates.to_user(thetas))
    np.testing.assert_allclose(np.diff(outside), np.diff(inside), rtol=1e-6)


@pytest.mark.parametrize("estimator", [RobustBayesianRegressor, RobustBayesianClassifier, RobustPoissonRegressor])
def test_contamination_may_be_estimated(estimator):
    X, y = regression(bad=20)
    response = {RobustBayesianRegressor: y, RobustBayesianClassifier: y > np.median(y)}.get(
        estimator, np.round(np.abs(y))
    )
    fitted = estimator(contamination="estimate", **SHORT).fit(X, response)
    assert 0.0 <= fitted.posterior_.settings["contamination"] < 0.5


def test_an_unknown_noise_scale_is_sampled_with_the_coefficients():
    X, y = regression(n=200)
    fitted = RobustBayesianRegressor(noise_scale="estimate", contamination=0.0, selector="mean").fit(X, y)
    scales = fitted.posterior_.variables["noise_scale"]
    np.testing.assert_allclose(scales, np.exp(fitted.posterior_.draws[..., -1]))
    assert fitted.noise_scale_ == pytest.approx(scales.mean())
    # sigma / sqrt(2 n) is the standard deviation of an estimated scale; five Monte Carlo errors of it from 200 draws.
    assert abs(scales.std() / (2.0 / np.sqrt(400)) - 1.0) < 0.3
    mean, deviation = fitted.predict(X[:3], return_std=True)
    draws = fitted.posterior_.flat_draws
    eta = draws[:, :1] + draws[:, 1:4] @ X[:3].T
    np.testing.assert_allclose(mean, eta.mean(axis=0))
    np.testing.assert_allclose(deviation, np.sqrt(eta.var(axis=0) + (scales**2).mean()))


def test_a_model_without_a_class_of_its_own_gets_one(monkeypatch):
    """A model that only the registry knows: fit, predictions from its law, pickle."""
    from robula import sklearn as room
    from robula.models import MODELS

    monkeypatch.setitem(MODELS, "half_normal", PoissonModel)
    made = room._derived("half_normal")
    assert made.__name__ == "RobustHalfNormalRegressor"
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = rng.poisson(np.exp(1.0 + 0.4 * X[:, 0]))
    fitted = pickle.loads(pickle.dumps(made(contamination=0.0, **SHORT).fit(X, y)))
    known = RobustPoissonRegressor(contamination=0.0, **SHORT).fit(X, y)
    mean, deviation = fitted.predict(X, return_std=True)
    expected, spread = known.predict(X, return_std=True)
    # One response a draw, 400 draws: five of their errors.
    assert (np.abs(mean - expected) < 5 * spread / np.sqrt(400) + 0.1 * expected).all()
    assert np.abs(deviation / spread - 1.0).max() < 0.5
    monkeypatch.delattr(room, "RobustHalfNormalRegressor")


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


@pytest.mark.slow
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
