"""The figures of one run."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from robula.experiments.logistic import calibration_error
from robula.metrics import clean_posterior_gap, interval_coverage
from robula.models.gaussian_posterior import GaussianPosterior
from robula.result.convergence import effective_sample_sizes
from robula.result.posterior import Posterior
from robula.simulate import Problem


def information_bound(epsilon: float, rows: int, dim: int) -> float:
    """The bias in posterior widths that some attack forces on every method: 1.57 epsilon / (1 - epsilon) sqrt(n / d)."""
    return 1.57 * epsilon / (1.0 - epsilon) * math.sqrt(rows / dim)


def posterior_scores(draws: np.ndarray, problem: Problem) -> dict[str, float]:
    """Bias, spread, W2 and their errors, coverage and effective draws, of draws (chains, draws, d)."""
    posterior = Posterior(draws, np.ones(problem.model.n_rows), problem.model.parameter_names)
    gap = clean_posterior_gap(posterior, problem.clean_posterior)
    sizes = effective_sample_sizes(draws)
    return {
        **{name: float(value) for name, value in gap._asdict().items()},
        "w2_floor": sampling_floor(draws, problem.clean_posterior),
        "coverage": interval_coverage(posterior, problem.truth),
        "effective_draws": float(np.median(sizes)),
    }


def sampling_floor(draws: np.ndarray, clean: GaussianPosterior) -> float:
    """W2 that these draws would show if their law were the clean posterior (up to its scale), measured from two halves.

    Half the difference of the halves' means and covariances is as noisy as the mean and covariance of all draws. Unlike
    the floor of independent draws this counts how slowly the chain's covariance settles. The squared Bures distance is
    taken to second order, sum |error_jk|^2 / (2 (l_j + l_k)) in the clean covariance's eigenbasis.
    """
    chains = draws.shape[0]
    halves = (draws[: chains // 2], draws[chains // 2 :]) if chains > 1 else np.array_split(draws, 2, axis=1)
    first, second = (half.reshape(-1, draws.shape[-1]) for half in halves)
    shift = 0.25 * float(((first.mean(axis=0) - second.mean(axis=0)) ** 2).sum())
    error = 0.5 * (np.atleast_2d(np.cov(first, rowvar=False)) - np.atleast_2d(np.cov(second, rowvar=False)))
    scale = float(draws.reshape(-1, draws.shape[-1]).var(axis=0).sum()) / float(np.trace(clean.covariance))
    values, vectors = np.linalg.eigh(clean.covariance)
    rotated = vectors.T @ error @ vectors
    bures = float((rotated**2 / (2.0 * scale * (values[:, None] + values[None, :]))).sum())
    return math.sqrt((shift + bures) / float(np.trace(clean.covariance)))


def detection(suspicion: np.ndarray, outlier_mask: np.ndarray) -> float | None:
    """Area under the ROC curve of finding the bad rows; None where there are none."""
    return float(roc_auc_score(outlier_mask, suspicion)) if outlier_mask.any() else None


def predictive_scores(draws: np.ndarray, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Held-out posterior predictive log-likelihood and calibration error of draws (chains, draws, 1 + p)."""
    design = np.column_stack([np.ones(len(X)), X])
    flat = draws.reshape(-1, draws.shape[-1])
    flat = flat[:: max(1, len(flat) // 1000)]
    probability = np.clip(expit(flat @ design.T).mean(axis=0), 1e-300, 1.0 - 1e-16)
    own = np.where(y > 0.5, probability, 1.0 - probability)
    return {
        "log_likelihood": float(np.log(own).mean()),
        "calibration_error": calibration_error(probability, y),
        "effective_draws": float(np.median(effective_sample_sizes(draws))),
    }
