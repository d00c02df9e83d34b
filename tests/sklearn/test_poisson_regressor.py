from __future__ import annotations

import numpy as np
import pytest

import robula
from robula.sklearn import RobustPoissonRegressor


def test_rates_are_refused():
    X = np.arange(20.0)[:, None]
    with pytest.raises(robula.exceptions.InputError, match=r"not counts, first y\[1\]=0.5; counts are whole numbers"):
        RobustPoissonRegressor(draws=10).fit(X, np.arange(20.0) / 2)
