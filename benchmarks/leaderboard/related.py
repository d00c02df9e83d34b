"""The related work, one file a method, run on one problem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.leaderboard import coarsened, localized, m_posterior, reweighted
from benchmarks.leaderboard.weighted_rows import LogisticRows, MeanRows, RegressionRows

#: (rows, generator, chains, draws) -> draws (chains, draws, d) and how suspect each row is (n,), or None.
METHODS: dict[str, Callable[..., tuple[np.ndarray, np.ndarray | None]]] = {
    "reweighted": reweighted.sample,
    "coarsened": coarsened.sample,
    "m_posterior": m_posterior.sample,
    "localized": localized.sample,
}
#: Draws a chain, two chains: independent ones cost nothing, a Gibbs step a Cholesky factor.
_INDEPENDENT, _GIBBS, _GIBBS_LARGE = 2000, 1000, 300
_CHAINS = 2


def run(method: str, rows: RegressionRows | MeanRows | LogisticRows, seed: int) -> tuple[np.ndarray, Any]:
    """Return draws (chains, draws, d) and suspicion of a method."""
    gibbs = method in ("reweighted", "localized")
    draws = _INDEPENDENT if not gibbs else _GIBBS if rows.dim < 100 else _GIBBS_LARGE
    return METHODS[method](rows, np.random.default_rng(seed), _CHAINS, draws)
