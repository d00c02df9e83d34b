"""Groups of rows, formed by their features, in which an excess is looked for.

An excess in one place betrays bad rows in another: where the removed rows have features of their own, rows with such
features are suspect too, and among them the excess is removed without waiting for a count beyond chance.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robula._types import BoolArray, FloatArray, IntArray
from robula.selectors.excess.excess_constants import (
    DIRECTION_LEVELS,
    DIRECTIONS,
    EDGE_SLACK,
    FAR_RANGES,
    FEWEST_REMOVED,
    FEWEST_REMOVED_SHARE,
    FLAG_ROUNDS,
    LEAN_LEVELS,
    LEAN_RANGES,
    LIKENESS_EVIDENCE,
    LIKENESS_LEVELS,
    LIKENESS_RIDGE,
    SUSPECT_MARGIN,
)
from robula.selectors.excess.excess_counts import clean_count, quantile_groups, ungated_factors
from robula.selectors.principal_direction import column_scales


def flag_rows(features: FloatArray, contamination: float) -> BoolArray:
    """Rows of features (n, d) that stick out together: by distance, or along the direction of largest variance.

    A soft spectral filter: rows lose weight in proportion to their squared projection on the top principal direction
    until its variance is what a clean sample of this size would show, or until 2 epsilon + 0.02 of the weight is gone.
    The flags need not be right: a flagged group that agrees with the other rows is taken back.
    """
    centred = features - np.median(features, axis=0)
    # A column that is one value in most rows (a category's) cannot say who sticks out: its other rows carry a
    # coefficient of their own, and without them nothing is left to judge them by.
    varied = np.median(np.abs(centred), axis=0) > 0
    if not varied.any():
        return np.zeros(len(features), dtype=np.bool_)
    centred = centred[:, varied]
    rows, dim = centred.shape
    centred /= column_scales(centred)
    distance = np.sqrt((centred**2).sum(axis=1))
    middle, upper = np.quantile(distance, [0.5, 0.75])
    weights = np.where(distance > middle + FAR_RANGES * max(upper - middle, 1e-12), 0.0, 1.0)
    edge = EDGE_SLACK * (1.0 + np.sqrt(dim / rows)) ** 2 / max(1.0 - dim / (3.0 * rows), 0.3)
    for _ in range(FLAG_ROUNDS):
        total = weights.sum()
        if rows - total > (2.0 * contamination + 0.02) * rows:
            break
        deviations = centred - weights @ centred / total
        values, vectors = np.linalg.eigh((deviations.T * weights) @ deviations / total)
        if values[-1] <= edge * np.median(values):
            break
        scores = np.where(weights > 0, (deviations @ vectors[:, -1]) ** 2, 0.0)
        weights = weights * (1.0 - scores / scores.max())
    return np.asarray(weights < 0.5)


def score_directions(whitened: FloatArray, z: FloatArray, weights: FloatArray) -> Iterator[tuple[IntArray, FloatArray]]:
    """Group rows by how far out they are along the directions in which the scores z x vary most.

    Yields
    ------
    groups : ndarray of int, shape (n,)
        By |t|, t the projection of the row on a leading eigenvector of sum w z^2 x x'; the row's own part in the first
        of them is left out.
    side : ndarray, shape (n,)
        Sign of t. Rows that pull along the direction have residuals of one sign times ``side``.
    """
    energy = z**2 * weights
    values, vectors = np.linalg.eigh((whitened.T * energy) @ whitened)
    leverage = (whitened**2).sum(axis=1)
    others = 1.0 - energy * leverage / max(values[-1], 1e-300)
    for direction in vectors.T[: -DIRECTIONS - 1 : -1]:
        projection = (whitened @ direction) * others
        yield quantile_groups(np.abs(projection), DIRECTION_LEVELS), np.where(projection < 0, -1.0, 1.0)


def leaning_directions(
    whitened: FloatArray, z: FloatArray, weights: FloatArray
) -> Iterator[tuple[IntArray, FloatArray]]:
    """Group rows along the directions to which the rows with residuals of one size lean, positive against negative.

    Under the model x knows nothing of z, so sum sgn(z) x over the rows of a range of |z| is a random walk. Bad rows of
    ordinary size that all pull one way stand out in their range, though not in the variance of the scores.

    Yields
    ------
    groups, side : as in ``score_directions``
    """
    rows, dim = whitened.shape
    leverage = (whitened**2).sum(axis=1)
    size = np.abs(z)
    found = []
    for low, high in LEAN_RANGES:
        signs = np.where((size >= low) & (size < high), np.sign(z) * weights, 0.0)
        lean = signs @ whitened
        energy = max(float(signs @ signs), 1e-300)
        # Squared length less its mean, over its standard deviation, for rows of squared length d / n each.
        excess = (lean @ lean - signs**2 @ leverage) / (energy * np.sqrt(2.0 * dim) / rows)
        found.append((float(excess), lean, signs))
    for _, lean, signs in sorted(found, key=lambda one: -one[0])[:DIRECTIONS]:
        projection = whitened @ lean - signs * leverage
        yield quantile_groups(np.abs(projection), LEAN_LEVELS), np.where(projection < 0, -1.0, 1.0)


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
    if removed.sum() <= max(FEWEST_REMOVED, FEWEST_REMOVED_SHARE * rows):
        return weights
    likeness = likeness_to_removed(whitened, removed, fitted)
    # Standard errors of the correlation of the two, without dividing by a spread that may be zero.
    covariance = float((likeness - likeness.mean()) @ removed)
    if covariance <= LIKENESS_EVIDENCE * np.sqrt(rows) * float(likeness.std() * removed.std()):
        return weights
    groups = quantile_groups(likeness, LIKENESS_LEVELS)
    usual = clean_count(base @ shares, 0.0) / rows
    result = weights.copy()
    for group in np.unique(groups):
        members = groups == group
        counts = base[members] @ shares[members]
        if clean_count(counts, 0.0) / members.sum() < usual - SUSPECT_MARGIN:
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
    inverse = np.linalg.inv(votes.T @ votes + LIKENESS_RIDGE * len(votes) * np.eye(votes.shape[1]))
    own = ((votes @ inverse) * votes).sum(axis=1)
    predicted: FloatArray = (votes @ (inverse @ (votes.T @ centred)) - own * centred) / (1.0 - own)
    return predicted
