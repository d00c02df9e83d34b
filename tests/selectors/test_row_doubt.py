"""Doubt about rows in the width: Louis' information against a numeric Hessian, coverage where labels are flipped."""

from __future__ import annotations

import numpy as np
import pytest

import robula
from robula.models.posterior_mode import weighted_mode
from robula.models.precision import weighted_precision
from robula.run.collector import widened
from robula.selectors.trust.feature_space import feature_space
from robula.selectors.trust.label_flips import FlipExplanation, FlipsAtAnyRate
from robula.selectors.trust.row_doubt import linearised, louis_covariance, widening_to, without_doubt
from robula.selectors.trust.trust_selector import weigh
from robula.sklearn import RobustBayesianRegressor
from robula.sklearn.refits import Refits

_PRIOR = robula.NormalPrior(0.0, 10.0)


def _numeric_hessian(f, theta, step=1e-4):
    steps = step * np.eye(len(theta))

    def second(a, b):
        return (f(theta + a + b) - f(theta + a - b) - f(theta - a + b) + f(theta - a - b)) / (4 * step**2)

    return np.array([[second(a, b) for a in steps] for b in steps])


def test_louis_covariance_is_the_curvature_of_rows_that_may_be_bad():
    # A row that is clean with probability w at theta contributes log(w e^(l - l0) + 1 - w): its curvature is Louis'.
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 3))
    model = robula.LinearModel(X, X @ [1.0, -1.0, 0.5] + rng.standard_normal(200), noise_scale=1.0, prior=_PRIOR)
    weights = np.where(np.arange(200) < 20, 0.6, 1.0)
    theta = weighted_mode(model, weights, model.initial)
    at_theta = model.log_likelihood(theta)

    def log_density(t):
        rows = np.log(weights * np.exp(model.log_likelihood(t) - at_theta) + 1.0 - weights)
        return float(rows.sum() + model.prior.log_density(t))

    expected = np.linalg.inv(-_numeric_hessian(log_density, theta))
    assert louis_covariance(model, weights, theta) == pytest.approx(expected, rel=1e-4, abs=1e-8)
    fixed = np.linalg.inv(weighted_precision(model, weights, theta))
    assert np.trace(expected) > 1.03 * np.trace(fixed)  # the test would notice if nothing were added


def test_no_doubt_changes_nothing():
    problem = robula.simulate.linear_regression(n_clean=400, dim=3, contamination=0.0, seed=3)
    trusted = robula.sample(problem.model, contamination=0.0, draws=200, seed=1, progress=False)
    assert not trusted.row_doubt.any()
    # Looked for and not found: next to nothing.
    posterior = robula.sample(problem.model, contamination=0.2, draws=200, seed=1, progress=False)
    assert posterior.row_doubt.max() < 0.01


def test_draws_have_the_doubt_in_them():
    problem = robula.simulate.contaminated_regression("stealth_shift", 400, 3, 0.15, seed=5)
    found = robula.trust(problem.model, 0.3)
    assert found.widening is not None
    posterior = robula.sample(problem.model, contamination=0.3, draws=4000, seed=1, progress=False)
    fixed = np.linalg.inv(weighted_precision(problem.model, found.weights, found.theta))
    wide = found.widening @ fixed @ found.widening.T
    # Independent normal draws, 16,000: a variance has a relative error of 1.1 %; five of them.
    assert np.diag(posterior.covariance) == pytest.approx(np.diag(wide), rel=0.056)
    share = 1.0 - np.sqrt(np.diag(fixed) / np.diag(wide))
    assert posterior.row_doubt == pytest.approx(share, abs=1e-2)
    assert posterior.row_doubt.max() > 0.01


def test_what_slopes_at_one_theta_say_at_most_trebles_a_width_and_what_explanations_say_is_tenfold_at_most():
    rng = np.random.default_rng(0)
    root = rng.standard_normal((3, 3))
    precision = np.linalg.inv(root @ root.T)
    wide = root @ np.diag([0.5, 4.0, 1000.0]) @ root.T
    held = root @ np.diag([1.0, 4.0, 9.0]) @ root.T
    assert linearised(wide, precision) == pytest.approx(held)
    map_of_draws = widening_to(wide, precision)
    between = root @ np.diag([1.0, 4.0, 100.0]) @ root.T
    assert map_of_draws @ root @ root.T @ map_of_draws.T == pytest.approx(between)


def test_doubt_can_be_taken_out_again():
    rng = np.random.default_rng(0)
    root = rng.standard_normal((3, 3))
    precision, centre = np.linalg.inv(root @ root.T), np.array([1.0, -2.0, 3.0])
    draws = centre + rng.standard_normal((20_000, 3)) @ root.T
    wider = widening_to(root @ np.diag([1.0, 2.0, 5.0]) @ root.T, precision)
    back = without_doubt(widened(draws[None], wider)[0][0], precision)
    deviations = np.sqrt(np.diag(root @ root.T))
    # 20,000 draws tell a width to half a percent, and the largest of a few a little worse.
    assert np.abs((back - draws) / deviations).max() < 0.05 * np.abs((draws - centre) / deviations).max()
    assert np.abs((draws - centre) @ (wider.T - np.eye(3)) / deviations).max() > 0.5


