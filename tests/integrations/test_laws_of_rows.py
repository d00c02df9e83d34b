"""The law of PPL models' rows: families against SciPy, wrappers against their own simulations, all ways alike.

False alarms: each Kolmogorov-Smirnov test fails a correct law with probability 1e-6; means are compared within five
Monte Carlo errors.
"""

from __future__ import annotations

import gc
import inspect
import weakref

import numpy as np
import pytest
from scipy import stats

import robula
from robula.diagnosis.prediction_errors import prediction_errors
from robula.integrations.row_families import FAMILIES
from robula.integrations.site_laws import _family_tails, _label_tails
from robula.models.law import ModelWithLaw

numpyro = pytest.importorskip("numpyro")
dist = pytest.importorskip("numpyro.distributions")
jax = pytest.importorskip("jax")

RNG = np.random.default_rng(3)
N = 120
X = RNG.standard_normal((N, 2))
Y = X @ [1.0, -0.5] + 0.5 * RNG.standard_normal(N)
Y[:12] += 2.5
LEVEL = 1e-6


def line(X, y, noise=0.5):
    beta = numpyro.sample("beta", dist.Normal(0.0, 2.0).expand([2]).to_event(1))
    with numpyro.plate("rows", X.shape[0]):
        numpyro.sample("y", dist.Normal(X @ beta, noise), obs=y)


SCIPY = {
    "normal": ((0.3, 2.0), stats.norm(0.3, 2.0)),
    "student_t": ((3.0, 0.3, 2.0), stats.t(3.0, 0.3, 2.0)),
    "laplace": ((0.3, 2.0), stats.laplace(0.3, 2.0)),
    "logistic": ((0.3, 2.0), stats.logistic(0.3, 2.0)),
    "gumbel": ((0.3, 2.0), stats.gumbel_r(0.3, 2.0)),
    "gamma": ((2.5, 0.5), stats.gamma(2.5, scale=2.0)),
    "exponential": ((0.5,), stats.expon(scale=2.0)),
    "weibull": ((2.0, 1.5), stats.weibull_min(1.5, scale=2.0)),
    "beta": ((2.0, 3.0), stats.beta(2.0, 3.0)),
    "poisson": ((3.5,), stats.poisson(3.5)),
    "negative_binomial": ((3.5, 2.0), stats.nbinom(2.0, 2.0 / 5.5)),
    "binomial": ((9.0, 0.3), stats.binom(9, 0.3)),
    "beta_binomial": ((9.0, 2.0, 3.0), stats.betabinom(9, 2.0, 3.0)),
}


@pytest.mark.parametrize("name", list(FAMILIES))
def test_a_family_has_the_tails_of_scipy_and_its_own_mean(name):
    parameters, known = SCIPY[name]
    y = known.ppf(np.array([1e-9, 0.01, 0.3, 0.7, 0.99, 1 - 1e-9]))
    arrays = [np.full_like(y, value) for value in parameters]
    np.testing.assert_allclose(FAMILIES[name].log_cdf(y, *arrays), known.logcdf(y), rtol=1e-7, atol=1e-12)
    with np.errstate(divide="ignore"):
        expected = known.logsf(y)
    np.testing.assert_allclose(FAMILIES[name].log_sf(y, *arrays), expected, rtol=1e-5, atol=1e-12)
    if FAMILIES[name].discrete:
        assert FAMILIES[name].log_cdf(np.array([-1.0]), *(a[:1] for a in arrays))[0] == -np.inf
        assert FAMILIES[name].log_sf(np.array([-1.0]), *(a[:1] for a in arrays))[0] == 0.0
    if FAMILIES[name].location is None:
        from scipy import special

        assert FAMILIES[name].mean(np, special, *parameters) == pytest.approx(known.mean())


