"""A linear regression under any attack of the zoo, with the exact posterior of the clean rows."""

from __future__ import annotations

import numpy as np

from robula._validation import check_name
from robula.models.linear_model import LinearModel
from robula.models.priors import NormalPrior
from robula.simulate.attacks import ATTACKS, CleanRows
from robula.simulate.problem import Problem, check_sizes, outlier_count, shuffled


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
