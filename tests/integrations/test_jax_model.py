"""Models written in JAX: agreement with the built-in ones, chunking, pytrees, refusals."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import robula
from tests.helpers import PAPER, jax_linear

jnp = pytest.importorskip("jax.numpy")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((70, 3))
Y = X @ [1.0, -1.0, 0.5] + RNG.standard_normal(70)


def test_same_draws_as_the_built_in_model():
    built_in = robula.LinearModel(X, Y, noise_scale=1.0, prior=robula.NormalPrior(0.0, 1.0))
    settings = {"contamination": 0.1, "step_size": 0.005, "draws": 30, "burn_in": 10, "seed": 1, "start": np.zeros(3)}
    ours = robula.sample(built_in, **settings, **PAPER)
    theirs = robula.sample(jax_linear(X, Y, 1.0), **settings, **PAPER)
    np.testing.assert_allclose(theirs.draws, ours.draws, rtol=0, atol=1e-9)
    assert list(theirs.variables) == ["beta", "last"]
    np.testing.assert_array_equal(theirs.variables["beta"], theirs.draws[..., :2])
    assert theirs.variables["last"].shape == (4, 30)
    assert list(theirs.summary().index) == ["beta[0]", "beta[1]", "last"]


@pytest.mark.parametrize("chunk_size", [1, 69, 1000, None])
def test_chunks_do_not_change_the_numbers(chunk_size):
    whole, chunked = jax_linear(X, Y, 1.0, chunk_size=70), jax_linear(X, Y, 1.0, chunk_size=chunk_size)
    theta, weights = RNG.standard_normal(3), RNG.uniform(size=70)
    for method in ("gradients", "log_likelihood"):
        np.testing.assert_allclose(getattr(chunked, method)(theta), getattr(whole, method)(theta), atol=1e-12)
    for method in ("weighted_gradient", "curvature"):
        np.testing.assert_allclose(
            getattr(chunked, method)(theta, weights), getattr(whole, method)(theta, weights), atol=1e-10
        )


def test_memory_is_bounded_by_the_chunk():
    """The compiled weighted gradient may not hold per-row gradients: 40,000 rows by 200 parameters would be 64 MB."""
    import jax

    rows = {"x": RNG.standard_normal((40_000, 200)).astype(np.float64)}
    model = robula.from_jax(
        lambda theta, row: -0.5 * (row["x"] @ theta) ** 2, rows, log_prior=None, init=np.zeros(200), chunk_size=100
    )
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        compiled = model._functions.weighted_gradient._function.lower(
            np.zeros((1, 200)), model._chunks, np.ones((1, 400, 100))
        ).compile()
    analysis = compiled.memory_analysis()
    assert analysis.temp_size_in_bytes < 8e6


def test_curvature_memory_is_bounded_by_default():
    """A small network with 420 parameters and 20,000 rows: all Hessian columns at once would take gigabytes."""
    import jax

    def log_likelihood(p, row):
        hidden = jnp.tanh(row @ p["a"])
        return -0.5 * (hidden @ p["b"]) ** 2

    init = {"a": 0.1 * np.ones((20, 20)), "b": 0.1 * np.ones(20)}
    rows = RNG.standard_normal((20_000, 20))
    model = robula.from_jax(log_likelihood, rows, log_prior=robula.NormalPrior(0.0, 1.0), init=init)
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        rows = model._chunked(np.ones((1, 20_000)))[0]
        lowered = model._functions.hessian._function.lower(model.initial, model._chunks, rows)
    assert lowered.compile().memory_analysis().temp_size_in_bytes < 500e6


def test_a_likelihood_without_forward_mode_works():
    """Custom reverse rules, as ODE solvers have them, know no forward mode."""
    import jax

    @jax.custom_vjp
    def square(x):
        return x**2

    square.defvjp(lambda x: (x**2, x), lambda x, g: (2 * x * g,))
    model = robula.from_jax(lambda t, r: -0.5 * square(r - t), Y, log_prior=robula.NormalPrior(0.0, 1.0), init=0.0)
    posterior = robula.sample(model, contamination=0.0, kernel="preconditioned_lm", draws=20)
    assert np.isfinite(posterior.draws).all()


def test_a_piecewise_linear_likelihood_asks_for_a_step_size():
    model = robula.from_jax(lambda t, r: -jnp.abs(r - t), Y, log_prior=robula.NormalPrior(0.0, 100.0), init=0.0)
    with pytest.raises(robula.exceptions.InputError, match="no curvature"):
        robula.sample(model, contamination=0.1, selector="spectral")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", robula.exceptions.RobulaWarning)
        assert robula.sample(model, contamination=0.1, step_size=1e-3, draws=10).draws.shape == (4, 10, 1)


def test_a_frame_is_the_dict_of_its_columns():
    frame = pd.DataFrame({"x": X[:, 0], "y": Y})
    model = robula.from_jax(
        lambda p, row: -0.5 * (row["y"] - p * row["x"]) ** 2, frame, log_prior=robula.NormalPrior(0.0, 1.0), init=0.0
    )
    np.testing.assert_allclose(model.gradients(np.zeros(1))[:, 0], X[:, 0] * Y)


def test_names_that_clash_are_told_apart():
    init = {"a": {"b": 0.0}, "a.b": 0.0, "chain": 0.0, "row_weights": 0.0}

    def log_likelihood(p, row):
        return -0.5 * (row - p["a"]["b"] - p["a.b"] - p["chain"] - p["row_weights"]) ** 2

    model = robula.from_jax(log_likelihood, Y, log_prior=robula.NormalPrior(0.0, 1.0), init=init)
    assert len(set(model.parameter_names)) == 4
    table = robula.sample(model, contamination=0.0, kernel="preconditioned_lm", draws=20).summary()
    assert list(table.index) == ["a.b", "a.b.2", "chain.2", "row_weights.2"]
    assert model.parameters(np.zeros(4))["a.b"].dtype == np.float64


def test_jaxs_own_precision_is_left_alone():
    before = jnp.ones(2).dtype  # float32, unless another test has used PyMC's JAX backend, which switches it for good
    jax_linear(X, Y, 1.0).gradients(np.zeros(3))
    assert jnp.ones(2).dtype == before


def test_priors_of_every_kind():
    def log_likelihood(theta, row):
        return -0.5 * (row - theta["m"]) ** 2

    flat = robula.from_jax(log_likelihood, Y, init={"m": 0.0})
    assert not flat.prior.proper
    normal = robula.from_jax(log_likelihood, Y, log_prior=robula.NormalPrior(1.0, 2.0), init={"m": 0.0})
    own = robula.from_jax(log_likelihood, Y, log_prior=lambda p: -0.25 * (p["m"] - 1.0) ** 2, init={"m": 0.0})
    theta = np.array([[0.3], [2.0]])
    np.testing.assert_allclose(normal.prior.gradient(theta), own.prior.gradient(theta))
    exact_mean = (Y.sum() + 0.5) / (len(Y) + 0.5)
    posterior = robula.sample(own, contamination=0.0, draws=2000, seed=0)
    assert abs(posterior.mean[0] - exact_mean) < 5 * np.sqrt(2 / 70 / 2000)
    assert own.parameters(np.array([0.5]))["m"] == 0.5


def test_nested_parameters_keep_their_shapes_and_names():
    init = {"layer": [np.zeros((2, 3)), np.ones(2)], "scale": 1.0}

    def log_likelihood(p, row):
        return -jnp.sum((p["layer"][0] @ row - p["layer"][1]) ** 2) * p["scale"]

    model = robula.from_jax(log_likelihood, X, log_prior=robula.NormalPrior(0.0, 1.0), init=init)
    assert model.dim == 9
    assert model.parameter_names[:2] == ("layer.0[0,0]", "layer.0[0,1]")
    assert model.parameter_names[-1] == "scale"
    shapes = {name: value.shape for name, value in model.variables(np.zeros((2, 5, 9))).items()}
    assert shapes == {"layer.0": (2, 5, 2, 3), "layer.1": (2, 5, 2), "scale": (2, 5)}


def good(theta, row):
    return -0.5 * (row - theta) ** 2


REFUSED = {
    "not a function": (lambda: robula.from_jax("x", Y, init=0.0), "not a function"),
    "vector-valued": (lambda: robula.from_jax(lambda t, r: jnp.array([t, t]), Y, init=0.0), "must return a scalar"),
    "fails": (lambda: robula.from_jax(lambda t, r: r["missing"], Y, init=0.0), "log_likelihood failed"),
    "not finite": (lambda: robula.from_jax(lambda t, r: jnp.log(t) * r, Y, init=0.0), "not finite at init"),
    "prior fails": (lambda: robula.from_jax(good, Y, log_prior=lambda t: t["a"], init=0.0), "log_prior"),
    "prior not callable": (lambda: robula.from_jax(good, Y, log_prior=3, init=0.0), "log_prior=3"),
    "prior of another size": (
        lambda: robula.from_jax(good, Y, log_prior=robula.NormalPrior([0, 0], 1.0), init=0.0),
        "2 parameters",
    ),
    "prior not finite": (lambda: robula.from_jax(good, Y, log_prior=jnp.log, init=0.0), "log_prior is not finite"),
    "nan in data": (lambda: robula.from_jax(good, np.array([1.0, np.nan, 2.0]), init=0.0), r"first \[1\]"),
    "text in data": (lambda: robula.from_jax(good, np.array(["a", "b"]), init=0.0), "dtype"),
    "no data": (lambda: robula.from_jax(good, {}, init=0.0), "no arrays"),
    "one row": (lambda: robula.from_jax(good, Y[:1], init=0.0), "2 rows or more"),
    "rows disagree": (lambda: robula.from_jax(good, (Y, Y[:-1]), init=0.0), "same number of rows"),
    "keys of several types": (lambda: robula.from_jax(good, Y, init={1: 0.0, "a": 0.0}), "one type"),
    "no parameters": (lambda: robula.from_jax(good, Y, init={}), "init has no arrays"),
    "text in init": (lambda: robula.from_jax(good, Y, init="a"), "not a number"),
    "nan in init": (lambda: robula.from_jax(good, Y, init=np.nan), "all finite"),
    "chunk of 0": (lambda: robula.from_jax(good, Y, init=0.0, chunk_size=0), "chunk_size=0"),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_refused(case):
    build, message = REFUSED[case]
    with pytest.raises(robula.exceptions.InputError, match=message):
        build()


def test_missing_jax_names_the_extra(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(robula.exceptions.MissingExtraError, match=r"pip install 'robula\[jax\]'"):
        robula.from_jax(good, Y, init=0.0)


def test_a_row_of_weight_0_counts_nothing_even_where_it_is_impossible():
    """The density was NaN, and with it every proposal of NUTS."""

    def log_likelihood(parameters, row):
        return jnp.log(parameters["rate"]) - parameters["rate"] * row["y"] + jnp.log(row["y"] - parameters["low"])

    data = {"y": np.array([1.0, 2.0, 3.0, 4.0])}
    model = robula.from_jax(log_likelihood, data, log_prior=None, init={"rate": 1.0, "low": 0.0})
    theta, weights = np.array([1.5, 0.7]), np.array([0.0, 1.0, 1.0, 1.0])
    theta[list(model.parameter_names).index("low")] = 1.5  # the first row is now impossible
    assert np.isnan(model.log_likelihood(theta)[0])
    value, _ = model.weighted_log_likelihood_and_gradient(theta, weights)
    assert float(model.log_density(weights)(model.parameters(theta))) == pytest.approx(value)
    assert np.isfinite(value)
    assert np.isfinite(model.weighted_gradient(theta, weights)).all()


def test_what_was_compiled_with_other_constants_is_not_used_again():
    """The same function with another noise scale or prior scale in reach is another function."""
    scales = {"noise": 1.0, "prior": 1.0}

    def log_likelihood(parameters, row):
        return -0.5 * ((row["y"] - row["x"] @ parameters) / scales["noise"]) ** 2

    def log_prior(parameters):
        return -0.5 * jnp.sum(parameters**2) / scales["prior"] ** 2

    def model():
        return robula.from_jax(log_likelihood, {"x": X, "y": Y}, log_prior=log_prior, init=np.zeros(3))

    first, same = model(), model()
    assert same._functions is first._functions
    theta = np.ones(3)
    before, precision = first.log_likelihood(theta), first.prior.precision(theta)
    scales.update(noise=2.0, prior=3.0)
    other = model()
    np.testing.assert_allclose(other.log_likelihood(theta), before / 4.0)
    np.testing.assert_allclose(other.prior.precision(theta), precision / 9.0, atol=1e-12)
