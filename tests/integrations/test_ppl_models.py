"""NumPyro and PyMC models: the same numbers as the built-in model, constrained space, refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robula

numpyro = pytest.importorskip("numpyro")
dist = pytest.importorskip("numpyro.distributions")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((120, 2))
Y = X @ [1.0, -0.5] + 0.5 * RNG.standard_normal(120)


@pytest.fixture(scope="module")
def pm():
    return pytest.importorskip("pymc")


def line(X, y, noise=0.5):
    beta = numpyro.sample("beta", dist.Normal(0.0, 2.0).expand([X.shape[1]]).to_event(1))
    with numpyro.plate("rows", len(y)):
        numpyro.sample("y", dist.Normal(X @ beta, noise), obs=y)


def line_with_scale(X, y):
    beta = numpyro.sample("beta", dist.Normal(0.0, 2.0).expand([X.shape[1]]).to_event(1))
    noise = numpyro.sample("noise", dist.HalfNormal(2.0))
    fitted = numpyro.deterministic("fitted", X @ beta)
    numpyro.deterministic("precision", noise**-2)
    with numpyro.plate("rows", len(y)):
        numpyro.sample("y", dist.Normal(fitted, noise), obs=y)


def pymc_line(pm, noise=0.5):
    with pm.Model() as model:
        beta = pm.Normal("beta", 0.0, 2.0, shape=2)
        pm.Normal("y", X @ beta, noise, observed=Y)
    return model


def pymc_line_with_scale(pm, X=X, Y=Y):
    with pm.Model() as model:
        beta = pm.Normal("beta", 0.0, 2.0, shape=2)
        noise = pm.HalfNormal("noise", 2.0)
        fitted = pm.Deterministic("fitted", X @ beta)
        pm.Deterministic("precision", noise**-2)
        pm.Normal("y", fitted, noise, observed=Y)
    return model


def assert_same_model(ours: robula.models.Model, theirs: robula.models.Model) -> None:
    """The same log-likelihoods, gradients and curvature at a point, and the same prior gradient."""
    theta, weights = np.array([0.3, -0.7]), RNG.uniform(size=ours.n_rows)
    for method in ("log_likelihood", "gradients"):
        np.testing.assert_allclose(getattr(theirs, method)(theta), getattr(ours, method)(theta), atol=1e-9)
    for method in ("weighted_gradient", "curvature"):
        args = (theta, weights)
        np.testing.assert_allclose(getattr(theirs, method)(*args), getattr(ours, method)(*args), atol=1e-8)
    np.testing.assert_allclose(theirs.prior.gradient(theta), ours.prior.gradient(theta), atol=1e-9)
    np.testing.assert_allclose(theirs.prior.precision(theta), ours.prior.precision(theta), atol=1e-9)


BUILT_IN = robula.LinearModel(X, Y, noise_scale=0.5, prior=robula.NormalPrior(0.0, 4.0))


def test_numpyro_model_is_the_built_in_one():
    model = robula.from_numpyro(line, X, y=Y)
    assert model.parameter_names == ("beta[0]", "beta[1]")
    assert_same_model(BUILT_IN, model)


def test_pymc_model_is_the_built_in_one(pm):
    model = robula.from_pymc(pymc_line(pm))
    assert model.parameter_names == ("beta[0]", "beta[1]")
    assert_same_model(BUILT_IN, model)


def test_five_ways_to_the_same_posterior(pm):
    """LinearModel, the scikit-learn class, NumPyro, PyMC and from_jax: the same draws from the same seed."""
    from robula.sklearn import RobustBayesianRegressor

    def log_likelihood(beta, row):
        return -0.5 * ((row[2] - row[:2] @ beta) / 0.5) ** 2

    prior = robula.NormalPrior(0.0, 4.0)
    models = {
        "from_jax": robula.from_jax(log_likelihood, np.column_stack([X, Y]), log_prior=prior, init=np.zeros(2)),
        "numpyro": robula.from_numpyro(line, X, y=Y),
        "pymc": robula.from_pymc(pymc_line(pm)),
    }
    # A rule that looks at gradients alone: a model-aware one may know more about a LinearModel than about a stranger.
    options = dict(contamination=0.1, selector="recursive", kernel="ula", draws=50, burn_in=20, chains=2, seed=3)
    step = {"step_size": 1e-3, "start": np.zeros(2), "refresh_every": 1}
    expected = robula.sample(BUILT_IN, **options, **step)
    for name, model in models.items():
        posterior = robula.sample(model, **options, **step)
        np.testing.assert_allclose(posterior.draws, expected.draws, atol=1e-7, err_msg=name)
    # The estimator has neither step_size nor start: compare with their defaults.
    reference = robula.sample(BUILT_IN, **options)
    seed = options.pop("seed")
    estimator = RobustBayesianRegressor(
        noise_scale=0.5, prior=prior, fit_intercept=False, standardize=False, random_state=seed, **options
    ).fit(X, Y)
    np.testing.assert_allclose(estimator.posterior_.draws, reference.draws, atol=1e-9)


@pytest.mark.parametrize("language", ["numpyro", "pymc"])
def test_scale_parameters_come_back_positive_under_their_names(language, pm):
    model = (
        robula.from_numpyro(line_with_scale, X, Y)
        if language == "numpyro"
        else robula.from_pymc(pymc_line_with_scale(pm))
    )
    posterior = robula.sample(
        model, contamination=0.0, selector="mean", kernel="preconditioned_lm", draws=400, chains=2
    )
    # As long as the data, "fitted" is left out.
    assert sorted(posterior.variables) == ["beta", "noise", "precision"]
    noise = posterior.variables["noise"]
    assert noise.shape == (2, 400)
    assert (noise > 0).all()
    assert abs(noise.mean() - 0.5) < 0.1
    np.testing.assert_allclose(posterior.variables["precision"], noise**-2)
    np.testing.assert_allclose(np.log(noise), posterior.draws[..., 2], atol=1e-12)
    assert posterior.parameter_names[2] != "noise"
    stuck = posterior.draws.copy()
    stuck[..., 2] = 0.0
    assert "on parameter 'noise' (R-hat" in robula.diagnose(replace(posterior, draws=stuck)).text
    assert list(posterior.summary().index) == ["beta[0]", "beta[1]", "noise", "precision"]


@pytest.mark.parametrize("language", ["numpyro", "pymc"])
def test_the_jacobian_is_in_the_prior(language, pm):
    """HalfNormal(2) of noise = exp(u) has log density -exp(2u)/8 + u in u: gradient 1 - exp(2u)/4."""
    model = (
        robula.from_numpyro(line_with_scale, X, Y)
        if language == "numpyro"
        else robula.from_pymc(pymc_line_with_scale(pm))
    )
    theta = np.array([0.0, 0.0, 0.3])
    assert model.prior.gradient(theta)[2] == pytest.approx(1.0 - np.exp(0.6) / 4.0, abs=1e-9)


def test_some_of_the_rows():
    model, rows = robula.from_numpyro(line, X, y=Y), np.array([3, 50, 7])
    part, theta = model.take(rows), np.array([0.3, -0.7])
    np.testing.assert_allclose(part.gradients(theta), model.gradients(theta)[rows])
    np.testing.assert_allclose(part.curvature(theta, np.ones(3)), X[rows].T @ X[rows] / 0.25)
    np.testing.assert_array_equal(part.observed_data["y"], Y[rows])
    assert (part.n_rows, model.n_rows) == (3, 120)


def test_a_likelihood_with_a_reverse_rule_only():
    import jax

    @jax.custom_vjp
    def square(x):
        return x**2

    square.defvjp(lambda x: (x**2, x), lambda x, g: (2 * x * g,))

    def model(y):
        t = numpyro.sample("t", dist.Normal(0.0, 1.0))
        numpyro.sample("y", dist.Normal(square(t), 1.0), obs=y)

    built = robula.from_numpyro(model, Y)
    np.testing.assert_allclose(built.gradients(np.array([0.5]))[:, 0], (Y - 0.25) * 1.0)


def test_rows_without_a_plate_and_two_observed_sites_and_a_factor():
    def model(x, a, b):
        t = numpyro.sample("t", dist.Normal(0.0, 1.0))
        numpyro.factor("penalty", -(t**2))
        numpyro.sample("a", dist.Normal(t * x, 1.0), obs=a)
        numpyro.sample("b", dist.Normal(t, 1.0), obs=b)

    built = robula.from_numpyro(model, X[:, 0], Y, 2 * Y)
    theta = np.array([0.4])
    expected = X[:, 0] * (Y - 0.4 * X[:, 0]) + (2 * Y - 0.4)
    np.testing.assert_allclose(built.gradients(theta)[:, 0], expected, atol=1e-9)
    assert built.prior.gradient(theta)[0] == pytest.approx(-0.4 - 0.8)


def test_a_factor_of_the_rows_is_a_likelihood_without_a_law():
    """A custom likelihood written as numpyro.factor in the plate: sampling ended in a traceback of NumPy."""

    def custom(X, y):
        beta = numpyro.sample("beta", dist.Normal(0.0, 2.0).expand([2]).to_event(1))
        with numpyro.plate("rows", len(y)):
            numpyro.factor("likelihood", dist.Normal(X @ beta, 0.5).log_prob(y))

    model, theta = robula.from_numpyro(custom, X, Y), np.array([0.3, -0.7])
    np.testing.assert_allclose(model.gradients(theta), BUILT_IN.gradients(theta), atol=1e-9)
    with pytest.raises(robula.exceptions.InputError, match="to the rows as an observed site"):
        robula.trust(model, 0.1)
    with pytest.warns(robula.exceptions.BreakdownWarning, match="cdf= or simulate= to from_jax"):
        posterior = robula.sample(model, contamination=0.1, draws=10, burn_in=5, chains=2, progress=False)
    assert posterior.draws.shape == (2, 10, 2)


def test_pymc_sums_what_belongs_to_a_row(pm):
    with pm.Model() as model:
        t = pm.Normal("t", 0.0, 1.0)
        pm.Potential("penalty", -(t**2))
        pm.Normal("y", t, 1.0, observed=X)
    built = robula.from_pymc(model)
    assert built.n_rows == 120
    np.testing.assert_allclose(built.gradients(np.array([0.4]))[:, 0], (X - 0.4).sum(axis=1), atol=1e-9)
    assert built.prior.gradient(np.array([0.4]))[0] == pytest.approx(-1.2)


def _local_plate(y):
    with numpyro.plate("rows", len(y)):
        z = numpyro.sample("z", dist.Normal(0.0, 1.0))
        numpyro.sample("y", dist.Normal(z, 1.0), obs=y)


def _local_vector(y):
    z = numpyro.sample("z", dist.Normal(0.0, 1.0).expand([len(y)]).to_event(1))
    numpyro.sample("y", dist.Normal(z, 1.0), obs=y)


def _discrete(y):
    k = numpyro.sample("k", dist.Bernoulli(0.5))
    numpyro.sample("y", dist.Normal(k, 1.0), obs=y)


def _subsampled(y):
    t = numpyro.sample("t", dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", len(y), subsample_size=10) as index:
        numpyro.sample("y", dist.Normal(t, 1.0), obs=y[index])


def _nested(y):
    t = numpyro.sample("t", dist.Normal(0.0, 1.0))
    with numpyro.plate("outer", 12, dim=-2), numpyro.plate("inner", 10):
        numpyro.sample("y", dist.Normal(t, 1.0), obs=y.reshape(12, 10))


def _param(y):
    t = numpyro.param("t", 0.0)
    numpyro.sample("y", dist.Normal(t, 1.0), obs=y)


def _unobserved(y):
    numpyro.sample("t", dist.Normal(0.0, 1.0))


def _one_vector(y):
    t = numpyro.sample("t", dist.Normal(0.0, 1.0))
    numpyro.sample("y", dist.MultivariateNormal(t * np.ones(len(y)), np.eye(len(y))), obs=y)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (_one_vector, "'y' of the NumPyro model is one observation of 120 numbers.*depend on one another"),
        (_local_plate, "of its own for every row, 'z'"),
        (_local_vector, "of its own for every row, 'z'"),
        (_discrete, "'k' is discrete"),
        (_subsampled, "subsampled"),
        (_nested, "several plates"),
        (_param, "numpyro.param"),
        (_unobserved, "no observed site"),
    ],
)
def test_what_numpyro_models_may_not_have(model, reason):
    with pytest.raises(robula.exceptions.InputError, match=reason):
        robula.from_numpyro(model, Y)


def test_numpyro_models_that_cannot_be_called():
    with pytest.raises(robula.exceptions.InputError, match="not a NumPyro model"):
        robula.from_numpyro(3.0)
    with pytest.raises(robula.exceptions.InputError, match="failed when it was called"):
        robula.from_numpyro(line)


def test_missing_features_of_numpyro_models_are_named():
    def slope(x, y):
        numpyro.sample("y", dist.Normal(numpyro.sample("slope", dist.Normal(0, 5)) * x, 1.0), obs=y)

    x = np.ones(len(Y))
    x[3] = np.nan
    with pytest.raises(robula.exceptions.InputError, match="argument 1 has 1 missing"):
        robula.from_numpyro(slope, x, Y)


def test_what_pymc_models_may_not_have(pm):
    cases = []
    with pm.Model() as local:
        z = pm.Normal("z", 0, 1, shape=len(Y))
        pm.Normal("y", z, 1, observed=Y)
    cases.append((local, "of its own for every row, 'z'"))
    with pm.Model() as discrete:
        k = pm.Bernoulli("k", 0.5)
        pm.Normal("y", k, 1, observed=Y)
    cases.append((discrete, "'k' is discrete"))
    with pm.Model() as nothing:
        pm.Normal("t", 0, 1)
    cases.append((nothing, "no observed variable"))
    with pm.Model() as vector_potential:
        t = pm.Normal("t", 0, 1)
        pm.Potential("p", t * Y)
        pm.Normal("y", t, 1, observed=Y)
    cases.append((vector_potential, "'p' is not a single number"))
    with pm.Model() as lengths:
        t = pm.Normal("t", 0, 1)
        pm.Normal("y", t, 1, observed=Y)
        pm.Normal("z", t, 1, observed=Y[:5])
    cases.append((lengths, "share their rows"))
    with pm.Model() as one_vector:
        t = pm.Normal("t", 0, 1)
        pm.MvNormal("y", mu=t * np.ones(3), cov=np.eye(3), observed=Y[:3])
    cases.append((one_vector, "'y' of the PyMC model is one observation of 3 numbers"))
    with pm.Model() as missing:
        t = pm.Normal("t", 0, 1)
        with pytest.warns(Warning, match="missing"):
            pm.Normal("y", t, 1, observed=np.ma.masked_invalid([1.0, np.nan, 2.0]))
    cases.append((missing, "imputes missing values"))
    for model, reason in cases:
        with pytest.raises(robula.exceptions.InputError, match=reason):
            robula.from_pymc(model)
    with pytest.raises(robula.exceptions.InputError, match=r"not a pymc.Model"):
        robula.from_pymc("model")


def test_a_column_of_pandas_is_refused_with_what_to_do():
    numpyro = pytest.importorskip("numpyro")
    pandas = pytest.importorskip("pandas")

    def level(y):
        mean = numpyro.sample("mean", numpyro.distributions.Normal(0.0, 10.0))
        with numpyro.plate("rows", len(y)):
            numpyro.sample("y", numpyro.distributions.Normal(mean, 1.0), obs=y)

    with pytest.raises(robula.exceptions.InputError, match="to_numpy"):
        robula.from_numpyro(level, pandas.Series([1.0, 2.0, 3.0]))


def test_a_code_among_counts_is_said_to_be_one():
    def counts(y):
        rate = numpyro.sample("rate", dist.HalfNormal(5.0))
        numpyro.sample("y", dist.Poisson(rate), obs=y)

    y = np.array([2.0, 3.0, -999.0, 1.0, 0.0, -999.0])
    with (
        pytest.warns(UserWarning, match="Out-of-support"),
        pytest.raises(
            robula.exceptions.InputError, match=r"first \[2, 5\].*-999, 2 times, looks like a code for missing"
        ),
    ):
        robula.from_numpyro(counts, y)
