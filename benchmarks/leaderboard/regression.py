"""One method on one contaminated linear regression."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from benchmarks.leaderboard import mm, related, settings
from benchmarks.leaderboard.ours import run_ours, run_sizes
from benchmarks.leaderboard.scores import detection, posterior_scores
from benchmarks.leaderboard.weighted_rows import RegressionRows
from robula.simulate import Problem, contaminated_regression


def make_problem(attack: str, dim: int, epsilon: float, seed: int) -> Problem:
    """Return the problem of a cell; "none" has no bad rows."""
    name = settings.REGRESSION_ATTACKS[0] if attack == "none" else attack
    return contaminated_regression(name, settings.N_CLEAN, dim, epsilon, seed)


def run(problem: Problem, method: str, seed: int) -> dict[str, Any]:
    """Return the figures of a method."""
    if method in settings.OURS:
        posterior = run_ours(method, problem.model, run_sizes(method)[problem.model.dim], seed)
        auc = None if method == "ula" else detection(-posterior.row_weights, problem.outlier_mask)
        return {**posterior_scores(posterior.draws, problem), "auc": auc}
    if method in settings.RELATED:
        draws, suspicion = related.run(method, RegressionRows(problem.model.design, problem.model.y), seed)
        auc = None if suspicion is None else detection(suspicion, problem.outlier_mask)
        return {**posterior_scores(draws, problem), "auc": auc}
    if method == "mm":
        draws, suspicion = mm.sample(problem.model.design, problem.model.y, seed)
        return {**posterior_scores(draws, problem), "auc": detection(suspicion, problem.outlier_mask)}
    if method == "pareto_k":
        return {"auc": detection(pareto_k(problem, seed), problem.outlier_mask)}
    return _run_rival(problem, method, seed)


def _run_rival(problem: Problem, method: str, seed: int) -> dict[str, Any]:
    from benchmarks.leaderboard.nuts import Rows, run_nuts  # imports JAX

    X, y, dim = problem.model.design, problem.model.y, problem.model.dim
    auc = None
    if method in ("nuts", "clean_nuts", "isolation_forest"):
        keep = np.ones(len(y), dtype=bool)
        if method == "clean_nuts":
            X, y = _clean_rows(problem)
            keep = np.ones(len(y), dtype=bool)
        elif method == "isolation_forest":
            scores = isolation_scores(X, y, seed)
            keep = scores <= np.quantile(scores, 1.0 - settings.DECLARED)
            auc = detection(scores, problem.outlier_mask)
        # d equivalent rows: |y - X theta|^2 = |Q'y - R theta|^2 + constant, with X = QR.
        Q, R = np.linalg.qr(X[keep])
        rows, size, model = Rows(R, Q.T @ y[keep], np.ones(dim)), dim, "gaussian"
        starts, (draws, warmup) = (
            [np.linalg.solve(R.T @ R + np.eye(dim), R.T @ (Q.T @ y[keep]))],
            settings.GAUSSIAN_DRAWS[dim],
        )
    else:
        rows, size, model = Rows(X, y, np.ones(len(y))), _most_rows(), method
        starts, (draws, warmup) = starting_points(X, y), settings.NUTS_DRAWS[dim]
    result = run_nuts(model, rows, starts, size, seed, draws, warmup)
    if method == "mixture":
        auc = detection(_outlier_probability(result, X, y), problem.outlier_mask)
    return {**posterior_scores(result.theta, problem), "auc": auc, "divergent": result.divergent}


def _most_rows() -> int:
    return round(settings.N_CLEAN / (1.0 - max(settings.EPSILONS)))


def _clean_rows(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """As many rows as parameters, with the exact clean posterior; hidden rows are not in the model, but in the posterior."""
    mean, covariance = problem.clean_posterior
    precision = np.linalg.inv(covariance) - np.eye(len(mean))  # the prior is N(0, I)
    root = np.linalg.cholesky(precision).T
    return root, np.linalg.solve(root.T, (precision + np.eye(len(mean))) @ mean)


def starting_points(X: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    """Least squares, Huber's estimate, and Huber's estimate on the seven tenths of the rows that are central in x."""
    scale = np.maximum(np.median(np.abs(X - np.median(X, axis=0)), axis=0), 1e-12)
    distance = np.median(np.abs((X - np.median(X, axis=0)) / scale), axis=1) if X.shape[1] > 1 else np.abs(X[:, 0])
    extreme = np.abs((X - np.median(X, axis=0)) / scale).max(axis=1)
    central = (distance <= np.quantile(distance, 0.7)) & (extreme <= np.quantile(extreme, 0.7))
    central = central if central.sum() > 2 * X.shape[1] else extreme <= np.quantile(extreme, 0.7)
    return [_huber(X, y, 0), _huber(X, y, 30), _huber(X[central], y[central], 30)]


def _huber(X: np.ndarray, y: np.ndarray, rounds: int) -> np.ndarray:
    """Huber's estimate at noise scale 1 by reweighted least squares with the N(0, I) prior."""
    weights = np.ones(len(y))
    for _ in range(rounds + 1):
        theta = np.linalg.solve((X.T * weights) @ X + np.eye(X.shape[1]), (X.T * weights) @ y)
        weights = np.minimum(1.0, 1.345 / np.maximum(np.abs(y - X @ theta), 1e-12))
    return theta


def isolation_scores(X: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    """IsolationForest's suspicion of each row (x, y)."""
    from sklearn.ensemble import IsolationForest

    table = np.column_stack([X, y])
    forest = IsolationForest(contamination=settings.DECLARED, random_state=seed).fit(table)
    return -forest.score_samples(table)


def pareto_k(problem: Problem, seed: int, draws: int = 1000) -> np.ndarray:
    """Pareto-k of each row from arviz.loo, with the exact posterior of all rows: what loo says after a plain fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import arviz

        posterior = problem.model.gaussian_posterior()
        theta = np.random.default_rng(seed).multivariate_normal(
            posterior.mean, posterior.covariance, draws, method="cholesky"
        )
        likelihood = np.stack([problem.model.log_likelihood(one) for one in theta])
        data = arviz.from_dict(posterior={"theta": theta[None]}, log_likelihood={"y": likelihood[None]})
        return np.nan_to_num(arviz.loo(data, pointwise=True, reff=1.0).pareto_k.to_numpy(), nan=1e9, posinf=1e9)


def _outlier_probability(result: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Posterior probability of each row to be of the mixture's outlier part, averaged over 200 draws."""
    from scipy.special import expit
    from scipy.stats import norm

    theta = result.theta.reshape(-1, X.shape[1])
    middle, spread = y.mean(), y.std()
    which = np.linspace(0, len(theta) - 1, 200).astype(int)
    share, location, scale = (result.others[name].reshape(-1)[which] for name in ("share", "location", "scale"))
    good = np.log1p(-share)[:, None] + norm.logpdf(y, theta[which] @ X.T, 1.0)
    bad = np.log(share)[:, None] + norm.logpdf(
        y, (middle + spread * location)[:, None], np.hypot(spread * scale, 1.0)[:, None]
    )
    return expit(bad - good).mean(axis=0)
