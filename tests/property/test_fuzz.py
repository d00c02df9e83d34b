"""Hundreds of malformed or extreme inputs (thousands in scripts/fuzz.py): only documented exceptions come out."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import robula

pytestmark = pytest.mark.no_cover
ALLOWED = (robula.exceptions.InputError, robula.exceptions.DivergenceError)

extreme_floats = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, -0.0, 1e-320, 1e300, -1e300, 1e99, -999.0, 1e16, np.nan, np.inf]),
    st.floats(-10, 10),
)
sane_floats = st.floats(-10, 10)
matrices = st.one_of(
    hnp.arrays(np.float64, st.tuples(st.integers(0, 12), st.integers(0, 4)), elements=extreme_floats),
    hnp.arrays(np.float64, st.tuples(st.integers(2, 15), st.integers(1, 4)), elements=sane_floats),
    hnp.arrays(np.int64, st.tuples(st.integers(2, 12), st.integers(1, 3)), elements=st.integers(-(2**62), 2**62)),
    hnp.arrays(np.float64, hnp.array_shapes(min_dims=0, max_dims=3, max_side=4), elements=extreme_floats),
    st.lists(st.lists(st.one_of(sane_floats, st.text(max_size=2), st.none()), max_size=3), max_size=4),
    st.sampled_from([None, "text", b"bytes", 3, object(), {}, {"a": [1, 2]}, [[1, 2], [3]], [[1j]], {1, 2}]),
)
junk = st.one_of(
    st.none(),
    st.booleans(),
    st.text(max_size=5),
    extreme_floats,
    st.integers(-3, 10**20),
    st.just([]),
    st.just({}),
    st.just(object()),
)
contaminations = st.one_of(st.floats(0, 0.499), junk)


def survives(call, allowed=ALLOWED) -> None:
    """Run a call: a result, an allowed exception, and no other; no warning but robula's own."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", robula.exceptions.RobulaWarning)
        try:
            result = call()
        except allowed as error:
            refused = str(error)
        else:
            refused = None
    if refused is not None:
        assert refused
        return
    draws = result.draws if isinstance(result, robula.Posterior) else result
    assert np.isfinite(np.asarray(draws, dtype=float)).all()


fuzz = settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@fuzz
@given(points=matrices, contamination=contaminations, variant=st.sampled_from(["bhatia2019", "lai2016"]))
def test_robust_mean(points, contamination, variant):
    survives(lambda: robula.robust_mean(points, contamination, robula.RecursiveMean(variant=variant)))


def make_model(kind: str, X, y, prior, intercept, other):
    if kind == "mean":
        return robula.MeanModel(X, covariance=other, prior=prior)
    if kind == "linear":
        return robula.LinearModel(X, y, noise_scale=other, prior=prior, intercept=intercept)
    if kind == "logistic":
        return robula.LogisticModel(X, y, prior=prior, intercept=intercept)
    return robula.PoissonModel(X, y, prior=prior, intercept=intercept)


@st.composite
def models(draw):
    kind = draw(st.sampled_from(["mean", "linear", "logistic", "poisson"]))
    X = draw(matrices)
    rows = X.shape[0] if isinstance(X, np.ndarray) and X.ndim else 4
    fitting = {
        "mean": st.none(),
        "linear": hnp.arrays(np.float64, rows, elements=sane_floats),
        "logistic": hnp.arrays(np.int64, rows, elements=st.integers(0, 1)),
        "poisson": hnp.arrays(np.int64, rows, elements=st.integers(0, 1000)),
    }[kind]
    y = draw(st.one_of(fitting, fitting, matrices, junk))
    prior = draw(st.one_of(st.just(robula.NormalPrior(0.0, 1.0)), st.none(), junk))
    other = draw(st.one_of(st.none() if kind == "mean" else st.floats(0.1, 10), junk, matrices))
    return kind, X, y, prior, draw(st.one_of(st.booleans(), junk)), other


