"""The excess rule for the mean of a multivariate normal: one-dimensional views that are N(0, 1) under the model."""

from __future__ import annotations

import time

import numpy as np
from scipy.special import chdtr, chdtrc, ndtri

from robula._types import FloatArray
from robula.models.mean_model import MeanModel
from robula.models.posterior_mode import weighted_mode
from robula.selectors.excess.excess_constants import (
    ALTERNATIONS,
    BINS,
    EDGE_SLACK,
    EDGES,
    FAR,
    GATE,
    MEAN_DIRECTION_GATE,
    WINDOWS,
)
from robula.selectors.excess.excess_counts import remove_excess
from robula.selectors.excess.starting_point import Candidate, RobustStart
from robula.selectors.geometric_median import GeometricMedian
from robula.selectors.principal_direction import top_direction
from robula.selectors.spectral_filter import SpectralFilter


def mean_start(model: MeanModel, contamination: float, without: frozenset[str] = frozenset()) -> RobustStart:
    """Candidates: mean, coordinate-wise and geometric median, spectral filters.

    Weighting and fitting alternate from each of them. The one wins whose fixed point keeps the most rows: from a start
    that is several widths off they can end where good rows have to go.
    """
    began = time.perf_counter()
    factor = _whitening(model)
    whitened = model.z @ factor
    centres = {"mean": whitened.mean(axis=0)}
    if "start" not in without:
        budget = max(contamination, 0.1)
        centres["coordinate-wise median"] = np.median(whitened, axis=0)
        for selector in (GeometricMedian(), SpectralFilter(), SpectralFilter(variant="diakonikolas2017")):
            centres[repr(selector)] = selector.select(whitened, budget).mean(whitened)
    ends, candidates = [], []
    for name, centre in centres.items():
        weights, theta = _fixed_point(model, whitened, factor, np.linalg.solve(factor.T, centre), without)
        ends.append(theta)
        candidates.append(Candidate(name, float(weights.sum())))
    best = max(range(len(candidates)), key=lambda index: (candidates[index].score, -index))
    nothing = np.zeros(model.n_rows, dtype=np.bool_)
    return RobustStart(ends[best], candidates[best].name, tuple(candidates), nothing, time.perf_counter() - began)


def mean_weights(
    model: MeanModel, start: RobustStart, without: frozenset[str] = frozenset()
) -> tuple[FloatArray, FloatArray]:
    """Row weights (n,) and the mode (d,) of the rows so weighted: a fixed point of weighting and fitting."""
    factor = _whitening(model)
    return _fixed_point(model, model.z @ factor, factor, start.theta, without)


def _fixed_point(
    model: MeanModel, whitened: FloatArray, factor: FloatArray, theta: FloatArray, without: frozenset[str]
) -> tuple[FloatArray, FloatArray]:
    weights = np.ones(model.n_rows)
    for round_number in range(ALTERNATIONS):
        fresh = _reweigh(whitened - theta @ factor, without)
        fresh = fresh if round_number < 2 else 0.5 * (weights + fresh)
        change = float(np.abs(fresh - weights).sum())
        weights = fresh
        theta = weighted_mode(model, weights, theta)
        if change < 0.5 and round_number:
            break
    return weights, theta


def _reweigh(deviations: FloatArray, without: frozenset[str]) -> FloatArray:
    """Weights (n,) from three views of the whitened deviations (n, d).

    The normal score of their squared length; their projection on the mean of the rows that lost weight; and, where its
    variance is beyond the edge of a clean sample's spectrum, their projection on the top principal direction.
    """
    rows, dim = deviations.shape
    windows = (1,) if "windows" in without else WINDOWS
    group = np.zeros(rows, dtype=np.intp)
    squares = (deviations**2).sum(axis=1)
    shares, near = _shares(_radius_score(deviations))
    weights = remove_excess(shares, near, group, GATE, windows)
    removed = 1.0 - weights
    if removed.sum() > max(10.0, 0.01 * rows):
        total = removed @ deviations
        # Each row's own vote is left out of the direction it is judged by.
        along = deviations @ total - removed * squares
        length = np.sqrt(
            np.maximum(total @ total - 2.0 * removed * (deviations @ total) + removed**2 * squares, 1e-300)
        )
        shares, near = _shares(along / length)
        weights = remove_excess(shares, weights * near, group, GATE, windows)
    if "direction" not in without and weights.any():
        centre = weights @ deviations / weights.sum()
        variance, direction = top_direction(deviations, weights, centre)
        if variance > EDGE_SLACK * (1.0 + np.sqrt(dim / rows)) ** 2:
            projection = (deviations @ direction) * (1.0 - weights * squares / (weights.sum() * variance))
            shares, near = _shares(projection)
            weights = remove_excess(shares, weights * near, group, MEAN_DIRECTION_GATE, windows)
    return weights


def _whitening(model: MeanModel) -> FloatArray:
    """Matrix F (d, d) with F F' the inverse covariance: rows z F have unit covariance."""
    return np.asarray(np.linalg.cholesky(model.covariance.precision(model.dim)))


def _radius_score(deviations: FloatArray) -> FloatArray:
    """Normal score (n,) of the squared length, chi-square with d degrees of freedom under the model."""
    dim = deviations.shape[1]
    squares = (deviations**2).sum(axis=1)
    below, above = chdtr(dim, squares), chdtrc(dim, squares)
    score: FloatArray = np.where(below < 0.5, ndtri(np.maximum(below, 1e-300)), -ndtri(np.maximum(above, 1e-300)))
    return score


def _shares(z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """One bin for each row, shape (n, BINS), and 0 for rows too far out, else 1."""
    shares = np.zeros((len(z), BINS))
    shares[np.arange(len(z)), np.digitize(z, EDGES[1:-1])] = 1.0
    return shares, np.where(np.abs(z) > FAR, 0.0, 1.0)
