"""Where the chains start, and, for a model with several modes, the best of many climbs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robula._threads import few_threads_for_small_data
from robula._types import ArrayInput, FloatArray
from robula._validation import check_contamination
from robula.exceptions import InputError
from robula.models.model import Model, require_model
from robula.models.precision import weighted_precision, width_factor
from robula.selectors import resolve_selector
from robula.selectors.selection import Selector
from robula.selectors.trimmed_likelihood import TrimmedLikelihood
from robula.tables.arrays import as_option
from robula.target.centre_search import climb
from robula.target.robust_centre import RobustCentre

_SELECTIONS = 8


def check_start(start: ArrayInput, chains: int, dim: int) -> FloatArray:
    """Return a given start as (chains, d), or refuse it."""
    array = as_option(start, "start")
    if array.shape not in ((dim,), (chains, dim)):
        raise InputError(f"start has shape {array.shape}; pass ({dim},) for all chains or ({chains}, {dim}).")
    if not np.isfinite(array).all():
        raise InputError("start has missing or infinite entries.")
    return np.array(np.broadcast_to(array, (chains, dim)))


def draw_start(
    rngs: Sequence[np.random.Generator],
    model: Model,
    selector: Selector,
    contamination: float,
    centre: RobustCentre,
    variance: float | None,
) -> tuple[FloatArray, str]:
    """Return the start of each chain (c, d) and words for the record.

    alg:rula draws theta_0 ~ N(0, beta I), beta = 1 / L unless ``variance`` is given. A model-aware selector has found
    the posterior already: the chains then start around it, as spread out as it is.
    """
    if selector.centre is not None and variance is None:
        weights = selector.select_rows(model, centre.theta, contamination).weights
        factor = width_factor(weighted_precision(model, weights, centre.theta))
        first = np.stack([centre.theta + factor @ rng.standard_normal(model.dim) for rng in rngs])
        return first, "normal, around the robust centre with the covariance of the trusted rows' posterior"
    middle = model.initial if selector.centre is None else centre.theta
    variance = 1.0 / centre.smoothness if variance is None else variance
    first = np.stack([middle + np.sqrt(variance) * rng.standard_normal(model.dim) for rng in rngs])
    return first, f"normal, variance {variance:.6g}"


class Restarts(NamedTuple):
    """Ends of the climbs, the best first.

    Attributes
    ----------
    theta : ndarray, shape (s, d)
    log_density : ndarray, shape (s,)
        Log posterior of the rows trusted at each end, standing for (1 - contamination) n rows.
    agreeing : int
        How many ends are as good as the best, up to d / 2, by which draws of one mode differ. If it is 1, there may be
        better ones: try more starts.
    """

    theta: FloatArray
    log_density: FloatArray
    agreeing: int


@few_threads_for_small_data
def restarts(
    model: Model, starts: ArrayInput, *, contamination: float, selector: str | Selector | None = None
) -> Restarts:
    """Climb from many starts, selecting rows anew on the way, and rank the ends.

    A robust posterior has bad modes even where the clean one has none: once the bad rows are fitted, the good ones
    look like outliers. In them the trusted rows are fitted worse, which is how they are told apart (the concentration
    steps of least trimmed squares do the same). Pass the best ends to ``sample``: ``start=found.theta[:4]``.

    Parameters
    ----------
    model : Model
    starts : array-like, shape (s, d)
        Where to climb from.
    contamination : float
        Upper bound on the share of bad rows, in [0, 0.5).
    selector : str or Selector, optional
        None is :class:`robula.selectors.TrimmedLikelihood`.

    Returns
    -------
    Restarts
    """
    require_model(model)
    contamination = check_contamination(contamination)
    chosen = resolve_selector(TrimmedLikelihood() if selector is None else selector).prepared(model, contamination)
    begin = as_option(starts, "starts")
    if begin.ndim != 2 or begin.shape[1] != model.dim or not len(begin) or not np.isfinite(begin).all():
        raise InputError(f"starts has shape {begin.shape}; pass finite numbers of shape (starts, {model.dim}).")
    with np.errstate(over="ignore", invalid="ignore"):
        ends = [climb(model, chosen, contamination, "clean", start, _SELECTIONS) for start in begin]
        densities = np.array([trusted.log_density(theta) for theta, trusted in ends])
    densities = np.where(np.isfinite(densities), densities, -np.inf)
    order = np.argsort(-densities, kind="stable")
    agreeing = int((densities >= densities.max() - model.dim / 2.0).sum())
    return Restarts(np.stack([ends[index][0] for index in order]), densities[order], agreeing)
