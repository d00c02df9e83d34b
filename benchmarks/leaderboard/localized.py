"""Localized models (Wang and Blei 2018): every row has its own copy of a parameter, drawn from a common law.

The common law's parameters are set by empirical Bayes, by the largest marginal likelihood. Gaussian rows get a variance each,
sigma_i^2 ~ inverse gamma (marginally a Student-t likelihood whose degrees of freedom and scale are estimated); labels get log odds
each, eta_i ~ N(x'theta, lambda^2).
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, gammaln

from benchmarks.leaderboard.weighted_rows import Gaussian, LogisticRows, MeanRows, RegressionRows

_BURN_IN = 100
_ROUNDS = 100
#: Standard deviations of the local log odds that are tried.
SPREADS = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0)
_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(40)


def sample(
    rows: RegressionRows | MeanRows | LogisticRows, rng: np.random.Generator, chains: int, draws: int
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return draws (chains, draws, d), and how suspect each row is (n,): its expected variance, for Gaussian rows."""
    if isinstance(rows, LogisticRows):
        posterior = max((local_odds(rows, spread) for spread in SPREADS), key=lambda found: found[1])[0]
        return posterior.draw(rng, chains * draws).reshape(chains, draws, rows.dim), None
    freedom, scale, theta = fit_scales(rows)
    found, precision = np.empty((chains, draws, rows.dim)), np.zeros(rows.n)
    for chain in range(chains):
        now = theta
        for step in range(_BURN_IN + draws):
            shape = 0.5 * (freedom + rows.responses)
            local = rng.gamma(shape, size=rows.n) / (0.5 * (freedom * scale**2 + rows.squares(now)))
            now = rows.posterior(local).draw(rng, 1)[0]
            if step >= _BURN_IN:
                found[chain, step - _BURN_IN] = now
                precision += local / (chains * draws)
    return found, -precision


def fit_scales(rows: RegressionRows | MeanRows) -> tuple[float, float, np.ndarray]:
    """Degrees of freedom, scale and theta of the largest marginal likelihood, by expectation-conditional maximisation."""
    freedom, scale = 4.0, 1.0
    theta = rows.posterior(np.ones(rows.n)).mean
    for _ in range(_ROUNDS):
        local = (freedom + rows.responses) / (freedom * scale**2 + rows.squares(theta))
        theta = rows.posterior(local).mean
        squares = rows.squares(theta)
        weights = (freedom + rows.responses) / (freedom + squares / scale**2)
        scale = float(np.sqrt((weights * squares).mean() / rows.responses))
        before, freedom = freedom, _best_freedom(squares / scale**2, rows.responses)
        if abs(freedom - before) < 1e-3 * before:
            break
    return freedom, scale, theta


def _best_freedom(squares: np.ndarray, responses: int) -> float:
    def loss(logarithm: float) -> float:
        nu = np.exp(logarithm)
        constant = gammaln(0.5 * (nu + responses)) - gammaln(0.5 * nu) - 0.5 * responses * np.log(nu)
        return float(-(constant - 0.5 * (nu + responses) * np.log1p(squares / nu)).mean())

    return float(np.exp(minimize_scalar(loss, bounds=(np.log(0.5), np.log(200.0)), method="bounded").x))


def local_odds(rows: LogisticRows, spread: float) -> tuple[Gaussian, float]:
    """Mode and curvature of theta with log odds N(x'theta, spread^2), and the Laplace approximation of the evidence.

    A label's likelihood is E expit(s (x'theta + spread z)), log-concave in x'theta; Gauss-Hermite nodes for z.
    """
    chances = _NODE_WEIGHTS / _NODE_WEIGHTS.sum()
    theta = np.zeros(rows.dim)
    for _ in range(50):
        right = expit(rows.sign[:, None] * (rows.X @ theta)[:, None] + spread * _NODES)
        mean = right @ chances
        first = (right * (1.0 - right)) @ chances / mean
        second = (right * (1.0 - right) * (1.0 - 2.0 * right)) @ chances / mean - first**2
        gradient = rows.X.T @ (rows.sign * first) - theta
        precision = (rows.X.T * np.maximum(-second, 0.0)) @ rows.X + np.eye(rows.dim)
        step = np.linalg.solve(precision, gradient)
        theta = theta + step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-8:
            break
    evidence = float(np.log(mean).sum()) - 0.5 * float(theta @ theta) - 0.5 * np.linalg.slogdet(precision)[1]
    return Gaussian(theta, precision), evidence
