"""The plain fit of rows that are right, and its standard errors that hold whatever the variance does (HC3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

_MOST_STEPS = 100
# Linear predictors beyond these are certain events; no figure here hangs on them.
_LIMITS = {"count": 30.0, "binary": 30.0}
# Keeps the Newton step of separable labels finite: a prior with a standard deviation of 1000 per column's own.
_RIDGE = 1e-6


class PlainFit(NamedTuple):
    """Maximum likelihood: intercept and coefficients, standard errors (intercept first) and noise."""

    family: str
    intercept: float
    coef: np.ndarray
    standard_errors: np.ndarray
    classical_errors: np.ndarray
    sigma: float

    def mean(self, X: np.ndarray) -> np.ndarray:
        """Expected response of rows (m, p)."""
        return inverse_link(self.family, self.intercept + X @ self.coef)


def inverse_link(family: str, predictor: np.ndarray) -> np.ndarray:
    """Mean of the response given the linear predictor."""
    if family == "regression":
        return predictor
    held = np.clip(predictor, -_LIMITS[family], _LIMITS[family])
    return np.exp(held) if family == "count" else expit(held)


def plain_fit(X: np.ndarray, y: np.ndarray, family: str) -> PlainFit:
    """Least squares, Poisson regression or logistic regression by Newton steps, in standardised columns.

    HC3: squared residuals are divided by (1 - h)^2, h the leverage (MacKinnon and White 1985); for the generalised
    linear models h is that of the last weighted least squares.
    """
    centre, scale = X.mean(axis=0), X.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    design = np.column_stack([np.ones(len(y)), (X - centre) / scale])
    theta = _estimate(design, y, family)
    mean = inverse_link(family, design @ theta)
    weights = {"regression": np.ones_like(mean), "count": mean, "binary": mean * (1.0 - mean)}[family]
    bread = np.linalg.pinv(design.T @ (weights[:, None] * design))
    leverage = weights * np.einsum("ij,jk,ik->i", design, bread, design)
    residuals = y - mean
    freedom = max(len(y) - design.shape[1], 1)
    sigma = float(np.sqrt(residuals @ residuals / freedom))
    scores = design * (residuals / np.clip(1.0 - leverage, 1e-3, None))[:, None]
    robust = bread @ (scores.T @ scores) @ bread
    classical = bread * (sigma**2 if family == "regression" else 1.0)
    # Back to the units of X; the intercept then is where every column is 0.
    back = np.eye(len(theta))
    back[1:, 1:] = np.diag(1.0 / scale)
    back[0, 1:] = -centre / scale
    theta = back @ theta
    errors = [np.sqrt(np.diag(back @ covariance @ back.T)) for covariance in (robust, classical)]
    return PlainFit(family, float(theta[0]), theta[1:], errors[0], errors[1], sigma)


def _estimate(design: np.ndarray, y: np.ndarray, family: str) -> np.ndarray:
    if family == "regression":
        return np.linalg.lstsq(design, y, rcond=None)[0]
    theta = np.zeros(design.shape[1])
    level = y.mean()
    theta[0] = np.log(level) if family == "count" else np.log(level / (1.0 - level))
    penalty = _RIDGE * len(y) * np.eye(len(theta))

    def loss(candidate: np.ndarray) -> float:
        eta = np.clip(design @ candidate, -_LIMITS[family], _LIMITS[family])
        partition = np.exp(eta) if family == "count" else np.logaddexp(0.0, eta)
        return float((partition - y * eta).sum() + 0.5 * candidate @ penalty @ candidate)

    value = loss(theta)
    for _ in range(_MOST_STEPS):
        mean = inverse_link(family, design @ theta)
        weights = mean if family == "count" else mean * (1.0 - mean)
        gradient = design.T @ (mean - y) + penalty @ theta
        step = np.linalg.solve(design.T @ (weights[:, None] * design) + penalty, gradient)
        shrink = 1.0
        while loss(theta - shrink * step) > value + 1e-12 * abs(value) and shrink > 1e-8:
            shrink *= 0.5
        theta = theta - shrink * step
        previous, value = value, loss(theta)
        if abs(previous - value) <= 1e-10 * (abs(value) + 1.0):
            break
    return theta
