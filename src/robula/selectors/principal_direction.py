"""Top principal direction of weighted points, without a (d, d) matrix where d is large."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from robula._types import FloatArray

# Up to this size a full eigendecomposition is quicker than Lanczos iterations.
_SMALL = 64


def top_direction(points: FloatArray, weights: FloatArray, centre: FloatArray) -> tuple[float, FloatArray]:
    """Largest eigenvalue and eigenvector (d,) of the weighted covariance of points (n, d).

    Lanczos iterations on products with the points: no (d, d) matrix is formed where d is large.
    """
    rows, dim = points.shape
    total = weights.sum()
    if min(rows, dim) <= _SMALL:
        deviations = np.sqrt(weights / total)[:, None] * (points - centre)
        if dim <= rows:
            values, vectors = np.linalg.eigh(deviations.T @ deviations)
            return float(values[-1]), vectors[:, -1]
        values, vectors = np.linalg.eigh(deviations @ deviations.T)
        direction = deviations.T @ vectors[:, -1]
        length = float(np.linalg.norm(direction))
        return float(values[-1]), direction / length if length > 0 else np.eye(dim)[0]

    def times(vector: FloatArray) -> FloatArray:
        flat = vector.ravel()
        weighted = weights * (points @ flat - centre @ flat)
        product: FloatArray = (weighted @ points - weighted.sum() * centre) / total
        return product

    # A fixed start that moves with the data keeps the result the same for the same points in any order.
    start = points[int(((points - centre) ** 2).sum(axis=1).argmax())] - centre
    # The furthest row may have no weight; then the weighted rows' own spread is a start that is not orthogonal to them.
    image = times(start)
    start = start if image.any() else np.sqrt(weights) @ (points - centre)
    if not times(start).any():
        return 0.0, np.eye(dim)[0]
    values, vectors = eigsh(LinearOperator((dim, dim), matvec=times, dtype=np.float64), k=1, which="LA", v0=start)
    return float(values[0]), vectors[:, 0]


def column_scales(centred: FloatArray) -> FloatArray:
    """Median absolute deviation of each column (d,); where it is 0 the standard deviation, where that is 0 one."""
    scale = np.median(np.abs(centred), axis=0) / 0.6745
    spread = centred.std(axis=0)
    scales: FloatArray = np.where(scale > 0, scale, np.where(spread > 0, spread, 1.0))
    return scales


def refuse_non_finite(points: FloatArray) -> None:
    """Raise LinAlgError for points whose squares are not finite: a chain that meets them has diverged."""
    flat = points.ravel()
    if not np.isfinite(flat @ flat):
        raise np.linalg.LinAlgError("the points, or the sum of their squares, are not finite")
