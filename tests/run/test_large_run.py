"""Rows that are read in blocks: the same answer from every source, in few passes, and as from memory."""

from __future__ import annotations

import os
import signal

import numpy as np
import pandas as pd
import pytest

import robula
from robula.models import large_model
from robula.run import large_run
from robula.tables import row_source
from robula.tables.row_source import ArraySource, ParquetSource, source_of

PRIOR = robula.NormalPrior(0.0, 1.0)
ROWS = 6000


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    """Few rows in memory and small blocks, so that a test is quick and has many of them."""
    monkeypatch.setattr(large_model, "SAMPLE_ROWS", 1500)
    monkeypatch.setattr(row_source, "_BLOCK", 2500)


def rows(kind: str = "linear") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, responses, and which rows are bad: a tenth of them, a group of its own."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((ROWS, 3))
    eta = X @ [1.0, -1.0, 0.5]
    bad = rng.uniform(size=ROWS) < 0.1
    if kind == "logistic":
        return X, (rng.uniform(size=ROWS) < 1 / (1 + np.exp(-eta))) ^ bad, bad
    if kind == "poisson":
        y = rng.poisson(np.exp(0.5 * eta)).astype(float)
        y[bad] += 40
        return X, y, bad
    y = eta + rng.standard_normal(ROWS)
    X[bad] += 3.0
    y[bad] = 20.0 + rng.standard_normal(bad.sum())
    return X, y, bad


def mapped(tmp_path, name: str, values: np.ndarray) -> np.memmap:
    file = np.memmap(tmp_path / name, dtype=np.float64, mode="w+", shape=values.shape)
    file[:] = values
    file.flush()
    return np.memmap(tmp_path / name, dtype=np.float64, mode="r", shape=values.shape)


def sources(tmp_path, X, y) -> dict[str, tuple]:
    frame = pd.DataFrame(X, columns=["0", "1", "2"])
    frame["y"] = y
    for index in range(3):
        part = frame.iloc[2000 * index : 2000 * (index + 1)]
        part.to_parquet(tmp_path / f"part{index}.parquet", row_group_size=700)
    found = {
        "memory": (X, y),
        "memory map": (mapped(tmp_path, "X", X), mapped(tmp_path, "y", y)),
        "Parquet": (ParquetSource(str(tmp_path / "*.parquet"), target="y"),),
    }
    arrays = pytest.importorskip("dask.array", reason="needs the extra dask")
    frames = pytest.importorskip("dask.dataframe", reason="needs the extra dask")
    whole = frames.read_parquet(str(tmp_path / "*.parquet"))
    found["Dask array"] = (arrays.from_array(X, chunks=(1100, 2)), arrays.from_array(y, chunks=900))
    found["Dask frame"] = (whole[["0", "1", "2"]], whole["y"])
    return found


def test_every_source_gives_the_same_weights_and_draws_in_few_passes(tmp_path):
    X, y, bad = rows()
    results = {}
    for name, data in sources(tmp_path, X, y).items():
        model = robula.LargeModel(robula.LinearModel, *data, noise_scale=1.0, prior=PRIOR)
        assert not model.in_memory
        results[name] = robula.sample(model, contamination=0.15, draws=50)
    first = results.pop("memory")
    assert first.row_weights[bad].max() < 0.05
    assert first.row_weights[~bad].mean() > 0.97
    assert first.settings["passes"] <= 30
    for name, other in results.items():
        np.testing.assert_allclose(other.row_weights, first.row_weights, atol=1e-6, err_msg=name)
        np.testing.assert_allclose(other.draws, first.draws, atol=1e-8, err_msg=name)
        assert other.settings["passes"] == first.settings["passes"]


def test_a_regression_on_a_memory_map_is_fitted_in_passes_by_itself(tmp_path):
    X, y, bad = rows()
    model = robula.LinearModel(mapped(tmp_path, "X", X), y, noise_scale=1.0, prior=PRIOR, intercept=True)
    # The limit is looked up where it is used.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("robula.run.sampler.SAMPLE_ROWS", 1500)
        posterior = robula.sample(model, contamination=0.15, draws=20)
    assert posterior.settings["by_passes"]
    assert posterior.parameter_names[0] == "intercept"
    assert posterior.row_weights[bad].max() < 0.05


@pytest.mark.parametrize("noise_scale", [1.0, "estimate"])
def test_linear_draws_have_the_law_of_all_rows(noise_scale):
    """Against the exact posterior: z of 3 means, and the noise scale; false alarm below 1e-3."""
    X, y, bad = rows()
    X, y = X[~bad], y[~bad]
    model = robula.LargeModel(robula.LinearModel, X, y, noise_scale=noise_scale, prior=PRIOR)
    posterior = robula.sample(model, contamination=0.0, draws=1000)
    scale = 1.0 if noise_scale == 1.0 else float(posterior.variables["noise_scale"].mean())
    exact = robula.LinearModel(X, y, noise_scale=scale, prior=PRIOR).gaussian_posterior()
    sd = np.sqrt(np.diag(exact.covariance))
    size = 4000 if noise_scale == 1.0 else 3000
    assert np.abs((posterior.mean[:3] - exact.mean) / sd).max() < 4.0 / np.sqrt(size)
    np.testing.assert_allclose(posterior.flat_draws[:, :3].std(axis=0), sd, rtol=0.08)
    residual = np.sqrt(((y - X @ exact.mean) ** 2).mean())
    assert abs(scale - residual) < 0.05 if noise_scale == "estimate" else posterior.settings["acceptance"] is None