def wrapped():
    """Distributions in NumPyro's wrappers, of 4000 rows."""
    n = 4000
    loc = np.linspace(-1.0, 1.0, n)
    transforms = dist.transforms
    yield "expanded", dist.Normal(0.0, 2.0).expand([n])
    yield "lognormal", dist.LogNormal(loc, 0.5)
    yield "affine", dist.TransformedDistribution(dist.StudentT(4.0), transforms.AffineTransform(loc, 2.0))
    yield "falling", dist.InverseGamma(3.0 + loc, 2.0)
    yield "mirrored", dist.TransformedDistribution(dist.Gumbel(0.0, 1.0), transforms.AffineTransform(loc, -0.5))
    above = dist.TruncatedDistribution(dist.Laplace(0.5, 1.0), low=0.0)
    yield "mirrored-truncated", dist.TransformedDistribution(above, transforms.AffineTransform(loc, -2.0))
    yield "truncated", dist.TruncatedNormal(loc, 1.0, low=-0.5, high=1.5)
    yield "left-truncated", dist.TruncatedDistribution(dist.Laplace(loc, 1.0), low=0.0)
    yield "inflated", dist.ZeroInflatedPoisson(0.3, np.exp(loc))
    yield "counts", dist.NegativeBinomial2(np.exp(loc), 2.0)
    yield "labels", dist.Bernoulli(logits=loc)
    yield "classes", dist.OrderedLogistic(loc, np.array([-1.0, 0.5]))


