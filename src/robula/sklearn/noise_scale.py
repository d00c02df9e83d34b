"""A noise scale that bad rows cannot own: reweighted least trimmed squares."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from robula._types import FloatArray

_STARTS, _FINALISTS, _SETTLED = 50, 5, 20
# Residuals within this many standard deviations count in the last, efficient step.
_CUT = 2.5


def robust_noise_scale(design: FloatArray, y: FloatArray, contamination: float) -> float:
    """Standard deviation of the noise of y given the design (n, d), 0 where the fit is perfect.

    Concentration steps (Rousseeuw and Van Driessen 2006) from random small subsets find the fit with the smallest sum
    of the h smallest squared residuals, h = (1 - contamination) n but at most three quarters; its scale is then
    re-estimated on the rows within 2.5 of it, both with the factors that make them right for normal noise. With fewer
    than three rows per parameter there is nothing to trim: the scale of y itself, an upper bound, is returned.
    """
    rows, dim = design.shape
    if rows < 3 * dim:
        return _scale_of(y)
    kept = max(int(np.ceil(min(0.75, 1.0 - contamination) * rows)), (rows + dim + 1) // 2)
    rng = np.random.default_rng(0)
    candidates = []
    for _ in range(_STARTS):
        start = _fit(design, y, rng.choice(rows, size=dim + 1, replace=False))
        candidates.append(_concentrate(design, y, start, kept, 2))
    candidates.sort(key=lambda pair: pair[0])
    _, theta = min(
        (_concentrate(design, y, theta, kept, _SETTLED) for _, theta in candidates[:_FINALISTS]),
        key=lambda pair: pair[0],
    )
    residuals = y - design @ theta
    share = kept / rows
    raw = np.sqrt(np.sort(residuals**2)[:kept].mean() / _variance_within(norm.ppf(0.5 + share / 2.0)))
    inside = np.flatnonzero(np.abs(residuals) <= _CUT * raw)
    if len(inside) <= dim:
        return float(raw)
    final = (y - design @ _fit(design, y, inside))[inside]
    return float(np.sqrt((final**2).sum() / (len(inside) - dim) / _variance_within(_CUT)))


def _fit(design: FloatArray, y: FloatArray, rows: np.ndarray) -> FloatArray:
    solution: FloatArray = np.linalg.lstsq(design[rows], y[rows], rcond=None)[0]
    return solution


def _concentrate(
    design: FloatArray, y: FloatArray, theta: FloatArray, kept: int, steps: int
) -> tuple[float, FloatArray]:
    """Refit on the ``kept`` rows of smallest residual until their sum of squares stops falling."""
    best = np.inf
    for _ in range(steps):
        squares = (y - design @ theta) ** 2
        rows = np.argpartition(squares, kept - 1)[:kept]
        total = float(squares[rows].sum())
        if total >= best:
            break
        best = total
        theta = _fit(design, y, rows)
    return best, theta


def _variance_within(cut: float) -> float:
    """Variance of a standard normal given that it lies within ``cut``."""
    return float(1.0 - 2.0 * cut * norm.pdf(cut) / (2.0 * norm.cdf(cut) - 1.0))


def _scale_of(y: FloatArray) -> float:
    return float(np.median(np.abs(y - np.median(y))) / norm.ppf(0.75))