def test_doubt_widens_and_moves_nothing():
    """Around the mode of skewed draws, as those of a hierarchical model are, it would move their mean."""
    draws = np.random.default_rng(0).gamma(1.0, size=(2, 500, 1))
    wider, share = widened(draws, np.array([[1.5]]))
    assert wider.mean() == pytest.approx(draws.mean(), rel=1e-12)
    assert wider.std() == pytest.approx(1.5 * draws.std(), rel=1e-12)
    assert share == pytest.approx([1.0 / 3.0])


def test_intervals_cover_when_labels_are_flipped_at_random():
    # 12 data sets of 5 coefficients, 10 % flips: 60 intervals. At a coverage of .90 fewer than 46 come up in 0.2 %.
    covered, fixed = 0, 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, theta = rng.standard_normal((600, 5)), rng.normal(size=5)
        y = (rng.uniform(size=600) < 1.0 / (1.0 + np.exp(-X @ theta))).astype(float)
        flipped = robula.simulate.random_flips(600, 0.1, rng)
        model = robula.LogisticModel(X, np.where(flipped, 1.0 - y, y), prior=_PRIOR)
        found = robula.trust(model, 0.25)
        covariance = np.linalg.inv(weighted_precision(model, found.weights, found.theta))
        wide = covariance if found.widening is None else found.widening @ covariance @ found.widening.T
        away = np.abs(found.theta - theta)
        covered += int((away < 1.96 * np.sqrt(np.diag(wide))).sum())
        fixed += int((away < 1.96 * np.sqrt(np.diag(covariance))).sum())
    assert covered >= 46
    assert fixed < 46  # without the doubt about rows and rate they do not


def test_the_doubt_about_the_rate_is_the_variance_between_rates():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((300, 2))
    y = (rng.uniform(size=300) < 1.0 / (1.0 + np.exp(-X @ [2.0, -1.0]))).astype(float)
    model = robula.LogisticModel(X, y, prior=_PRIOR)
    space = feature_space(model.covariates)
    rates = np.array([0.01, 0.1])
    fits = [FlipExplanation(model, space, 0.2, model.initial, np.full(300, rate), rate) for rate in rates]
    both = FlipsAtAnyRate(fits, rates, 0.2)
    # The share of each rate in the average, from where the average lies between the two.
    between = fits[1].theta - fits[0].theta
    share = float((both.theta - fits[0].theta) @ between / (between @ between))
    within = (1.0 - share) * fits[0].covariance(model) + share * fits[1].covariance(model)
    expected = within + share * (1.0 - share) * np.outer(between, between)
    assert 0.0 < share < 1.0
    assert both.covariance(model) == pytest.approx(expected, rel=1e-9)


def giants():
    """Four rows of leverage among 44: between "they are bad" and "nothing is wrong" there is doubt."""
    rng = np.random.default_rng(5)
    x = np.append(rng.normal(0.0, 0.2, 40), [-1.1, -1.1, -1.05, -1.0])
    y = np.append(0.5 * x[:40] + 0.5 * rng.standard_normal(40), [0.4, 0.6, 0.9, 0.2])
    return x, y


def between():
    x, y = giants()
    return robula.LinearModel(x[:, None], y, noise_scale="estimate", prior=_PRIOR, intercept=True)


def test_the_answer_is_the_mean_of_the_explanations():
    model = between()
    found, verdict = robula.trust(model, 0.2), weigh(model, 0.2)
    chances = verdict.probabilities
    assert 0.1 < chances["nothing is wrong"] < 0.9, "or nothing is in doubt"
    mean = sum(chance * verdict.explanations[kind].theta for kind, chance in chances.items())
    np.testing.assert_allclose(found.theta[:2], mean[:2], rtol=1e-9)
    mode = weighted_mode(model, found.weights, found.theta)
    np.testing.assert_allclose(found.theta - found.shift, mode, atol=1e-6)
    # Rows of leverage draw the fit to themselves at little weight.
    slopes = [verdict.explanations[kind].theta[1] for kind in chances]
    assert abs(found.shift[1]) > 0.1 * np.ptp(slopes)
    # Rows that may belong count in the spread as far as they may.
    assert found.shift[2] == 0.0

    posterior = robula.sample(model, contamination=0.2, draws=2000, seed=1, progress=False)
    np.testing.assert_allclose(posterior.row_shift, found.shift, atol=1e-6)
    deviations = posterior.flat_draws.std(axis=0)
    # 8,000 draws, most of them independent, tell a mean of coefficients to a fiftieth of a width.
    assert np.abs((posterior.mean - found.theta) / deviations)[:2].max() < 0.1
    path = robula.contamination_path(model, [0.2])
    np.testing.assert_allclose(path.means[0], found.theta, atol=1e-6)


def test_the_plain_answer_is_not_moved_by_the_doubt():
    x, y = giants()
    fitted = RobustBayesianRegressor(draws=500, random_state=0, contamination=0.2).fit(x[:, None], y)
    assert np.abs(fitted.posterior_.row_shift[:2] / fitted.posterior_.flat_draws.std(axis=0)[:2]).max() > 0.2
    slope = np.polyfit(x, y, 1)[0]
    assert Refits(fitted, x[:, None]).plain().mean[1] == pytest.approx(slope, abs=0.1)
