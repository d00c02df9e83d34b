"""``robula fit`` on many files, and with a checkpoint."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import robula
from robula.models import large_model
from robula.run import checkpoint as checkpoints
from robula.sklearn import RobustBayesianClassifier, RobustBayesianRegressor
from robula.tables.row_source import ParquetSource
from tests.workflow.test_fit_table import QUICK, invoke

pytestmark = pytest.mark.filterwarnings("ignore::robula.exceptions.RobulaWarning")
ROWS = 3000


@pytest.fixture
def files(tmp_path, monkeypatch) -> Path:
    """Three Parquet files of a regression in odd units, a tenth of its rows bad, and few rows in memory."""
    monkeypatch.setattr(large_model, "SAMPLE_ROWS", 1000)
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"age": rng.normal(50, 10, ROWS), "dose": rng.normal(0, 0.1, ROWS)})
    frame["y"] = 3.0 + 0.5 * frame.age - 20.0 * frame.dose + rng.standard_normal(ROWS)
    frame.loc[rng.uniform(size=ROWS) < 0.1, "y"] = -999.0
    for index in range(3):
        frame.iloc[1000 * index : 1000 * (index + 1)].to_parquet(tmp_path / f"part{index}.parquet", row_group_size=600)
    return tmp_path


@pytest.mark.parametrize("dask", [False, True])
def test_many_files_are_fitted_in_passes_and_predicted_from(files, dask):
    if dask:
        pytest.importorskip("distributed", reason="needs the extra dask")
    output = invoke(
        "fit", files / "part*.parquet", "--target", "y", "--out", files / "run", *QUICK, *(["--dask"] if dask else [])
    )
    assert "were read in" in output
    weights = np.load(files / "run" / "row_weights.npy")
    y = np.concatenate([pd.read_parquet(files / f"part{index}.parquet").y for index in range(3)])
    assert weights[y < 0].max() < 0.05
    assert weights[y > 0].mean() > 0.97
    rows = pd.read_csv(files / "run" / "rows.csv")
    assert len(rows) == 1000
    np.testing.assert_allclose(rows.y, y[rows.row - 1])
    pd.DataFrame({"age": [50.0], "dose": [0.1]}).to_csv(files / "new.csv", index=False)
    predicted = invoke("predict", files / "run", files / "new.csv").splitlines()[1].split(",")
    assert abs(float(predicted[1]) - 26.0) < 0.5


def test_estimators_take_rows_in_blocks(files):
    source = ParquetSource(str(files / "part*.parquet"), target="y")
    regressor = RobustBayesianRegressor(draws=100, burn_in=0, contamination=0.15).fit(source, None)
    np.testing.assert_allclose(regressor.coef_, [0.5, -20.0], rtol=0.05)
    assert regressor.row_weights_.shape == (ROWS,)
    assert list(regressor.feature_names_in_) == ["age", "dose"]
    arrays = pytest.importorskip("dask.array", reason="needs the extra dask")
    rng = np.random.default_rng(2)
    X = rng.standard_normal((ROWS, 2))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(ROWS) > 0, "yes", "no")
    lazy = arrays.from_array(X, chunks=(700, 2)), arrays.from_array(y, chunks=700)
    classifier = RobustBayesianClassifier(draws=50, burn_in=0).fit(*lazy)
    assert list(classifier.classes_) == ["no", "yes"]
    assert (classifier.predict(X) == y).mean() > 0.85
    with pytest.raises(robula.exceptions.InputError, match="LargeModel"):
        robula.LinearModel(lazy[0], np.ones(ROWS), noise_scale=1.0)


def test_wrong_use_of_many_files_is_a_sentence(files):
    assert "no file matches" in invoke("fit", files / "no*.parquet", "--target", "y", "--out", files / "o", code=2)
    assert "--target" in invoke("fit", files / "part*.parquet", "--out", files / "o", code=2)
    words = ("fit", files / "part*.parquet", "--target", "y", "--out", files / "o")
    assert "single file" in invoke(*words, "--drop-missing", code=2)
    assert "single file" in invoke(*words, "--row-weights", "a", code=2)
    assert "no column 'z'" in invoke(*words[:3], "z", "--out", files / "o", code=2)
    assert not (files / "o").exists()


class Killed(BaseException):
    """Stands in for SIGKILL: nothing of the run is left but the file."""


def test_a_killed_fit_goes_on_from_its_checkpoint(tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    counts = pd.DataFrame({"x": rng.standard_normal(80)})
    counts["y"] = rng.poisson(np.exp(0.5 * counts.x))
    counts.to_csv(tmp_path / "d.csv", index=False)
    words = ["fit", tmp_path / "d.csv", "--model", "poisson", "--target", "y", *QUICK]
    invoke(*words, "--out", tmp_path / "whole")
    write, checkpoint = checkpoints.write_checkpoint, tmp_path / "run.ckpt"

    def last_words(*args):
        write(*args)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "write_checkpoint", last_words)
        patch.setattr(checkpoints, "seconds_of", lambda every: 0.0)
        with pytest.raises(Killed):
            invoke(*words, "--out", tmp_path / "run", "--checkpoint", checkpoint)
    assert checkpoint.exists()
    assert not (tmp_path / "run").exists()
    assert "another run (seed" in invoke(
        *words, "--out", tmp_path / "run", "--checkpoint", checkpoint, "--seed", 3, code=2
    )
    invoke(*words, "--out", tmp_path / "run", "--checkpoint", checkpoint)
    assert not checkpoint.exists()
    draws = [robula.load(tmp_path / name / "posterior.npz").draws for name in ("whole", "run")]
    np.testing.assert_array_equal(*draws)
