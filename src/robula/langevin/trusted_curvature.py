"""Curvature of the log posterior of one selection's rows."""

from __future__ import annotations

from dataclasses import dataclass

from robula._types import FloatArray
from robula.models.base import Model
from robula.selectors.selection import Selection


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
