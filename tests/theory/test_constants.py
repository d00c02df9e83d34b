"""The constants of linear regression by hand, from moments of the rows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from robula import theory


def test_regression_constants_by_hand():
    """cor:rbls as mended: |S|, C_x4 and E z^4, with 1 / sigma^4 in front."""
    rng = np.random.default_rng(2)
    X, truth, sigma, fourth = rng.normal(size=(80, 2)), np.array([1.0, -0.5]), 2.0, 3.0
    noise = sigma * rng.normal(size=80)
    found = theory.regression_constants(
        X, 100, noise_scale=sigma, truth=truth, clean_y=X @ truth + noise, fourth_moment=fourth, contamination=0.1
    )
    hessian = X.T @ X / sigma**2 + np.eye(2)
    mode = np.linalg.solve(hessian, X.T @ (X @ truth + noise) / sigma**2)
    size = np.linalg.eigvalsh(X.T @ X / 80)[-1]
    off = float(((mode - truth) ** 2).sum())
    growth = math.sqrt(fourth) * size * math.sqrt(8.0 * fourth) * size / sigma**4
    at_truth = math.sqrt(fourth) * size * math.sqrt(8.0 * np.mean(noise**4)) / sigma**4
    assert found.C_sigma1 == pytest.approx(2.0 * growth)
    assert found.C_sigma2 == pytest.approx(2.0 * growth * off + at_truth)
    assert found.smoothness == pytest.approx(np.linalg.eigvalsh(hessian)[-1] / 100)
    assert found.strong_convexity == pytest.approx(np.linalg.eigvalsh(hessian)[0] / 100)
    assert found.width == pytest.approx(math.sqrt(np.trace(np.linalg.inv(hessian))))
