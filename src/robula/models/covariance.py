"""A positive-definite matrix given as a scalar, a diagonal or in full."""

from __future__ import annotations

import math

import numpy as np

from robula._types import ArrayInput, FloatArray
from robula._validation import LARGEST_SCALE, SMALLEST_SCALE
from robula.exceptions import InputError
from robula.tables.arrays import as_option


class Covariance:
    """Validated covariance that keeps the cheapest form it was given in.

    Parameters
    ----------
    value : float, (d,) or (d, d)
        Common variance, variances on the diagonal, or a symmetric positive-definite matrix.
    name : str
        The argument's name, for messages.
    """

    def __init__(self, value: ArrayInput, name: str) -> None:
        array = np.array(as_option(value, name))
        if array.ndim > 2 or (array.ndim == 2 and array.shape[0] != array.shape[1]) or array.size == 0:
            raise InputError(
                f"{name} has shape {array.shape}; pass a variance, a vector of d variances, or a (d, d) matrix."
            )
        if not np.isfinite(array).all():
            raise InputError(f"{name} has missing or infinite entries.")
        self.value: FloatArray = array
        self.dim: int | None = array.shape[0] if array.ndim else None
        if array.ndim == 2:
            self._factor = _cholesky(array, name)
            self._whitener: FloatArray = np.linalg.inv(self._factor).astype(np.float64, copy=False)
            self._precision: FloatArray = self._whitener.T @ self._whitener
        else:
            if not (array > 0).all():
                raise InputError(
                    f"{name} is not positive definite: its smallest variance is {array.min():g}; "
                    "every variance must be above 0."
                )
            with np.errstate(over="ignore"):
                self._precision = 1.0 / array
        # Of the whole matrix, or of one coordinate each.
        roots = 2.0 * np.log(np.diag(self._factor)) if array.ndim == 2 else np.log(array)
        self._log_det = float(roots.sum())
        if not (np.abs(self._precision).max() <= SMALLEST_SCALE**-2 and np.abs(array).max() <= LARGEST_SCALE**2):
            raise InputError(f"{name} is too large or too close to singular to invert; rescale the data.")

    def precision_times(self, vectors: FloatArray) -> FloatArray:
        """Multiply by the inverse covariance along the last axis, shape (..., d) to (..., d)."""
        if self._precision.ndim == 2:
            product: FloatArray = vectors @ self._precision
            return product
        return vectors * self._precision

    def whitener(self, dim: int) -> FloatArray:
        """Return a lower triangular W (dim, dim) with W' W the inverse covariance."""
        if self._precision.ndim == 2:
            return self._whitener.copy()
        return np.diag(np.broadcast_to(np.sqrt(self._precision), dim))

    def precision(self, dim: int) -> FloatArray:
        """Return the inverse covariance as a (dim, dim) matrix."""
        if self._precision.ndim == 2:
            return self._precision.copy()
        return np.diag(np.broadcast_to(self._precision, dim))

    def log_det(self, dim: int) -> float:
        """Log determinant of the (dim, dim) covariance."""
        return self._log_det if self.value.ndim else dim * self._log_det

    def log_density(self, deviations: FloatArray) -> FloatArray:
        """Log density of N(0, covariance) at deviations of shape (..., d)."""
        dim = deviations.shape[-1]
        squared = np.einsum("...d,...d->...", deviations, self.precision_times(deviations))
        density: FloatArray = -0.5 * (squared + self.log_det(dim) + dim * math.log(2 * math.pi))
        return density


def _cholesky(matrix: FloatArray, name: str) -> FloatArray:
    scale = float(np.abs(matrix).max())
    if not np.allclose(matrix, matrix.T, rtol=0.0, atol=1e-10 * scale):
        raise InputError(f"{name} is not symmetric; pass ({name} + {name}.T) / 2 if that is what you mean.")
    try:
        factor: FloatArray = np.linalg.cholesky(matrix).astype(np.float64, copy=False)
        return factor
    except np.linalg.LinAlgError:
        smallest = float(np.linalg.eigvalsh(matrix)[0])
        raise InputError(
            f"{name} is not positive definite: its smallest eigenvalue is {smallest:.3g}. "
            "Add a small multiple of the identity, or drop the columns that are combinations of others."
        ) from None
