"""The paper's mean estimation experiment (section 6.1.1)."""

from __future__ import annotations

import numpy as np

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
