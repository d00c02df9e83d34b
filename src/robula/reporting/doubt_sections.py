"""The parts of the page about doubt: the rows an answer hangs on, and whether the law fits those that are trusted."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from robula._types import FloatArray
from robula.diagnosis.flipping_rows import Hinge
from robula.diagnosis.row_influence import Influence
from robula.diagnosis.rows_to_check import OddRows
from robula.models.law import ModelWithLaw
from robula.reporting import svg_pictures as svg
from robula.reporting.svg_pictures import number, rough
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


MOST_INFLUENTIAL = 10
# Rows that are named of those that a conclusion hangs on.
_NAMED = 8
_UNTIL_0, _UNTIL_TURNED, _NAMES = "until 0 is possible", "until the sign turns", "rows until 0"


def hangs_on(
    found: Influence | None, hinges: Sequence[tuple[Hinge, Hinge]], odd: OddRows | None, labels: Sequence[Any]
) -> str:
    """Return the rows that conclusions hang on, and those that move the answer most."""
    if found is None:
        return ""
    parts = []
    if hinges:
        lines = "".join(
            f"<tr><th class='text' scope='row'>{escape(interval.quantity)}</th>"
            f"<td data-label='now'>{escape(interval.before.text)}</td>{_hinge_cell(interval, _UNTIL_0)}"
            f"{_hinge_cell(sign, _UNTIL_TURNED)}"
            f"<td class='text' data-label='{_NAMES}'>{escape(_named(interval, labels))}</td></tr>"
            for interval, sign in hinges
        )
        parts.append(
            "<p>How few rows would have to go for a conclusion to turn, the others counting as they do. Rows are not "
            "wrong because much hangs on them, but these are the ones to check.</p><div class='scroll' tabindex='0' "
            "role='region' aria-label='Rows that conclusions hang on'><table class='cards' "
            "aria-label='Rows that conclusions hang on'><thead><tr><th class='text' scope='col'>quantity</th>"
            f"<th scope='col'>now</th><th scope='col'>{_UNTIL_0}</th><th scope='col'>{_UNTIL_TURNED}</th>"
            f"<th class='text' scope='col'>{_NAMES}</th></tr></thead>"
            f"<tbody>{lines}</tbody></table></div>"
        )
    parts.append(_most_influential(found, odd, labels))
    return "".join(parts)


def _hinge_cell(hinge: Hinge, label: str) -> str:
    if hinge.rows is None:
        return f"<td class='quiet' data-label='{label}'>no few rows</td>"
    count = len(hinge.rows)
    share = 100.0 * count / max(hinge.n_rows, 1)
    doubt = "" if hinge.confirmed else " (not confirmed)"
    return (
        f"<td data-label='{label}'>{count:,} row{'s' if count > 1 else ''}<small>{rough(share)} %{doubt}</small></td>"
    )


def _named(hinge: Hinge, labels: Sequence[Any]) -> str:
    if hinge.rows is None:
        return ""
    named = ", ".join(str(labels[row]) for row in hinge.rows[:_NAMED])
    return named + (", ..." if len(hinge.rows) > _NAMED else "")


def _most_influential(found: Influence, odd: OddRows | None, labels: Sequence[Any]) -> str:
    strength, place = found.strength, found.moved_most
    rows = np.argsort(-strength, kind="stable")[:MOST_INFLUENTIAL]
    told = ["" if odd is None else odd.cells.reason(int(row)) for row in rows]
    why = [f"<td class='text'>{escape(reason)}</td>" if any(told) else "" for reason in told]
    head = "<th class='text' scope='col'>what is odd</th>" if any(told) else ""
    lines = "".join(
        f"<tr><th scope='row'>{escape(str(labels[row]))}</th><td>{found.row_weights[row]:.3f}</td>"
        f"<td class='text'>{escape(found.names[place[row]])}</td><td>{rough(strength[row])}&nbsp;sd</td>"
        f"<td>{number(float(found.removal[row, place[row]]))}</td>"
        f"{reason}</tr>"
        for row, reason in zip(rows, why, strict=True)
    )
    return (
        "<h3>Rows that move the answer most</h3><div class='scroll' tabindex='0' role='region' "
        "aria-label='Rows that move the answer most'><table aria-label='Rows that move the answer most'>"
        "<thead><tr><th scope='col'>row</th>"
        "<th scope='col'>weight</th><th class='text' "
        "scope='col'>moves most</th><th scope='col'>by</th><th scope='col'>change if it went</th>"
        f"{head}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def law(fit: LawFit | None) -> str:
    """Return how the trusted rows fit the declared law, what is off, and what to try."""
    if fit is None:
        return ""
    words = "".join(f"<li>{escape(word)}</li>" for word in fit.words)
    off = (
        f"<p>The law of the rows is not quite the declared one. What is off, and what to try:</p><ul>{words}</ul>"
        if words
        else "<p>Nothing speaks against the declared law of the rows that are trusted.</p>"
    )
    if len(fit.groups):
        return (
            f"{off}<figure>{svg.reliability(fit.groups)}<figcaption>Groups of trusted rows: observed share of the "
            "label against the predicted one, with the bars that 19 in 20 should keep to; red where one does not."
            "</figcaption></figure>"
        )
    lines = "".join(
        f"<tr><th scope='row'>{100 * each.level:.0f} %</th><td>{100 * each.found:.1f} %</td><td class='text'>"
        f"{'right' if not each.off else 'too wide' if each.found > each.level else 'too narrow'}</td></tr>"
        for each in fit.coverage
    )
    return (
        f"{off}<div class='side'><figure>{svg.normal_plot(fit.scores)}<figcaption>Scores of the trusted rows (upright) "
        "against N(0, 1): on the line where the law is right, red outside of the band that chance allows.</figcaption>"
        "</figure><div><table aria-label='Predictive intervals'>"
        "<thead><tr><th scope='col'>predictive interval</th><th scope='col'>holds</th>"
        f"<th class='text' scope='col'>it is</th></tr></thead><tbody>{lines}</tbody></table><p class='note'>Share of "
        "the trusted rows inside the interval that would have been predicted without them.</p></div></div>"
    )
