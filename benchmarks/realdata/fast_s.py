"""The fast-S start of MM regression (Salibian-Barrera and Yohai 2006), as R's lmrob has it.

statsmodels' own starts (RLMDetS) divide by zero on dummies, and without them still raise LinAlgError on 13 of the board's
37 regression sets (all rows or a fold), so its MM estimator is started from here.
"""

from __future__ import annotations

import numpy as np

# Tukey's bisquare with breakdown point one half.
_TUNING = 1.547645
_BREAKDOWN = 0.5
_SUBSETS = 300
_STEPS = 2
_KEPT = 3
_MOST_STEPS = 100


def fast_s(design: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Return the coefficients (d,) with the smallest M-scale of residuals, and that scale."""
    n_rows, dim = design.shape
    starts = []
    for _ in range(_SUBSETS):
        rows = rng.choice(n_rows, min(dim + 1, n_rows), replace=False)
        # The least norm, where a dummy has one value in all rows of the subset; the steps repair it.
        starts.append(_improved(design, y, np.linalg.lstsq(design[rows], y[rows], rcond=None)[0], _STEPS))
    starts.append(_improved(design, y, np.linalg.lstsq(design, y, rcond=None)[0], _STEPS))
    best = sorted(starts, key=lambda start: start[1])[:_KEPT]
    return min((_improved(design, y, theta, _MOST_STEPS) for theta, _ in best), key=lambda start: start[1])


def m_scale(residuals: np.ndarray, start: float, steps: int = 50) -> float:
    """The scale at which the mean of rho is one half, by fixed point steps."""
    scale = max(start, 1e-300)
    for _ in range(steps):
        previous, scale = scale, scale * np.sqrt(np.mean(_rho(residuals / scale)) / _BREAKDOWN)
        if scale < 1e-300 or abs(scale - previous) <= 1e-9 * previous:
            break
    return float(max(scale, 1e-300))


def _improved(design: np.ndarray, y: np.ndarray, theta: np.ndarray, most: int) -> tuple[np.ndarray, float]:
    """Reweighted least squares from theta; a single scale step each time while screening."""
    last = most == _MOST_STEPS
    residuals = y - design @ theta
    scale = m_scale(residuals, float(np.median(np.abs(residuals))) / 0.6745, 50 if last else 1)
    for _ in range(most):
        square = (residuals / (_TUNING * scale)) ** 2
        weights = np.where(square < 1.0, (1.0 - square) ** 2, 0.0)
        weighted = design * weights[:, None]
        gram = weighted.T @ design
        gram[np.diag_indices_from(gram)] += 1e-10 * max(np.trace(gram), 1e-300)
        theta = np.linalg.solve(gram, weighted.T @ y)
        residuals = y - design @ theta
        previous, scale = scale, m_scale(residuals, scale, 50 if last else 1)
        if abs(previous - scale) <= 1e-8 * previous:
            break
    return theta, scale if last else m_scale(residuals, scale, 5)


def _rho(ratio: np.ndarray) -> np.ndarray:
    square = np.minimum((ratio / _TUNING) ** 2, 1.0)
    return square * (3.0 - 3.0 * square + square**2)
