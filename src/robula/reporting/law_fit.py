"""Whether the declared law fits the rows that are trusted: their scores against N(0, 1), and predictive intervals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from robula._types import FloatArray
from robula.diagnosis.row_influence import Influence
from robula.models.law import ModelWithLaw
from robula.result.posterior import Posterior
from robula.result.thresholds import DISTRUSTED

#: Predictive intervals that are checked, by the share of new rows that they should hold.
LEVELS = (0.5, 0.8, 0.95)
# What a coverage may be off by beyond three standard errors before it is called off.
_LEEWAY = 0.01
# Labels are compared in groups of about equal size by predicted probability.
_GROUPS, _FEWEST_IN_A_GROUP = 10, 20
# Farther out than any picture.
_FARTHEST = 8.0


class Coverage(NamedTuple):
    """The share of trusted rows inside their predictive interval of a level, and how far chance alone moves it."""

    level: float
    found: float
    error: float

    @property
    def off(self) -> bool:
        """Whether the interval is too wide or too narrow by more than chance."""
        return abs(self.found - self.level) > 3.0 * self.error + _LEEWAY


class LawFit(NamedTuple):
    """How the trusted rows fit the law.

    Attributes
    ----------
    scores : ndarray, shape (m,)
        Normal scores of the trusted rows, in order, each as if the fit had not seen its row: N(0, 1) where the law is
        right.
    coverage : tuple of Coverage
        Empty for labels.
    groups : ndarray, shape (g, 3)
        For labels: predicted and observed share in groups of rows, and the standard error; else empty.
    words : tuple of str
        What is off, and what to try.
    """

    scores: FloatArray
    coverage: tuple[Coverage, ...]
    groups: FloatArray
    words: tuple[str, ...]


def law_fit(model: ModelWithLaw, posterior: Posterior, found: Influence) -> LawFit | None:
    """Compare the rows that count at least half with their law at the posterior mean; None if there are too few."""
    trusted = posterior.row_weights >= DISTRUSTED
    if trusted.sum() < _FEWEST_IN_A_GROUP:
        return None
    words = tuple((posterior.settings.get("rows_found") or {}).get("law", ()))
    theta = posterior.mean
    lower, upper = (end[trusted] for end in model.pit(theta))
    if model.response_kind == "label":
        return LawFit(np.zeros(0), (), _groups(lower, upper), words)
    if (lower == upper).all():
        scores = model.scores(theta)[0][trusted]
    else:
        # A count covers an interval of probabilities: a place in it at random, the same for the same rows.
        places = np.random.default_rng(0).uniform(size=len(lower))
        scores = ndtri(np.clip(lower + places * (upper - lower), ndtr(-_FARTHEST), 1.0 - 1e-15))
    # Without its row the fit would be farther from it, and the less sure the more say the row has.
    scores = np.clip(scores / np.sqrt(1.0 - np.minimum(found.leverage[trusted], 0.9)), -_FARTHEST, _FARTHEST)
    coverage = tuple(
        Coverage(
            level,
            float((np.abs(scores) <= ndtri(0.5 + level / 2)).mean()),
            float(np.sqrt(level * (1 - level) / len(scores))),
        )
        for level in LEVELS
    )
    return LawFit(np.sort(scores), coverage, np.zeros((0, 3)), words)


def _groups(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Predicted and observed shares of label 1: a label 1 covers the probabilities from that of label 0 to 1."""
    positive = upper == 1.0
    predicted = 1.0 - np.where(positive, lower, upper)
    order = np.argsort(predicted, kind="stable")
    count = min(_GROUPS, len(order) // _FEWEST_IN_A_GROUP)
    parts = [part for part in np.array_split(order, count) if len(part)]
    return np.array(
        [
            (
                predicted[part].mean(),
                positive[part].mean(),
                np.sqrt((predicted[part] * (1.0 - predicted[part])).sum()) / len(part),
            )
            for part in parts
        ]
    )
