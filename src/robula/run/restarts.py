"""Where chains of a model with several modes should start: the best of many climbs, and how many of them got there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robula._types import ArrayInput, FloatArray
from robula._validation import check_contamination
from robula.exceptions import InputError
from robula.models.model import Model
from robula.selectors.registry import resolve_selector
from robula.selectors.selector import Selector
from robula.selectors.trimmed_likelihood import TrimmedLikelihood
from robula.tables.arrays import as_numbers
from robula.target.large_centre import climb

_SELECTIONS = 8


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
    contamination : float
    selector : str or Selector, optional
        None is :class:`robula.TrimmedLikelihood`.
    """
    if not isinstance(model, Model):
        raise InputError("restarts needs a robula model first.")
    contamination = check_contamination(contamination)
    chosen = resolve_selector(TrimmedLikelihood() if selector is None else selector).prepared(model, contamination)
    begin = as_numbers(starts, "starts")
    if begin.ndim != 2 or begin.shape[1] != model.dim or not len(begin) or not np.isfinite(begin).all():
        raise InputError(f"starts has shape {begin.shape}; pass finite numbers of shape (starts, {model.dim}).")
    with np.errstate(over="ignore", invalid="ignore"):
        ends = [climb(model, chosen, contamination, "clean", start, _SELECTIONS) for start in begin]
        densities = np.array([trusted.log_density(theta) for theta, trusted in ends])
    densities = np.where(np.isfinite(densities), densities, -np.inf)
    order = np.argsort(-densities, kind="stable")
    agreeing = int((densities >= densities.max() - model.dim / 2.0).sum())
    return Restarts(np.stack([ends[index][0] for index in order]), densities[order], agreeing)
