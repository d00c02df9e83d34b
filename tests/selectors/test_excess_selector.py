"""The excess rule: what it must do on clean data, under attack, and whatever the order and units of the rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

import robula
from robula.models.posterior_mode import weighted_mode, weighted_precision
from robula.selectors.excess.excess_constants import BINS, PROBABILITIES
from robula.selectors.excess.excess_counts import clean_count, excess_factors
from robula.selectors.excess.excess_selector import PARTS

PRIOR = robula.NormalPrior(0.0, 1.0)


def linear(seed: int, n: int = 300, d: int = 3, bad: int = 60) -> robula.LinearModel:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = X @ np.linspace(-1, 1, d) + rng.standard_normal(n)
    y[:bad] += 6.0
    return robula.LinearModel(X, y, noise_scale=1.0, prior=PRIOR)


def poisson(seed: int, n: int = 300, bad: int = 60) -> robula.PoissonModel:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    y = rng.poisson(np.exp(1.0 + X @ [0.3, -0.2]))
    y[:bad] += 20
    return robula.PoissonModel(X, y, prior=PRIOR, intercept=True)


def logistic(seed: int, n: int = 600, bad: int = 60) -> robula.LogisticModel:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    p = expit(X @ [3.0, -2.0])
    y = (rng.random(n) < p).astype(float)
    sure = np.argsort(-np.abs(p - 0.5))[:bad]
    y[sure] = p[sure] < 0.5
    return robula.LogisticModel(X, y, prior=PRIOR)


def mean(seed: int, n: int = 300, bad: int = 60) -> robula.MeanModel:
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 4))
    z[:bad] += 3.0
    return robula.MeanModel(z, prior=PRIOR)


MODELS = {"linear": linear, "poisson": poisson, "logistic": logistic, "mean": mean}


def weights_of(model: robula.models.Model, contamination: float = 0.2) -> np.ndarray:
    return robula.selectors.ExcessSelector().select_rows(model, np.zeros(model.dim), contamination).weights


@pytest.mark.parametrize("name", MODELS)
def test_one_part_with_weights_between_zero_and_one(name):
    model = MODELS[name](1)
    selection = robula.selectors.ExcessSelector().select_rows(model, np.zeros(model.dim), 0.2)
    selection.check(model.n_rows, model.dim)
    assert len(selection.parts) == 1
    np.testing.assert_array_equal(selection.weights, selection.parts[0].weights)
    assert 0.0 <= selection.weights.min() <= selection.weights.max() <= 1.0


@pytest.mark.parametrize("name", ["linear", "poisson", "mean"])
def test_bad_rows_lose_their_weight(name):
    weights = weights_of(MODELS[name](2))
    assert weights[:60].mean() < 0.15
    assert weights[60:].mean() > 0.9


def test_confidently_flipped_labels_lose_their_weight():
    model = logistic(3)
    clean = logistic(3, bad=0)
    flipped = model.y != clean.y
    weights = weights_of(model)
    assert weights[flipped].mean() < 0.2
    assert weights[~flipped].mean() > 0.9


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", range(3))
def test_clean_rows_keep_their_weight(name, seed):
    weights = weights_of(MODELS[name](10 + seed, bad=0))
    # A false alarm is rare (gates of 3.7 standard deviations and more) and costs a few rows; random flips of a
    # logistic model can never be excluded altogether.
    assert weights.mean() > (0.9 if name == "logistic" else 0.98)


@pytest.mark.parametrize("name", MODELS)
def test_contamination_zero_trusts_all_rows(name):
    np.testing.assert_array_equal(weights_of(MODELS[name](4), 0.0), 1.0)


@pytest.mark.parametrize("name", ["linear", "poisson", "mean"])
def test_row_order_does_not_matter(name):
    model = MODELS[name](5)
    order = np.random.default_rng(0).permutation(model.n_rows)
    if isinstance(model, robula.MeanModel):
        moved: robula.models.Model = robula.MeanModel(model.z[order], prior=PRIOR)
    else:
        settings = {"noise_scale": 1.0} if isinstance(model, robula.LinearModel) else {}
        moved = type(model)(model.design[order], model.y[order], prior=PRIOR, **settings)
    np.testing.assert_allclose(weights_of(moved), weights_of(model)[order], atol=1e-6)


def test_units_of_the_response_do_not_matter():
    model = linear(6)
    flat = robula.LinearModel(model.design, model.y, noise_scale=1.0)
    scaled = robula.LinearModel(model.design, 1000.0 * model.y, noise_scale=1000.0)
    np.testing.assert_allclose(weights_of(scaled), weights_of(flat), atol=1e-6)


def test_columns_in_very_different_units_are_no_reason_to_lose_rows():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(1000), rng.lognormal(11, 1, 1000), 0.01 * rng.standard_normal(1000)])
    y = 1.0 + X[:, 1] / 1e5 + 100.0 * X[:, 2] + rng.standard_normal(1000)
    assert weights_of(robula.LinearModel(X, y, noise_scale=1.0)).sum() > 990.0


@pytest.mark.parametrize("seed", range(6))
def test_as_many_columns_as_rows_under_a_flat_prior(seed):
    rng = np.random.default_rng(seed)
    model = robula.LinearModel(rng.standard_normal((10, 10)), rng.standard_normal(10), noise_scale=1.0)
    assert np.isfinite(weights_of(model)).all()


def test_rows_that_the_model_cannot_have_made_are_all_kept_with_a_warning():
    X = np.random.default_rng(0).standard_normal((50, 2))
    model = robula.LinearModel(X, np.full(50, 1000.0), noise_scale=1.0, prior=PRIOR)
    with pytest.warns(robula.exceptions.BreakdownWarning, match="noise scale"):
        prepared = robula.selectors.ExcessSelector().prepared(model, 0.2)
    np.testing.assert_allclose(prepared.mode, model.gaussian_posterior().mean, rtol=1e-6)


@pytest.mark.parametrize("attack", ["paper", "leverage_cluster", "stealth_shift", "heavy_tails", "zero_response"])
def test_regression_under_attack_stays_within_a_width(attack):
    problem = robula.simulate.contaminated_regression(attack, n_clean=1000, dim=20, contamination=0.1, seed=2024)
    found = problem.model.gaussian_posterior(weights_of(problem.model))
    clean = problem.clean_posterior
    width = np.sqrt(np.trace(clean.covariance))
    assert np.linalg.norm(found.mean - clean.mean) / width < 1.0
    assert 0.85 < np.sqrt(np.trace(found.covariance)) / width < 1.15
    # Negative control: all rows miss by more.
    plain = problem.model.gaussian_posterior()
    assert np.linalg.norm(plain.mean - clean.mean) > 2.0 * np.linalg.norm(found.mean - clean.mean)


@pytest.mark.parametrize("dim", [1, 5, 20, 100])
def test_mean_estimation_of_the_paper(dim):
    problem = robula.simulate.mean_estimation(n_clean=1000, dim=dim, contamination=0.3, seed=dim)
    found = problem.model.gaussian_posterior(weights_of(problem.model))
    clean = problem.clean_posterior
    assert np.linalg.norm(found.mean - clean.mean) < 0.3 * np.sqrt(np.trace(clean.covariance))


def test_expected_counts_are_left_alone_and_a_spike_is_cut_to_size():
    counts = 1000.0 * PROBABILITIES
    assert clean_count(counts, 0.0) == pytest.approx(1000.0)
    assert excess_factors(counts, 3.7) is None
    spike = counts.copy()
    spike[BINS - 3] += 200.0
    factors = excess_factors(spike, 3.7)
    assert factors is not None
    assert factors[BINS - 3] * spike[BINS - 3] == pytest.approx(counts[BINS - 3], rel=0.1)
    assert (factors[: BINS - 6] == 1.0).all()


def test_one_sided_rows_are_not_taken_for_the_model():
    counts = 1000.0 * PROBABILITIES
    counts[: BINS // 2] *= 0.1
    assert clean_count(counts, 0.0) < 200


def test_samples_start_at_the_robust_centre_and_estimate_the_share():
    problem = robula.simulate.linear_regression(n_clean=400, dim=3, contamination=0.2, seed=8)
    settings = {"selector": "excess", "likelihood_rows": "weights", "draws": 400, "progress": False, "step_size": 2e-4}
    posterior = robula.sample(problem.model, contamination="estimate", **settings)
    estimate = posterior.settings["contamination_estimate"]
    assert abs(estimate["share"] - 0.2) < 4 * estimate["standard_error"] + 0.03
    assert "robust centre" in posterior.settings["start"]
    clean = problem.clean_posterior
    assert np.linalg.norm(posterior.mean - clean.mean) < 2.0 * np.sqrt(np.trace(clean.covariance))
    again = robula.sample(problem.model, contamination="estimate", **settings)
    np.testing.assert_array_equal(again.draws, posterior.draws)


def test_no_contamination_is_found_in_clean_data():
    problem = robula.simulate.linear_regression(n_clean=400, dim=3, contamination=0.0, seed=9)
    prepared = robula.selectors.ExcessSelector().prepared(problem.model, 0.2)
    assert prepared.estimated_contamination.share < 0.01


def test_estimating_needs_a_selector_that_counts():
    with pytest.raises(robula.exceptions.InputError, match='selector="excess"'):
        robula.sample(linear(1), contamination="estimate", selector="recursive", draws=5)


def test_other_models_fall_back_to_their_gradients():
    class Foreign(robula.models.Model):
        def __init__(self, inner: robula.LinearModel) -> None:
            self._inner = inner
            self.n_rows, self.dim, self.prior = inner.n_rows, inner.dim, inner.prior
            self.parameter_names = inner.parameter_names

        def log_likelihood(self, theta):
            return self._inner.log_likelihood(theta)

        def gradients(self, theta):
            return self._inner.gradients(theta)

        def weighted_gradient(self, theta, weights):
            return self._inner.weighted_gradient(theta, weights)

        def curvature(self, theta, weights):
            return self._inner.curvature(theta, weights)

    model = Foreign(linear(1))
    assert isinstance(robula.selectors.ExcessSelector().prepared(model, 0.2), robula.SpectralFilter)
    with pytest.raises(robula.exceptions.InputError, match="Foreign"):
        robula.selectors.robust_start(model, 0.2)


@pytest.mark.parametrize("name", MODELS)
def test_robust_start_names_its_candidates(name):
    start = robula.selectors.robust_start(MODELS[name](1), 0.2)
    assert start.name in {candidate.name for candidate in start.candidates}
    assert len(start.candidates) > 1
    assert start.seconds > 0


def test_parts_can_be_left_out_one_by_one():
    model = linear(1)
    for part in PARTS:
        assert robula.selectors.ExcessSelector(without=(part,)).select_rows(model, np.zeros(3), 0.2).weights.min() >= 0
    with pytest.raises(robula.exceptions.InputError, match="the parts are start"):
        robula.selectors.ExcessSelector(without=("strata",))


def test_weighted_mode_has_no_gradient():
    for model in (linear(1), poisson(1), logistic(1), mean(1)):
        weights = np.random.default_rng(0).random(model.n_rows)
        mode = weighted_mode(model, weights, model.initial)
        gradient = model.weighted_gradient(mode, weights) + model.prior.gradient(mode)
        assert gradient @ np.linalg.solve(weighted_precision(model, weights, mode), gradient) < 1e-8


def test_contamination_path_is_flat_once_the_bad_rows_are_out():
    path = robula.contamination_path(linear(7), levels=[0.0, 0.2, 0.3])
    frame = path.to_frame()
    assert list(frame.columns[:3]) == ["contamination", "parameter", "mean"]
    assert len(frame) == 9
    np.testing.assert_allclose(path.means[1], path.means[2], atol=0.05)
    assert path.row_weights[0].min() == 1.0
    assert len(path.plot().axes) == 3
    recursive = robula.contamination_path(linear(7), levels=[0.2], selector="recursive")
    assert recursive.means.shape == (1, 3)
    with pytest.raises(robula.exceptions.InputError, match="empty"):
        robula.contamination_path(linear(7), levels=[])


def test_estimating_runs_the_rule_with_the_default_budget():
    """The leaderboard relies on it: the same draws as with contamination=0.2, and the share that was found."""
    problem = robula.simulate.contaminated_regression("paper", n_clean=1000, dim=5, contamination=0.1, seed=3)
    stated = robula.sample(problem.model, contamination=0.2, draws=20, seed=1)
    estimated = robula.sample(problem.model, contamination="estimate", draws=20, seed=1)
    np.testing.assert_array_equal(estimated.draws, stated.draws)
    assert 0.02 < estimated.settings["contamination_estimate"]["share"] < 0.15


def test_a_mean_far_from_the_clean_one_is_left_for_a_better_start():
    """From the plain mean, 7 widths off, the alternation ends where a tenth of the good rows is lost."""
    problem = robula.simulate.mean_estimation(n_clean=1000, dim=20, contamination=0.05, seed=103)
    weights = (
        robula.selectors.ExcessSelector()
        .prepared(problem.model, 0.2)
        .select_rows(problem.model, np.zeros(20), 0.2)
        .weights
    )
    np.testing.assert_array_equal(weights, np.where(problem.outlier_mask, 0.0, 1.0))
