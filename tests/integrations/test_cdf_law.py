"""Models of ``from_jax`` with a cdf: the weights of the same built-in model, tails far out, quantiles.

False alarms: a Kolmogorov-Smirnov test fails a correct law with probability 1e-6.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtri_exp

import robula
from robula.models.tail_scores import FARTHEST

jax = pytest.importorskip("jax")
jnp = jax.numpy
norm = jax.scipy.stats.norm
HALF = float(np.log(0.5))


def of_one_number(log_likelihood, cdf, y, theta):
    """The model of responses ``y`` and one parameter, at which it starts."""
    prior = robula.NormalPrior(0.0, 100.0)
    init = np.array([theta])

    def first(function):
        return lambda parameters, row: function(parameters[0], row["y"])

    return robula.from_jax(first(log_likelihood), {"y": y}, log_prior=prior, init=init, cdf=first(cdf))


def scores_of(model):
    """Scores of both ends at ``init``, not where the search starts."""
    return model.scores(model._init)


def geometric_mass(log_q, count):
    return count * log_q + jnp.log(-jnp.expm1(log_q))


def geometric_ends(log_q, count):
    return -jnp.expm1(count * log_q), -jnp.expm1((count + 1) * log_q)


def line_of_unknown_scale(X, y):
    """LinearModel and the same in JAX, with an init that is nowhere near."""
    linear = robula.LinearModel(X, y, noise_scale="estimate", intercept=True, prior=robula.NormalPrior(0.0, 100.0))

    def place(p, row):
        return row["y"], p["a"] + row["X"] @ p["b"], jnp.exp(p["log_s"])

    def log_prior(p):
        coefficients = norm.logpdf(p["a"], 0.0, 10.0) + norm.logpdf(p["b"], 0.0, 10.0).sum()
        return coefficients + norm.logpdf(p["log_s"], linear.initial[-1], 2.0)

    model = robula.from_jax(
        lambda p, row: norm.logpdf(*place(p, row)),
        {"X": X, "y": y},
        log_prior=log_prior,
        init={"a": 0.0, "b": np.zeros(X.shape[1]), "log_s": 0.0},
        cdf=lambda p, row: norm.cdf(*place(p, row)),
    )
    return linear, model


@pytest.mark.parametrize("bad", ["60", "6"])
def test_an_estimated_scale_has_the_weights_of_the_linear_model(bad):
    """With bad rows the start was at init, and the cdf 1 to rounding: rows at 60 counted, sigma was 15.8 for .5.

    With rows at 6 most rows were said to be fitted to the last digit.
    """
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 2))
    y = 1.0 + X @ [1.0, 2.0] + 0.5 * rng.normal(size=200)
    y[:15] = float(bad)
    linear, model = line_of_unknown_scale(X, y)
    expected, found = robula.trust(linear, 0.15), robula.trust(model, 0.15)
    np.testing.assert_allclose(found.weights, expected.weights, atol=1e-6)
    assert found.law == expected.law
    # Else nothing is compared.
    assert (expected.weights[:15].max() < 1e-6) == (bad == "60")
    assert expected.weights[15:].min() > 0.9


def test_scores_go_on_where_a_cdf_is_nothing_but_0_or_1():
    """The log-likelihood has no constant; what is behind 8 standard deviations was at 38 or nowhere."""
    y = np.array([-200.0, -9.0, 0.3, 6.5, 9.0, 200.0])
    model = of_one_number(lambda m, v: -0.5 * (v - m) ** 2, lambda m, v: norm.cdf(v, m), y, 0.0)
    lower, upper = scores_of(model)
    np.testing.assert_allclose(upper, y, rtol=1e-8)
    np.testing.assert_array_equal(lower, upper)
    # Negative control: a log-likelihood that is not that of the cdf is not followed.
    other = of_one_number(lambda m, v: jnp.exp(v / 300.0 - m), lambda m, v: norm.cdf(v, m), y, 0.0)
    np.testing.assert_array_equal(scores_of(other)[1][[0, 4, 5]], [-FARTHEST, FARTHEST, FARTHEST])


@pytest.mark.parametrize("kind", [float, int])
def test_counts_far_out_have_scores(kind):
    """A geometric law: P(Y >= k) is q^k, and 1 - q^k is 1 from 74 on."""
    y = np.array([0, 2, 40, 100, 5000]).astype(kind)
    model = of_one_number(geometric_mass, geometric_ends, y, HALF)
    lower, upper = scores_of(model)
    np.testing.assert_allclose(lower, -ndtri_exp(y * HALF), rtol=1e-6)
    np.testing.assert_allclose(upper, -ndtri_exp((y + 1.0) * HALF), rtol=1e-6)
    # The mean is q / (1 - q) = 1: what a count tells comes from the two of which the scores are next to -1 and 1.
    assert model.features(np.array([HALF])).std() == 0.0


def test_a_density_that_rises_outwards_is_no_tail():
    """An exponential response near 0: the log-likelihood goes on below 0, where there are no responses."""
    y = np.array([1e-13, 0.5, 2.0, 50.0])
    model = of_one_number(lambda s, v: s - v * jnp.exp(s), lambda s, v: -jnp.expm1(-v * jnp.exp(s)), y, 0.0)
    known = stats.expon()
    expected = [*stats.norm.ppf(known.cdf(y[:2])), *stats.norm.isf(known.sf(y[2:]))]
    np.testing.assert_allclose(scores_of(model)[1], expected, rtol=1e-6)


def test_responses_are_simulated_from_the_cdf_also_where_none_was_seen():
    """They were interpolated between the responses of the table, which bad ones stretch."""
    y = np.repeat([0.1, 1e6], [990, 10])
    model = of_one_number(lambda m, v: -0.5 * (v - m) ** 2, lambda m, v: norm.cdf(v, m), y, 0.0)
    drawn = model.simulate(np.array([7.0]), np.random.default_rng(1))
    assert stats.kstest(drawn, "norm", (7.0, 1.0)).pvalue > 1e-6
    assert stats.kstest(drawn, "norm", (6.5, 1.0)).pvalue < 1e-6  # negative control

    counts = of_one_number(geometric_mass, geometric_ends, y.round(), HALF)
    drawn = counts.simulate(np.array([HALF]), np.random.default_rng(1))
    seen, expected = np.bincount(drawn.astype(int), minlength=5)[:5], 1000 * 0.5 ** np.arange(1.0, 6.0)
    assert (drawn == drawn.round()).all()
    assert (np.abs(seen - expected) < 5.0 * np.sqrt(expected)).all()


def test_numbers_in_nested_data_are_looked_at_for_wrong_cells():
    rng = np.random.default_rng(2)
    length, y, code = rng.normal(5.0, 0.1, 300), rng.normal(size=300), np.arange(300)
    length[:9] *= 1000.0

    def model(data):
        return robula.from_jax(
            lambda m, row: norm.logpdf(row["y"], m, 1.0),
            data,
            log_prior=robula.NormalPrior(0.0, 1.0),
            init=0.0,
            cdf=lambda m, row: norm.cdf(row["y"], m, 1.0),
        )

    nested = model({"y": y, "columns": {"length": length, "code": code}})
    np.testing.assert_array_equal(nested.cells, length[:, None])
    assert robula.trust(nested, 0.1).weights[:9].max() < 0.01
    # Negative control: whole numbers are codes, and the response is none of the columns.
    assert model({"y": y, "columns": {"code": code}}).cells.shape == (300, 0)
