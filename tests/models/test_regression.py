"""Row weights and offsets, the same for every regression; and the parts of the new ones that no contract asks for."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from scipy import stats

import robula
from robula.exceptions import InputError
from robula.models import MODELS, GammaModel, MultinomialModel, NegativeBinomialModel, StudentTModel
from robula.models.law import ModelWithLaw
from robula.models.posterior_mode import laplace, weighted_mode
from robula.models.regression import Regression
from robula.target.frozen_gradient import FrozenGradient

PRIOR = robula.NormalPrior(0.0, 2.0)
REGRESSIONS = [name for name, kind in MODELS.items() if issubclass(kind, Regression)]
OPTIONS = {"linear": [{"noise_scale": 0.7}, {"noise_scale": "estimate"}]}
KINDS = [(name, options) for name in REGRESSIONS for options in OPTIONS.get(name, [{}])]


def rows(n: int = 30) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, responses that suit every model, and whole weights with zeros among them."""
    rng = np.random.default_rng(3)
    return rng.standard_normal((n, 2)), 1.0 + np.arange(n) % 2, rng.integers(0, 4, n).astype(float)


@pytest.mark.parametrize(("name", "options"), KINDS, ids=str)
def test_a_whole_weight_is_a_repetition_of_the_row(name, options):
    """In every sum over rows: density, gradient, curvature, information, bound, mode, and frozen means."""
    X, y, times = rows()
    again = np.repeat(np.arange(len(y)), times.astype(int))
    shared = {"prior": PRIOR, "intercept": True, **options}
    weighted = MODELS[name](X, y, row_weights=times, **shared)
    repeated = MODELS[name](X[again], y[again], **shared)
    # Priors that are set by the responses: the same for both.
    repeated.prior = weighted.prior
    theta = weighted.initial + 0.3 * np.cos(np.arange(weighted.dim))
    trust = np.random.default_rng(0).uniform(size=len(y))
    here, there = (weighted, theta, trust), (repeated, theta, trust[again])
    for compare in (
        lambda model, theta, w: model.weighted_gradient(theta, w),
        lambda model, theta, w: model.weighted_log_likelihood_and_gradient(theta, w)[0],
        lambda model, theta, w: model.weighted_log_likelihood_and_gradient(theta, w)[1],
        lambda model, theta, w: model.curvature(theta, w),
        lambda model, theta, w: model.information(theta, w),
        lambda model, theta, w: model.curvature_bound(w) if model.curvature_bound(w) is not None else 0.0,
        lambda model, theta, w: weighted_mode(model, w, theta, 50),
    ):
        np.testing.assert_allclose(compare(*here), compare(*there), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(weighted.information(theta), repeated.information(theta), rtol=1e-9)
    # The law of a row does not know how often the row counts.
    np.testing.assert_allclose(weighted.log_likelihood(theta)[again], repeated.log_likelihood(theta))
    np.testing.assert_allclose(weighted.pit(theta)[1][again], repeated.pit(theta)[1])
    part = weighted.take(np.array([4, 7]))
    np.testing.assert_array_equal(part.row_weights, times[[4, 7]])


@pytest.mark.parametrize("name", ["linear", "logistic"])
def test_row_weights_reach_every_frozen_gradient(name):
    """A selection of several parts in subspaces goes other ways than one of a single part."""
    X, y, times = rows(60)
    options = {"noise_scale": 0.7} if name == "linear" else {}
    model = MODELS[name](X, y, prior=PRIOR, row_weights=times, **options)
    plain = MODELS[name](X, y, prior=PRIOR, **options)
    theta = np.array([[0.2, -0.1], [0.4, 0.3]])
    selection = robula.RecursiveMean().select_rows(plain, theta[0], 0.1)
    assert len(selection.parts) > 1
    means = FrozenGradient(model, (selection,))
    expected = selection.combine((selection.part_weights * times) @ plain.gradients(theta))
    for _ in range(5):  # the first calls prepare the later ones
        np.testing.assert_allclose(means(theta), expected, rtol=1e-9, atol=1e-12)


def test_sampling_counts_a_row_as_often_as_it_is_said():
    X, y, times = rows(60)
    model = robula.LinearModel(X, y, noise_scale=0.7, prior=PRIOR, row_weights=times)
    exact = model.gaussian_posterior()
    for settings in (
        {"selector": "mean"},
        {"selector": "recursive", "kernel": "preconditioned_lm", "refresh_every": 1},
    ):
        posterior = robula.sample(model, contamination=0.0, draws=1000, seed=1, progress=False, **settings)
        widths = np.sqrt(np.diag(exact.covariance))
        assert (np.abs(posterior.mean - exact.mean) < 0.25 * widths).all()
        np.testing.assert_allclose(posterior.flat_draws.std(axis=0), widths, rtol=0.15)
    unweighted = robula.LinearModel(X, y, noise_scale=0.7, prior=PRIOR).gaussian_posterior()
    assert (np.abs(unweighted.mean - exact.mean) / widths).max() > 0.5  # it could have been seen


@pytest.mark.parametrize("kind", [robula.PoissonModel, NegativeBinomialModel, GammaModel])
def test_an_offset_is_a_column_whose_coefficient_is_one(kind):
    X, y, _ = rows()
    exposure, offset = np.exp(X[:, 1]), 0.5 * X[:, 1]
    moved = kind(X[:, :1], y, prior=PRIOR, intercept=True, exposure=exposure, offset=offset)
    with_column = kind(np.column_stack([X[:, 0], 1.5 * X[:, 1]]), y, prior=PRIOR, intercept=True)
    theta = np.array([0.3, -0.2])
    rest = [-0.5] * (moved.dim - 2)
    small, large = np.array([*theta, *rest]), np.array([*theta, 1.0, *rest])
    np.testing.assert_allclose(moved.log_likelihood(small), with_column.log_likelihood(large))
    np.testing.assert_allclose(moved.pit(small), with_column.pit(large))
    kept = [index for index in range(with_column.dim) if index != 2]
    np.testing.assert_allclose(moved.gradients(small), with_column.gradients(large)[:, kept])
    np.testing.assert_allclose(moved.take(np.array([3, 5])).log_likelihood(small), moved.log_likelihood(small)[[3, 5]])


def test_exposure_turns_counts_into_rates():
    rng = np.random.default_rng(5)
    X, hours = rng.standard_normal((600, 1)), rng.uniform(0.2, 20.0, 600)
    y = rng.poisson(hours * np.exp(0.5 + 0.7 * X[:, 0]))
    found = laplace(robula.PoissonModel(X, y, prior=PRIOR, intercept=True, exposure=hours))
    assert (np.abs(found.mean - [0.5, 0.7]) < 4 * np.sqrt(np.diag(found.covariance))).all()
    ignored = laplace(robula.PoissonModel(X, y, prior=PRIOR, intercept=True))
    assert abs(ignored.mean[0] - 0.5) > 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"exposure": np.zeros(30)}, "exposure has 30 value"),
        ({"exposure": np.ones(29)}, "shape"),
        ({"offset": np.full(30, np.nan)}, "offset has 30 value"),
        ({"row_weights": -np.ones(30)}, r"row_weights\[0\]=-1"),
        ({"row_weights": np.zeros(30)}, "only zeros"),
        ({"row_weights": np.ones((30, 2))}, "shape"),
    ],
)
def test_what_cannot_be_of_rows_is_refused(options, message):
    X, y, _ = rows()
    with pytest.raises(InputError, match=message):
        robula.PoissonModel(X, y, prior=PRIOR, **options)


