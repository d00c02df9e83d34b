"""The paper's two synthetic settings (sections 6.1.1 and 6.1.2), and the counterexample to its lem:rob_bound."""

from __future__ import annotations

import math

import numpy as np

from robula._validation import check_positive
from robula.models.linear_model import LinearModel
from robula.models.mean_model import MeanModel
from robula.models.priors import NormalPrior
from robula.simulate.problem import Problem, check_sizes, outlier_count, shuffled


def mean_estimation(n_clean: int = 1000, dim: int = 200, contamination: float = 0.2, seed: int = 0) -> Problem:
    """Clean rows N(theta, I), theta uniform on [0, 1]^d; bad rows N(theta + shift, I), one shift uniform on [0, 10]^d.

    The prior is N(0, I).

    Parameters
    ----------
    n_clean, dim : int
    contamination : float
        Share of bad rows among all rows.
    seed : int
    """
    n_clean, dim, contamination, seed = check_sizes(n_clean, dim, contamination, seed)
    rng = np.random.default_rng(seed)
    truth = rng.uniform(0.0, 1.0, dim)
    shift = rng.uniform(0.0, 10.0, dim)
    n_bad = outlier_count(n_clean, contamination)
    clean = truth + rng.standard_normal((n_clean, dim))
    bad = truth + shift + rng.standard_normal((n_bad, dim))
    order, mask = shuffled(rng, n_clean, n_bad)
    model = MeanModel(np.concatenate([clean, bad])[order], prior=NormalPrior(0.0, 1.0))
    return Problem(model, mask, truth, model.gaussian_posterior((~mask).astype(np.float64)))


def linear_regression(n_clean: int = 1000, dim: int = 200, contamination: float = 0.2, seed: int = 0) -> Problem:
    """Clean rows x ~ N(0, I), y = x'theta + N(0, 1); bad rows x ~ chi-square(1)^d, y = x'theta + uniform [0, 10].

    theta is uniform on [0, 1]^d, the prior N(0, I), the noise scale 1.

    Parameters
    ----------
    n_clean, dim : int
    contamination : float
        Share of bad rows among all rows.
    seed : int
    """
    n_clean, dim, contamination, seed = check_sizes(n_clean, dim, contamination, seed)
    rng = np.random.default_rng(seed)
    truth = rng.uniform(0.0, 1.0, dim)
    n_bad = outlier_count(n_clean, contamination)
    clean_X = rng.standard_normal((n_clean, dim))
    clean_y = clean_X @ truth + rng.standard_normal(n_clean)
    bad_X = rng.chisquare(1.0, (n_bad, dim))
    bad_y = bad_X @ truth + rng.uniform(0.0, 10.0, n_bad)
    order, mask = shuffled(rng, n_clean, n_bad)
    model = LinearModel(
        np.concatenate([clean_X, bad_X])[order],
        np.concatenate([clean_y, bad_y])[order],
        noise_scale=1.0,
        prior=NormalPrior(0.0, 1.0),
    )
    return Problem(model, mask, truth, model.gaussian_posterior((~mask).astype(np.float64)))


#: Width of the bad group: narrow beside the clean rows' 1, so that no rule can split it.
_WIDTH = 0.01


def hidden_cluster(
    n_clean: int = 1000, dim: int = 64, contamination: float = 0.15, distance: float | None = None, seed: int = 0
) -> Problem:
    """Clean rows N(theta, I), theta uniform on [0, 1]^d; bad rows in one tight group inside the clean rows' shell.

    A clean row is sqrt(d) away from theta, the group only ``distance``: a ball around any sensible centre keeps the
    group and cuts clean rows, level after level. The prior is N(0, I).

    Parameters
    ----------
    n_clean, dim : int
    contamination : float
        Share of bad rows among all rows.
    distance : float, optional
        From theta to the group, in a random direction; None is 5/8 sqrt(d).
    seed : int

    Examples
    --------
    >>> import numpy as np, robula
    >>> problem = robula.simulate.hidden_cluster(n_clean=3400, dim=64, contamination=0.15)
    >>> estimate = robula.robust_mean(problem.model.z, 0.15, robula.RecursiveMean(variant="lai2016"))
    >>> bool(np.linalg.norm(estimate - problem.truth) < 1.0)  # Algorithm 2 as printed: 5, all of the distance
    True
    """
    n_clean, dim, contamination, seed = check_sizes(n_clean, dim, contamination, seed)
    away = 0.625 * math.sqrt(dim) if distance is None else check_positive(distance, "distance", "the distance")
    rng = np.random.default_rng(seed)
    truth = rng.uniform(0.0, 1.0, dim)
    clean = truth + rng.standard_normal((n_clean, dim))
    direction = rng.standard_normal(dim)
    middle = truth + away * direction / np.linalg.norm(direction)
    bad = middle + _WIDTH * rng.standard_normal((outlier_count(n_clean, contamination), dim))
    order, mask = shuffled(rng, n_clean, len(bad))
    model = MeanModel(np.concatenate([clean, bad])[order], prior=NormalPrior(0.0, 1.0))
    return Problem(model, mask, truth, model.gaussian_posterior((~mask).astype(np.float64)))
