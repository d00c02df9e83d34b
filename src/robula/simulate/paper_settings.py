"""The paper's two synthetic settings: mean estimation (section 6.1.1) and linear regression (section 6.1.2)."""

from __future__ import annotations

import numpy as np

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