def test_log_likelihoods_of_the_new_models_are_the_known_densities():
    X, y, _ = rows()
    theta, s = np.array([0.4, -0.3, 0.2]), 0.3
    eta, full = theta[0] + X @ theta[1:], np.append(theta, s)
    shared = {"prior": PRIOR, "intercept": True}
    size = np.exp(-s)
    np.testing.assert_allclose(
        NegativeBinomialModel(X, y, **shared).log_likelihood(full),
        stats.nbinom(size, size / (size + np.exp(eta))).logpmf(y),
    )
    np.testing.assert_allclose(
        GammaModel(X, y, **shared).log_likelihood(full), stats.gamma(np.exp(s), scale=np.exp(eta - s)).logpdf(y)
    )
    np.testing.assert_allclose(
        StudentTModel(X, y, degrees_of_freedom=3.0, **shared).log_likelihood(full),
        stats.t(3.0, eta, np.exp(s)).logpdf(y),
    )
    labels = (y + (X[:, 0] > 0)) % 3
    lines = np.array([[0.0, 0.0, 0.0], theta, -theta])
    logits = np.column_stack([np.ones(len(y)), X]) @ lines.T
    expected = logits[np.arange(len(y)), labels.astype(int)] - np.log(np.exp(logits).sum(axis=1))
    model = MultinomialModel(X, labels, **shared)
    np.testing.assert_allclose(model.log_likelihood(np.concatenate([theta, -theta])), expected)
    assert model.parameter_names[:4] == ("1.0:intercept", "1.0:0", "1.0:1", "2.0:intercept")


