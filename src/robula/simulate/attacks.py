"""Ways to contaminate a linear regression, by name: what the leaderboard runs every method against; and label flips.

An attack sees the clean rows and the true coefficients and answers with bad rows to add and clean rows to hide. Where a
direction is needed it is drawn at random, so no coordinate is special (except for the sentinel in the first column).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from robula._types import ArrayInput, BoolArray, FloatArray
from robula._validation import check_contamination, check_name
from robula.exceptions import InputError
from robula.models.linear_model import LinearModel
from robula.models.priors import NormalPrior
from robula.simulate.problem import Problem, check_sizes, outlier_count, shuffled
from robula.tables.arrays import as_vector

#: A usual code for "missing" that was never replaced.
SENTINEL = -999.0


class CleanRows(NamedTuple):
    """Rows of the clean law x ~ N(0, I), y = x'theta + N(0, 1), and theta itself.

    Attributes
    ----------
    X : ndarray, shape (n, d)
    y : ndarray, shape (n,)
    theta : ndarray, shape (d,)
    """

    X: FloatArray
    y: FloatArray
    theta: FloatArray


class Corruption(NamedTuple):
    """What an attack does.

    Attributes
    ----------
    X : ndarray, shape (m, d)
        Design of the bad rows it adds.
    y : ndarray, shape (m,)
    hidden : ndarray of bool, shape (n,), or None
        Clean rows it removes; None keeps them all.
    """

    X: FloatArray
    y: FloatArray
    hidden: BoolArray | None = None


#: (rng, clean rows, number of bad rows) -> what to do.
Attack = Callable[[np.random.Generator, CleanRows, int], Corruption]


def _direction(rng: np.random.Generator, dim: int) -> FloatArray:
    vector: FloatArray = rng.standard_normal(dim)
    return vector / float(np.linalg.norm(vector))


def paper(rng: np.random.Generator, clean: CleanRows, count: int) -> Corruption:
    """The paper's section 6.1.2: x ~ chi-square(1)^d, y = x'theta + uniform [0, 10]."""
    X = rng.chisquare(1.0, (count, len(clean.theta)))
    return Corruption(X, X @ clean.theta + rng.uniform(0.0, 10.0, count))


def leverage_cluster(rng: np.random.Generator, clean: CleanRows, count: int) -> Corruption:
    """A tight group far out in x with the opposite response: x = 5 u + N(0, I / 4), y = -x'theta."""
    dim = len(clean.theta)
    X = 5.0 * _direction(rng, dim) + 0.5 * rng.standard_normal((count, dim))
    return Corruption(X, -X @ clean.theta)


def stealth_shift(rng: np.random.Generator, clean: CleanRows, count: int) -> Corruption:
    """Clean x, the model's noise, and a response 3 noise widths too high."""
    X = rng.standard_normal((count, len(clean.theta)))
    return Corruption(X, X @ clean.theta + 3.0 + rng.standard_normal(count))


def heavy_tails(rng: np.random.Generator, clean: CleanRows, count: int) -> Corruption:
    """Clean x and Cauchy noise of scale 5: many bad rows look ordinary, a few are enormous."""
    X = rng.standard_normal((count, len(clean.theta)))
    return Corruption(X, X @ clean.theta + 5.0 * rng.standard_cauchy(count))


def common_gradient(rng: np.random.Generator, clean: CleanRows, count: int) -> Corruption:
    """One gradient at theta for every bad row, 1.5 sqrt(d) u: x = s sqrt(d) u, residual 1.5 / s, s in +-[0.5, 1.5]."""
    dim = len(clean.theta)
    scale = rng.uniform(0.5, 1.5, count) * rng.choice([-1.0, 1.0], count)
    X = math.sqrt(dim) * np.outer(scale, _direction(rng, dim))
    return Corruption(X, X @ clean.theta + 1.5 / scale)


def two_clusters(rng: np.random.Generator, clean: CleanRows, count: int) -> Corruption:
    """Two groups at +-4 u whose residuals are +-3 with the model's noise: together they tilt the slope along u."""
    dim = len(clean.theta)
    side = np.where(np.arange(count) % 2 == 0, 1.0, -1.0)
    X = 4.0 * np.outer(side, _direction(rng, dim)) + 0.5 * rng.standard_normal((count, dim))
    return Corruption(X, X @ clean.theta + 3.0 * side + rng.standard_normal(count))


def subtractive(rng: np.random.Generator, clean: CleanRows, count: int) -> Corruption:
    """Nothing is added; as large a share of clean rows is hidden, those that pull most along a direction u.

    ``count`` bad rows beside n clean ones are a share ``count / (n + count)``; that share of the n is hidden.
    """
    rows, dim = clean.X.shape
    pull = (clean.X @ _direction(rng, dim)) * (clean.y - clean.X @ clean.theta)
    hidden = np.zeros(rows, dtype=np.bool_)
    hidden[np.argsort(-pull, kind="stable")[: round(rows * count / (rows + count))]] = True
    return Corruption(np.empty((0, dim)), np.empty(0), hidden)


