"""Curvature of the log posterior of one selection's rows, as a matrix or through products with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from robula._types import FloatArray
from robula.models.model import Model
from robula.selectors.selection import Selection

# A step size needs its curvature to a few per cent, not more.
_LANCZOS_TOLERANCE, _LANCZOS_RESTARTS = 0.02, 20
# Length of the difference quotient, relative to theta: about the cube root of the rounding error.
_DIFFERENCE = 6e-6


@dataclass(frozen=True)
class TrustedCurvature:
    """The selected rows, standing for ``rows`` rows, and the prior."""

    model: Model
    selection: Selection
    rows: float

    @property
    def _scale(self) -> float:
        return self.rows / float(self.selection.weights.sum())

    def at(self, theta: FloatArray) -> FloatArray:
        """Negative Hessian of the log posterior at theta (d,), shape (d, d)."""
        model = self.model
        total: FloatArray = self._scale * model.curvature(theta, self.selection.weights) + model.prior.precision(theta)
        return total

    def bound(self, theta: FloatArray) -> FloatArray | None:
        """A matrix (d, d) that dominates the curvature wherever the likelihood goes, or None if there is none.

        ``theta`` (d,) only says where the prior's precision is taken.
        """
        bound = self.model.curvature_bound(self.selection.weights)
        return None if bound is None else self._scale * bound + self.model.prior.precision(theta)

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Gradient of the log posterior at theta (d,) with the rows weighted as a whole, shape (d,)."""
        weighted = self.model.weighted_gradient(theta, self.selection.weights)
        total: FloatArray = self._scale * weighted + self.model.prior.gradient(theta)
        return total

    def log_density(self, theta: FloatArray) -> float:
        """Log posterior at theta (d,), up to a constant."""
        rows = self._scale * float(self.selection.weights @ self.model.log_likelihood(theta))
        return rows + float(self.model.prior.log_density(theta))

    def times(self, theta: FloatArray, vector: FloatArray) -> FloatArray:
        """Curvature at theta (d,) times a vector (d,): a central difference of two gradients, no (d, d) matrix."""
        length = float(np.linalg.norm(vector))
        if length == 0.0:
            return np.zeros_like(vector)
        step = _DIFFERENCE * (1.0 + float(np.linalg.norm(theta))) / length
        difference: FloatArray = self.gradient(theta - step * vector) - self.gradient(theta + step * vector)
        return difference / (2.0 * step)

    def extreme(self, theta: FloatArray, which: Literal["LM", "SA"]) -> float:
        """Largest eigenvalue in absolute value ("LM") or the smallest one ("SA"), by Lanczos iterations."""
        dim = len(theta)
        start = self.gradient(theta)
        start = start if np.linalg.norm(start) > 0 else np.ones(dim)
        operator = LinearOperator((dim, dim), matvec=lambda v: self.times(theta, v.ravel()), dtype=np.float64)
        try:
            found = eigsh(
                operator,
                k=1,
                which=which,
                v0=start,
                tol=_LANCZOS_TOLERANCE,
                maxiter=_LANCZOS_RESTARTS,
                return_eigenvectors=False,
            )
        except ArpackNoConvergence:
            return float("nan")
        return float(found[0])
