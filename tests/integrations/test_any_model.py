"""What went wrong with models of users' own before their rows had a law: one test for each, on few compiled models.

Tolerances: R-hat of four chains of 300 draws stays below 1.04 for independent ones (beyond its 1 - 1e-6 quantile); row
weights are compared with those of the built-in models to 1e-6.
"""

from __future__ import annotations

import numpy as np
import pytest

import robula
from robula.models.precision import inverse_factor, width_factor
from robula.result.convergence import convergence

numpyro = pytest.importorskip("numpyro")
dist = pytest.importorskip("numpyro.distributions")

N, GROUPS = 120, 6
GROUP = np.arange(N) % GROUPS
BAD = np.arange(N) >= N - 12
OPTIONS = dict(draws=300, burn_in=300, chains=4, seed=1, progress=False)


def groups(group, y):
    centre = numpyro.sample("centre", dist.Normal(0.0, 2.0))
    tau = numpyro.sample("tau", dist.HalfNormal(1.0))
    sigma = numpyro.sample("sigma", dist.HalfNormal(2.0))
    effect = numpyro.sample("effect", dist.Normal(centre, tau).expand([GROUPS]).to_event(1))
    with numpyro.plate("rows", y.shape[0]):
        numpyro.sample("y", dist.Normal(effect[group], sigma), obs=y)


def grouped_rows(effect: float, away: float) -> np.ndarray:
    """Responses (n,) of groups whose means differ by ``effect``, the last rows ``away`` standard deviations off."""
    rng = np.random.default_rng(5)
    y = effect * rng.standard_normal(GROUPS)[GROUP] + 0.7 * rng.standard_normal(N)
    y[BAD] += 0.7 * away * rng.choice([-1.0, 1.0], BAD.sum())
    return y


def test_a_hierarchical_model_converges_without_its_bad_rows():
    """R-hat was 3 without a word; now bad rows go, good ones stay, and chains of NUTS agree."""
    posterior = robula.sample(robula.from_numpyro(groups, GROUP, grouped_rows(0.8, 15.0)), contamination=0.2, **OPTIONS)
    assert "NUTS" in posterior.settings["kernel"]
    assert convergence(posterior.draws).r_hat < 1.04
    assert posterior.row_weights[BAD].max() < 0.01
    assert posterior.row_weights[~BAD].mean() > 0.95
    assert sorted(posterior.variables) == ["centre", "effect", "sigma", "tau"]


def test_clean_rows_of_a_hierarchical_model_are_kept():
    """The fallback always removed twice the contamination."""
    found = robula.trust(robula.from_numpyro(groups, GROUP, grouped_rows(0.8, 0.0)), contamination=0.1)
    assert found.weights.min() > 0.9


def test_widths_where_a_density_is_not_concave():
    """NUTS on all rows of a hierarchical model died before its first step: the precision has a negative eigenvalue."""
    axes = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    factor = width_factor((axes * [-2.0, 1e-9, 50.0]) @ axes.T)
    np.testing.assert_allclose(factor @ factor.T, (axes / [2.0, 0.05, 50.0]) @ axes.T, atol=1e-9)
    definite = (axes * [2.0, 1.0, 50.0]) @ axes.T
    np.testing.assert_array_equal(width_factor(definite), inverse_factor(definite))


def test_a_share_that_is_to_be_estimated():
    """It was refused, with the advice to use the selector that was in use."""
    model = robula.from_numpyro(groups, GROUP, grouped_rows(0.8, 15.0))
    posterior = robula.sample(model, contamination="estimate", **{**OPTIONS, "draws": 50})
    assert abs(float((1.0 - posterior.row_weights).mean()) - BAD.mean()) < 0.05


def test_weights_count_rows_and_neither_priors_nor_jacobians():
    """A model in which no row counts is its prior, in unconstrained space."""
    import jax
    from numpyro.infer.util import potential_energy

    y = grouped_rows(0.8, 0.0)
    model = robula.from_numpyro(groups, GROUP, y)
    theta = 0.3 * np.cos(np.arange(model.dim))
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        values = {
            name.removesuffix("_unconstrained__"): value for name, value in model._functions.unravel(theta).items()
        }
        energy = float(potential_energy(robula.weighted(model, np.zeros(N)), (GROUP, y), {}, values))
    assert -energy == pytest.approx(float(model.prior.log_density(theta)), rel=1e-9)


@pytest.mark.parametrize(
    ("distribution", "noise"),
    [
        (lambda t: dist.NegativeBinomial2(2.0 + t**2, numpyro.sample("size", dist.Gamma(2.0, 1.0))), "estimated"),
        (lambda t: dist.Poisson(2.0 + t**2), "implied"),
        (lambda t: dist.Normal(t, 1.0), "declared"),
    ],
    ids=["negative binomial", "Poisson", "normal"],
)
def test_who_says_how_far_rows_spread(distribution, noise):
    """A dispersion in theta is an estimated scale, also where responses are counts: bad rows must not hide in it."""

    def model(y):
        law = distribution(numpyro.sample("t", dist.Normal(0.0, 1.0)))
        with numpyro.plate("rows", N):
            numpyro.sample("y", law, obs=y)

    assert robula.from_numpyro(model, np.arange(N) % 5).noise == noise


def test_labels_are_judged_by_flips_as_in_the_built_in_model():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((N, 2))
    y = (rng.uniform(size=N) < 1.0 / (1.0 + np.exp(-3.0 * X[:, 0]))).astype(int)
    y[BAD] = 1 - y[BAD]

    def labels(X, y):
        beta = numpyro.sample("beta", dist.Normal(0.0, 2.0).expand([2]).to_event(1))
        with numpyro.plate("rows", X.shape[0]):
            numpyro.sample("y", dist.Bernoulli(logits=X @ beta), obs=y)

    ours = robula.trust(robula.from_numpyro(labels, X, y), contamination=0.2)
    theirs = robula.trust(robula.LogisticModel(X, y, prior=robula.NormalPrior(0.0, 4.0)), contamination=0.2)
    np.testing.assert_allclose(ours.weights, theirs.weights, atol=1e-6)
    assert ours.weights[BAD].mean() < ours.weights[~BAD].mean()


def test_vectors_have_rosenblatt_scores():
    rng = np.random.default_rng(2)
    factor = np.array([[1.0, 0.0], [0.8, 0.6]])
    y = rng.standard_normal((N, 2)) @ factor.T

    def vectors(y):
        mean = numpyro.sample("mean", dist.Normal(0.0, 2.0).expand([2]).to_event(1))
        with numpyro.plate("rows", y.shape[0]):
            numpyro.sample("y", dist.MultivariateNormal(mean, scale_tril=factor), obs=y)

    model = robula.from_numpyro(vectors, y)
    mean = np.array([0.2, -0.1])
    assert model.response_kind == "vector"
    np.testing.assert_allclose(model.whitened(mean), np.linalg.solve(factor, (y - mean).T).T, atol=1e-9)