@pytest.mark.parametrize(
    ("name", "distribution"), list(wrapped()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_transforms_of_its_own_draws_are_uniform(name, distribution):
    from robula.integrations.numpyro_laws import describe_distribution

    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        y = distribution.sample(jax.random.PRNGKey(1))
        family, arrays = describe_distribution(jax, distribution, y)
        values = {key: np.asarray(array, dtype=float) for key, array in arrays.items()}
    tails = _label_tails(values) if family == "labels" else _family_tails(family, values)
    lower, upper = np.exp(tails.below), np.exp(tails.up_to)
    np.testing.assert_allclose(lower, -np.expm1(tails.from_here), atol=1e-6)
    np.testing.assert_allclose(upper, -np.expm1(tails.above), atol=1e-6)
    uniform = lower + RNG.uniform(size=len(lower)) * (upper - lower)
    assert stats.kstest(uniform, "uniform").pvalue > LEVEL
    # Negative control: the same responses under a law of twice the spread, or of other labels.
    if family == "normal":
        wrong = _family_tails(family, {**values, "1": 2.0 * values["1"]})
        assert stats.kstest(np.exp(wrong.up_to), "uniform").pvalue < LEVEL


def test_a_mirrored_law_tells_of_theta_what_its_mirror_image_does():
    """A Weibull survival model on the log scale: the response's negative follows a Gumbel law."""

    def model(x, y):
        t = numpyro.sample("t", dist.Normal(0.0, 1.0))
        affine = dist.transforms.AffineTransform(t * x, -0.5)
        numpyro.sample("y", dist.TransformedDistribution(dist.Gumbel(0.0, 1.0), affine), obs=y)

    x, theta = X[:, 0], np.array([0.3])
    mirrored = robula.from_numpyro(model, x, Y)
    expected = -stats.norm.ppf(stats.gumbel_r(-0.3 * x, 0.5).cdf(-Y))
    near = np.abs(expected) < 8.0  # SciPy's cdf is 0 or 1 further out
    np.testing.assert_allclose(mirrored.scores(theta)[0][near], expected[near], rtol=1e-4)
    np.testing.assert_allclose(mirrored.features(theta)[:, 0], x / 0.5, rtol=1e-6)
    np.testing.assert_allclose(mirrored.fitted(theta), 0.3 * x, rtol=1e-6)


def test_censored_rows_are_an_interval():
    from robula.integrations.numpyro_laws import describe_distribution

    y, censored = np.array([0.5, 2.0]), np.array([False, True])
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        law = dist.RightCensoredDistribution(dist.Weibull(np.ones(2), 1.5), censored)
        found = describe_distribution(jax, law, y)
        values = {key: np.asarray(array, dtype=float) for key, array in found.arrays.items()}
    lower, upper = _family_tails(found.family, values).scores
    expected = stats.norm.ppf(stats.weibull_min(1.5).cdf(y))
    np.testing.assert_allclose(lower, expected, rtol=1e-5)
    np.testing.assert_allclose(upper, [expected[0], np.inf], rtol=1e-5)


def jax_line():
    import jax.numpy as jnp

    def log_likelihood(beta, row):
        return -0.5 * ((row["y"] - row["x"] @ beta) / 0.5) ** 2 - jnp.log(0.5 * jnp.sqrt(2 * jnp.pi))

    def cdf(beta, row):
        return jax.scipy.stats.norm.cdf(row["y"], row["x"] @ beta, 0.5)

    prior = robula.NormalPrior(0.0, 4.0)
    return robula.from_jax(log_likelihood, {"x": X, "y": Y}, log_prior=prior, init=np.zeros(2), cdf=cdf)


def pymc_line():
    pm = pytest.importorskip("pymc")
    with pm.Model(coords={"column": ["a", "b"]}) as model:
        x = pm.Data("x", X)
        beta = pm.Normal("beta", 0.0, 2.0, dims="column")
        pm.Normal("y", x @ beta, 0.5, observed=Y)
    return model


def bambi_line():
    bmb = pytest.importorskip("bambi")
    import pandas as pd

    prior = bmb.Prior("Normal", mu=0.0, sigma=2.0)
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": Y})
    model = bmb.Model("y ~ 0 + a + b", table, priors={"a": prior, "b": prior, "sigma": 0.5})
    model.build()
    return model.backend.model


WAYS = {
    "numpyro": lambda: robula.from_numpyro(line, X, Y),
    "pymc": lambda: robula.from_pymc(pymc_line()),
    "bambi": lambda: robula.from_pymc(bambi_line()),
    "from_jax": jax_line,
}


BUILT_IN = robula.LinearModel(X, Y, noise_scale=0.5, prior=robula.NormalPrior(0.0, 4.0))


@pytest.mark.parametrize("way", list(WAYS))
def test_the_same_linear_model_has_the_same_weights(way):
    model, expected = WAYS[way](), robula.trust(BUILT_IN, contamination=0.2)
    assert expected.share > 0.05  # else nothing is compared
    assert isinstance(model, ModelWithLaw)
    assert (model.noise, model.response_kind) == ("declared", "number")
    np.testing.assert_allclose(robula.trust(model, contamination=0.2).weights, expected.weights, atol=1e-6)
    if way == "numpyro":
        check_weighted_numpyro(model, expected.weights)
    if way == "from_jax":
        check_weighted_jax(model, expected.weights)


# Compiling a sampler takes longer than anything else here.
@pytest.mark.parametrize("way", ["pymc", *(pytest.param(way, marks=pytest.mark.slow) for way in WAYS if way != "pymc")])
def test_the_same_linear_model_has_the_same_posterior(way):
    model, expected = WAYS[way](), robula.trust(BUILT_IN, contamination=0.2)
    posterior = robula.sample(model, contamination=0.2, draws=400, burn_in=200, chains=2, seed=1, progress=False)
    assert "NUTS" in posterior.settings["kernel"]
    exact = BUILT_IN.gaussian_posterior(expected.weights)
    widths = np.sqrt(np.diag(exact.covariance))
    # 800 draws of NUTS are worth at least 200: five Monte Carlo errors.
    assert (np.abs(posterior.mean - exact.mean) < 5 * widths / np.sqrt(200)).all()
    assert (np.abs(np.sqrt(np.diag(posterior.covariance)) / widths - 1.0) < 5 / np.sqrt(2 * 200)).all()
    if way == "pymc":
        assert list(posterior.summary().index) == ["beta[a]", "beta[b]"]
        assert list(posterior.to_arviz().posterior["beta"].coords["column"].values) == ["a", "b"]
        check_weighted_pymc(model, expected.weights)


def check_weighted_numpyro(model, weights):
    """The NumPyro model itself, weighted, has the log density of the weighted posterior."""
    from numpyro.infer.util import log_density

    reweighed = robula.weighted(model, weights)
    beta = np.array([0.4, -0.2])
    value = float(log_density(reweighed, (X, Y), {}, {"beta": beta})[0])
    assert value == pytest.approx(weights @ model.log_likelihood(beta) + float(model.prior.log_density(beta)), rel=1e-4)


def check_weighted_pymc(model, weights):
    reweighed = robula.weighted(model, weights)
    beta = np.array([0.4, -0.2])
    value = float(reweighed.compile_logp()({"beta": beta}))
    assert value == pytest.approx(weights @ model.log_likelihood(beta) + float(model.prior.log_density(beta)), rel=1e-9)


def check_weighted_jax(model, weights):
    """In the precision of whoever calls it: JAX's own is single."""
    enable = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64
    beta = np.array([0.4, -0.2])
    density = robula.weighted(model, weights)
    expected = weights @ (model.log_likelihood(beta) - model.log_likelihood(0 * beta)) - 0.5 * (beta @ beta) / 4.0
    for double, rel in ((False, 1e-3), (True, 1e-9)):
        with enable(double):
            assert float(density(beta)) - float(density(0 * beta)) == pytest.approx(expected, rel=rel)


def test_a_second_data_set_of_the_same_shape_does_not_compile():
    from robula.integrations.numpyro_model import _KNOWN

    one, two = robula.from_numpyro(line, X, Y), robula.from_numpyro(line, X + 1.0, Y - 1.0)
    assert two._functions is one._functions
    theta = np.array([0.2, 0.1])
    assert one.log_likelihood(theta)[0] != two.log_likelihood(theta)[0]
    assert one._functions.rows._function._cache_size() == 1
    begin = next(reversed(_KNOWN.values()))[0]
    assert inspect.getclosurevars(begin).nonlocals["compiled"]._cache_size() == 1
    np.testing.assert_allclose(two.scores(theta)[0], (Y - 1.0 - (X + 1.0) @ theta) / 0.5)


PRIOR_SCALE = 1.0


def reads_a_global(X, y):
    beta = numpyro.sample("beta", dist.Normal(0.0, PRIOR_SCALE).expand([2]).to_event(1))
    with numpyro.plate("rows", X.shape[0]):
        numpyro.sample("y", dist.Normal(X @ beta, 0.5), obs=y)


def test_what_was_compiled_with_another_global_is_not_used_again(monkeypatch):
    """In a notebook a changed prior scale went unnoticed."""
    for scale in (1.0, 10.0):
        monkeypatch.setitem(globals(), "PRIOR_SCALE", scale)
        model = robula.from_numpyro(reads_a_global, X, Y)
        np.testing.assert_allclose(model.prior.precision(np.zeros(2)), np.eye(2) / scale**2, atol=1e-12)


def test_a_number_that_was_set_and_a_potential_added_later_count():
    """PyMC models are found by what they hold: a prior scale in pm.Data kept its first value."""
    pm = pytest.importorskip("pymc")
    from robula.integrations.pymc_model import _Graph

    with pm.Model() as model:
        scale, offset, power = pm.Data("scale", 1.0), pm.Data("offset", 0.0), pm.Data("power", np.array(1))
        slope = pm.Normal("slope", 0.0, scale)
        pm.Normal("y", offset + slope**power * X[:, 0], 0.5, observed=Y)

    def found(slope):
        built, theta = robula.from_pymc(model), np.array([slope])
        return built, built.prior.precision(theta)[0, 0], built.scores(theta)[0]

    first = found(0.5)[0]
    with model:
        pm.set_data({"scale": 0.1, "offset": 1.0})
    other, precision, scores = found(0.5)
    assert precision == pytest.approx(100.0)
    np.testing.assert_allclose(scores, (Y - 1.0 - 0.5 * X[:, 0]) / 0.5)
    assert other._functions is first._functions
    # A whole number may be a length, which JAX cannot trace: a constant, but one that tells models apart.
    assert _Graph(pm, model).numbers == (1,)
    with model:
        pm.Potential("tight", -200.0 * slope**2)
    assert found(0.5)[1] == pytest.approx(500.0)


def test_compiled_functions_do_not_keep_the_data_alive():
    data = X.copy()
    gone = weakref.ref(data)
    model = robula.from_numpyro(line, data, Y)
    assert model.dim == 2
    del model, data
    gc.collect()
    assert gone() is None


def test_a_model_that_cannot_be_traced_has_its_data_as_constants():
    def grouped(group, y):
        count = int(np.asarray(group).max()) + 1
        effect = numpyro.sample("effect", dist.Normal(0.0, 1.0).expand([count]).to_event(1))
        numpyro.sample("y", dist.Normal(effect[group], 1.0), obs=y)

    model = robula.from_numpyro(grouped, np.arange(N) % 3, Y)
    assert model.dim == 3
    np.testing.assert_allclose(model.scores(np.zeros(3))[0], Y)


def test_an_estimated_scale_and_a_share_that_is_estimated():
    """The scale's column of the features is sqrt(2), as in LinearModel, and so are weights and share."""
    linear = robula.LinearModel(X, Y, noise_scale="estimate", prior=robula.NormalPrior(0.0, 4.0))

    def unknown(X, y):
        beta = numpyro.sample("beta", dist.Normal(0.0, 2.0).expand([2]).to_event(1))
        sigma = numpyro.sample("sigma", dist.LogNormal(linear.initial[-1], 2.0))
        with numpyro.plate("rows", X.shape[0]):
            numpyro.sample("y", dist.Normal(X @ beta, sigma), obs=y)

    model = robula.from_numpyro(unknown, X, Y)
    theta = np.array([0.5, 0.2, -0.3])
    assert model.noise == "estimated"
    np.testing.assert_allclose(model.features(theta), linear.features(theta), rtol=1e-9)
    np.testing.assert_allclose(model.information(theta), linear.information(theta), rtol=1e-9, atol=1e-9)
    ours, theirs = robula.trust(model, "estimate"), robula.trust(linear, "estimate")
    np.testing.assert_allclose(ours.weights, theirs.weights, atol=1e-6)
    assert ours.share == pytest.approx(theirs.share, abs=1e-6)


SEEN = np.arange(N) % 3 > 0


@pytest.mark.parametrize("filler", [-99.0, np.nan])
def test_rows_behind_a_mask_are_judged_by_nothing(filler):
    """Normal responses: what is hidden was said to be copies of one another."""

    def level(y, seen):
        t, s = numpyro.sample("t", dist.Normal(0.0, 5.0)), numpyro.sample("s", dist.HalfNormal(2.0))
        with numpyro.plate("rows", y.shape[0]), numpyro.handlers.mask(mask=seen):
            numpyro.sample("y", dist.Normal(t, s), obs=y)

    y = np.where(SEEN, Y[RNG.permutation(N)], filler)
    y[1] = 60.0
    model = robula.from_numpyro(level, y, SEEN)
    np.testing.assert_array_equal(model.hidden, ~SEEN)
    found = robula.trust(model, 0.1)
    assert not len(found.copied)
    assert found.weights[1] < 0.01
    assert (found.weights[~SEEN] == 1.0).all()
    errors = prediction_errors(model, found.theta)
    assert errors[1] > 10.0
    assert not errors[~SEEN].any()
    np.testing.assert_array_equal(found.theta, robula.trust(model.take(np.flatnonzero(SEEN)), 0.1).theta)


def test_labels_and_vectors_behind_a_mask_are_judged_by_nothing():
    """Without a family under the mask they went by simulation, fillers and all."""

    def both(x, labels, pairs, seen):
        t = numpyro.sample("t", dist.Normal(0.0, 1.0))
        with numpyro.plate("rows", x.shape[0]), numpyro.handlers.mask(mask=seen):
            numpyro.sample("label", dist.Bernoulli(logits=t * x), obs=labels)
            numpyro.sample("pair", dist.MultivariateNormal(t * np.ones(2), np.eye(2)), obs=pairs)

    pairs = np.where(SEEN[:, None], RNG.standard_normal((N, 2)), -99.0)
    model = robula.from_numpyro(both, X[:, 0], np.zeros(N, dtype=int), pairs, SEEN)
    assert model.law_source == "2 labels; multivariate normal"
    np.testing.assert_allclose(model.whitened(np.zeros(1))[SEEN, 1:], pairs[SEEN])
    assert not model.whitened(np.zeros(1))[~SEEN].any()
    assert not model.features(np.zeros(1))[~SEEN].any()
    np.testing.assert_array_equal(model.hidden, ~SEEN)


def test_censoring_by_two_masked_sites_is_censoring():
    """Every row is at one of the sites: judged as vectors, clean rows were far off."""
    import jax.numpy as jnp

    def survival(t, censored):
        scale = jnp.exp(numpyro.sample("a", dist.Normal(0.0, 3.0)))
        with numpyro.plate("rows", t.shape[0]):
            with numpyro.handlers.mask(mask=~censored):
                numpyro.sample("seen", dist.Weibull(scale, 1.5), obs=t)
            with numpyro.handlers.mask(mask=censored):
                numpyro.sample("later", dist.Bernoulli(jnp.exp(-((t / scale) ** 1.5))), obs=jnp.ones(N))

    t = 2.0 * RNG.weibull(1.5, N)
    model = robula.from_numpyro(survival, np.where(SEEN, t, 0.5 * t), ~SEEN)
    assert (model.response_kind, model.response) == ("number", None)
    lower, upper = model.scores(np.log([2.0]))
    expected = stats.norm.ppf(stats.weibull_min(1.5, scale=2.0).cdf(np.where(SEEN, t, 0.5 * t)))
    np.testing.assert_allclose(lower, expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(upper, np.where(SEEN, expected, np.inf), rtol=1e-6, atol=1e-9)
    simulated = model.simulate(np.log([2.0]), np.random.default_rng(0))
    assert simulated.shape == (N,)
    np.testing.assert_array_equal(model.with_response(simulated).observed_data["seen"], simulated)
    assert robula.trust(model, 0.1).share < 0.02


def test_a_vector_of_which_a_mask_hides_a_part_is_refused():
    def pairs(y, seen):
        t = numpyro.sample("t", dist.Normal(0.0, 1.0))
        with numpyro.plate("rows", y.shape[0]):
            numpyro.sample("y", dist.Normal(t, 1.0).expand([N, 2]).mask(seen).to_event(1), obs=y)

    seen = np.ones((N, 2), dtype=bool)
    seen[0] = False
    model = robula.from_numpyro(pairs, X, seen)
    assert model.hidden.sum() == 1
    seen[3, 1] = False
    with pytest.raises(robula.exceptions.InputError, match="a mask hides some numbers of a row"):
        robula.trust(robula.from_numpyro(pairs, X, seen), 0.1)


def test_several_observed_sites_of_the_same_rows_are_one_vector():
    def two(x, a, b):
        t = numpyro.sample("t", dist.Normal(0.0, 1.0))
        with numpyro.plate("rows", x.shape[0]):
            numpyro.sample("a", dist.Normal(t * x, 1.0), obs=a)
            numpyro.sample("b", dist.Poisson(np.ones(N)), obs=b)

    model = robula.from_numpyro(two, X[:, 0], Y, np.ones(N, dtype=int))
    assert model.response_kind == "vector"
    whitened = model.whitened(np.array([0.4]))
    assert whitened.shape == (N, 2)
    np.testing.assert_allclose(whitened[:, 0], Y - 0.4 * X[:, 0])
    assert model.features(np.array([0.4])).shape == (N, 2, 1)
    simulated = model.simulate(np.array([0.4]), np.random.default_rng(0))
    assert simulated.shape == (N, 2)
    np.testing.assert_allclose(model.with_response(simulated).whitened(np.array([0.0]))[:, 0], simulated[:, 0])


def test_a_distribution_without_a_cdf_is_simulated_and_says_so():
    def angles(x, y):
        t = numpyro.sample("t", dist.Normal(0.0, 1.0))
        with numpyro.plate("rows", x.shape[0]):
            numpyro.sample("y", dist.VonMises(t * x, 100.0), obs=y)

    y = np.clip(0.1 * RNG.standard_normal(N), -3, 3)
    model = robula.from_numpyro(angles, 0.1 * X[:, 0], y)
    lower, upper = model.pit(np.zeros(1))
    assert "VonMises" in model.law_source
    assert (lower <= upper).all()
    # VonMises(0, 100) is nearly N(0, 0.1^2); 400 draws and the features' own noise.
    assert np.abs(0.5 * (lower + upper) - stats.norm.cdf(10 * y)).max() < 0.15
    slope = np.polyfit(x := X[:, 0], model.features(np.zeros(1))[:, 0], 1)[0]
    assert slope == pytest.approx(1.0, abs=0.15), x[:2]


@pytest.mark.filterwarnings("ignore:Out-of-support values")  # NumPyro's own, before our refusal
def test_missing_responses_are_named_by_row():
    y = Y.copy()
    y[[4, 9]] = np.nan
    with pytest.raises(robula.exceptions.InputError, match=r"'y' has missing .* 2 row\(s\), first \[4, 9\]"):
        robula.from_numpyro(line, X, y)
    pm = pytest.importorskip("pymc")
    with pm.Model() as model:
        data = pm.Data("data", Y)
        pm.Normal("y", pm.Normal("t", 0.0, 1.0), 1.0, observed=data)
    data.set_value(y)
    with pytest.raises(robula.exceptions.InputError, match=r"'y' has missing .* first \[4, 9\]"):
        robula.from_pymc(model)


def test_a_random_walk_with_an_innovation_for_every_row_is_refused():
    import jax.numpy as jnp

    def walk(y):
        step = numpyro.sample("step", dist.Normal(0.0, 1.0).expand([N]).to_event(1))
        numpyro.sample("y", dist.Normal(jnp.cumsum(step), 1.0), obs=y)

    with pytest.raises(robula.exceptions.InputError, match="of its own for every row, 'step'"):
        robula.from_numpyro(walk, Y)


@pytest.mark.filterwarnings("ignore:PyTensor could not link")
def test_a_cholesky_factor_of_pymc_and_a_hierarchical_mode():
    """LKJCholeskyCov loads, and hyperparameters do not run away to where the joint density is infinite."""
    pm = pytest.importorskip("pymc")
    group = np.arange(N) % 6
    with pm.Model(coords={"group": list("abcdef"), "term": ["one", "two"]}) as model:
        factor, _, _ = pm.LKJCholeskyCov("factor", n=2, eta=2.0, sd_dist=pm.Exponential.dist(1.0), compute_corr=True)
        effect = pm.MvNormal("effect", mu=np.zeros(2), chol=factor, dims=("group", "term"))
        sigma = pm.HalfNormal("sigma", 1.0)
        pm.Normal("y", (effect[group] * X).sum(axis=1), sigma, observed=Y)
    built = robula.from_pymc(model)
    assert built.hyperparameters.sum() == 3
    assert built.noise == "estimated"
    theta = robula.models.posterior_mode.weighted_mode(built, np.ones(N), built.initial)
    assert np.isfinite(theta).all()
    assert np.abs(theta).max() < 10.0
