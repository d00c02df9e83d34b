"""Mean of a multivariate normal with known covariance (the paper's section 5.1)."""

from __future__ import annotations

from copy import copy
from typing import Self

import numpy as np
from scipy.special import chdtr

from robula._types import ArrayInput, FloatArray
from robula.exceptions import InputError
from robula.models.covariance import Covariance
from robula.models.gaussian_posterior import GaussianPosterior, gaussian_posterior
from robula.models.law import ModelWithLaw, Tails
from robula.models.model import default_names
from robula.models.priors import Prior, resolve_prior
from robula.models.tail_scores import log_gamma_cdf, log_gamma_sf
from robula.tables.arrays import as_matrix, column_names, read_only


class MeanModel(ModelWithLaw):
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

    Notes
    -----
    A row is a vector, so its law is that of the vector: :meth:`whitened` gives its d residuals in units of the
    covariance, independent N(0, 1) each, and :meth:`pit` is of their squared length, which is chi-squared with d
    degrees of freedom: near 1 far from the mean, whatever the direction.
    """

    name = "mean"
    noise = "declared"
    response_kind = "vector"
    gradients_translate = True
    quadratic = True

    def __init__(self, z: ArrayInput, covariance: ArrayInput = None, prior: Prior | None = None) -> None:
        rows = as_matrix(z, "z")
        self.n_rows, self.dim = rows.shape
        self.parameter_names = default_names(column_names(z), self.dim)
        self.covariance = Covariance(1.0 if covariance is None else covariance, "covariance")
        if self.covariance.dim not in (None, self.dim):
            raise InputError(f"covariance is for {self.covariance.dim} columns, but z has {self.dim}.")
        self.prior = resolve_prior(prior, self.dim)
        self._set_rows(rows)

    def _set_rows(self, z: FloatArray) -> None:
        self.z = read_only(np.array(z))
        # (d, n) and contiguous: selectors sort along rows of this layout.
        self._scaled = np.array(self.covariance.precision_times(self.z).T, order="C")

    def take(self, rows: np.ndarray) -> Self:
        """Return the model of these rows only."""
        part = copy(self)
        part.n_rows, part.z = len(rows), read_only(self.z[rows])
        part._scaled = np.ascontiguousarray(self._scaled[:, rows])
        return part

    def with_response(self, response: FloatArray) -> Self:
        """Return the same model with other rows (m, d)."""
        other = copy(self)
        other.n_rows = len(response)
        other._set_rows(response)
        return other

    @property
    def response(self) -> None:
        """None: a row is a vector."""
        return None

    def whitened(self, theta: FloatArray) -> FloatArray:
        """Residuals of each row in units of the covariance, shape (n, d): N(0, I) at the true theta."""
        whitened: FloatArray = (self.z - self.check_theta(theta)) @ self.covariance.whitener(self.dim).T
        return whitened

    def pit(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P(chi-squared with d degrees of freedom < squared length of the whitened residual), twice, shape (n,)."""
        probability: FloatArray = chdtr(self.dim, (self.whitened(theta) ** 2).sum(axis=1))
        return probability, probability

    def log_tails(self, theta: FloatArray) -> Tails:
        """Log of the tail probabilities of the squared length."""
        half = (self.whitened(theta) ** 2).sum(axis=1) / 2.0
        shape = np.full(self.n_rows, self.dim / 2.0)
        below, above = log_gamma_cdf(shape, half), log_gamma_sf(shape, half)
        return Tails(below, below, above, above)

    def features(self, theta: FloatArray) -> FloatArray:
        """The same for every row: its d whitened numbers by the d parameters, shape (n, d, d), read-only."""
        return np.broadcast_to(self.covariance.whitener(self.dim), (self.n_rows, self.dim, self.dim))

    def information(self, theta: FloatArray, weights: FloatArray | None = None) -> FloatArray:
        """Fisher information of the rows, each times its weight: the curvature, shape (d, d)."""
        return self.curvature(theta, np.ones(self.n_rows) if weights is None else weights)

    def simulate(self, theta: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw every row, shape (n, d)."""
        noise = rng.standard_normal((self.n_rows, self.dim))
        rows: FloatArray = self.check_theta(theta) + np.linalg.solve(self.covariance.whitener(self.dim), noise.T).T
        return rows

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
