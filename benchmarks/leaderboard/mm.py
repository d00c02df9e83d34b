"""MM regression (Yohai 1987): statsmodels' RLMDetSMM from a fast-S start, drawn from its normal approximation."""

from __future__ import annotations

import importlib

import numpy as np

from benchmarks.realdata.fast_s import fast_s

_CHAINS, _DRAWS = 2, 2000


def sample(X: np.ndarray, y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return draws (chains, draws, d) of N(estimate, its covariance) and how suspect each row is (n,)."""
    module = importlib.import_module("statsmodels.robust.resistant_linear_model")
    rng = np.random.default_rng(seed)
    found = module.RLMDetSMM(y, X).fit(scale_binding=True, start=fast_s(X, y, rng))
    covariance = np.asarray(found.cov_params())
    draws = rng.multivariate_normal(np.asarray(found.params), covariance, (_CHAINS, _DRAWS), method="cholesky")
    return draws, 1.0 - np.asarray(found.weights, dtype=float)
