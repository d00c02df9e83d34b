"""Coordinates of rows: whitened whatever the units, and odds only against a row."""

from __future__ import annotations

import numpy as np

from robula.selectors.trust.feature_space import feature_space
from robula.selectors.trust.trust_constants import MOST_FOR_APART

FEATURES = np.random.default_rng(4).normal(size=(300, 3)) * [1.0, 50.0, 0.01]


def test_whitened_rows_have_mean_0_and_covariance_1():
    whitened = feature_space(FEATURES).whitened
    np.testing.assert_allclose(whitened.mean(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(whitened.T @ whitened / len(whitened), np.eye(3), atol=1e-10)


def test_odds_of_wrong_cells_count_up_to_unmistakable_and_never_for_a_row():
    odds = np.array([-50.0, -1.0, 0.5, 3.0, 1e3])
    apart = feature_space(FEATURES[:5], odds).apart
    np.testing.assert_allclose(apart, [0.0, 0.0, 0.5, 3.0, MOST_FOR_APART])
    assert not feature_space(FEATURES).apart.any()


def test_fewer_rows_than_columns_have_as_many_directions_as_they_span():
    space = feature_space(FEATURES[:2])
    assert space.whitened.shape == (2, 1)
    assert np.isfinite(space.inner).all()
