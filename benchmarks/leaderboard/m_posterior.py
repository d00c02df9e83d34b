"""The M-posterior (Minsker, Srivastava, Lin and Dunson 2017): the geometric median of the posteriors of disjoint subsets.

Every subset's likelihood is raised to the number of subsets, so that its posterior is as narrow as that of all rows. The
median is taken in the Hilbert space of a Gaussian kernel, in closed form for Gaussian subset posteriors; it is a mixture of
them whose weights Weiszfeld's iteration finds.
"""

from __future__ import annotations

import numpy as np

from benchmarks.leaderboard.weighted_rows import Gaussian, Rows

#: Number of subsets; more than twice as many as can be spoilt would be needed, which no number is at a fifth of the rows.
SUBSETS = 10
_STEPS = 200


def sample(rows: Rows, rng: np.random.Generator, chains: int, draws: int) -> tuple[np.ndarray, None]:
    """Return draws (chains, draws, d) of the mixture; no row is suspected."""
    posteriors = []
    for part in np.array_split(rng.permutation(rows.n), SUBSETS):
        weights = np.zeros(rows.n)
        weights[part] = rows.n / len(part)
        posteriors.append(rows.posterior(weights))
    votes = median_weights(inner_products(posteriors))
    which = rng.choice(SUBSETS, size=chains * draws, p=votes)
    found = np.empty((chains * draws, rows.dim))
    for index, posterior in enumerate(posteriors):
        mine = np.flatnonzero(which == index)
        found[mine] = posterior.draw(rng, len(mine))
    return found.reshape(chains, draws, rows.dim), None


def inner_products(posteriors: list[Gaussian]) -> np.ndarray:
    """Inner products of Gaussian measures under exp(-|x - y|^2 / (2 h^2)), h the median distance of their means.

    E k(x, y) for x ~ N(a, A), y ~ N(b, B) is det(I + (A + B) / h^2)^(-1/2) exp(-(a - b)'(h^2 I + A + B)^-1 (a - b) / 2).
    """
    means = np.stack([posterior.mean for posterior in posteriors])
    covariances = [np.linalg.inv(posterior.precision) for posterior in posteriors]
    distances = np.linalg.norm(means[:, None] - means[None], axis=2)
    bandwidth = float(np.median(distances[np.triu_indices(len(means), 1)])) ** 2 or 1.0
    products = np.empty((len(means), len(means)))
    for i in range(len(means)):
        for j in range(i + 1):
            spread = covariances[i] + covariances[j]
            total = bandwidth * np.eye(means.shape[1]) + spread
            away = means[i] - means[j]
            volume = np.linalg.slogdet(total / bandwidth)[1]
            products[i, j] = products[j, i] = np.exp(-0.5 * (volume + away @ np.linalg.solve(total, away)))
    return products


def median_weights(products: np.ndarray) -> np.ndarray:
    """Weights of the geometric median as a mixture of the measures, by Weiszfeld's iteration on their inner products."""
    # High dimension makes all products tiny; only their ratios matter.
    products = products / products.diagonal().max()
    weights = np.full(len(products), 1.0 / len(products))
    for _ in range(_STEPS):
        squared = products.diagonal() - 2.0 * products @ weights + weights @ products @ weights
        weights = 1.0 / np.sqrt(np.maximum(squared, 1e-12))
        weights /= weights.sum()
    return weights
