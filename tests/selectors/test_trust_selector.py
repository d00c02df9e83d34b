"""The default rule: clean and merely misfitting data are left alone, bad rows are found, nothing depends on units."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.stats import ortho_group

import robula
from robula.exceptions import BreakdownWarning, MisfitWarning
from robula.models.posterior_mode import weighted_mode
from robula.selectors.trust import trust_constants as constants
from robula.selectors.trust.feature_space import feature_space
from robula.selectors.trust.limit import within_budget
from robula.selectors.trust.row_law import RowLaw, log_normal_mass
from robula.selectors.trust.scored_rows import ScoredRows
from robula.simulate import contaminated_regression, mean_estimation
from tests.helpers import unknown_scale


@pytest.mark.parametrize("seed", [11, 12, 13])
def test_clean_rows_that_follow_the_law_lose_nothing(seed):
    problem = contaminated_regression("paper", 300, 5, 0.0, seed)
    assert robula.trust(problem.model, 0.2).share < 0.002


NOISE = {
    "skewed": lambda rng, n: (rng.gamma(3.0, size=n) - 3.0) / np.sqrt(3.0),
    "heavy tails": lambda rng, n: rng.standard_t(5, n),
    "Laplace": lambda rng, n: rng.laplace(size=n),
}


@pytest.mark.filterwarnings("ignore::robula.exceptions.MisfitWarning")
@pytest.mark.parametrize("name", NOISE)
def test_a_law_that_is_a_little_off_costs_hardly_a_row(name):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((1500, 4))
    found = robula.trust(unknown_scale(X, X @ [1.0, 0.5, 0.0, -1.0] + NOISE[name](rng, 1500)), 0.1)
    assert found.share < 0.03


@pytest.mark.parametrize("attack", ["leverage_cluster", "sentinel_response", "sentinel_column", "two_clusters"])
def test_bad_rows_are_found_and_good_ones_kept(attack):
    problem = contaminated_regression(attack, 500, 5, 0.15, 21)
    found = robula.trust(problem.model, 0.2)
    width = np.sqrt(np.trace(problem.clean_posterior.covariance))
    assert np.linalg.norm(found.theta - problem.clean_posterior.mean) < width
    assert found.weights[problem.outlier_mask].mean() < 0.2
    assert found.weights[~problem.outlier_mask].mean() > 0.9


def test_the_plain_fit_would_fail_that():
    """Negative control: without weights the same bias is far larger."""
    problem = contaminated_regression("sentinel_column", 500, 5, 0.15, 21)
    plain = weighted_mode(problem.model, np.ones(problem.model.n_rows), problem.model.initial)
    width = np.sqrt(np.trace(problem.clean_posterior.covariance))
    assert np.linalg.norm(plain - problem.clean_posterior.mean) > 5 * width


@pytest.mark.parametrize("attack", ["stealth_shift", "leverage_cluster"])
def test_rotation_units_and_row_order_do_not_matter(attack):
    problem = contaminated_regression(attack, 160, 4, 0.2, 3)
    X, y = problem.model.design, problem.model.y
    order = np.random.default_rng(0).permutation(len(y))
    weights = robula.trust(robula.LinearModel(X, y, noise_scale=1.0), 0.25).weights
    rotated = X @ ortho_group.rvs(4, random_state=1)
    for model, expected in (
        (robula.LinearModel(rotated, y, noise_scale=1.0), weights),
        (robula.LinearModel(X * [1.0, 1000.0, 0.01, 5.0], 7.0 * y, noise_scale=7.0), weights),
        (robula.LinearModel(X[order], y[order], noise_scale=1.0), weights[order]),
    ):
        np.testing.assert_allclose(robula.trust(model, 0.25).weights, expected, rtol=0, atol=1e-8)


def test_the_declared_contamination_is_a_limit_and_misfit_is_said():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((400, 2))
    y = X @ [1.0, 1.0] + rng.standard_normal(400)
    y[:100] += 3.5 * X[:100, 0] + 3.0
    model = robula.LinearModel(X, y, noise_scale=1.0, prior=robula.NormalPrior(0.0, 100.0), intercept=True)
    with pytest.warns(MisfitWarning, match="more rows disagree"):
        found = robula.trust(model, 0.05)
    assert found.share <= 0.05
    assert found.misfit is not None
    with pytest.warns(MisfitWarning):
        posterior = robula.sample(model, contamination=0.05, draws=300, progress=False)
    assert robula.diagnose(posterior).verdict == "not usable yet"


def test_unmistakable_rows_may_go_beyond_the_limit_with_a_warning():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((300, 2))
    y = X @ [1.0, 1.0] + rng.standard_normal(300)
    y[:45] = -90.0 + 10.0 * rng.standard_normal(45)  # no code: the law alone says so
    model = robula.LinearModel(X, y, noise_scale=1.0, prior=robula.NormalPrior(0.0, 100.0))
    with pytest.warns(BreakdownWarning, match="unmistakably bad"):
        found = robula.trust(model, 0.05)
    assert found.weights[:45].max() < 0.01
    assert found.weights[45:].mean() > 0.98


def test_a_limit_of_the_response_is_no_error():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((400, 3))
    y = np.maximum(X @ [1.0, 1.0, 0.0] + 0.7 + rng.standard_normal(400), 0.0)
    assert (y == 0.0).mean() > 0.2
    found = robula.trust(unknown_scale(X, y), 0.4)
    assert found.weights[y == 0.0].min() > 0.99


def test_vectors():
    problem = mean_estimation(n_clean=400, dim=10, contamination=0.2, seed=1)
    found = robula.trust(problem.model, 0.25)
    np.testing.assert_allclose(found.weights, ~problem.outlier_mask, atol=0.01)
    correlated = np.random.default_rng(0).standard_normal((1000, 5)) @ np.linalg.cholesky(0.8 + 0.2 * np.eye(5)).T
    assert robula.trust(robula.MeanModel(correlated), 0.1).share < 0.03


def test_labels():
    rng = np.random.default_rng(8)
    X = rng.standard_normal((800, 3))
    theta = np.array([2.0, -1.0, 0.5])
    y = (rng.uniform(size=800) < 1.0 / (1.0 + np.exp(-X @ theta))).astype(int)
    prior = robula.NormalPrior(0.0, 10.0)
    assert robula.trust(robula.LogisticModel(X, y, prior=prior), 0.2).share < 0.03
    X[:40] = 5.0 * theta / np.linalg.norm(theta) + 0.5 * rng.standard_normal((40, 3))
    y[:40] = 0
    found = robula.trust(robula.LogisticModel(X, y, prior=prior), 0.2)
    assert found.weights[:40].mean() < 0.1
    assert np.abs(found.theta - theta).max() < 0.6


def test_a_model_without_a_law_gets_gradients_and_a_warning():
    from robula.integrations import from_jax

    jax = pytest.importorskip("jax")
    data = np.random.default_rng(0).standard_normal(60)
    model = from_jax(
        lambda theta, row: -0.5 * (row - theta[0]) ** 2,
        data,
        log_prior=lambda theta: -0.5 * theta[0] ** 2,
        init=jax.numpy.zeros(1),
    )
    with pytest.warns(BreakdownWarning, match="does not say the law"):
        prepared = robula.selectors.TrustSelector().prepared(model, 0.1)
    assert isinstance(prepared, robula.SpectralFilter)


@pytest.mark.parametrize("interval", [False, True])
def test_derivatives_of_the_law(interval):
    rng = np.random.default_rng(2)
    n = 40
    law = RowLaw(rng.standard_normal((n, 2)), rng.standard_normal((n, 2)), True, 0.03)
    law.parameters = np.array([0.1, 0.3, -0.4, 0.2, -0.1, 0.3, 0.1])
    upper = rng.standard_normal(n)
    lower = upper - 0.5 if interval else upper
    known = np.full(n, interval)
    slopes = law.scored(lower, upper, known)[1]
    for index in range(7):
        ends = []
        for step in (-1e-6, 1e-6):
            moved = law.take(np.arange(n))
            moved.parameters[index] += step
            ends.append(moved.log_density(lower, upper, known))
        np.testing.assert_allclose((ends[1] - ends[0]) / 2e-6, slopes[:, index], rtol=2e-3, atol=2e-3)


def test_the_free_law_has_mean_0_and_variance_1_and_the_declared_one_is_normal():
    z = np.linspace(-40.0, 40.0, 400_001)
    none = np.zeros((len(z), 0))
    law = RowLaw(none, none, True, 0.03)
    known = np.zeros(len(z), dtype=bool)
    np.testing.assert_allclose(
        law.log_density(z, z, known)[190_000:210_000], -0.5 * z[190_000:210_000] ** 2 - 0.918938533
    )
    law.parameters = np.array([0.0, 0.5, -0.3])
    density = np.exp(law.log_density(z, z, known)) * (z[1] - z[0])
    assert density.sum() == pytest.approx(1.0, abs=1e-4)
    assert density @ z == pytest.approx(0.0, abs=1e-3)
    assert density @ z**2 == pytest.approx(1.0, abs=1e-2)


def test_interval_masses_are_exact_in_both_tails():
    assert log_normal_mass(np.array([-np.inf]), np.array([0.0]))[0] == pytest.approx(np.log(0.5))
    left, right = (
        log_normal_mass(np.array([-12.0]), np.array([-11.0])),
        log_normal_mass(np.array([11.0]), np.array([12.0])),
    )
    assert left[0] == pytest.approx(right[0])
    assert -70.0 < left[0] < -60.0


def test_the_budget_takes_from_the_least_decisive_first():
    odds = np.array([5.0, 4.0, 0.0, -1.0, -2.0, -8.0, -8.0, -8.0, -8.0, -8.0])
    wanted, doubt = within_budget(odds, 0.1, np.zeros(10))
    assert doubt.sum() <= 0.1 * 10 + 1e-6
    assert (np.diff(doubt) <= 0).all()
    assert wanted > 0.2
    _, sure = within_budget(np.full(10, 50.0), 0.1, np.full(10, 20.0))
    assert sure.min() > 0.99


def test_coordinates_are_affine_invariant():
    rng = np.random.default_rng(1)
    X = np.column_stack([np.ones(200), rng.standard_normal((200, 3))])
    mapped = X @ np.array([[1.0, 0, 0, 0], [3.0, 1.0, 2.0, 0], [0, -1.0, 1.0, 0], [5.0, 0, 0, 1e3]]).T
    np.testing.assert_allclose(feature_space(X).distance, feature_space(mapped).distance, atol=1e-8)


def test_rows_without_noise_are_kept():
    X = np.random.default_rng(0).standard_normal((50, 2))
    model = robula.LinearModel(X, X @ [1.0, 2.0], noise_scale="estimate", prior=robula.NormalPrior(0.0, 100.0))
    with pytest.warns(MisfitWarning, match="fitted to the last digit"):
        found = robula.trust(model, 0.1)
    assert found.weights.min() > 0.99
    assert found.theta[:2] == pytest.approx([1.0, 2.0])


def test_a_code_behind_a_limit_does_not_hide_it():
    # A quarter of y is at 0, the least that can be recorded, and a twentieth is the code -999: only the code is bad.
    rng = np.random.default_rng(4)
    X = rng.standard_normal((600, 3))
    y = np.maximum(X @ [1.0, 1.0, 1.0] + 1.0 + 0.5 * rng.standard_normal(600), 0.0)
    code = np.zeros(600, dtype=bool)
    code[:30] = True
    y[code] = -999.0
    model = unknown_scale(X, y)
    found = robula.trust(model, 0.1)
    assert found.weights[code].max() < 0.01
    assert found.weights[~code & (y == 0.0)].min() > 0.9
    odds = ScoredRows(model).bad_odds
    np.testing.assert_array_equal(odds[~code & (y == 0.0)], -constants.GROSS_ODDS)
    assert odds[code].min() > constants.GROSS_ODDS


def test_codes_in_a_column_up_to_the_limit():
    problem = robula.simulate.contaminated_regression("sentinel_column", 700, 10, 0.3, seed=2)
    found = robula.trust(problem.model, 0.3)
    away = found.theta - problem.clean_posterior.mean
    widths = np.sqrt(np.diag(problem.clean_posterior.covariance))
    assert np.abs(away / widths).max() < 0.1
    assert found.weights[problem.outlier_mask].max() < 0.01


def test_a_law_that_is_off_wants_ever_more_rows_and_gets_none():
    # y grows with the square of x: any number of rows can be called bad, and none is.
    rng = np.random.default_rng(7)
    X = rng.standard_normal((1500, 2))
    y = X[:, 0] + 1.5 * X[:, 0] ** 2 + 0.3 * rng.standard_normal(1500)
    model = unknown_scale(X, y)
    for limit in (0.05, 0.2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MisfitWarning)
            found = robula.trust(model, limit)
        assert 1.0 - found.weights.mean() < 0.02
        assert found.law or found.misfit


def test_many_columns_do_not_make_clean_rows_bad():
    # A direction can be found among many columns in which any rows look like a population.
    problem = contaminated_regression("paper", 300, 60, 0.0, 1)
    assert robula.trust(problem.model, 0.3).share < 0.01


def test_what_to_try_suits_the_responses():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 2))
    mean = np.exp(1.0 + X @ [0.5, 0.3])
    counts = rng.negative_binomial(1.0, 1.0 / (1.0 + mean)) * (rng.uniform(size=1000) > 0.3)
    prior = robula.NormalPrior(0.0, 10.0)
    of_counts = robula.trust(robula.PoissonModel(X, counts, intercept=True, prior=prior), 0.1)
    assert "negative binomial" in " ".join(of_counts.law)
    skewed = X @ [1.0, 2.0] + 3.0 * rng.gamma(1.0, size=1000)
    of_numbers = robula.trust(robula.LinearModel(X, skewed, noise_scale="estimate", intercept=True), 0.1)
    assert "log" in " ".join(of_numbers.law)
    for word in ("Student-t", "log response", "square-root"):
        assert word not in " ".join(of_counts.law)


def test_a_response_at_a_limit_does_not_protect_a_code_in_a_column():
    # Predicted far below the limit because of a code, a row at the limit agrees with having been cut there.
    rng = np.random.default_rng(1)
    X = rng.normal(5.0, 1.0, size=(400, 2))
    y = np.maximum(X @ [3.0, 1.0] - 20.0 + rng.normal(size=400), -3.0)
    at_limit = np.flatnonzero(y == -3.0)
    bad = np.concatenate([at_limit[:5], np.flatnonzero(y > -3.0)[:15]])
    X[bad, 0] = -999.0
    found = robula.trust(robula.LinearModel(X, y, noise_scale="estimate", intercept=True), 0.2)
    assert found.weights[bad].max() < 0.01
    assert found.weights[at_limit[5:]].min() > 0.9


def test_labels_of_several_classes_stay_where_they_are_right_and_go_where_they_are_wrong():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(600, 3))
    linear = np.column_stack([np.ones(600), X]) @ (2.0 * rng.normal(size=(4, 4)))
    label = (linear + rng.gumbel(size=linear.shape)).argmax(axis=1)
    prior = robula.NormalPrior(0.0, 10.0)
    # What the gate sees must not tell the label, or the less likely labels are called wrong.
    assert robula.trust(robula.MultinomialModel(X, label, intercept=True, prior=prior), 0.25).weights.min() > 0.9
    bad = np.arange(60)
    label[bad] = (label[bad] + rng.integers(1, 4, size=60)) % 4
    found = robula.trust(robula.MultinomialModel(X, label, intercept=True, prior=prior), 0.25)
    # Wrong labels between classes that are as likely cannot be seen.
    assert found.weights[bad].mean() < 0.75
    assert found.weights[60:].mean() > 0.93


def test_a_row_that_is_bad_for_sure_counts_nothing():
    # A mean count of e^1000 times a weight of 1e-11 is still infinite.
    rng = np.random.default_rng(4)
    X = rng.normal(size=(500, 2))
    y = rng.poisson(np.exp(1.0 + X @ [0.5, 0.4]))
    X[:40, 0] *= 1000.0
    model = robula.PoissonModel(X, y, intercept=True, prior=robula.NormalPrior(0.0, 5.0))
    posterior = robula.sample(model, contamination=0.2, draws=200, seed=1)
    assert posterior.row_weights[X[:, 0] > 100.0].max() == 0.0
    np.testing.assert_allclose(posterior.mean, [1.0, 0.5, 0.4], atol=0.15)


def test_a_noise_scale_of_another_unit_is_a_misfit_and_not_bad_rows():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((300, 2))
    model = robula.LinearModel(X, 4000.0 + 300.0 * X[:, 0] + 300.0 * rng.standard_normal(300), noise_scale=1.0)
    with pytest.warns(MisfitWarning, match="units of the response"):
        posterior = robula.sample(model, contamination=0.15, draws=300, progress=False)
    assert robula.diagnose(posterior).verdict == "not usable yet"


def test_printed_it_is_a_few_sentences():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 3, size=400)
    y = 1.0 + 2.0 * x + np.exp(x - 1.5) * rng.normal(size=400)
    y[:20] = -40.0
    said = str(robula.trust(unknown_scale(np.column_stack([np.ones(400), x]), y), 0.1))
    assert said.startswith(
        "Trust: 20 of 400 rows count less than half; an estimated 5.0% are bad (standard error 1.1%)."
    )
    assert "Likeliest: shifted rows (probability" in said
    assert "What is off: spread that changes" in said
    assert len(said) < 400