def test_two_classes_are_logistic_regression():
    X, y, _ = rows()
    two, logistic = (kind(X, y, prior=PRIOR, intercept=True) for kind in (MultinomialModel, robula.LogisticModel))
    theta = np.array([0.1, 0.5, -0.4])
    for method in ("log_likelihood", "gradients", "pit", "scores"):
        np.testing.assert_allclose(getattr(two, method)(theta), getattr(logistic, method)(theta), atol=1e-12)
    np.testing.assert_allclose(two.information(theta), logistic.information(theta))


def test_a_dispersion_that_vanishes_is_poisson():
    X, y, _ = rows()
    theta = np.array([0.4, -0.3, 0.2])
    counts = NegativeBinomialModel(X, y, prior=PRIOR, intercept=True)
    poisson = robula.PoissonModel(X, y, prior=PRIOR, intercept=True)
    tiny = np.append(theta, -14.0)
    np.testing.assert_allclose(counts.log_likelihood(tiny), poisson.log_likelihood(theta), atol=1e-5)
    np.testing.assert_allclose(counts.pit(tiny), poisson.pit(theta), atol=1e-5)
    assert np.isfinite(counts.curvature(tiny, np.ones(30))).all()


def test_what_a_count_tells_about_the_dispersion():
    """The integral against the sum over j of P(Y > j) / (size + j)^2."""
    for size, rate in ((0.05, 5.0), (1.0, 0.5), (4.0, 200.0), (100.0, 5.0)):
        model = NegativeBinomialModel(np.ones((2, 1)), [0, 1], prior=PRIOR)
        law = stats.nbinom(size, size / (size + rate))
        j = np.arange(int(law.ppf(1 - 1e-14)) + 50)
        expected = size**2 * ((law.sf(j) / (size + j) ** 2).sum() - rate / (size * (size + rate)))
        information = model.information(np.array([np.log(rate), -np.log(size)]))
        assert information[1, 1] / 2.0 == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("kind", "y", "message"),
    [
        (GammaModel, [1.0, 0.0, 2.0], r"0 or less, first y\[1\]=0"),
        (NegativeBinomialModel, [1.0, 0.5, 2.0], "not counts"),
        (MultinomialModel, ["a", "a", "a"], "one label only"),
        (MultinomialModel, [1.0, np.nan, 2.0], "missing"),
    ],
)
def test_responses_that_are_not_of_the_model_are_refused(kind, y, message):
    with pytest.raises(InputError, match=message):
        kind(np.ones((3, 1)), y, prior=PRIOR)


def test_degrees_of_freedom_are_positive():
    with pytest.raises(InputError, match="degrees_of_freedom"):
        StudentTModel(np.ones((3, 1)), [1.0, 2.0, 3.0], degrees_of_freedom=0.0)


