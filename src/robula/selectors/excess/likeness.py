"""Rows whose features resemble those of the rows that were already removed.

An excess in one place betrays bad rows in another: where the removed rows have features of their own, rows with such
features are suspect too, and among them the excess is removed without waiting for a count beyond chance.
"""

from __future__ import annotations

import numpy as np

from robula._types import FloatArray
from robula.selectors.excess.excess_counts import clean_count, quantile_groups, ungated_factors

_LEVELS = (0.4, 0.6, 0.75, 0.85, 0.93)
#: Fewer removed rows than this, or than this share of all, say nothing about their features.
_FEWEST, _FEWEST_SHARE = 10.0, 0.01
#: Standard errors by which likeness must predict removal.
_EVIDENCE = 4.0
#: A group is suspect when its share of clean rows is this much below that of all rows.
_MARGIN = 0.2
_RIDGE = 1e-3


def remove_alike(
    shares: FloatArray, base: FloatArray, weights: FloatArray, whitened: FloatArray, fitted: FloatArray
) -> FloatArray:
    """Return weights (n,) with the excess removed among rows that are like the removed ones.

    Parameters
    ----------
    shares : ndarray, shape (n, BINS)
    base : ndarray, shape (n,)
        Weights of the rows before any excess was counted.
    weights : ndarray, shape (n,)
        Weights after the excess found so far.
    whitened : ndarray, shape (n, d)
        Features in which the precision of the fit is the identity.
    fitted : ndarray, shape (n,)
        Weights of the rows in that fit.
    """
    removed = 1.0 - weights
    rows = len(weights)
    if removed.sum() <= max(_FEWEST, _FEWEST_SHARE * rows):
        return weights
    likeness = likeness_to_removed(whitened, removed, fitted)
    # Standard errors of the correlation of the two, without dividing by a spread that may be zero.
    covariance = float((likeness - likeness.mean()) @ removed)
    if covariance <= _EVIDENCE * np.sqrt(rows) * float(likeness.std() * removed.std()):
        return weights
    groups = quantile_groups(likeness, _LEVELS)
    usual = clean_count(base @ shares, 0.0) / rows
    result = weights.copy()
    for group in np.unique(groups):
        members = groups == group
        counts = base[members] @ shares[members]
        if clean_count(counts, 0.0) / members.sum() < usual - _MARGIN:
            factors = shares[members] @ ungated_factors(counts)
            result[members] = np.minimum(result[members], base[members] * factors)
    return result


def likeness_to_removed(whitened: FloatArray, removed: FloatArray, fitted: FloatArray) -> FloatArray:
    """How much of a row's weight the features of the *other* rows would have removed, shape (n,).

    A ridge regression of the removed weight on three features of x, each without the row's own part: the votes
    sum_j r_j x_i'x_j and sum_j r_j (x_i'x_j)^2 of the removed rows, and the leverage.
    """
    # P^-1 x_i is smaller by 1 - w h where the row took part in the fit with weight w: undone, so that kept and removed
    # rows compare.
    leverage = (whitened**2).sum(axis=1)
    apart = 1.0 / np.maximum(1.0 - fitted * leverage, 0.05)
    centred = removed - removed.mean()
    linear = (whitened @ (centred @ whitened) - centred * leverage) * apart
    images = (whitened @ ((whitened.T * centred) @ whitened) * whitened).sum(axis=1)
    votes = np.column_stack([linear, (images - centred * leverage**2) * apart**2, leverage * apart])
    votes = (votes - votes.mean(axis=0)) / np.maximum(votes.std(axis=0), 1e-300)
    inverse = np.linalg.inv(votes.T @ votes + _RIDGE * len(votes) * np.eye(votes.shape[1]))
    own = ((votes @ inverse) * votes).sum(axis=1)
    predicted: FloatArray = (votes @ (inverse @ (votes.T @ centred)) - own * centred) / (1.0 - own)
    return predicted
