"""The excess rule for models with one response per row: linear (known and unknown scale) and Poisson regression."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robula._types import BoolArray, FloatArray, IntArray
from robula.exceptions import InputError
from robula.models.linear_model import UnknownScaleLinearModel
from robula.models.posterior_mode import inverse_factor, weighted_mode, weighted_precision
from robula.selectors.excess.excess_constants import (
    ALTERNATIONS,
    BINS,
    CONFIRMED,
    EDGES,
    FAR,
    GATE,
    GROUP_TEST,
    MAJORITY,
    SCALE_FACTORS,
    SCALE_REFINEMENTS,
    SCALE_SEARCHES,
    SWEEPS,
    WINDOWS,
)
from robula.selectors.excess.excess_counts import (
    ResponseModel,
    bin_shares,
    clean_count,
    remove_excess,
    repeat_weights,
    residuals,
)
from robula.selectors.excess.row_groups import flag_rows, leaning_directions, remove_alike, score_directions
from robula.selectors.excess.starting_point import RobustStart, response_start


def regression_start(model: ResponseModel, contamination: float, without: frozenset[str] = frozenset()) -> RobustStart:
    """Flag rows by their features and find the start."""
    nothing = np.zeros(model.n_rows, dtype=np.bool_)
    flagged = nothing if "flags" in without else flag_rows(model.design, contamination)
    if flagged.all():
        flagged = nothing
    return response_start(model, flagged, robust="start" not in without)


def regression_weights(
    model: ResponseModel, start: RobustStart, without: frozenset[str] = frozenset()
) -> tuple[FloatArray, FloatArray]:
    """Row weights (n,) and the mode (d,) of the rows so weighted: a fixed point of weighting and fitting."""
    windows = (1,) if "windows" in without else WINDOWS
    theta, flagged = start.theta, start.flagged
    one_group = np.zeros(model.n_rows, dtype=np.intp)
    base = _without_repeats(model, theta, without)
    shares, near = bin_shares(model, theta, np.ones(model.n_rows))
    weights = np.where(flagged, 0.0, remove_excess(shares, base * near, one_group, GATE, windows))
    searched = without
    for round_number in range(ALTERNATIONS):
        theta = weighted_mode(model, weights, theta)
        fresh, base = _reweigh(model, theta, weights, flagged, searched, windows)
        removed = float((base - fresh).sum())
        unconfirmed = removed < CONFIRMED * float((base - weights).sum())
        if round_number > 0 and unconfirmed and "confirmation" not in without:
            # Bad rows stand out more once they are left out of the fit. These do not, so chance chose their group.
            searched = without | {"direction", "likeness", "lean"}
        # Damping ends cycles between two sets of rows.
        fresh = fresh if round_number < 2 or removed == 0.0 else 0.5 * (weights + fresh)
        change = float(np.abs(fresh - weights).sum())
        weights = fresh
        if change < 0.5:
            break
    return weights, weighted_mode(model, weights, theta)


def _reweigh(
    model: ResponseModel,
    theta: FloatArray,
    previous: FloatArray,
    flagged: BoolArray,
    without: frozenset[str],
    windows: tuple[int, ...],
) -> tuple[FloatArray, FloatArray]:
    """Weights (n,) at the mode theta of the rows weighted by ``previous``, and before any excess was counted."""
    factor = inverse_factor(weighted_precision(model, previous, theta))
    whitened = np.sqrt(model.row_curvature(theta))[:, None] * (model.design @ factor)
    leverage = (whitened**2).sum(axis=1)
    # A residual at the mode has variance 1 - h if its row took part in the fit and 1 + h if it did not.
    scale = np.sqrt(np.maximum(1.0 + leverage * (1.0 - 2.0 * previous), 0.05))
    z = residuals(model, theta) / scale
    shares, near = bin_shares(model, theta, scale)
    unrepeated = _without_repeats(model, theta, without)
    base = near * unrepeated
    one_group = np.zeros(model.n_rows, dtype=np.intp)
    # Repeated values and groups dropped as a whole are settled: the good rows nearest to them in x are not like them.
    unsettled = unrepeated > 0.5
    if flagged.any() and _disagrees(z[flagged]):
        weights = remove_excess(shares, base, flagged.astype(np.intp), GATE, windows)
        if clean_count(shares[flagged].sum(axis=0), 0.0) < MAJORITY * flagged.sum():
            weights[flagged] = 0.0
            unsettled &= ~flagged
    else:
        weights = remove_excess(shares, base, one_group, GATE, windows)
    fit = _Fit(whitened, np.clip(z, -8.0, 8.0), shares, base, previous)
    return _search_groups(fit, weights, unsettled, without, windows), base


class _Fit(NamedTuple):
    """The rows as a fit sees them: features (n, d), residuals (n,), shares (n, BINS), weights (n,) before and in it."""

    whitened: FloatArray
    z: FloatArray
    shares: FloatArray
    base: FloatArray
    fitted: FloatArray


def _search_groups(
    fit: _Fit, weights: FloatArray, unsettled: BoolArray, without: frozenset[str], windows: tuple[int, ...]
) -> FloatArray:
    """Remove from the weights (n,) what is in excess along directions, and among rows like the removed ones."""
    # A direction is chosen by the data, among d and from residuals that the fit made orthogonal to x: chance reaches
    # further there. The power keeps the share of clean data sets that lose rows at a few per cent up to d = n / 10.
    rows, dim = fit.whitened.shape
    gate = GATE / max(1.0 - dim / rows, 0.5) ** 4

    def along(directions: Iterable[tuple[IntArray, FloatArray]], weights: FloatArray) -> FloatArray:
        for groups, side in directions:
            mirrored = np.where(side[:, None] < 0, fit.shares[:, ::-1], fit.shares)
            weights = remove_excess(mirrored, weights, groups, gate, windows)
        return weights

    for _ in range(SWEEPS):
        before = weights
        if "direction" not in without:
            weights = along(score_directions(fit.whitened, fit.z, weights), weights)
        if "likeness" not in without:
            open_rows = (fit.shares, fit.base, weights, fit.whitened, fit.fitted)
            weights = weights.copy()
            weights[unsettled] = remove_alike(*(values[unsettled] for values in open_rows))
        if (before - weights).sum() < 1.0:
            # Added rows make residuals larger on the whole. Where they are too small rows were hidden, and the edge of
            # the hole would pass for an excess.
            if "lean" not in without and float(fit.base @ (fit.z**2 - 1.0)) > 0.0:
                weights = along(leaning_directions(fit.whitened, fit.z, weights), weights)
            break
    return weights


def _without_repeats(model: ResponseModel, theta: FloatArray, without: frozenset[str]) -> FloatArray:
    return np.ones(model.n_rows) if "repeats" in without else repeat_weights(model, theta)


def _disagrees(z: FloatArray) -> bool:
    """Whether the flagged rows' z (k,) as a group are not N(0, 1): their mean or their variance is beyond chance."""
    count = len(z)
    mean = abs(float(z.sum())) / np.sqrt(count)
    variance = float((np.minimum(z**2, 25.0) - 1.0).sum()) / np.sqrt(2.0 * count)
    return bool(max(mean, variance) > GROUP_TEST)


