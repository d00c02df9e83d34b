"""The centre of a robust posterior, and the curvature of the rows that are trusted there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from robula._types import FloatArray
from robula.models.model import Model
from robula.selectors.selection import Selection

# A step size needs its curvature to a few per cent, not more.
_LANCZOS_TOLERANCE, _LANCZOS_RESTARTS = 0.02, 20
# Length of the difference quotient, relative to theta: about the cube root of the rounding error.
_DIFFERENCE = 6e-6
# Draws from the Laplace approximation at which the curvature is looked at.
_PROBES = 8
# And fewer where each look takes Lanczos iterations.
_LARGE_PROBES = 2
# A Hessian that is not positive says nothing about the width of its flat and negative directions. They are treated as
# if they had this share of the largest curvature, so no direction is taken for more than 30 times wider than another.
FLAT = 1e-3


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
        rows = self._scale * float(self.model.counted(self.selection.weights) @ self.model.log_likelihood(theta))
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


class RobustCentre(NamedTuple):
    """Where the robust drift vanishes, roughly, and the curvature there.

    Attributes
    ----------
    theta : ndarray, shape (d,)
    smoothness : float
        The paper's L: largest curvature of the posterior of the trusted rows. Where the model bounds its curvature
        over all theta, the smaller of that bound for the rows trusted at the start and for those trusted at the
        centre: bad rows with large features would have to look harmless in both places to slow the chain down. Else
        the curvature at the centre.
    strong_convexity : float
        The paper's m at the centre: smallest curvature.
    width : float
        Posterior width sqrt(trace of the inverse curvature).
    bounded : bool
        Whether ``smoothness`` holds for all theta.
    local_smoothness : float
        Largest curvature at the centre itself.
    data_curvature : float
        Largest curvature of the trusted rows alone, without the prior.
    weakest_direction : ndarray, shape (d,)
        Direction of the smallest curvature; in it, the information (curvature) of the trusted rows, of the prior and
        of all rows follow.
    eigenvalues, eigenvectors : ndarray, shapes (d,) and (d, d), or None
        Of the curvature at the centre, the smallest first; None where the model cannot afford a (d, d) matrix.
    curvature : TrustedCurvature
        Of the rows trusted at the centre, for a look elsewhere.
    """

    theta: FloatArray
    smoothness: float
    strong_convexity: float
    width: float
    bounded: bool
    local_smoothness: float
    data_curvature: float
    weakest_direction: FloatArray
    trusted_information: float
    prior_information: float
    all_information: float
    eigenvalues: FloatArray | None
    eigenvectors: FloatArray | None
    curvature: TrustedCurvature

    def laplace_scaling(self) -> FloatArray:
        """Return A (d, d) with A A' the inverse curvature at the centre, where that is positive."""
        if self.eigenvalues is None or self.eigenvectors is None:
            raise ValueError("this centre has no matrix of curvature")
        values = np.abs(self.eigenvalues)
        share = 1e-10 if self.eigenvalues[0] > 0 else FLAT
        scaling: FloatArray = self.eigenvectors / np.sqrt(np.maximum(values, share * values.max()))
        return scaling

    def largest_curvature_nearby(self, rng: np.random.Generator, scaling: FloatArray | None = None) -> float:
        """Largest curvature at the centre and at some draws from the Laplace approximation there.

        Never above the model's own bound, which is all there is to know where the curvature is constant.

        Parameters
        ----------
        scaling : ndarray, shape (d, d), optional
            Measure the curvature in the coordinates phi of theta = scaling @ phi.
        """
        if scaling is None and self.bounded:
            return self.smoothness
        if self.eigenvectors is None:
            return self._largest_without_matrix(rng)

        def largest(curvature: FloatArray) -> float:
            seen = curvature if scaling is None else scaling.T @ curvature @ scaling
            return float(np.abs(np.linalg.eigvalsh(seen)).max())

        here = 1.0 if scaling is not None else self.smoothness
        bound = self.curvature.bound(self.theta)
        most = np.inf if bound is None else largest(bound)
        if most <= here * (1.0 + 1e-6):
            return here
        shape = self.laplace_scaling()
        with np.errstate(over="ignore", invalid="ignore"):
            draws = self.theta + rng.standard_normal((_PROBES, len(self.theta))) @ shape.T
            seen = [largest(matrix) for matrix in map(self.curvature.at, draws) if np.isfinite(matrix).all()]
        return min(most, max([here, *seen]))

    def _largest_without_matrix(self, rng: np.random.Generator) -> float:
        """The same by Lanczos iterations, around the centre at a distance that flat directions are given."""
        width = 1.0 / np.sqrt(max(self.strong_convexity, FLAT * self.smoothness))
        draws = self.theta + width * rng.standard_normal((_LARGE_PROBES, len(self.theta)))
        with np.errstate(over="ignore", invalid="ignore"):
            seen = [abs(self.curvature.extreme(draw, "LM")) for draw in draws]
        return max([self.smoothness, *(value for value in seen if np.isfinite(value))])
