"""Reweighted probabilistic models (Wang, Kucukelbir and Blei 2017): a latent weight on every row's likelihood.

p(theta) prod Beta(w_i; 0.1, 0.01) p(row_i | theta)^w_i, the prior of the authors' Poisson study. Gibbs: theta given the
weights is a weighted posterior; a weight given theta has the density w^(a-1) (1-w)^(b-1) exp(w l_i), drawn by its
quantile function, which is tabulated over l.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.special import betaincinv

from benchmarks.leaderboard.weighted_rows import Rows

A, B = 0.1, 0.01
#: Losses -l at which the quantile function is tabulated (l above 0 does not occur: densities are below 1).
_LOSSES = np.concatenate([[0.0], np.geomspace(1e-3, 1e8, 2000)])
_QUANTILES = np.linspace(0.0, 1.0, 4001)
_BURN_IN = 100
_CLIMB = 50


def sample(rows: Rows, rng: np.random.Generator, chains: int, draws: int) -> tuple[np.ndarray, np.ndarray]:
    """Return draws (chains, draws, d), and how suspect each row is, one minus its mean weight (n,)."""
    found = np.empty((chains, draws, rows.dim))
    trust = np.zeros(rows.n)
    for chain in range(chains):
        theta = _start(rows)
        for step in range(_BURN_IN + draws):
            weights = draw_weights(-rows.log_likelihood(theta), rng)
            theta = _draw_theta(rows, weights, theta, rng)
            if step >= _BURN_IN:
                found[chain, step - _BURN_IN] = theta
                trust += weights / (chains * draws)
    return found, 1.0 - trust


def _start(rows: Rows) -> np.ndarray:
    """Go uphill from the plain posterior's mean: theta given the weights' means, and these given theta."""
    theta = rows.posterior(np.ones(rows.n)).mean
    means = _table().mean(axis=1)
    for _ in range(_CLIMB):
        theta = rows.posterior(means[_places(-rows.log_likelihood(theta))]).mean
    return theta


def _draw_theta(rows: Rows, weights: np.ndarray, theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw theta given the weights; where the Gaussian is an approximation, as a Metropolis-Hastings proposal."""
    proposal = rows.posterior(weights)
    new = proposal.draw(rng, 1)[0]
    if rows.exact:
        return new

    def log_ratio(at: np.ndarray) -> float:
        target = float(weights @ rows.log_likelihood(at)) - 0.5 * float(at @ at)
        return target - proposal.log_density(at)

    return new if np.log(rng.uniform()) < log_ratio(new) - log_ratio(theta) else theta


def draw_weights(losses: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw w (n,) from densities proportional to w^(a-1) (1-w)^(b-1) exp(-w loss)."""
    table, at = _table(), _places(losses)
    position = rng.uniform(size=len(losses)) * (len(_QUANTILES) - 1)
    low = np.minimum(position.astype(int), len(_QUANTILES) - 2)
    share = position - low
    return (1.0 - share) * table[at, low] + share * table[at, low + 1]


def _places(losses: np.ndarray) -> np.ndarray:
    """Lines of the table for these losses: the nearest."""
    return np.searchsorted(0.5 * (_LOSSES[1:] + _LOSSES[:-1]), losses)


@cache
def _table() -> np.ndarray:
    """Quantiles of w for every loss: the prior's quantiles, reweighted by exp(-w loss)."""
    # Dense where the prior has its mass: at both ends.
    tail = np.geomspace(1e-12, 1e-4, 400)
    levels = np.unique(np.concatenate([[0.0], tail, np.linspace(1e-4, 1.0 - 1e-4, 4000), 1.0 - tail, [1.0]]))
    weights = betaincinv(A, B, 0.5 * (levels[1:] + levels[:-1]))
    table = np.empty((len(_LOSSES), len(_QUANTILES)))
    for row, loss in enumerate(_LOSSES):
        mass = np.cumsum(np.diff(levels) * np.exp(-loss * weights))
        table[row] = np.interp(_QUANTILES, mass / mass[-1], weights)
    return table