def unknown_scale_start(
    model: UnknownScaleLinearModel, contamination: float, without: frozenset[str] = frozenset()
) -> RobustStart:
    """Search start and scale in turn.

    The scale is the one at which the data can contain the most clean rows: with too small a scale the flanks are
    overfull and the centre is too empty, with too large a one it is the other way round. A median absolute deviation
    would be inflated by the bad rows.
    """
    scale = math.exp(float(model.initial[-1]))
    for _ in range(SCALE_SEARCHES):
        start = regression_start(model.at_scale(scale), contamination, without)
        kept = ~start.flagged
        residuals = (model.y - model.design @ start.theta)[kept]
        clean = [_clean_rows(residuals / (scale * factor)) for factor in SCALE_FACTORS]
        factor = float(SCALE_FACTORS[int(np.argmax(clean))])
        scale *= factor
        if abs(math.log(factor)) < 0.08:
            break
    # The fit has used up one degree of freedom for each coefficient.
    left = max(1.0 - model.design.shape[1] / max(max(clean), 1.0), 0.2)
    return replace(start, theta=np.append(start.theta, math.log(scale / math.sqrt(left))))


def unknown_scale_weights(
    model: UnknownScaleLinearModel, start: RobustStart, without: frozenset[str] = frozenset()
) -> tuple[FloatArray, FloatArray]:
    """Row weights (n,) and the mode (d,) of coefficients and log scale of the rows so weighted."""
    theta = start.theta
    for _ in range(SCALE_REFINEMENTS):
        known = model.at_scale(math.exp(theta[-1]))
        weights, coefficients = regression_weights(known, replace(start, theta=theta[:-1]), without)
        squares = (model.y - model.design @ coefficients) ** 2
        variance = float(weights @ squares) / max(float(weights.sum()) - len(coefficients), 1.0)
        if not variance > 0.0:
            raise InputError(
                "the trusted rows have no noise: the model fits them exactly, so its scale cannot be estimated. "
                "Pass noise_scale= as a number."
            )
        change = 0.5 * math.log(variance) - theta[-1]
        theta = np.append(coefficients, theta[-1] + change)
        if abs(change) < 1e-3:
            break
    return weights, weighted_mode(model, weights, theta)


def _clean_rows(z: FloatArray) -> float:
    near = z[np.abs(z) <= FAR]
    return clean_count(np.bincount(np.digitize(near, EDGES[1:-1]), minlength=BINS).astype(np.float64), 0.0)
