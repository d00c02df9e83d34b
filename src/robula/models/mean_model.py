"""Mean of a multivariate normal with known covariance (the paper's section 5.1)."""

from __future__ import annotations

from copy import copy
from typing import Self

import numpy as np

from robula._types import ArrayInput, FloatArray
from robula.exceptions import InputError
from robula.models.covariance import Covariance
from robula.models.gaussian_posterior import GaussianPosterior, gaussian_posterior
from robula.models.model import Model, default_names
from robula.models.priors import Prior, resolve_prior
from robula.tables.arrays import as_matrix, column_names, read_only


class MeanModel(Model):
    """Rows z_i ~ N(theta, covariance) with known covariance.

    The gradient of row i is covariance^-1 (z_i - theta): the same shift for all rows as theta moves, so one robust
    selection is exact for the whole chain and a step costs d.

    Parameters
    ----------
    z : array-like, shape (n, d)
    covariance : None, float, (d,) or (d, d), optional
        None is the identity.
    prior : NormalPrior, optional
        None is flat.
    """

    gradients_translate = True

    def __init__(self, z: ArrayInput, covariance: ArrayInput = None, prior: Prior | None = None) -> None:
        rows = as_matrix(z, "z")
        self.n_rows, self.dim = rows.shape
        self.parameter_names = default_names(column_names(z), self.dim)
        self.covariance = Covariance(1.0 if covariance is None else covariance, "covariance")
        if self.covariance.dim not in (None, self.dim):
            raise InputError(f"covariance is for {self.covariance.dim} columns, but z has {self.dim}.")
        self.prior = resolve_prior(prior, self.dim)
        self.z = read_only(np.array(rows))
        # (d, n) and contiguous: selectors sort along rows of this layout.
        self._scaled = np.array(self.covariance.precision_times(rows).T, order="C")

    def take(self, rows: np.ndarray) -> Self:
        """Return the model of these rows only."""
        part = copy(self)
        part.n_rows, part.z = len(rows), read_only(self.z[rows])
        part._scaled = np.ascontiguousarray(self._scaled[:, rows])
        return part

    @property
    def observed_data(self) -> dict[str, np.ndarray]:
        """The rows, shape (n, d)."""
        return {"z": self.z}

    def log_likelihood(self, theta: FloatArray) -> FloatArray:
        """Log-likelihood of each row, shape (..., n)."""
        theta = self.check_theta(theta)
        return self.covariance.log_density(self.z - theta[..., None, :])

    def gradients(self, theta: FloatArray) -> FloatArray:
        """Gradient of each row's log-likelihood, shape (..., n, d)."""
        shift = self.gradient_shift(self.check_theta(theta))
        return np.swapaxes(self._scaled + shift[..., :, None], -1, -2)

    def weighted_gradient(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Weighted sum of the rows' gradients, shape (..., d)."""
        total = weights.sum(axis=-1)[..., None]
        result: FloatArray = weights @ self._scaled.T + total * self.gradient_shift(self.check_theta(theta))
        return result

    def gradient_shift(self, theta: FloatArray) -> FloatArray:
        """Common shift of all gradients from 0 to theta: -covariance^-1 theta, shape (..., d)."""
        return -self.covariance.precision_times(theta)

    def curvature(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Sum of the weights times the inverse covariance, shape (d, d)."""
        return float(weights.sum()) * self.covariance.precision(self.dim)

    def curvature_bound(self, weights: FloatArray) -> FloatArray:
        """Return the curvature, which is the same for every theta."""
        return self.curvature(np.zeros(self.dim), weights)

    def gaussian_posterior(self, weights: FloatArray | None = None) -> GaussianPosterior:
        """Exact posterior when row i counts ``weights[i]`` times."""
        return gaussian_posterior(self, weights)
