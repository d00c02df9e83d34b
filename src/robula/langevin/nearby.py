"""How large the curvature gets in the bulk of the posterior, not only at its centre."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from robula._types import FloatArray

if TYPE_CHECKING:
    from robula.langevin.centre import RobustCentre

# Draws from the Laplace approximation at which the curvature is looked at.
_PROBES = 8
# A Hessian that is not positive says nothing about the width of its flat and negative directions. They are treated as
# if they had this share of the largest curvature, so no direction is taken for more than 30 times wider than another.
_FLAT = 1e-3


def laplace_scaling(centre: RobustCentre) -> FloatArray:
    """Return A (d, d) with A A' the inverse curvature at the centre, where that is positive."""
    values = np.abs(centre.eigenvalues)
    share = 1e-10 if centre.eigenvalues[0] > 0 else _FLAT
    scaling: FloatArray = centre.eigenvectors / np.sqrt(np.maximum(values, share * values.max()))
    return scaling


def largest_curvature_nearby(
    centre: RobustCentre, rng: np.random.Generator, scaling: FloatArray | None = None
) -> float:
    """Largest curvature at the centre and at some draws from the Laplace approximation there.

    Never above the model's own bound, which is all there is to know where the curvature is constant.

    Parameters
    ----------
    scaling : ndarray, shape (d, d), optional
        Measure the curvature in the coordinates phi of theta = scaling @ phi.
    """
    if scaling is None and centre.bounded:
        return centre.smoothness

    def largest(curvature: FloatArray) -> float:
        seen = curvature if scaling is None else scaling.T @ curvature @ scaling
        return float(np.abs(np.linalg.eigvalsh(seen)).max())

    here = 1.0 if scaling is not None else centre.smoothness
    bound = centre.curvature.bound(centre.theta)
    most = np.inf if bound is None else largest(bound)
    if most <= here * (1.0 + 1e-6):
        return here
    shape = laplace_scaling(centre)
    with np.errstate(over="ignore", invalid="ignore"):
        draws = centre.theta + rng.standard_normal((_PROBES, len(centre.theta))) @ shape.T
        seen = [largest(matrix) for matrix in map(centre.curvature.at, draws) if np.isfinite(matrix).all()]
    return min(most, max([here, *seen]))
