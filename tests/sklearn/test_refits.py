"""The answer that trusts every row: the same kind of number as the robust one, so that only rows make a difference."""

from __future__ import annotations

import numpy as np
import pytest

from robula.models.gaussian_posterior import GaussianPosterior
from robula.reporting.quantities import lines, quantities
from robula.sklearn import RobustBayesianRegressor
from robula.sklearn.refits import Refits


def test_nothing_changes_where_no_row_is_distrusted():
    # Of 16 rows and 7 coefficients the mean of the noise scale is half as large again as its mode.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(16, 6))
    fitted = RobustBayesianRegressor(draws=500, random_state=0).fit(X, X.sum(axis=1) + rng.normal(size=16))
    assert fitted.row_weights_.min() > 0.99, "or this test shows nothing"
    shown = lines(quantities(fitted.posterior_), Refits(fitted, X).plain())
    assert [line.name for line in shown if line.moved > 0.05] == []
    for line in shown:
        assert line.plain_high - line.plain_low == pytest.approx(line.high - line.low, rel=0.2)


def test_what_bad_rows_did_is_still_seen():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = X.sum(axis=1) + rng.normal(size=200)
    y[:15] += 40.0 * np.sign(X[:15, 0])
    fitted = RobustBayesianRegressor(draws=300, random_state=0).fit(X, y)
    plain, known = Refits(fitted, X).plain(), np.linalg.lstsq(np.column_stack([np.ones(200), X]), y, rcond=None)[0]
    np.testing.assert_allclose(plain.mean[:3], known, atol=0.15)
    assert plain.mean[3] > 5.0


def test_a_normal_is_moved_and_stretched_as_the_other_must_be():
    plain = GaussianPosterior(np.array([1.0, 2.0]), np.array([[1.0, 0.5], [0.5, 4.0]]))
    other = GaussianPosterior(np.array([0.0, 0.0]), np.eye(2))
    seen = plain.seen_as(other, np.array([0.5, 0.0]), np.array([2.0, 1.0]))
    np.testing.assert_allclose(seen.mean, [1.5, 2.0])
    np.testing.assert_allclose(seen.covariance, [[4.0, 1.0], [1.0, 4.0]])