@pytest.mark.parametrize("noise", [0.7, "estimate"])
@pytest.mark.parametrize("counts", [None, np.arange(40) % 3 + 0.5])
def test_few_rows_have_the_likelihood_of_all(noise, counts):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 3)) * [1.0, 100.0, 1e-3]
    model = robula.LinearModel(X, rng.normal(size=40), noise_scale=noise, intercept=True, row_weights=counts)
    weights = rng.uniform(size=40)
    few, few_weights = model.compressed(weights)
    assert few.n_rows == 5
    theta = rng.normal(size=(2, model.dim))
    ours, theirs = (m.weighted_log_likelihood_and_gradient(theta, w) for m, w in ((few, few_weights), (model, weights)))
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-10)
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-9, atol=1e-9 * np.abs(theirs[1]).max())
    np.testing.assert_allclose(
        few.curvature(theta[0], few_weights), model.curvature(theta[0], weights), rtol=1e-9, atol=1e-9
    )
    # A negative control: other weights have another likelihood.
    assert abs(ours[0][0] - model.weighted_log_likelihood_and_gradient(theta, weights**2)[0][0]) > 1e-3


@pytest.mark.parametrize(("columns", "least"), [(3, 0.0), (60, 0.0), (60, -1.0)])
def test_gram_matrices_and_products_of_gradients_are_sums_over_rows(columns, least):
    rng = np.random.default_rng(2)
    X, y, counts = rng.standard_normal((80, columns)), rng.integers(0, 2, 80), rng.integers(0, 3, 80).astype(float)
    model = robula.LogisticModel(X, y, prior=PRIOR, row_weights=counts)
    weights, theta = rng.uniform(least, 1.0, 80), rng.standard_normal(columns)
    np.testing.assert_allclose(model._weighted_gram(weights), (X.T * weights) @ X, atol=1e-12)
    gradients, known = model.gradients(theta), weights**2
    expected = (gradients.T * (counts * known)) @ gradients
    np.testing.assert_allclose(model.gradient_products(theta, known), expected, atol=1e-12)
    np.testing.assert_allclose(ModelWithLaw.gradient_products(model, theta, known), expected, atol=1e-12)


def test_a_logistic_offset_is_known_log_odds():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((300, 2))
    known = X @ [0.7, -0.4]
    y = (rng.random(300) < 1.0 / (1.0 + np.exp(-(known + X @ [1.0, 1.0])))).astype(int)
    prior = robula.NormalPrior(0.0, 100.0)
    with_offset = robula.LogisticModel(X, y, prior=prior, offset=known)
    whole, theta = robula.LogisticModel(X, y, prior=prior), np.array([0.8, 1.2])
    for function in ("log_likelihood", "gradients", "pit"):
        here = getattr(with_offset, function)(theta)
        np.testing.assert_allclose(here, getattr(whole, function)(theta + np.array([0.7, -0.4])), rtol=1e-12)
    posterior = robula.sample(with_offset, contamination=0.05, draws=300, progress=False)
    np.testing.assert_allclose(posterior.mean, [1.0, 1.0], atol=0.5)
    assert not np.allclose(posterior.mean, robula.sample(whole, contamination=0.05, draws=300, progress=False).mean)


def test_a_linear_offset_is_subtracted_from_the_response():
    with pytest.raises(InputError, match="subtract it from y"):
        robula.LinearModel(np.eye(3), np.ones(3), noise_scale=1.0, offset=np.ones(3))


def test_help_shows_the_arguments_of_a_linear_model():
    shown = list(inspect.signature(robula.LinearModel).parameters)
    assert shown == ["X", "y", "noise_scale", "prior", "intercept", "row_weights"]
    unknown_scale = type(robula.LinearModel(np.eye(3), np.ones(3), noise_scale="estimate"))
    assert shown == list(inspect.signature(unknown_scale).parameters)
