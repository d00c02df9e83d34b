"""A short version of benchmarks/rows_to_check.py: three sets, one column each, one row in a hundred."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.realdata.sets import shared_folder
from benchmarks.rows_to_check import odd, spoiled

SETS = {"Auto", "Wage", "diamonds_price"}

pytestmark = pytest.mark.slow


def test_errors_in_a_feature_of_real_data_are_first_in_the_list():
    if shared_folder() is None:
        pytest.skip("the development data are not here: set ROBULA_REALDATA_DIR to their folder")
    problems = [problem for problem in spoiled(quick=True) if problem.data.name in SETS]
    table = odd(problems, with_weights=False)
    assert len(table) >= 15
    assert table["found"].mean() >= 0.9
    assert table["right cell"].mean() >= 0.8
    # A negative control: rows that nothing was done to are not first.
    shifted = [problem._replace(bad=np.roll(problem.bad, 7)) for problem in problems]
    assert odd(shifted, with_weights=False)["found"].mean() < 0.3
