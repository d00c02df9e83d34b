"""How large the curvature gets in the bulk of the posterior, not only at its centre."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from robula._types import FloatArray

if TYPE_CHECKING:
    from robula.target.centre_search import RobustCentre

# Draws from the Laplace approximation at which the curvature is looked at.
_PROBES = 8
# And fewer where each look takes Lanczos iterations.
_LARGE_PROBES = 2
# A Hessian that is not positive says nothing about the width of its flat and negative directions. They are treated as
# if they had this share of the largest curvature, so no direction is taken for more than 30 times wider than another.
FLAT = 1e-3


def laplace_scaling(centre: RobustCentre) -> FloatArray:
    """Return A (d, d) with A A' the inverse curvature at the centre, where that is positive."""
    if centre.eigenvalues is None or centre.eigenvectors is None:
        raise ValueError("this centre has no matrix of curvature")
    values = np.abs(centre.eigenvalues)
    share = 1e-10 if centre.eigenvalues[0] > 0 else FLAT
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
    if centre.eigenvectors is None:
        return _largest_without_matrix(centre, rng)

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


def _largest_without_matrix(centre: RobustCentre, rng: np.random.Generator) -> float:
    """The same by Lanczos iterations, around the centre at a distance that flat directions are given."""
    width = 1.0 / np.sqrt(max(centre.strong_convexity, FLAT * centre.smoothness))
    draws = centre.theta + width * rng.standard_normal((_LARGE_PROBES, len(centre.theta)))
    with np.errstate(over="ignore", invalid="ignore"):
        seen = [abs(centre.curvature.extreme(draw, "LM")) for draw in draws]
    return max([centre.smoothness, *(value for value in seen if np.isfinite(value))])
