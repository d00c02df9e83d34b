"""Every model's law of its rows through one contract: against its own simulations, derivatives and other methods.

False alarms: each Kolmogorov-Smirnov test fails a correct law with probability 1e-6, each Monte Carlo comparison with
6e-7 an entry (five standard errors); seeds are fixed.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import robula
from robula.models import MODELS, ModelWithLaw
from tests.helpers import registered_models

LAWS = {name: model for name, model in registered_models(n=400).items() if isinstance(model, ModelWithLaw)}
LEVEL = 1e-6


@pytest.fixture(params=list(LAWS))
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def model(name: str) -> ModelWithLaw:
    return LAWS[name]


def truth(model: ModelWithLaw) -> np.ndarray:
    return model.initial + 0.4 * np.cos(np.arange(model.dim))


def uniforms(model: ModelWithLaw, drawn_at: np.ndarray, judged_at: np.ndarray, repeats: int = 10) -> np.ndarray:
    """Probability integral transforms of simulated rows, a uniform draw between the two ends."""
    rng = np.random.default_rng(1)
    draws = []
    for _ in range(repeats):
        lower, upper = model.with_response(model.simulate(drawn_at, rng)).pit(judged_at)
        assert lower.shape == upper.shape == (model.n_rows,)
        draws.append(lower + rng.uniform(size=model.n_rows) * (upper - lower))
    return np.concatenate(draws)


def test_every_registered_model_has_a_law_and_an_example():
    assert set(MODELS) <= {name.split("-")[0] for name in LAWS}
    assert {model.noise for model in LAWS.values()} <= {"declared", "estimated", "implied"}


def test_means_hang_on_the_parameters_of_the_mean_alone(model):
    theta = truth(model)

    def mean(at):
        # Of labels and vectors every parameter is of the mean, and there is no one predictor.
        return (
            model.fitted(at)
            if model.response_kind == "number"
            else model.pit(at)[1]
            if model.response_kind == "label"
            else at
        )

    for step, moves in zip(np.eye(model.dim), model.of_the_mean, strict=True):
        assert (mean(theta + step) != mean(theta)).any() == moves


def test_transforms_of_simulated_rows_are_uniform(model):
    values = uniforms(model, truth(model), truth(model))
    assert ((values >= 0) & (values <= 1)).all()
    assert stats.kstest(values, "uniform").pvalue > LEVEL


def test_transforms_at_a_wrong_theta_are_not(model):
    """Negative control: at least one parameter that is off by one is noticed."""
    for index in range(model.dim):
        wrong = truth(model)
        wrong[index] += 1.0
        if stats.kstest(uniforms(model, truth(model), wrong), "uniform").pvalue < LEVEL:
            return
    pytest.fail("a wrong theta went unnoticed")


def test_a_wrong_scale_is_noticed():
    X, theta = np.ones((400, 1)), np.zeros(1)
    known = robula.LinearModel(X, np.zeros(400), noise_scale=1.0)
    wide = robula.LinearModel(X, np.zeros(400), noise_scale=1.2)
    lower, _ = wide.with_response(known.simulate(theta, np.random.default_rng(0))).pit(theta)
    several = [known.simulate(theta, np.random.default_rng(seed)) for seed in range(10)]
    values = np.concatenate([wide.with_response(y).pit(theta)[0] for y in several])
    assert lower.shape == (400,)
    assert stats.kstest(values, "uniform").pvalue < LEVEL


def test_information_is_the_expected_curvature(model):
    theta, rng, ones = truth(model), np.random.default_rng(2), np.ones(model.n_rows)
    curvatures = np.stack([model.with_response(model.simulate(theta, rng)).curvature(theta, ones) for _ in range(200)])
    error = curvatures.std(axis=0, ddof=1) / np.sqrt(200)
    information = model.information(theta)
    tolerance = 5 * error + 1e-9 * np.abs(information).max()
    assert (np.abs(curvatures.mean(axis=0) - information) <= tolerance).all()
    weights = rng.uniform(size=model.n_rows)
    by_row = [model.take(np.array([row])).information(theta) for row in range(10)]
    weighted = model.take(np.arange(10)).information(theta, weights[:10])
    np.testing.assert_allclose(weighted, np.tensordot(weights[:10], np.stack(by_row), 1), rtol=1e-10, atol=1e-10)


def test_features_have_the_information_as_their_gram_matrix(model):
    theta = truth(model)
    features = model.features(theta)
    assert len(features) == model.n_rows
    flat = features.reshape(-1, model.dim)
    gram, information = flat.T @ flat, model.information(theta)
    if model.noise == "estimated":
        # The scale's column tells about the size of a residual, the others about its sign: nothing between them.
        gram[-1, :-1] = gram[:-1, -1] = 0.0
    np.testing.assert_allclose(gram, information, rtol=1e-9, atol=1e-9 * np.abs(information).max())


@pytest.mark.parametrize("name", ["linear", "logistic", "poisson", "mean"])
def test_under_a_canonical_link_information_is_the_curvature(name):
    model = LAWS[name]
    curvature = model.curvature(truth(model), np.ones(model.n_rows))
    np.testing.assert_allclose(model.information(truth(model)), curvature, rtol=1e-10)


def test_scores_are_those_of_the_transform(model):
    theta, rng = truth(model), np.random.default_rng(3)
    simulated = model.with_response(model.simulate(theta, rng))
    for score, probability in zip(simulated.scores(theta), simulated.pit(theta), strict=True):
        assert not np.isnan(score).any()
        np.testing.assert_allclose(stats.norm.cdf(score), probability, rtol=1e-7, atol=1e-13)
    lower, upper = simulated.scores(theta)
    assert (lower <= upper).all()
    assert (np.isfinite(lower) | np.isfinite(upper)).all()


def test_scores_stay_finite_and_ordered_far_out(model):
    """Responses ever farther from the data: no score of a continuous law is infinite and none turns back."""
    theta = truth(model)
    response = model.simulate(theta, np.random.default_rng(4))
    continuous = np.array_equal(*model.with_response(response).pit(theta))
    if model.response_kind == "label":
        return  # classes: nothing is farther out
    last = np.full(model.n_rows, -np.inf)
    for factor in (1.0, 3.0, 10.0, 100.0, 1e4, 1e6):
        far = np.ceil(factor * (np.abs(response) + 5.0)) if not continuous else factor * (np.abs(response) + 5.0)
        lower, upper = model.with_response(far).scores(theta)
        assert np.isfinite(lower).all()
        assert np.isfinite(upper).all()
        assert (lower >= last).all()
        last = lower
    # Of a tail like z^-4 there is 1e-24 left at a million, 10 standard deviations.
    assert (last >= (10.0 if isinstance(model, robula.models.StudentTModel) else 30.0)).all()


def test_a_linear_residual_is_its_own_score():
    y = np.array([-1e6, -30.0, -3.0, 0.0, 3.0, 30.0, 1e6])
    known = robula.LinearModel(np.ones((7, 1)), y, noise_scale=2.0)
    np.testing.assert_array_equal(known.scores(np.zeros(1))[0], y / 2.0)
    unknown = robula.LinearModel(np.ones((7, 1)), y, noise_scale="estimate")
    np.testing.assert_allclose(unknown.scores(np.array([0.0, np.log(2.0)]))[1], y / 2.0, rtol=1e-15)


def test_poisson_scores_do_not_saturate():
    """Against log probabilities of 50 digits (mpmath): log P(Y >= y) and log P(Y <= y)."""
    prior = robula.NormalPrior(0.0, 1.0)
    cases = {
        (1000, 2.0): ("above", -5220.978998),
        (2000, 1e3): ("above", -390.3216419),
        (10, 3000.0): ("below", -2935.037399),
    }
    for (count, rate), (side, log_probability) in cases.items():
        model = robula.PoissonModel(np.ones((2, 1)), [count, 0], prior=prior)
        lower, upper = model.scores(np.log([rate]))
        score, sign = (lower[0], -1.0) if side == "above" else (upper[0], 1.0)
        assert stats.norm.logcdf(sign * score) == pytest.approx(log_probability, rel=1e-6)
        assert lower[1] == -np.inf
        assert np.isfinite(upper[1])


def test_logistic_scores_do_not_saturate():
    X = np.array([[1.0], [-1.0]])
    model = robula.LogisticModel(X, [0, 1], prior=robula.NormalPrior(0.0, 1.0))
    lower, upper = model.scores(np.array([700.0]))
    assert lower[0] == -np.inf
    assert upper[1] == np.inf
    # A label of probability e^-700 is 37 standard deviations out on either side.
    assert stats.norm.logcdf(upper[0]) == pytest.approx(-700.0, rel=1e-9)
    assert lower[1] == pytest.approx(-upper[0], rel=1e-12)


def test_whitened_rows_are_standard_normal():
    model = LAWS["mean-full"]
    z = model.with_response(model.simulate(np.zeros(model.dim), np.random.default_rng(5))).whitened(np.zeros(model.dim))
    assert stats.kstest(z.ravel(), "norm").pvalue > LEVEL
    np.testing.assert_allclose(np.corrcoef(z.T), np.eye(model.dim), atol=5 / np.sqrt(model.n_rows))


def test_other_responses_leave_the_model_alone(model):
    before = {key: value.copy() for key, value in model.observed_data.items()}
    theta = truth(model)
    other = model.with_response(model.simulate(theta, np.random.default_rng(6)))
    assert type(other) is type(model)
    for key, value in model.observed_data.items():
        np.testing.assert_array_equal(value, before[key])
    assert not np.allclose(other.log_likelihood(theta), model.log_likelihood(theta))
    if model.response is not None:
        np.testing.assert_array_equal(model.response, model.observed_data["y"])


def test_an_unknown_scale_is_a_linear_model_too():
    X = np.arange(6.0)[:, None]
    model = robula.LinearModel(X, np.arange(6.0), noise_scale="estimate")
    assert isinstance(model, robula.LinearModel)
    assert isinstance(model, robula.models.UnknownScaleLinearModel)
    assert type(robula.LinearModel(X, np.arange(6.0), noise_scale=1.0)) is robula.LinearModel
