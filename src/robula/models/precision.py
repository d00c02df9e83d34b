"""Curvature of a weighted log posterior: with a ridge at rounding level, tested, inverted."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from robula._types import FloatArray
from robula.models.model import Model

# What a flat direction's curvature counts as, of the largest.
_FLAT = 1e-3


def weighted_precision(model: Model, weights: FloatArray, theta: FloatArray) -> FloatArray:
    """Negative Hessian (d, d) of the weighted log posterior, with a ridge at rounding level.

    The ridge is relative to each column: columns in very different units must not be swamped by the largest.
    """
    precision: FloatArray = model.curvature(theta, weights) + model.prior.precision(theta)
    return with_ridge(precision)


def with_ridge(precision: FloatArray) -> FloatArray:
    """A precision (d, d) with a ridge at rounding level, each column's own."""
    scales = precision.diagonal()
    # Where nothing is known there is no unit of its own.
    ridge = np.where(scales == 0.0, 1e-24 * float(scales.max()) + 1e-300, 1e-10 * scales)
    ridged: FloatArray = precision.copy()
    ridged.flat[:: len(ridge) + 1] += ridge
    return ridged


def is_positive(matrix: FloatArray) -> bool:
    """Whether a symmetric matrix is positive definite, in columns of comparable units."""
    squares = matrix.diagonal()
    if not (squares > 0).all():
        return False
    lengths = np.sqrt(squares)
    try:
        np.linalg.cholesky(matrix / lengths / lengths[:, None])
    except np.linalg.LinAlgError:
        return False
    return True


def inverse_factor(precision: FloatArray) -> FloatArray:
    """Lower triangular F (d, d) with F F' = precision^-1, without forming the inverse, which may not be definite."""
    reversed_factor = np.linalg.cholesky(precision[::-1, ::-1])
    factor: FloatArray = solve_triangular(reversed_factor, np.eye(len(precision)), lower=True).T[::-1, ::-1]
    return factor


def width_factor(precision: FloatArray) -> FloatArray:
    """F (d, d) with F F' = precision^-1, by the sizes of its eigenvalues where it is not positive definite.

    In a hierarchical model the joint density need not be concave where the scale of group effects is most likely. A
    flat direction counts as having a thousandth of the largest curvature.
    """
    try:
        return inverse_factor(precision)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(precision)
    sizes = np.abs(values)
    factor: FloatArray = vectors / np.sqrt(np.maximum(sizes, _FLAT * sizes.max()))
    return factor
