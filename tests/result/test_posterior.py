"""Posterior: moments, ArviZ, files."""

from __future__ import annotations

import json
import os
import zipfile

import numpy as np
import pytest

import robula
from robula.sklearn import RobustBayesianRegressor


@pytest.fixture(scope="module")
def posterior() -> robula.Posterior:
    problem = robula.simulate.linear_regression(n_clean=150, dim=3, contamination=0.1, seed=0)
    return robula.sample(problem.model, contamination=0.1, draws=60, burn_in=20, seed=1)


def test_moments(posterior):
    flat = posterior.draws.reshape(-1, 3)
    np.testing.assert_allclose(posterior.mean, flat.mean(axis=0))
    np.testing.assert_allclose(posterior.covariance, np.cov(flat.T))
    np.testing.assert_allclose(posterior.expectation(lambda theta: theta @ theta), (flat**2).sum(axis=1).mean())
    np.testing.assert_allclose(posterior.expectation(lambda theta: theta), posterior.mean)


def test_row_weights_and_the_distrusted(posterior):
    assert posterior.row_weights.min() >= 0
    assert posterior.row_weights.max() <= 1
    np.testing.assert_allclose(posterior.row_weights.mean(), posterior.stats["kept_share"].mean())
    least = posterior.distrusted(5)
    assert posterior.row_weights[least].max() <= np.sort(posterior.row_weights)[4]


def test_save_and_load_give_everything_back(posterior, tmp_path):
    path = tmp_path / "run.npz"
    posterior.save(path)
    again = robula.load(path)
    np.testing.assert_array_equal(again.draws, posterior.draws)
    np.testing.assert_array_equal(again.row_weights, posterior.row_weights)
    assert again.parameter_names == posterior.parameter_names
    assert again.settings == posterior.settings
    assert again.citations == posterior.citations
    for name, values in posterior.stats.items():
        np.testing.assert_array_equal(again.stats[name], values)
    assert repr(again) == repr(posterior)
    assert list(tmp_path.iterdir()) == [path]


def test_files_hold_no_pickle_and_a_readable_manifest(posterior, tmp_path):
    path = tmp_path / "run.npz"
    posterior.save(path)
    with np.load(path, allow_pickle=False) as archive:
        assert json.loads(str(archive["manifest"]))["settings"]["contamination"] == 0.1
        assert all(archive[name].dtype != object for name in archive.files)


@pytest.mark.parametrize("content", [b"", b"junk", b"PK\x03\x04broken"])
def test_load_refuses_what_is_not_a_posterior(tmp_path, content):
    path = tmp_path / "bad.npz"
    path.write_bytes(content)
    with pytest.raises(robula.exceptions.InputError, match="not a saved posterior"):
        robula.load(path)


def test_load_survives_damage_anywhere(posterior, tmp_path):
    posterior.save(tmp_path / "run.npz")
    whole = (tmp_path / "run.npz").read_bytes()
    path = tmp_path / "damaged.npz"
    for place in range(0, len(whole), 97):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            robula.load(path)
        except robula.exceptions.InputError:
            continue
    with pytest.raises(robula.exceptions.InputError, match="file name"):
        robula.load(None)


def test_saved_files_follow_the_umask(posterior, tmp_path):
    before = os.umask(0o027)
    try:
        posterior.save(tmp_path / "run.npz")
    finally:
        os.umask(before)
    assert (tmp_path / "run.npz").stat().st_mode & 0o777 == 0o640


def test_load_refuses_other_archives_pickles_and_newer_files(posterior, tmp_path):
    with pytest.raises(robula.exceptions.InputError, match="no file"):
        robula.load(tmp_path / "absent.npz")
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(robula.exceptions.InputError, match="not a saved posterior"):
        robula.load(tmp_path / "other.npz")
    np.savez(tmp_path / "pickle.npz", manifest=np.array({"format": "robula-posterior"}, dtype=object))
    with pytest.raises(robula.exceptions.InputError, match="not a saved posterior"):
        robula.load(tmp_path / "pickle.npz")
    with zipfile.ZipFile(tmp_path / "zip.npz", "w") as archive:
        archive.writestr("hello.txt", "hello")
    with pytest.raises(robula.exceptions.InputError, match="not a saved posterior"):
        robula.load(tmp_path / "zip.npz")
    np.savez(
        tmp_path / "newer.npz", manifest=np.array(json.dumps({"format": "robula-posterior", "format_version": 99}))
    )
    with pytest.raises(robula.exceptions.InputError, match="newer robula"):
        robula.load(tmp_path / "newer.npz")
    with pytest.raises(robula.exceptions.InputError, match="does not exist"):
        posterior.save(tmp_path / "no" / "such" / "folder.npz")


