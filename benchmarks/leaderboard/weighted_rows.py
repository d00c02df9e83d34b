"""Rows whose log-likelihoods are weighted: what the methods of the related work need to know about a problem.

The prior is N(0, I). For linear regression and for a mean the weighted posterior is Gaussian; for logistic regression it
is approximated by its mode and curvature.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import expit

_NEWTON_STEPS = 30


class Gaussian(NamedTuple):
    """N(mean, precision^-1)."""

    mean: np.ndarray
    precision: np.ndarray

    def draw(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Return draws (count, d)."""
        root = np.linalg.cholesky(self.precision)
        noise = rng.standard_normal((len(self.mean), count))
        return self.mean + solve_triangular(root.T, noise, lower=False).T

    def log_density(self, theta: np.ndarray) -> float:
        """Return the log density at theta (d,)."""
        away = theta - self.mean
        return 0.5 * (np.linalg.slogdet(self.precision)[1] - float(away @ self.precision @ away))


class Rows(Protocol):
    """n rows of a model with d parameters."""

    n: int
    dim: int
    exact: bool
    """Whether :meth:`posterior` is exact."""

    def log_likelihood(self, theta: np.ndarray) -> np.ndarray:
        """Return the rows' log-likelihoods (n,)."""
        ...

    def posterior(self, weights: np.ndarray) -> Gaussian:
        """Return the posterior with weighted log-likelihoods, weights (n,)."""
        ...


class RegressionRows:
    """y = x'theta + N(0, 1)."""

    responses = 1
    exact = True

    def __init__(self, X: np.ndarray, y: np.ndarray) -> None:
        self.X, self.y = X, y
        self.n, self.dim = X.shape

    def squares(self, theta: np.ndarray) -> np.ndarray:
        """Squared residuals (n,)."""
        return (self.y - self.X @ theta) ** 2

    def log_likelihood(self, theta: np.ndarray) -> np.ndarray:
        """Return the rows' log-likelihoods (n,)."""
        return -0.5 * self.squares(theta) - 0.5 * math.log(2.0 * math.pi)

    def posterior(self, weights: np.ndarray) -> Gaussian:
        """Return the posterior with weighted log-likelihoods, weights (n,)."""
        weighted = self.X.T * weights
        precision = weighted @ self.X + np.eye(self.dim)
        return Gaussian(np.linalg.solve(precision, weighted @ self.y), precision)


class MeanRows:
    """z ~ N(theta, I)."""

    exact = True

    def __init__(self, z: np.ndarray) -> None:
        self.z = z
        self.n, self.dim = z.shape
        self.responses = self.dim

    def squares(self, theta: np.ndarray) -> np.ndarray:
        """Squared distances (n,)."""
        return ((self.z - theta) ** 2).sum(axis=1)

    def log_likelihood(self, theta: np.ndarray) -> np.ndarray:
        """Return the rows' log-likelihoods (n,)."""
        return -0.5 * self.squares(theta) - 0.5 * self.dim * math.log(2.0 * math.pi)

    def posterior(self, weights: np.ndarray) -> Gaussian:
        """Return the posterior with weighted log-likelihoods, weights (n,)."""
        total = float(weights.sum()) + 1.0
        return Gaussian(weights @ self.z / total, total * np.eye(self.dim))


class LogisticRows:
    """Labels y in {0, 1} with log odds x'theta."""

    exact = False

    def __init__(self, X: np.ndarray, y: np.ndarray) -> None:
        self.X, self.sign = X, np.where(y > 0.5, 1.0, -1.0)
        self.n, self.dim = X.shape
        self._start = np.zeros(self.dim)

    def log_likelihood(self, theta: np.ndarray) -> np.ndarray:
        """Return the rows' log-likelihoods (n,)."""
        return -np.logaddexp(0.0, -self.sign * (self.X @ theta))

    def posterior(self, weights: np.ndarray) -> Gaussian:
        """Mode and curvature, by Newton's method with halved steps."""
        theta = self._start

        def value(at: np.ndarray) -> float:
            return float(weights @ self.log_likelihood(at)) - 0.5 * float(at @ at)

        best = value(theta)
        for _ in range(_NEWTON_STEPS):
            right = expit(self.sign * (self.X @ theta))
            gradient = self.X.T @ (weights * self.sign * (1.0 - right)) - theta
            precision = (self.X.T * (weights * right * (1.0 - right))) @ self.X + np.eye(self.dim)
            step = np.linalg.solve(precision, gradient)
            while value(theta + step) < best - 1e-12 and np.abs(step).max() > 1e-10:
                step /= 2.0
            theta = theta + step
            best = value(theta)
            if np.abs(step).max() < 1e-8:
                break
        self._start = theta
        return Gaussian(theta, precision)
