"""Scores of rows whose noise scale is estimated: the others' doubt about it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import robula
from robula.selectors.trust.doubt_of_scale import DoubtOfScale

Z = np.array([-1e5, -12.0, -3.0, -1.0, -1e-9, 0.0, 0.4, 2.0, 5.0, 40.0])


def doubt(rows: int, parameters: int, own: float) -> DoubtOfScale:
    """Of rows at Z that count ``own`` each, where nu = rows - parameters know the scale."""
    counted = np.full(len(Z), own)
    # One leverage, so that counted.sum() - counted @ leverage is nu; the last row alone counts where own is 0.
    counted[-1] = own or 1.0
    leverage = np.zeros(len(Z))
    leverage[-1] = 1.0 - (rows - parameters - own * (len(Z) - 1)) / counted[-1]
    return DoubtOfScale(counted, leverage, 1.0)


@pytest.mark.parametrize("rows", [8, 20, 100])
def test_a_row_without_a_say_has_a_score_of_students_t(rows):
    one = doubt(rows, 3, 0.0)
    nu = rows - 3
    # The last row counts, and the far ones are beyond what the approximation is for.
    inner = np.abs(Z) < 6
    exact = stats.norm.isf(stats.t.sf(np.abs(Z), nu)) * np.sign(Z)
    # Wallace's approximation; the density that goes with it is nearly t's own.
    np.testing.assert_allclose(one.normal_scores(Z)[inner], exact[inner], rtol=0.03, atol=1e-9)
    density = one.log_slope(Z) + stats.norm.logpdf(one.normal_scores(Z))
    np.testing.assert_allclose(density[inner], stats.t.logpdf(Z, nu)[inner], atol=0.1)
    np.testing.assert_allclose(one.normal_scores(Z) * one.shrinks(Z), Z, rtol=1e-12)
    assert (np.diff(one.normal_scores(Z)[:-1]) > 0).all()


def test_a_row_that_counts_is_as_it_was():
    one = doubt(30, 3, 1.0)
    np.testing.assert_allclose(one.normal_scores(Z)[2:-1], Z[2:-1], rtol=1e-4)
    np.testing.assert_allclose(one.log_slope(Z)[2:-1], 0.0, atol=1e-3)
    ends = np.where(Z < 0, -np.inf, np.inf)
    np.testing.assert_array_equal(one.normal_scores(ends), ends)


@pytest.mark.parametrize("rows", [5, 7])
def test_few_clean_rows_lose_none(rows):
    """Rows that happen to lie on a line made others unmistakable: a quarter of such tables lost one."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x, noise = rng.normal(size=(2, rows))
        model = robula.LinearModel(x[:, None], 2 * x + noise, noise_scale="estimate", intercept=True)
        assert robula.trust(model, contamination=0.1).weights.min() > 0.5


@pytest.mark.parametrize("unit", [1e-20, 1e12])
def test_units_of_the_response_do_not_matter(unit):
    """The noise of responses in coulombs was held at e^-30, and the intercept's information swamped the slope's."""
    rng = np.random.default_rng(3)
    x, noise = rng.normal(size=(2, 60))
    y = 2 * x + noise
    y[:4] += 9.0
    usual, other = (
        robula.trust(robula.LinearModel(x[:, None], s * y, noise_scale="estimate", intercept=True), contamination=0.1)
        for s in (1.0, unit)
    )
    np.testing.assert_allclose(other.weights, usual.weights, atol=1e-6)
    np.testing.assert_allclose(other.theta[1] / unit, usual.theta[1], rtol=1e-6)
    assert usual.weights[:4].max() < 0.1