def test_arviz_export_and_summary(posterior):
    data = posterior.to_arviz()
    np.testing.assert_array_equal(data["posterior"]["theta"].to_numpy(), posterior.draws)
    np.testing.assert_array_equal(data["constant_data"]["row_weights"].to_numpy(), posterior.row_weights)
    assert set(posterior.stats) <= set(data["sample_stats"])
    table = posterior.summary()
    assert list(table.index) == ["theta[0]", "theta[1]", "theta[2]"]
    np.testing.assert_allclose(table["mean"].astype(float), posterior.mean, atol=6e-4)
    assert {"r_hat", "ess_bulk"} <= set(table.columns)


def test_one_draw_has_a_mean_but_no_covariance():
    model = robula.MeanModel(np.random.default_rng(0).standard_normal((20, 2)))
    single = robula.sample(model, contamination=0.0, draws=1, chains=1)
    assert single.mean.shape == (2,)
    with pytest.raises(robula.exceptions.InputError, match="two draws"):
        _ = single.covariance
    pair = robula.sample(robula.MeanModel(np.arange(9.0)[:, None]), contamination=0.0, draws=2, chains=1)
    assert pair.covariance.shape == (1, 1)


def test_scikit_learns_posterior_is_of_its_model_and_says_nothing_of_a_run_in_other_units():
    """Once posterior_ was in the user's units and model_ in standardised ones: -12,726 a row instead of -1.3."""
    rng = np.random.default_rng(0)
    X = 100.0 + 30.0 * rng.standard_normal((80, 2))
    y = X @ [1.0, -2.0] + rng.standard_normal(80)
    fitted = RobustBayesianRegressor(noise_scale=1.0, draws=20, burn_in=10, contamination=0.0).fit(X, y)
    data = fitted.posterior_.to_arviz(model=fitted.model_, log_likelihood=True)
    assert -2.5 < float(data["log_likelihood"]["y"].mean()) < -1.0
    assert "step size" not in repr(fitted.posterior_)
    for refused in (
        lambda: robula.step_bias(fitted.model_, fitted.posterior_),
        lambda: robula.certificate(fitted.model_, fitted.posterior_),
        lambda: robula.contamination_path(fitted.model_, [0.1], selector=fitted.posterior_),
    ):
        with pytest.raises(robula.exceptions.InputError, match="sampled in standardised columns"):
            refused()


def test_scikit_learns_posterior_is_not_put_next_to_the_model_of_another_data_set(tmp_path):
    """Influence on other data said that a row moves a parameter by 9e+04 standard deviations."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    settings = {"noise_scale": 1.0, "draws": 20, "burn_in": 10, "contamination": 0.0}
    one, other = (RobustBayesianRegressor(**settings).fit(X, rng.standard_normal(60)) for _ in range(2))
    one.posterior_.save(tmp_path / "one.npz")
    for posterior in (one.posterior_, robula.load(tmp_path / "one.npz")):
        assert robula.influence(one.model_, posterior).slopes.shape == (60, 3)
        with pytest.raises(robula.exceptions.InputError, match="the data, the prior or a constant"):
            robula.influence(other.model_, posterior)


def test_a_model_of_other_data_of_the_same_shape_is_refused():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 2))
    one, two = (robula.LinearModel(X, rng.standard_normal(50), noise_scale=1.0) for _ in range(2))
    posterior = robula.sample(one, contamination=0.0, draws=10)
    with pytest.raises(robula.exceptions.InputError, match="the data, the prior or a constant"):
        posterior.to_arviz(model=two)
