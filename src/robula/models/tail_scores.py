"""Normal scores of tail probabilities, far beyond where the probabilities themselves underflow."""

from __future__ import annotations

import numpy as np
from scipy.special import (
    betainc,
    betaln,
    expit,
    gammainc,
    gammaincc,
    gammaln,
    log_expit,
    ndtr,
    ndtri,
    ndtri_exp,
)

from robula._types import FloatArray

#: The score given to a response whose probability cannot be told from 0: where a normal's own tail underflows.
FARTHEST = 38.0
# Below this SciPy's incomplete gamma and beta functions lose digits and then vanish; the continued fractions take over.
_SMALL = 1e-280
# So far out in a tail each level of a continued fraction gains about a digit.
_LEVELS = 40


def normal_scores(log_below: FloatArray, log_above: FloatArray) -> FloatArray:
    """Phi^-1 of a probability given as log P(below) and log P(above), from the smaller of the two."""
    score: FloatArray = np.where(log_below < log_above, ndtri_exp(log_below), -ndtri_exp(log_above))
    return score


def middle_scores(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Scores of the middle, in probability, of intervals that are given by their scores; any shape."""
    return scores_within(lower, upper, np.full(np.shape(lower), 0.5))


def scores_within(lower: FloatArray, upper: FloatArray, share: FloatArray) -> FloatArray:
    """Scores of what has this share of an interval's probability below it; of intervals by their scores, any shape."""
    flip = lower > 0.0
    a, b, s = np.where(flip, -upper, lower), np.where(flip, -lower, upper), np.where(flip, 1.0 - share, share)
    within = ndtri(np.clip((1.0 - s) * ndtr(a) + s * ndtr(b), 1e-300, 1.0 - 1e-16))
    # Far out both probabilities are 0 to rounding; the nearer end then is the score.
    within = np.where(ndtr(b) > 1e-290, within, b)
    return np.where(lower == upper, upper, np.where(flip, -within, within))


def log_gamma_cdf(shape: FloatArray, x: FloatArray) -> FloatArray:
    """Log P(G <= x) for G ~ Gamma(shape, 1), elementwise; x >= 0, shape > 0."""
    shape, x = (array.astype(np.float64) for array in np.broadcast_arrays(shape, x))
    result, far = _log(gammainc(shape, x))
    result[x <= 0] = -np.inf
    far &= (x < shape) & (x > 0)
    a, b = shape[far], x[far]
    tail = np.zeros_like(a)
    for level in range(_LEVELS, 0, -1):
        tail = level * b / (a + 2 * level - (a + level) * b / (a + 2 * level + 1 + tail))
    result[far] = np.minimum(_log_density(a, b) - np.log(a - a * b / (a + 1 + tail)), result[far])
    return result


def log_gamma_sf(shape: FloatArray, x: FloatArray) -> FloatArray:
    """Log P(G > x) for G ~ Gamma(shape, 1), elementwise; x >= 0, shape > 0."""
    shape, x = (array.astype(np.float64) for array in np.broadcast_arrays(shape, x))
    result, far = _log(gammaincc(shape, x))
    far &= x > shape
    a, b = shape[far], x[far]
    tail = np.zeros_like(a)
    for level in range(_LEVELS, 0, -1):
        tail = level * (level - a) / (b + 2 * level + 1 - a - tail)
    result[far] = np.minimum(_log_density(a, b) - np.log(b + 1 - a - tail), result[far])
    return result


def log_beta_cdf(a: FloatArray, b: FloatArray, logit: FloatArray) -> FloatArray:
    """Log P(B <= x) for B ~ Beta(a, b), elementwise, with x given as log(x / (1 - x)); a, b > 0."""
    a, b, logit = (array.astype(np.float64) for array in np.broadcast_arrays(a, b, logit))
    result, far = _log(betainc(a, b, expit(logit)))
    far &= expit(logit) < a / (a + b)
    a, b, logit = a[far], b[far], logit[far]
    x = expit(logit)
    tail = np.ones_like(a)
    for level in range(_LEVELS, 0, -1):
        even = level * (b - level) * x / ((a + 2 * level - 1) * (a + 2 * level))
        odd = -(a + level - 1) * (a + b + level - 1) * x / ((a + 2 * level - 2) * (a + 2 * level - 1))
        tail = 1.0 + odd / (1.0 + even / tail)
    density = a * log_expit(logit) + b * log_expit(-logit) - np.log(a) - betaln(a, b)
    result[far] = np.minimum(density - np.log(tail), result[far])
    return result


def log_of_the_rest(log_probability: FloatArray) -> FloatArray:
    """Log of 1 - p from log p, elementwise; where nothing is left, of the least number."""
    with np.errstate(divide="ignore"):
        rest: FloatArray = np.log(np.maximum(-np.expm1(log_probability), 1e-300))
    return rest


def _log(probability: FloatArray) -> tuple[FloatArray, np.ndarray]:
    """Its logarithm, and where it is too small to be trusted; there the logarithm of that bound."""
    far = np.atleast_1d(probability < _SMALL)
    with np.errstate(divide="ignore"):
        return np.where(far, np.log(_SMALL), np.log(np.atleast_1d(probability))), far


def _log_density(shape: FloatArray, x: FloatArray) -> FloatArray:
    """x^shape e^-x / Gamma(shape), in logarithms; by the deviance and Stirling's series where terms would cancel."""
    excess = (x - shape) / shape
    with np.errstate(divide="ignore"):
        large = shape * (np.log1p(excess) - excess) + 0.5 * np.log(shape / (2 * np.pi)) - 1.0 / (12.0 * shape)
        density: FloatArray = np.where(shape > 100.0, large, shape * np.log(x) - x - gammaln(shape))
    return density
