"""ArviZ: named coordinates, data, row weights, log-likelihoods; its own functions work on it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import robula
from robula.result.arviz_conversion import has_netcdf, write_netcdf
from robula.sklearn import RobustStudentTRegressor
from tests.helpers import small_models

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::robula.exceptions.RobulaWarning")
MODELS = small_models()


@pytest.mark.parametrize("name", ["linear-intercept", "logistic", "poisson", "mean-full", "jax"])
def test_groups_and_their_shapes(name):
    model = MODELS[name]
    posterior = robula.sample(model, contamination=0.0, selector="mean", kernel="preconditioned_lm", draws=20, chains=2)
    data = posterior.to_arviz(model=model, log_likelihood=True)
    (likelihood,) = data["log_likelihood"].data_vars.values()
    assert likelihood.dims == ("chain", "draw", "row")
    expected = model.log_likelihood(posterior.draws[1, 7])
    np.testing.assert_allclose(likelihood.to_numpy()[1, 7], expected)
    np.testing.assert_array_equal(data["constant_data"]["row_weights"], posterior.row_weights)
    assert set(posterior.stats) == set(data["sample_stats"].data_vars)
    for key, values in model.observed_data.items():
        np.testing.assert_array_equal(data["observed_data"][key], values)
        assert data["observed_data"][key].dims[0] == "row"


@pytest.mark.filterwarnings("ignore:Estimated shape parameter of Pareto")  # what it says of 200 draws is not the point
def test_arvizs_own_functions_work():
    import arviz as az
    import matplotlib

    matplotlib.use("Agg")
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(80, 2)), columns=["age", "dose"])
    y = frame["age"].to_numpy() + np.random.default_rng(1).normal(size=80)
    model = robula.LinearModel(frame, y, noise_scale=1.0, prior=robula.NormalPrior(0.0, 4.0), intercept=True)
    posterior = robula.sample(model, contamination=0.1, draws=200)
    data = posterior.to_arviz(model=model, log_likelihood=True)
    assert list(az.summary(data).index) == ["theta[intercept]", "theta[age]", "theta[dose]"]
    assert az.plot_trace(data).shape == (1, 2)
    loo = az.loo(data, pointwise=True)
    assert np.isfinite(loo.elpd_loo)
    assert len(loo.loo_i) == 80
    assert list(data["posterior"]["parameter"].to_numpy()) == ["intercept", "age", "dose"]


def test_the_wrong_model_is_refused():
    posterior = robula.sample(MODELS["linear"], contamination=0.0, draws=5)
    with pytest.raises(robula.exceptions.InputError, match="needs the model"):
        posterior.to_arviz(log_likelihood=True)
    with pytest.raises(robula.exceptions.InputError, match="pass the model that belongs to it"):
        posterior.to_arviz(model=MODELS["poisson"])
    with pytest.raises(KeyError):
        posterior.to_arviz()["observed_data"]


def test_summary_has_the_names_of_the_columns():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["height", "age"])
    y = X["height"] + rng.normal(size=60)
    for noise_scale, rest in ((1.0, []), ("estimate", ["noise_scale"])):
        model = robula.LinearModel(X, y, noise_scale=noise_scale, prior=robula.NormalPrior(0.0, 10.0), intercept=True)
        posterior = robula.sample(model, contamination=0.1, draws=20, progress=False)
        assert list(posterior.summary().index) == ["intercept", "height", "age", *rest]
    # In scikit-learn's classes the columns are sampled without their names.
    estimator = RobustStudentTRegressor(draws=20).fit(X, y)
    assert list(estimator.posterior_.summary().index) == ["intercept", "height", "age", "scale"]
    # A column of the scale's own name must not make two lines of one name.
    clash = robula.LinearModel(
        X.set_axis(["noise_scale", "age"], axis=1), y, noise_scale="estimate", prior=robula.NormalPrior(0.0, 10.0)
    )
    table = robula.sample(clash, contamination=0.1, draws=20, progress=False).summary()
    assert list(table.index) == ["coefficients[noise_scale]", "coefficients[age]", "noise_scale"]


@pytest.mark.parametrize("name", ["linear-intercept", "mean-full"])
def test_the_file_holds_what_arviz_is_handed_and_needs_no_arviz_to_be_written(name, tmp_path):
    arviz = pytest.importorskip("arviz")
    if not has_netcdf():
        pytest.skip("no netCDF backend")
    model = MODELS[name]
    posterior = robula.sample(model, contamination=0.0, selector="mean", kernel="preconditioned_lm", draws=20, chains=2)
    path = tmp_path / "draws.nc"
    write_netcdf(posterior, path)
    read, handed = arviz.from_netcdf(str(path)), posterior.to_arviz()
    for group in ("posterior", "sample_stats", "constant_data"):
        found, expected = (data[group] for data in (read, handed))
        assert list(found.data_vars) == list(expected.data_vars)
        for variable in expected.variables:
            assert found[variable].dims == expected[variable].dims
            np.testing.assert_array_equal(found[variable].to_numpy(), expected[variable].to_numpy())
    program = (
        "import sys, robula; from robula.result.arviz_conversion import write_netcdf;"
        "write_netcdf(robula.load(sys.argv[1]), sys.argv[2]); assert 'arviz' not in sys.modules"
    )
    posterior.save(tmp_path / "posterior.npz")
    words = [sys.executable, "-c", program, str(tmp_path / "posterior.npz"), str(tmp_path / "again.nc")]
    subprocess.run(words, check=True)
