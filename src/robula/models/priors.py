"""Priors: normal, flat, and the protocol any other prior follows."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from robula._types import ArrayInput, FloatArray
from robula._validation import show
from robula.exceptions import InputError
from robula.models.covariance import Covariance
from robula.tables.arrays import as_option

#: Standard deviation of the prior of a log scale: a factor of 50 either way is within two of them.
LOG_SCALE_SD = 2.0


@runtime_checkable
class Prior(Protocol):
    """What a model needs of a prior; ``theta`` has shape (..., d)."""

    @property
    def proper(self) -> bool:
        """Whether the prior integrates to one."""

    def log_density(self, theta: FloatArray) -> FloatArray:
        """Log density, shape (...)."""

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Gradient of the log density, shape (..., d)."""

    def precision(self, theta: FloatArray) -> FloatArray:
        """Negative Hessian of the log density at one theta of shape (d,), shape (d, d)."""

    def check_dim(self, dim: int) -> None:
        """Raise InputError if the prior cannot belong to a parameter of this dimension."""


class FlatPrior:
    """The improper prior with constant density; ``prior=None`` in a model."""

    proper = False

    def log_density(self, theta: FloatArray) -> FloatArray:
        """Zero everywhere, shape (...)."""
        return np.zeros(np.shape(theta)[:-1])

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Zero everywhere, shape (..., d)."""
        return np.zeros_like(theta)

    def precision(self, theta: FloatArray) -> FloatArray:
        """Zero matrix, shape (d, d)."""
        return np.zeros((theta.shape[-1], theta.shape[-1]))

    def check_dim(self, dim: int) -> None:
        """Accept every dimension."""

    def __repr__(self) -> str:
        return "FlatPrior()"


class NormalPrior:
    """Normal prior N(mean, covariance).

    Parameters
    ----------
    mean : float or (d,)
        A scalar stands for the same mean in every coordinate.
    covariance : float, (d,) or (d, d)
        Common variance, variances, or a full matrix. Variances, not standard deviations.
    """

    proper = True

    def __init__(self, mean: ArrayInput = 0.0, covariance: ArrayInput = 1.0) -> None:
        self.mean: FloatArray = np.array(as_option(mean, "prior mean"))
        if self.mean.ndim > 1 or self.mean.size == 0 or not np.isfinite(self.mean).all():
            raise InputError(f"prior mean={show(mean)} must be a finite number or a vector of d finite numbers.")
        self.covariance = Covariance(covariance, "prior covariance")
        if self.mean.ndim and self.covariance.dim not in (None, self.mean.size):
            raise InputError(
                f"prior mean has {self.mean.size} entries but prior covariance is for {self.covariance.dim}."
            )

    def log_density(self, theta: FloatArray) -> FloatArray:
        """Log density, shape (...)."""
        return self.covariance.log_density(theta - self.mean)

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Gradient of the log density, shape (..., d)."""
        return -self.covariance.precision_times(theta - self.mean)

    def precision(self, theta: FloatArray) -> FloatArray:
        """Inverse covariance, shape (d, d)."""
        return self.covariance.precision(theta.shape[-1])

    def check_dim(self, dim: int) -> None:
        """Refuse a mean or covariance of another dimension."""
        for what, size in (("mean", self.mean.size if self.mean.ndim else None), ("covariance", self.covariance.dim)):
            if size not in (None, dim):
                raise InputError(
                    f"the prior's {what} is for {size} parameters, but the model has {dim}. "
                    "Pass a scalar, or one entry per parameter (an intercept counts as one and comes first)."
                )

    def __repr__(self) -> str:
        return f"NormalPrior(mean={show(self.mean.tolist())}, covariance={show(self.covariance.value.tolist())})"


class CoefficientsAndLogScale:
    """The coefficients' prior and, independent of it, a normal one of the last parameter, the log of a scale."""

    def __init__(self, coefficients: Prior, log_scale: NormalPrior) -> None:
        self._coefficients, self._scale = coefficients, log_scale
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
        result[-1:, -1:] = self._scale.precision(theta[-1:])
        return result

    def check_dim(self, dim: int) -> None:
        """Refuse a prior of the coefficients that is for another number of them."""
        self._coefficients.check_dim(dim - 1)

    def __repr__(self) -> str:
        return f"{self._coefficients!r} and log scale {self._scale!r}"


def resolve_prior(prior: Prior | None, dim: int) -> Prior:
    """Return a prior fit for ``dim`` parameters; None is flat."""
    if prior is None:
        return FlatPrior()
    if isinstance(prior, type) or not isinstance(prior, Prior):
        raise InputError(
            f"prior={show(prior)} is not a prior: pass robula.NormalPrior(mean, covariance), None for a flat prior, "
            "or an object with log_density, gradient, precision, check_dim and proper."
        )
    prior.check_dim(dim)
    return prior


def require_proper(prior: Prior, model: str, reason: str) -> None:
    """Refuse an improper prior where the posterior may not exist without one."""
    if not prior.proper:
        raise InputError(
            f"{model} needs a proper prior: {reason} Pass prior=robula.NormalPrior(0.0, 1.0) "
            "(mean and variance) or one that suits the scale of your columns."
        )
