"""Exact posterior of the models whose log posterior is quadratic: the yardstick of every accuracy claim."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robula._types import FloatArray
from robula.exceptions import InputError
from robula.models.model import Model
from robula.models.priors import FlatPrior, NormalPrior


class GaussianPosterior(NamedTuple):
    """A normal distribution.

    Attributes
    ----------
    mean : ndarray, shape (d,)
    covariance : ndarray, shape (d, d)
    """

    mean: FloatArray
    covariance: FloatArray

    def seen_as(self, other: GaussianPosterior, mean: FloatArray, deviations: FloatArray) -> GaussianPosterior:
        """Return this one moved and stretched as ``other`` must be to have this mean and these deviations (d,).

        Both are normal approximations at a mode, and of ``other`` the truth is known from draws: of few rows its mean
        is not at the mode, and it is wider. Compared with those draws, the same is to be different only where the rows
        make it so.
        """
        stretch = deviations / np.sqrt(np.diag(other.covariance))
        return GaussianPosterior(self.mean + mean - other.mean, self.covariance * np.outer(stretch, stretch))


def gaussian_posterior(model: Model, weights: FloatArray | None = None) -> GaussianPosterior:
    """Exact posterior of a Gaussian model when row i counts ``weights[i]`` times.

    The log posterior is quadratic, so one Newton step from 0 ends at its mode.

    Parameters
    ----------
    model : MeanModel or LinearModel
    weights : ndarray, shape (n,), optional
        Row weights; a boolean mask of the clean rows gives the clean posterior. All rows by default.
    """
    if not isinstance(model.prior, NormalPrior | FlatPrior):
        raise InputError(f"the exact posterior needs a normal or flat prior; the model has {model.prior!r}.")
    row_weights = np.ones(model.n_rows) if weights is None else np.asarray(weights, dtype=np.float64)
    if row_weights.shape != (model.n_rows,) or not (row_weights >= 0).all():
        raise InputError(f"weights must be {model.n_rows} numbers of at least 0, one per row.")
    origin = np.zeros(model.dim)
    precision = model.curvature(origin, row_weights) + model.prior.precision(origin)
    gradient = model.weighted_gradient(origin, row_weights) + model.prior.gradient(origin)
    scale = np.sqrt(np.maximum(np.diag(precision), 1e-300))
    values, vectors = np.linalg.eigh(precision / np.outer(scale, scale))
    # Rounding leaves eigenvalues of the order of d * 1e-16 where there is no information at all.
    if not values[0] > 1e-14 * model.dim:
        raise InputError(
            "these rows do not determine every parameter and the prior is flat: the posterior is improper. "
            "Pass a NormalPrior or more rows."
        )
    covariance = (vectors / values) @ vectors.T / np.outer(scale, scale)
    return GaussianPosterior(covariance @ gradient, covariance)
