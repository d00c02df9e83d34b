"""The rebuilt house draws what commit 29a55db drew: `rob_ula` bit for bit, `sample` to 1e-10."""

from __future__ import annotations

import numpy as np
import pytest

import robula
from tests.reference.make_draws_29a55db import CONTAMINATION, LENGTH, STORED, arithmetic, models, runs

with np.load(STORED) as _file:
    REFERENCE = dict(_file)
#: Another processor or BLAS rounds otherwise, and a chain multiplies the difference.
SAME_ARITHMETIC = np.array_equal(REFERENCE["arithmetic"], arithmetic())
RUNS = dict(runs())


def test_every_stored_run_is_repeated():
    stored = {name.rsplit("/", 1)[0] for name in REFERENCE if name != "arithmetic"}
    assert stored == set(RUNS)


@pytest.mark.filterwarnings("ignore::robula.exceptions.RobulaWarning")
@pytest.mark.parametrize("name", RUNS)
def test_draws_are_those_of_29a55db(name):
    posterior = RUNS[name]()
    draws, row_weights = REFERENCE[f"{name}/draws"], REFERENCE[f"{name}/row_weights"]
    if name.startswith("rob_ula/") and SAME_ARITHMETIC:
        np.testing.assert_array_equal(posterior.draws, draws)
        np.testing.assert_array_equal(posterior.row_weights, row_weights)
    else:
        tolerance = 1e-10 if SAME_ARITHMETIC else 1e-6
        np.testing.assert_allclose(posterior.draws, draws, rtol=0, atol=tolerance)
        np.testing.assert_allclose(posterior.row_weights, row_weights, rtol=0, atol=tolerance)


def test_another_seed_is_noticed():
    """Negative control: the comparison can fail."""
    model = models()["mean"]
    other = robula.rob_ula(model, contamination=CONTAMINATION, **{**LENGTH, "seed": 8})
    assert abs(other.draws - REFERENCE["rob_ula/mean/draws"]).max() > 1e-3
