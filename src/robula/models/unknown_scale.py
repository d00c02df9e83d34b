"""Linear regression whose noise scale is a parameter too: ``LinearModel(..., noise_scale="estimate")``."""

from __future__ import annotations

import math
from copy import copy
from typing import Self

import numpy as np

from robula._types import ArrayInput, FloatArray
from robula.models.linear_model import LinearModel
from robula.models.model import Model, unique_names
from robula.models.priors import NormalPrior, Prior

#: Standard deviation of the prior of log noise scale: a factor of 50 either way is within two of them.
_LOG_SD = 2.0


class UnknownScaleLinearModel(Model):
    """Rows y_i ~ N(x_i' beta, sigma^2); theta = (beta, log sigma).

    The prior of log sigma is N(log m, 2^2), independent of beta's, with m the median absolute deviation of y in units
    of a normal's standard deviation. It says little: the noise is within a factor of 50 of the spread of y.

    Parameters
    ----------
    X, y, prior, intercept
        As for :class:`LinearModel`; the prior is the coefficients'.
    """

    def __init__(self, X: ArrayInput, y: ArrayInput, *, prior: Prior | None, intercept: bool) -> None:
        self._unit = LinearModel(X, y, noise_scale=1.0, prior=prior, intercept=intercept)
        self.n_rows, self.dim = self._unit.n_rows, self._unit.dim + 1
        name = unique_names(["log_noise_scale"], self._unit.parameter_names)
        self.parameter_names = (*self._unit.parameter_names, *name)
        self.y = self._unit.y
        deviations = np.abs(self.y - np.median(self.y))
        reference = 1.4826 * float(np.median(deviations)) or float(deviations.mean()) or 1.0
        self._log_reference = math.log(reference)
        self.prior = _CoefficientsAndScale(self._unit.prior, self._log_reference)

    @property
    def design(self) -> FloatArray:
        """The design matrix with the intercept column, shape (n, d - 1)."""
        return self._unit.design

    @property
    def initial(self) -> FloatArray:
        """Coefficients 0 and the spread of y."""
        return np.append(np.zeros(self.dim - 1), self._log_reference)

    def take(self, rows: np.ndarray) -> Self:
        """Return the model of these rows only."""
        part = copy(self)
        part._unit = self._unit.take(rows)
        part.n_rows, part.y = len(rows), part._unit.y
        return part

    def at_scale(self, noise_scale: float) -> LinearModel:
        """Return the model with this noise scale, known."""
        features = self.design
        return LinearModel(features, self.y, noise_scale=noise_scale, prior=self._unit.prior)

    def _standardized(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Residuals over sigma (..., n), and sigma (..., 1)."""
        theta = self.check_theta(theta)
        # Beyond e^30 either way the scale is held: a chain that far out has left the posterior.
        scale = np.exp(np.clip(theta[..., -1:], -30.0, 30.0))
        return (self.y - theta[..., :-1] @ self.design.T) / scale, scale

    def log_likelihood(self, theta: FloatArray) -> FloatArray:
        """Log-likelihood of each row, shape (..., n)."""
        z, scale = self._standardized(theta)
        value: FloatArray = -0.5 * z**2 - np.log(scale) - 0.5 * math.log(2 * math.pi)
        return value

    def gradients(self, theta: FloatArray) -> FloatArray:
        """Gradient of each row's log-likelihood, shape (..., n, d)."""
        z, scale = self._standardized(theta)
        coefficients = (z / scale)[..., None] * self.design
        return np.concatenate([coefficients, (z**2 - 1.0)[..., None]], axis=-1)

    def weighted_gradient(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Weighted sum of the rows' gradients, shape (..., d)."""
        z, scale = self._standardized(theta)
        coefficients = (weights * z / scale) @ self.design
        return np.concatenate([coefficients, (weights * (z**2 - 1.0)).sum(axis=-1, keepdims=True)], axis=-1)

    def curvature(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Negative Hessian of the weighted log-likelihood at one theta, shape (d, d); positive near the mode."""
        z, scale = self._standardized(theta)
        result = np.empty((self.dim, self.dim))
        result[:-1, :-1] = (self.design.T * weights) @ self.design / scale**2
        result[:-1, -1] = result[-1, :-1] = 2.0 * (weights * z) @ self.design / scale
        result[-1, -1] = 2.0 * float(weights @ z**2)
        return result

    def variables(self, draws: FloatArray) -> dict[str, FloatArray]:
        """Coefficients and the positive noise scale."""
        return {"coefficients": draws[..., :-1], "noise_scale": np.exp(draws[..., -1])}


class _CoefficientsAndScale:
    """The coefficients' prior and, independent of it, a normal one of the log noise scale."""

    def __init__(self, coefficients: Prior, log_reference: float) -> None:
        self._coefficients = coefficients
        self._scale = NormalPrior(log_reference, _LOG_SD**2)
        self.proper = coefficients.proper

    def log_density(self, theta: FloatArray) -> FloatArray:
        """Log density, shape (...)."""
        return self._coefficients.log_density(theta[..., :-1]) + self._scale.log_density(theta[..., -1:])

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Gradient of the log density, shape (..., d)."""
        parts = [self._coefficients.gradient(theta[..., :-1]), self._scale.gradient(theta[..., -1:])]
        return np.concatenate(parts, axis=-1)

    def precision(self, theta: FloatArray) -> FloatArray:
        """Negative Hessian of the log density, shape (d, d)."""
        result = np.zeros((theta.shape[-1], theta.shape[-1]))
        result[:-1, :-1] = self._coefficients.precision(theta[:-1])
        result[-1, -1] = _LOG_SD**-2
        return result

    def check_dim(self, dim: int) -> None:
        """Refuse a prior of the coefficients that is for another number of them."""
        self._coefficients.check_dim(dim - 1)

    def __repr__(self) -> str:
        return f"{self._coefficients!r} and log noise scale {self._scale!r}"
