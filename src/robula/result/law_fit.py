"""How the trusted rows fit the declared law: scores, predictive intervals, labels, and what is off in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from robula._types import FloatArray
from robula.models.law import ModelWithLaw
from robula.models.precision import weighted_precision, width_factor
from robula.models.regression import Regression
from robula.models.separation import separating_parameter
from robula.result.thresholds import COVERAGE_ERRORS, COVERAGE_LEEWAY, DISTRUSTED

#: Predictive intervals that are checked, by the share of new rows that they should hold.
LEVELS = (0.5, 0.8, 0.95)
# Labels are compared in groups of about equal size by predicted probability; fewer rows are not compared at all.
_GROUPS, _FEWEST_IN_A_GROUP = 10, 20
# Farther out than any picture.
_FARTHEST = 8.0
# What a row can have to say in its own prediction.
_MOST_LEVERAGE = 0.9
# Steps that fill (0, 1) evenly, however many they are.
_GOLDEN = 0.6180339887498949


class Coverage(NamedTuple):
    """The share of trusted rows inside their predictive interval of a level, and how far chance alone moves it."""

    level: float
    found: float
    error: float

    @property
    def off(self) -> bool:
        """Whether the interval is too wide or too narrow by more than chance, and by enough to matter."""
        leeway = COVERAGE_LEEWAY * np.sqrt(self.level * (1.0 - self.level))
        return bool(abs(self.found - self.level) > COVERAGE_ERRORS * self.error + leeway)

    @property
    def too_wide(self) -> bool:
        """Whether the interval holds more rows than it should; of interest where it is off."""
        return self.found > self.level


class LawFit(NamedTuple):
    """How the trusted rows fit the law.

    Attributes
    ----------
    scores : ndarray, shape (m,)
        Normal scores of the trusted rows, in order, each as if the fit had not seen its row: N(0, 1) where the law is
        right. Empty for labels.
    coverage : tuple of Coverage
        Empty for labels.
    groups : ndarray, shape (g, 3)
        For labels: predicted and observed share in groups of rows, and the standard error; else empty.
    """

    scores: FloatArray
    coverage: tuple[Coverage, ...]
    groups: FloatArray


def law_fit(model: ModelWithLaw, theta: FloatArray, weights: FloatArray) -> LawFit | None:
    """Compare the rows that count at least half of weights (n,) with their law at theta (d,); None for too few."""
    trusted = weights >= DISTRUSTED
    if trusted.sum() < _FEWEST_IN_A_GROUP:
        return None
    lower, upper = (end[trusted] for end in model.pit(theta))
    if model.response_kind == "label":
        return LawFit(np.zeros(0), (), _groups(lower, upper))
    if (lower == upper).all():
        scores = model.scores(theta)[0][trusted]
    else:
        # A count covers an interval of probabilities: it is placed in it evenly, the same for the same rows.
        places = (0.5 + _GOLDEN * np.arange(len(lower))) % 1.0
        scores = ndtri(np.clip(lower + places * (upper - lower), ndtr(-_FARTHEST), 1.0 - 1e-15))
    # Without its row the fit would be farther from it, and the less sure the more say the row has.
    left = 1.0 - np.minimum(_leverage(model, theta, weights)[trusted], _MOST_LEVERAGE)
    scores = np.clip(scores / np.sqrt(left), -_FARTHEST, _FARTHEST)
    coverage = tuple(
        Coverage(
            level,
            float((np.abs(scores) <= ndtri(0.5 + level / 2)).mean()),
            float(np.sqrt(level * (1 - level) / len(scores))),
        )
        for level in LEVELS
    )
    return LawFit(np.sort(scores), coverage, np.zeros((0, 3)))


def law_record(model: ModelWithLaw, theta: FloatArray, weights: FloatArray) -> dict[str, Any]:
    """What a run leaves of this in ``posterior.settings``: coverage of intervals, and whether labels are separated.

    Coverage is a list of (level, share found, standard error); a parameter along which labels are separated is named.
    """
    fit = law_fit(model, theta, weights)
    trusted = weights >= DISTRUSTED
    separated = separating_parameter(model, theta, trusted) if isinstance(model, Regression) else None
    return {
        "coverage": [] if fit is None else [list(each) for each in fit.coverage],
        "separated": None if separated is None else separated._asdict(),
    }


def law_doubts(settings: Mapping[str, Any]) -> list[str]:
    """Say what the finished run shows to be off in the law, in whole sentences; empty where nothing is."""
    found = []
    if words := _coverage_words([Coverage(*each) for each in settings.get("coverage") or ()]):
        found.append(words)
    if separated := settings.get("separated"):
        which = "every trusted label" if separated["complete"] else "the trusted labels of some rows"
        found.append(
            f"A combination of the columns, {separated['parameter']!r} above all, tells {which} without a mistake "
            "(separation): the rows only say that its effect is large, and how large is the prior's. Read the sign, "
            "not the size. A column that is known only after the label does that, or a rare category, or that other "
            "labels were called wrong."
        )
    return found


def _coverage_words(coverage: list[Coverage]) -> str:
    off = [each for each in coverage if each.off]
    if not off:
        return ""
    held = ", ".join(f"{100 * each.level:.0f} % interval holds {100 * each.found:.1f} %" for each in off)
    inner_wide, outer_wide = coverage[0].too_wide, coverage[-1].too_wide
    if not inner_wide and outer_wide:
        why = "too few rows are near the middle: look for two groups, or for a column that is missing"
    elif inner_wide and not outer_wide:
        why = "tails are heavier than declared: another law, or more bad rows than were declared"
    elif inner_wide:
        why = "most rows spread less than the law says: look at a declared noise scale, or for rows that spread more"
    else:
        why = "the rows spread more than the law says: look at a declared noise scale, or take a law that is wider"
    return f"Predictive intervals do not hold what they say of the trusted rows (the {held}); {why}."


def _leverage(model: ModelWithLaw, theta: FloatArray, weights: FloatArray) -> FloatArray:
    """The say (n,) that each row has in its own prediction; of vector rows, of each of their numbers on average."""
    features = model.features(theta).reshape(model.n_rows, -1, model.dim)
    factor = width_factor(weighted_precision(model, weights, theta))
    leverage: FloatArray = ((features @ factor) ** 2).sum(axis=2).mean(axis=1) * model.counted(weights)
    return leverage


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
