"""What is off in the declared law, in words a user can act on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from robula._types import FloatArray
from robula.selectors.trust import trust_constants as constants
from robula.selectors.trust.declared_spread import covariance_words, noise_words
from robula.selectors.trust.explanation import Explanation
from robula.selectors.trust.explanation_kinds import Kind
from robula.selectors.trust.trust_search import Contested, Verdict

# What is worth a word: tails, skewness, a spread that grows, curvature and dispersion of this size and more.
_TAILS, _SKEW, _GROWTH, _BEND, _DISPERSION = -0.25, 0.25, 0.3, 0.3, 0.15
# Above this share bad rows are said to be rarely mistakes: routine data have one to ten per cent of gross errors
# [hampel1986].
_MANY = 0.1
# What counts as a row.
_ONE_ROW = 0.5
#: Least probability at which an explanation has a say.
_LIKELY = 0.05


def law_findings(verdict: Verdict) -> tuple[str, ...]:
    """Deviations of the clean rows' law: of its declared spread, else of the likeliest explanation's own law."""
    # Of a wrong spread tails, skewness and bends make what they can, so they say nothing.
    spread = noise_words(verdict) or covariance_words(verdict)
    if spread is not None:
        return (spread,)
    likely = [name for name, chance in verdict.probabilities.items() if chance >= _LIKELY]
    if verdict.beyond_budget:
        # What was not followed made bad rows of what may be the law: look at the law without any.
        likely.append(Kind.NOTHING)
    fits = [verdict.explanations[name] for name in likely]
    laws = [fit for fit in fits if isinstance(fit, Explanation) and fit.free]
    if not laws:
        return ()
    fit = max(laws, key=lambda explanation: explanation.evidence)
    parameters, grown = fit.law.parameters, fit.law.trends.shape[1]
    scale, skew, tail = parameters[:3]
    counts = bool(fit.scores.interval.all())
    found = []
    if tail < _TAILS:
        found.append(f"tails heavier than declared (try a {'negative binomial' if counts else 'Student-t'} model)")
    if abs(skew) > _SKEW:
        side = "right" if skew > 0 else "left"
        shape = (
            "a log or square-root response" if skew > 0 else "the square of the response, or a column that is missing"
        )
        other = "a model with more zeros, or a column that is missing" if counts else shape
        found.append(f"residuals skewed to the {side} (try {other})")
    if fit.rows.model.noise == "implied" and scale > _DISPERSION:
        found.append(
            f"responses spread {math.exp(scale):.2g} times as much as the mean implies (try a negative binomial)"
        )
    growth = np.abs(parameters[3 : 3 + grown])
    if max(growth[:1], default=0.0) > _GROWTH:
        other = "an exposure, or a negative binomial model" if counts else "a log response, or weights"
        found.append(f"spread that changes with the fitted value (try {other})")
    elif max(growth, default=0.0) > _GROWTH:
        found.append("spread that changes with the features")
    if max(abs(parameters[3 + grown :]), default=0.0) > _BEND:
        found.append("curvature that the model has not (try squares or splines of the columns)")
    return tuple(found)


def group_words(contested: Contested, moved: float, rows: int) -> str:
    """Say of a group that data cannot tell from a law that is off how large it is and what it does to the answer.

    ``moved`` is by how many posterior widths a parameter moves without it, at most.
    """
    share = float(contested.members.mean())
    return (
        f"a group of about {share * rows:.0f} rows ({share:.0%}) follows another line, and without it a "
        f"parameter moves by {moved:.1f} posterior widths (mistakes, or a curve or a column that the model "
        "has not; the rows are kept, so look at them and fit without them to compare)"
    )


def exact_words(verdict: Verdict) -> tuple[str, ...]:
    """Say that some rows have no noise, where calling the others bad was not followed for that."""
    fits = [fit for fit in verdict.explanations.values() if isinstance(fit, Explanation) and fit.exact]
    if not fits:
        return ()
    likeliest = max(fits, key=lambda fit: fit.evidence)
    share = 1.0 - likeliest.called
    y = np.asarray(likeliest.rows.model.response)
    values, counts = np.unique(y, return_counts=True)
    common, sharing = values[counts.argmax()], counts.max() / len(y)
    # Rows that share one response need no column to be fitted.
    if sharing > share / 2:
        words = (
            f"{sharing:.0%} of the responses are {common:g}, and no noise around a line makes so many equal (model "
            f"whether a response is {common:g} as a label, and the others apart)"
        )
    else:
        words = (
            f"{share:.0%} of the rows are fitted to the last digit: there the response was computed from the columns "
            "(leave out the column that it is a copy or a sum of, or fit these rows apart)"
        )
    return (words,)


def share_words(verdict: Verdict, share: float) -> tuple[str, ...]:
    """Say where bad rows may be none, for only the data say that they are bad: so many, or of so few rows."""
    fits = [fit for fit in verdict.explanations.values() if isinstance(fit, Explanation)]
    if not fits or fits[0].rows.exact_law:
        return ()
    rows, words = fits[0].rows.count, []
    if share > _MANY:
        words.append(
            f"{share:.0%} of the rows are classified as bad, and gross errors are usually 1 to 10 % (look at these "
            "rows: is a grouping variable missing, or a nonlinear effect, such as squares or a log of a column?)"
        )
    elif rows < constants.FEW_ROWS and share * rows > _ONE_ROW:
        words.append(
            f"{share * rows:.0f} of only {rows} rows are classified as bad: so few rows hardly tell errors from a law "
            "that is a little off (look at these rows, and compare with contamination=0)"
        )
    return tuple(words)


def trust_words(weights: FloatArray, share: float, error: float, record: Mapping[str, Any]) -> str:
    """Say in a few sentences how far rows are trusted, why, and what is off; the weights are (n,)."""
    low = int((weights < 0.5).sum())
    name, chance = max(record["explanations"].items(), key=lambda item: item[1], default=(Kind.NOTHING, 1.0))
    words = [
        f"{low:,} of {len(weights):,} rows count less than half; an estimated {share:.1%} are bad (standard error "
        f"{error:.1%}). Likeliest: {name} (probability {chance:.2f})."
    ]
    if record["misfit"]:
        words.append(f"{record['misfit'][0].upper()}{record['misfit'][1:]}")
    elif record["law"]:
        words.append(f"What is off: {'; '.join(record['law'])}.")
    if record["copied"]:
        words.append(f"{len(record['copied']):,} rows are copies of others; each group of them counts once.")
    return " ".join(words)
