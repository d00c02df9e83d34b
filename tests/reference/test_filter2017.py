"""The Gaussian filter against the published program's outputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import robula

REFERENCE = np.load(Path(__file__).parent / "filter2017_reference.npz")
CASES = sorted({key.split("/")[0] for key in REFERENCE.files})


@pytest.mark.parametrize("case", CASES)
def test_filter2017_agrees_with_the_published_program(case):
    selector = robula.SpectralFilter(variant="diakonikolas2017")
    estimate = robula.robust_mean(REFERENCE[f"{case}/X"], float(REFERENCE[f"{case}/eps"]), selector)
    np.testing.assert_allclose(estimate, REFERENCE[f"{case}/filter_gaussian_mean"], rtol=0, atol=1e-8)
