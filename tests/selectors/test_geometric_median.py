"""Weiszfeld's iteration ends at the point of least total distance."""

from __future__ import annotations

import numpy as np

from robula.selectors.geometric_median import weiszfeld


def test_the_geometric_median_minimises_the_sum_of_distances():
    rng = np.random.default_rng(3)
    points = rng.standard_normal((200, 3)) ** 3 + np.array([1.0, 0.0, -2.0])
    centre, _, _ = weiszfeld(points)

    def total(at):
        return np.linalg.norm(points - at, axis=1).sum()

    for direction in np.vstack([np.eye(3), -np.eye(3)]):
        assert total(centre) < total(centre + 0.01 * direction)
    # At the minimum the unit vectors towards the points cancel.
    away = points - centre
    assert np.linalg.norm((away / np.linalg.norm(away, axis=1)[:, None]).sum(axis=0)) < 1e-3 * len(points)
