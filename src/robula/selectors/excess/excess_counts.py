"""How many rows the model predicts in each bin of the standardised residual, how many there are, and the excess.

Under the model the normal score z of a row's response given its features is N(0, 1), whatever the features are. So in
any group of rows that is formed by the features alone, the counts in bins of z have known proportions. Only their
total, the number of clean rows in the group, is unknown, and it can be bounded from above by the emptiest region.
The last functions give the scores of models with one response per row, and their shares in the bins.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.special import ndtr, pdtr, pdtrc

from robula._types import BoolArray, FloatArray, IntArray
from robula.models.linear_model import LinearModel
from robula.models.poisson_model import PoissonModel
from robula.selectors.excess.excess_constants import (
    BINS,
    EDGES,
    FAR,
    FEWEST_REPEATS,
    MINORITY,
    PROBABILITIES,
    REGIONS,
    REPEAT_GATE,
    WINDOWS,
)

_IN_REGION: FloatArray = np.array(
    [[low <= left and right <= high for left, right in pairwise(EDGES)] for low, high in REGIONS],
    dtype=np.float64,
)
_REGION_PROBABILITIES: FloatArray = _IN_REGION @ PROBABILITIES


def clean_count(counts: FloatArray, slack: float) -> float:
    """Largest number of model rows that counts (BINS,) can contain.

    Parameters
    ----------
    slack : float
        How many standard deviations of the region's count to allow for chance; 0 for a point estimate.
    """
    inside = _IN_REGION @ counts
    bounds = (inside + slack * np.sqrt(inside + 1.0)) / _REGION_PROBABILITIES
    return float(min(counts.sum(), bounds.min()))


def poisson_limit(expected: FloatArray, deviations: float) -> FloatArray:
    """Upper quantile of Poisson counts, by the Cornish-Fisher expansion with continuity correction."""
    limit: FloatArray = expected + deviations * np.sqrt(expected) + (deviations**2 - 1.0) / 6.0 + 0.5
    return limit


def excess_factors(counts: FloatArray, gate: float, windows: tuple[int, ...] = WINDOWS) -> FloatArray | None:
    """Factor in [0, 1] for the rows of each bin (BINS,), or None where no count is beyond chance.

    Parameters
    ----------
    counts : ndarray, shape (BINS,)
        Sum of the row weights in each bin.
    gate : float
        Standard deviations beyond which a count is no longer chance. Below it nothing is touched: on clean data the
        price of robustness is zero.
    """
    clean = clean_count(counts, 1.5)
    expected = clean * PROBABILITIES
    over = np.zeros(BINS, dtype=np.bool_)
    for size in windows:
        window = np.ones(size)
        seen, predicted = np.convolve(counts, window, "valid"), np.convolve(expected, window, "valid")
        for first in np.flatnonzero(seen > poisson_limit(predicted, gate)):
            over[first : first + size] = True
    if not over.any():
        return None
    if clean < MINORITY * counts.sum():
        return ungated_factors(counts)
    return _ratios(expected, counts, over)


def ungated_factors(counts: FloatArray) -> FloatArray:
    """Factors (BINS,) for a group that is known to hold bad rows: every bin above its expectation is cut."""
    expected = clean_count(counts, 1.0) * PROBABILITIES
    return _ratios(expected, counts, counts > expected + 0.5 * np.sqrt(expected))


def _ratios(expected: FloatArray, counts: FloatArray, over: BoolArray) -> FloatArray:
    return np.where(over, np.minimum(1.0, expected / np.maximum(counts, 1e-300)), 1.0)


def remove_excess(
    shares: FloatArray, weights: FloatArray, groups: IntArray, gate: float, windows: tuple[int, ...] = WINDOWS
) -> FloatArray:
    """Return weights (n,) with the excess of each group removed.

    Parameters
    ----------
    shares : ndarray, shape (n, BINS)
        Share of each row in each bin, summing to 1: one bin has it all for a continuous response.
    weights : ndarray, shape (n,)
    groups : ndarray of int, shape (n,)
        Group of each row, formed without looking at the row's own response.
    """
    result = weights.copy()
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        factors = excess_factors(weights[rows] @ shares[rows], gate, windows)
        if factors is not None:
            result[rows] = weights[rows] * (shares[rows] @ factors)
    return np.clip(result, 0.0, 1.0)


def quantile_groups(values: FloatArray, levels: tuple[float, ...]) -> IntArray:
    """Cut values (n,) at their own quantiles; group numbers (n,)."""
    groups: IntArray = np.searchsorted(np.quantile(values, levels), values)
    return groups


ResponseModel = LinearModel | PoissonModel


def residuals(model: ResponseModel, theta: FloatArray) -> FloatArray:
    """Residuals (n,) that are roughly N(0, 1) under the model; finite everywhere."""
    eta = model.predictor(theta)
    if isinstance(model, LinearModel):
        return (model.y - eta) / model.noise_scale
    # Anscombe's square root: stable variance for counts, small and large.
    rate = np.exp(np.clip(eta, -50.0, 50.0))
    return 2.0 * (np.sqrt(model.y + 0.375) - np.sqrt(rate + 0.125))


def bin_shares(model: ResponseModel, theta: FloatArray, scale: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Share of each row in each bin, and 0 for the rows that are too far out, else 1.

    A continuous response lies in one bin. A count y covers the interval from F(y - 1) to F(y) of the probability
    scale, and is shared among the bins in proportion: the expected total of each bin is then exact under the model
    [czado2009, sec. 2.1].

    Parameters
    ----------
    scale : ndarray, shape (n,)
        Standard deviation of the normal score: the parameter's own uncertainty makes it larger for rows that had no
        part in the fit and smaller for rows that had.

    Returns
    -------
    ndarray, shape (n, BINS), and ndarray, shape (n,)
    """
    if isinstance(model, LinearModel):
        z = residuals(model, theta) / scale
        shares = np.zeros((model.n_rows, BINS))
        shares[np.arange(model.n_rows), np.digitize(z, EDGES[1:-1])] = 1.0
        return shares, np.where(np.abs(z) > FAR, 0.0, 1.0)
    rate = np.exp(np.clip(model.predictor(theta), -50.0, 50.0))
    high = pdtr(model.y, rate)
    low = np.where(model.y > 0, pdtr(np.maximum(model.y - 1.0, 0.0), rate), 0.0)
    edges = ndtr(EDGES * scale[:, None])
    overlap = np.minimum(high[:, None], edges[:, 1:]) - np.maximum(low[:, None], edges[:, :-1])
    shares = np.maximum(overlap, 0.0)
    total = shares.sum(axis=1, keepdims=True)
    # In the far tail the interval is too short for double precision: it lies in one of the two tail bins.
    tail = np.zeros((model.n_rows, BINS))
    tail[np.arange(model.n_rows), np.where(model.y > rate, BINS - 1, 0)] = 1.0
    shares = np.where(total > 0, shares / np.maximum(total, 1e-300), tail)
    upper = np.where(model.y > 0, pdtrc(np.maximum(model.y - 1.0, 0.0), rate), 1.0)  # P(Y >= y)
    beyond = (high < ndtr(-FAR * scale)) | (upper < ndtr(-FAR * scale))
    return shares, np.where(beyond, 0.0, 1.0)


def repeat_weights(model: ResponseModel, theta: FloatArray) -> FloatArray:
    """Weights (n,) that remove the excess of repeated values of a continuous response.

    A code for "missing" is one value many times. The model predicts how many rows fall halfway to the neighbouring
    values; where the data are rounded that is as many as there are, and nothing is removed.
    """
    weights = np.ones(model.n_rows)
    if not isinstance(model, LinearModel):
        return weights
    values, which, repeats = np.unique(model.y, return_inverse=True, return_counts=True)
    if len(values) < 3 or repeats.max() < FEWEST_REPEATS:
        return weights
    gaps = np.diff(values) / 2.0
    below, above = np.concatenate([gaps[:1], gaps]), np.concatenate([gaps, gaps[-1:]])
    eta = model.predictor(theta)
    for index in np.flatnonzero(repeats >= FEWEST_REPEATS):
        top = ndtr((values[index] + above[index] - eta) / model.noise_scale)
        bottom = ndtr((values[index] - below[index] - eta) / model.noise_scale)
        expected = np.asarray((top - bottom).sum())
        if repeats[index] > poisson_limit(expected, REPEAT_GATE):
            weights[which == index] = float(expected) / repeats[index]
    return weights
