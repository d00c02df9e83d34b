"""BLAS threads: one for small data, the user's own number for large data, and the user's own number afterwards."""

from __future__ import annotations

import inspect
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import robula
from robula import _threads
from robula.sklearn import RobustBayesianRegressor, robust_glm
from robula.sklearn.coordinates import robust_coordinates


def threads() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


class Watched(robula.SampleMean):
    """The plain mean, remembering how many threads there were."""

    def select_rows(self, model, theta, contamination):
        seen.append(threads())
        return super().select_rows(model, theta, contamination)


seen: list[list[int]] = []


def test_small_data_use_one_thread_and_large_data_what_there_is(monkeypatch):
    model = robula.MeanModel(np.random.default_rng(0).standard_normal((20, 2)))
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        robula.sample(model, contamination=0.0, selector=Watched(), draws=5)
        assert seen[-1] == [1] * len(before)
        monkeypatch.setattr(_threads, "_SMALL", 1)
        robula.sample(model, contamination=0.0, selector=Watched(), draws=5)
        assert seen[-1] == before
        assert threads() == before


def test_four_calls_at_once_leave_the_users_number_behind():
    model = robula.MeanModel(np.random.default_rng(0).standard_normal((50, 2)))
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        with ThreadPoolExecutor(4) as pool:
            for _ in range(5):
                runs = [pool.submit(robula.sample, model, contamination=0.0, draws=20 * k) for k in range(1, 5)]
                assert all(run.result().draws.shape[0] == 4 for run in runs)
        assert threads() == before


def test_an_error_takes_the_limit_back():
    class Broken(robula.SampleMean):
        def select_rows(self, model, theta, contamination):
            seen.append(threads())
            raise RuntimeError("inside")

    model = robula.MeanModel(np.random.default_rng(0).standard_normal((20, 2)))
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        with pytest.raises(RuntimeError, match="inside"):
            robula.sample(model, contamination=0.0, selector=Broken(), draws=5)
        assert seen[-1] == [1] * len(before)
        assert threads() == before


def test_scikit_learn_fits_and_predicts_with_one_thread(monkeypatch):
    inside = []
    monkeypatch.setattr(robust_glm, "robust_coordinates", lambda *a, **k: inside.append(threads()) or original(*a, **k))
    original = robust_coordinates
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    y = X[:, 0] + rng.standard_normal(60)
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        RobustBayesianRegressor(draws=5, burn_in=5, chains=1).fit(X, y).predict(X)
        assert threads() == before
    assert inside
    assert all(seen == [1] * len(before) for seen in inside)


#: Public functions that compute nothing of their own: they read a file, make a model, or only call one that is limited.
THIN = {"load", "from_jax", "from_numpyro", "from_pymc", "resume", "rob_ula", "weighted"}


def test_every_public_function_that_computes_is_limited():
    functions = {name for name in robula.__all__ if inspect.isfunction(getattr(robula, name))}
    assert {name for name in functions if not hasattr(getattr(robula, name), "__wrapped__")} == THIN


def test_different_calls_in_four_threads_leave_the_users_number_behind():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((40, 2))
    model = robula.LinearModel(points, points @ [1.0, 2.0] + rng.standard_normal(40), noise_scale=1.0)
    posterior = robula.rob_ula(model, contamination=0.05, draws=20, burn_in=5, progress=False)
    calls = [
        lambda: robula.robust_mean(points, 0.1),
        lambda: robula.restarts(model, points[:3], contamination=0.1),
        lambda: robula.certificate(model, posterior, step_halving=False),
        lambda: robula.trust(model, 0.1),
        lambda: robula.contamination_path(model, levels=(0.0, 0.1)),
    ]
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        with warnings.catch_warnings(), ThreadPoolExecutor(4) as pool:
            warnings.simplefilter("ignore", robula.exceptions.RobulaWarning)
            for run in [pool.submit(call) for _ in range(2) for call in calls]:
                run.result()
        assert threads() == before