@fuzz
@given(parts=models(), contamination=st.floats(0, 0.49), seed=st.integers(0, 5))
def test_models_and_sampling(parts, contamination, seed):
    survives(
        lambda: robula.sample(make_model(*parts), contamination=contamination, draws=3, burn_in=2, chains=2, seed=seed)
    )


SOUND = robula.LinearModel(
    np.random.default_rng(0).standard_normal((30, 2)),
    np.random.default_rng(1).standard_normal(30),
    noise_scale=1.0,
    prior=robula.NormalPrior(0.0, 1.0),
)
small_counts = st.integers(1, 4)
# Between, a count is right and the run is long.
wrong_counts = st.one_of(st.integers(-2, 0), st.integers(10**13, 10**20), st.none(), st.text(max_size=5), st.just([]))
VALID = {
    "contamination": st.floats(0, 0.499),
    "selector": st.sampled_from(["recursive", "mean", robula.RecursiveMean("lai2016")]),
    "kernel": st.just("ula"),
    "step_size": st.one_of(st.none(), st.floats(1e-6, 1e3), st.lists(st.floats(1e-9, 1e9), min_size=20, max_size=20)),
    "likelihood_rows": st.sampled_from(["n", "clean", "weights"]),
    "draws": small_counts,
    "burn_in": st.integers(0, 4),
    "chains": small_counts,
    "thin": small_counts,
    "refresh_every": st.integers(1, 10**9),
    "start": st.one_of(st.none(), st.just([0.0, 0.0]), hnp.arrays(np.float64, 2, elements=st.floats(-1e30, 1e30))),
    "start_variance": st.one_of(st.none(), st.floats(1e-30, 1e30)),
    "seed": st.integers(0, 2**128),
    "progress": st.booleans(),
}
WRONG = {
    **dict.fromkeys(VALID, junk),
    **dict.fromkeys(("draws", "burn_in", "chains", "thin", "refresh_every"), wrong_counts),
    "step_size": st.one_of(junk, st.lists(extreme_floats, max_size=12), matrices),
    "start": st.one_of(matrices, junk),
}


@fuzz
@given(
    valid=st.fixed_dictionaries(VALID),
    wrong=st.one_of(st.just({}), *[st.fixed_dictionaries({name: strategy}) for name, strategy in WRONG.items()]),
)
def test_sample_arguments(valid, wrong):
    # Valid arguments may diverge (a huge step size) but may not be refused.
    survives(
        lambda: robula.sample(SOUND, **{**valid, **wrong}), ALLOWED if wrong else robula.exceptions.DivergenceError
    )


@settings(max_examples=150)
@given(content=st.binary(max_size=200))
def test_loading_junk(content, tmp_path_factory):
    path = tmp_path_factory.mktemp("fuzz") / "junk.npz"
    path.write_bytes(content)
    with pytest.raises(robula.exceptions.InputError):
        robula.load(path)


LARGE = robula.LargeModel(robula.LinearModel, SOUND.design, SOUND.y, noise_scale=1.0)
RUN = robula.sample(SOUND, contamination=0.1, draws=20, burn_in=10, chains=2, progress=False)
TABLE = np.asarray(SOUND.design)


@pytest.mark.parametrize(
    "call",
    [
        lambda: robula.contamination_path(LARGE, levels=[0.1]),
        lambda: robula.contamination_path("model", levels=[0.1]),
        lambda: robula.report(RUN, "page.html", model=LARGE),
        lambda: robula.diagnose(RUN, LARGE),
        lambda: robula.diagnose(RUN, odd="rows"),
        lambda: robula.influence(SOUND, RUN, 3.0),
        lambda: robula.odd_rows(RUN, None),
        lambda: robula.odd_rows(RUN, [[1], [2, 3]]),
        lambda: robula.odd_rows(RUN, TABLE, response=[[1], [2, 3]]),
        lambda: robula.odd_rows(RUN, TABLE, response=object()),
    ],
)
def test_what_scripts_fuzz_found(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(robula.exceptions.InputError):
        call()
    assert not list(tmp_path.iterdir())
