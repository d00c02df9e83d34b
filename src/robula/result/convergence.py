"""Whether chains agree and how much they say: R-hat and effective sample sizes (Vehtari et al. 2021), all at once.

ArviZ has both, one parameter at a time; at 200 parameters that takes longer than the draws.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri

from robula._types import FloatArray
from robula.result.thresholds import FEWEST_DRAWS

# Numbers that are looked at together.
_BLOCK = 2**15


class Convergence(NamedTuple):
    """The largest R-hat, the parameter that has it, and the smallest number of effective draws."""

    r_hat: float
    worst: int
    effective_draws: float


def convergence(draws: FloatArray) -> Convergence:
    """Return the worst of draws (chains, draws, d).

    A parameter that never moved, or is not a number, has neither figure; it must not pass for a converged one and
    counts as R-hat infinity and no effective draws. With too few draws to tell, nothing is known: NaN.
    """
    if draws.shape[1] < FEWEST_DRAWS:
        return Convergence(math.nan, 0, math.nan)
    # Some parameters at a time: the ranks and transforms take many times the memory of the draws.
    width = max(1, _BLOCK // (draws.shape[0] * draws.shape[1]))
    blocks = [draws[:, :, first : first + width] for first in range(0, draws.shape[2], width)]
    hats = np.concatenate([r_hats(block) for block in blocks])
    sizes = np.concatenate([effective_sample_sizes(block) for block in blocks])
    hats = np.where(np.isfinite(hats), hats, np.inf)
    sizes = np.where(np.isfinite(sizes), sizes, 0.0)
    return Convergence(float(hats.max()), int(hats.argmax()), float(sizes.min()))


class Agreement(NamedTuple):
    """What is said of a finished run everywhere: the largest R-hat and who has it, the fewest effective draws."""

    r_hat: float
    parameter: str
    effective_draws: float


def agreement(draws: FloatArray, names: Sequence[str], settings: Mapping[str, Any]) -> Agreement:
    """Return the worst of these draws (chains, draws, d) and of the run as it was sampled, maybe in other coordinates.

    R-hat is not the same for an intercept in other units, and a warning of the run must not be forgotten by a verdict.
    """
    found = convergence(draws)
    here = Agreement(found.r_hat, names[found.worst], found.effective_draws)
    if settings.get("convergence") is None:
        return here
    then = Agreement(*settings["convergence"])
    worse = then if then.r_hat > here.r_hat else here
    return worse._replace(effective_draws=min(then.effective_draws, here.effective_draws))


def r_hats(draws: FloatArray) -> FloatArray:
    """Rank-normalised split R-hat of each parameter, the larger of bulk and folded; (chains, draws, d) -> (d,)."""
    halves = _split(draws)
    folded = np.abs(halves - np.median(halves, axis=(0, 1)))
    return np.maximum(_plain_r_hats(_normal_scores(halves)), _plain_r_hats(_normal_scores(folded)))


def effective_sample_sizes(draws: FloatArray) -> FloatArray:
    """Effective sample size of the mean of each parameter, draws (chains, draws, d), shape (d,)."""
    halves = _split(draws)
    chains, length, dim = halves.shape
    if length < 2:
        return np.full(dim, math.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        covariances = _autocovariances(halves)
        within = covariances[:, 0].mean(axis=0) * length / (length - 1.0)
        total = within * (length - 1.0) / length
        if chains > 1:
            total = total + halves.mean(axis=1).var(axis=0, ddof=1)
        correlations = 1.0 - (within - covariances.mean(axis=0)) / total
        correlations[0] = 1.0
        time = np.array([_geyer(column) for column in correlations.T])
    count = chains * length
    sizes: FloatArray = np.where(total > 0, count / np.maximum(time, 1.0 / math.log10(count)), math.nan)
    return sizes


def _split(draws: FloatArray) -> FloatArray:
    """Each chain's first and second half as chains of their own; an odd draw in the middle goes."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])


def _normal_scores(draws: FloatArray) -> FloatArray:
    """Normal quantiles of the ranks among all chains (Blom's offsets); NaN for a parameter that is not all numbers."""
    chains, length, dim = draws.shape
    each = np.ascontiguousarray(draws.reshape(-1, dim).T)
    sound = np.isfinite(each).all(axis=1, keepdims=True)
    ranks = _ranks(np.where(sound, each, 0.0))
    scores: FloatArray = np.where(sound, ndtri((ranks - 0.375) / (chains * length + 0.25)), math.nan)
    return scores.T.reshape(chains, length, dim)


def _ranks(values: FloatArray) -> FloatArray:
    """Ranks from 1 in each row of values (d, N); ties, which rejected moves leave, share their mean rank."""
    order = values.argsort(axis=1)
    ordered = np.take_along_axis(values, order, axis=1)
    place = np.arange(values.shape[1])
    begins = np.ones(values.shape, dtype=bool)
    begins[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    ends = np.ones(values.shape, dtype=bool)
    ends[:, :-1] = begins[:, 1:]
    first = np.maximum.accumulate(np.where(begins, place, 0), axis=1)
    last = np.minimum.accumulate(np.where(ends, place, len(place))[:, ::-1], axis=1)[:, ::-1]
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, 0.5 * (first + last) + 1.0, axis=1)
    return ranks


def _plain_r_hats(draws: FloatArray) -> FloatArray:
    length = draws.shape[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        between = length * draws.mean(axis=1).var(axis=0, ddof=1)
        within = draws.var(axis=1, ddof=1).mean(axis=0)
        hats: FloatArray = np.sqrt((between / within + length - 1.0) / length)
    return hats


def _autocovariances(draws: FloatArray) -> FloatArray:
    """Autocovariance of each chain and parameter at every lag, draws (chains, draws, d), same shape."""
    length = draws.shape[1]
    centred = draws - draws.mean(axis=1, keepdims=True)
    transformed = rfft(centred, next_fast_len(2 * length), axis=1)
    covariances: FloatArray = irfft(np.abs(transformed) ** 2, next_fast_len(2 * length), axis=1)[:, :length] / length
    return covariances


def _geyer(correlations: FloatArray) -> float:
    """Integrated autocorrelation time (Geyer's initial monotone sequence) of autocorrelations at lags 0, 1, ..."""
    lags = len(correlations)
    pairs = correlations[: lags // 2 * 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(~(pairs > 0))
    # The last pair to be looked at counts by its even lag only, which improves antithetic chains.
    last = max(0, -(-(lags - 2) // 2) - 1)
    stop = min(int(negative[0]), last) if len(negative) else last
    falling = np.minimum.accumulate(pairs[:stop])
    return -1.0 + 2.0 * float(falling.sum()) + max(float(correlations[2 * stop]), 0.0)
