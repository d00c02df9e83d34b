"""The limits are those that the sources give, and what is said of rows is counted by them."""

from __future__ import annotations

import numpy as np

from robula.result import thresholds
from robula.result.posterior import Posterior


def test_limits_of_vehtari_2021():
    assert (thresholds.GOOD_R_HAT, thresholds.BAD_R_HAT) == (1.01, 1.05)
    assert (thresholds.ENOUGH_DRAWS, thresholds.TOO_FEW_DRAWS) == (400.0, 100.0)


def test_rows_below_one_half_are_counted():
    posterior = Posterior(
        draws=np.random.default_rng(0).normal(size=(4, 100, 1)),
        row_weights=np.array([1.0, 0.9, 0.51, 0.49, 0.2, 0.0]),
        parameter_names=("a",),
        stats={},
        settings={},
        citations=(),
    )
    assert "3 row(s) below 0.5" in str(posterior)
