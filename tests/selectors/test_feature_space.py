"""Coordinates of rows: whitened whatever the units, and odds only for cells that stand apart."""

from __future__ import annotations

import numpy as np

from robula.selectors.trust.feature_space import feature_space

FEATURES = np.random.default_rng(4).normal(size=(300, 3)) * [1.0, 50.0, 0.01]


def test_whitened_rows_have_mean_0_and_covariance_1():
    whitened = feature_space(FEATURES).whitened
    np.testing.assert_allclose(whitened.mean(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(whitened.T @ whitened / len(whitened), np.eye(3), atol=1e-10)


def test_a_cell_that_stands_apart_gives_odds_and_a_normal_one_none():
    assert not feature_space(FEATURES).apart.any()
    spoilt = FEATURES.copy()
    spoilt[7, 2] = 1e9
    apart = feature_space(spoilt).apart
    assert apart[7] > 5.0
    assert not np.delete(apart, 7).any()


def test_fewer_rows_than_columns_have_as_many_directions_as_they_span():
    space = feature_space(FEATURES[:2])
    assert space.whitened.shape == (2, 1)
    assert np.isfinite(space.inner).all()
