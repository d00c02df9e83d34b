"""The coarsened posterior (Miller and Dunson 2019): condition on data near the observed ones, not on the observed ones.

With a relative-entropy neighbourhood of exponential size, mean 1 / alpha, it is nearly the power posterior: every
log-likelihood counts alpha / (alpha + n). It widens the posterior to what the misfit deserves and trusts no row less than
another.
"""

from __future__ import annotations

import numpy as np

from benchmarks.leaderboard.weighted_rows import Rows

#: As in the paper's variable selection; a larger alpha coarsens less.
ALPHA = 50.0


def sample(rows: Rows, rng: np.random.Generator, chains: int, draws: int) -> tuple[np.ndarray, None]:
    """Return independent draws (chains, draws, d); no row is suspected."""
    power = ALPHA / (ALPHA + rows.n)
    posterior = rows.posterior(np.full(rows.n, power))
    return posterior.draw(rng, chains * draws).reshape(chains, draws, rows.dim), None