# Random flips among labels that are uncertain anyway are not decisive, and such rows stay.
@pytest.mark.parametrize(("kind", "tolerance"), [("logistic", 0.1), ("poisson", 0.03)])
def test_other_regressions_state_the_error_of_their_approximation(kind, tolerance, monkeypatch):
    X, y, _ = rows(kind)
    made = robula.LogisticModel if kind == "logistic" else robula.PoissonModel
    model = robula.LargeModel(made, X, y, prior=PRIOR)
    rough = robula.sample(model, contamination=0.15, draws=500, seed=1)
    assert 0.0 < rough.settings["gaussian_error"] < 0.5
    assert rough.settings["passes"] <= 30
    assert abs(0.9 - rough.row_weights.mean()) < tolerance
    monkeypatch.setattr(large_run, "TOLERANCE", 0.0)
    exact = robula.sample(model, contamination=0.15, draws=500, seed=1)
    assert exact.settings["acceptance"] > 0.8
    sd = exact.flat_draws.std(axis=0)
    assert np.abs((exact.mean - rough.mean) / sd).max() < rough.settings["gaussian_error"] + 4.0 / np.sqrt(1500)


def test_vectors_labels_and_few_rows():
    X, _, bad = rows()
    model = robula.LargeModel(robula.MeanModel, X, prior=PRIOR)
    posterior = robula.sample(model, contamination=0.15, draws=20)
    assert posterior.row_weights[bad].mean() < 0.2 < 0.9 < posterior.row_weights[~bad].mean()
    found = robula.trust(model, 0.15)
    np.testing.assert_allclose(found.weights, posterior.row_weights)
    X, y, _ = rows("logistic")
    named = robula.LargeModel(robula.LogisticModel, X, np.where(y, "yes", "no"), prior=PRIOR)
    assert named.classes == ("no", "yes")
    small = robula.LargeModel(robula.LinearModel, X[:100], X[:100, 0], noise_scale=1.0, prior=PRIOR)
    assert small.in_memory
    direct = robula.LinearModel(X[:100], X[:100, 0], noise_scale=1.0, prior=PRIOR)
    options = dict(contamination=0.1, draws=10)
    np.testing.assert_array_equal(robula.sample(small, **options).draws, robula.sample(direct, **options).draws)


def test_what_cannot_be_fitted_in_passes_is_refused(tmp_path):
    X, y, _ = rows()
    model = robula.LargeModel(robula.LinearModel, X, y, noise_scale=1.0, prior=PRIOR)
    for options in ({"kernel": "ula"}, {"selector": "recursive"}, {"step_size": 0.1}, {"checkpoint": tmp_path / "c"}):
        with pytest.raises(robula.exceptions.InputError, match="fitted in passes"):
            robula.sample(model, contamination=0.1, **options)
    broken = X.copy()
    broken[4000, 1] = np.nan
    for build, words in [
        (lambda: robula.LargeModel(robula.LinearModel, broken, y, noise_scale=1.0), "missing, infinite"),
        (lambda: robula.LargeModel(robula.LinearModel, X, noise_scale=1.0), "needs y"),
        (lambda: robula.LargeModel(robula.LinearModel, X, [[1], [2, 3]], noise_scale=1.0), "different lengths"),
        (lambda: robula.LargeModel(robula.LogisticModel, X, np.arange(ROWS) % 3, prior=PRIOR), "two distinct labels"),
        (lambda: robula.LargeModel(robula.PoissonModel, X, y, prior=PRIOR), "not counts"),
        (lambda: robula.LargeModel("linear", X, y), "cannot be fitted by passes"),
        (lambda: ParquetSource(str(tmp_path / "*.parquet")), "no file matches"),
    ]:
        with pytest.raises(robula.exceptions.InputError, match=words):
            build()


def test_passes_are_counted_and_empty_blocks_are_nothing():
    source = source_of(np.ones((10, 2)), np.arange(10.0))
    assert source.sum(lambda block: (block.y.sum(),)) == (45.0,)
    assert source.passes == 2
    shaped = source.shaped(lambda block: block._replace(y=2 * block.y))
    assert shaped.sum(lambda block: (block.y.sum(),)) == (90.0,)
    assert source.passes == 3
    assert isinstance(source, ArraySource)
    assert row_source.add([(1.0,), (), (2.0,)]) == (3.0,)


def _read_slowly(path: str, group: int) -> pd.DataFrame:
    import time

    time.sleep(0.05)
    return pd.read_parquet(path).iloc[1000 * group : 1000 * (group + 1)]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_worker_changes_nothing(tmp_path):
    """Two worker processes that read files; one is killed in the middle and its blocks are read again."""
    distributed = pytest.importorskip("distributed", reason="needs the extra dask")
    import threading

    import dask
    import dask.dataframe

    X, y, _ = rows()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["y"] = y
    frame.to_parquet(tmp_path / "rows.parquet")
    read = dask.delayed(_read_slowly)
    parts = [read(str(tmp_path / "rows.parquet"), group) for group in range(6)]
    whole = dask.dataframe.from_delayed(parts, meta=frame.iloc[:0])
    options = dict(noise_scale=1.0, prior=PRIOR)
    expected = robula.sample(robula.LargeModel(robula.LinearModel, X, y, **options), contamination=0.15, draws=20)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, local_directory=str(tmp_path)
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        killed = next(iter(client.run(os.getpid).values()))
        timer = threading.Timer(0.4, os.kill, (killed, signal.SIGKILL))
        timer.start()
        model = robula.LargeModel(robula.LinearModel, whole[["a", "b", "c"]], whole["y"], **options)
        found = robula.sample(model, contamination=0.15, draws=20)
        timer.join()
        assert killed not in client.run(os.getpid).values()
    np.testing.assert_allclose(found.draws, expected.draws, atol=1e-8)
