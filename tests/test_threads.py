"""BLAS threads: one for small data, the user's own number for large data, and the user's own number afterwards."""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

import robula
from robula import _threads


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