def sentinel_response(rng: np.random.Generator, clean: CleanRows, count: int) -> Corruption:
    """Clean x, and -999 where the response is missing."""
    return Corruption(rng.standard_normal((count, len(clean.theta))), np.full(count, SENTINEL))


def sentinel_column(rng: np.random.Generator, clean: CleanRows, count: int) -> Corruption:
    """Rows of the clean law whose first column was then overwritten with -999."""
    X = rng.standard_normal((count, len(clean.theta)))
    y = X @ clean.theta + rng.standard_normal(count)
    X[:, 0] = SENTINEL
    return Corruption(X, y)


def zero_response(rng: np.random.Generator, clean: CleanRows, count: int) -> Corruption:
    """Clean x, and 0 where the response is missing: a code that hides among the data."""
    return Corruption(rng.standard_normal((count, len(clean.theta))), np.zeros(count))


def adaptive(rng: np.random.Generator, clean: CleanRows, count: int) -> Corruption:
    """An adversary that knows theta: clean x and residuals 1.5 sgn(x'u), each ordinary, all pulling along u."""
    dim = len(clean.theta)
    X = rng.standard_normal((count, dim))
    return Corruption(X, X @ clean.theta + 1.5 * np.sign(X @ _direction(rng, dim)))


ATTACKS: dict[str, Attack] = {
    attack.__name__: attack
    for attack in (
        paper,
        leverage_cluster,
        stealth_shift,
        heavy_tails,
        common_gradient,
        two_clusters,
        subtractive,
        sentinel_response,
        sentinel_column,
        zero_response,
        adaptive,
    )
}


def contaminated_regression(
    attack: str, n_clean: int = 1000, dim: int = 20, contamination: float = 0.2, seed: int = 0
) -> Problem:
    """Clean rows x ~ N(0, I), y = x'theta + N(0, 1), and an attack on them.

    theta is uniform on [0, 1]^d, the prior N(0, I), the noise scale 1. The same seed gives the same clean rows under
    every attack, those of :func:`robula.simulate.linear_regression`. Rows that an attack hides are part of the clean
    posterior and of no row of the model.

    Parameters
    ----------
    attack : str
        A name in ``robula.simulate.attacks.ATTACKS``.
    n_clean, dim : int
    contamination : float
        Share of bad rows among all rows; for "subtractive" the share of the clean rows that are hidden.
    seed : int

    Examples
    --------
    >>> import robula
    >>> problem = robula.simulate.contaminated_regression("leverage_cluster", n_clean=80, dim=3, contamination=0.2)
    >>> problem.model.n_rows, int(problem.outlier_mask.sum())
    (100, 20)
    """
    chosen = ATTACKS[check_name(attack, "attack", tuple(ATTACKS))]
    n_clean, dim, contamination, seed = check_sizes(n_clean, dim, contamination, seed)
    rng = np.random.default_rng(seed)
    truth = rng.uniform(0.0, 1.0, dim)
    clean_X = rng.standard_normal((n_clean, dim))
    clean_y = clean_X @ truth + rng.standard_normal(n_clean)
    bad_X, bad_y, hidden = chosen(rng, CleanRows(clean_X, clean_y, truth), outlier_count(n_clean, contamination))
    shown = np.ones(n_clean, dtype=np.bool_) if hidden is None else ~hidden
    order, mask = shuffled(rng, int(shown.sum()), len(bad_y))
    prior = NormalPrior(0.0, 1.0)
    model = LinearModel(
        np.concatenate([clean_X[shown], bad_X])[order],
        np.concatenate([clean_y[shown], bad_y])[order],
        noise_scale=1.0,
        prior=prior,
    )
    clean = LinearModel(clean_X, clean_y, noise_scale=1.0, prior=prior)
    return Problem(model, mask, truth, clean.gaussian_posterior())


def random_flips(rows: int, share: float, rng: np.random.Generator) -> BoolArray:
    """Return which of ``rows`` labels to flip: a random ``share`` of them, shape (rows,)."""
    share = check_contamination(share)
    flips: BoolArray = rng.permutation(rows) < round(share * rows)
    return flips


def confident_flips(probabilities: ArrayInput, share: float) -> BoolArray:
    """Return which labels to flip: the ``share`` of rows whose own label is most probable, ties in row order.

    Parameters
    ----------
    probabilities : array-like, shape (n,)
        Probability that a model of the clean data gives to each row's own label.
    share : float
    """
    share = check_contamination(share)
    values = as_vector(probabilities, "probabilities", np.size(probabilities))
    if not ((values >= 0.0) & (values <= 1.0)).all():
        raise InputError("probabilities must lie between 0 and 1: the probability of each row's own label.")
    flips = np.zeros(len(values), dtype=np.bool_)
    flips[np.argsort(-values, kind="stable")[: round(share * len(values))]] = True
    return flips
