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
# A response that is too often the same: of all rows, of so many at least, and times its neighbours. Rounded to a tenth
# of its spread and less, a value is shared by one row in ten as well, but then those beside it are.
_OFTEN, _FEWEST_EQUAL, _TIMES_BESIDE = 0.1, 10, 4
# How far scores must lean by quantiles where skewness of _SKEW, which leans by 0.13, is to be said: half of that.
_LEAN_OF_SKEW = 0.06
# What makes one tail of the called rows: so many, so nearly all of them on one side, and a lean of the others that is
# worth a word and more than three standard errors (1.4 / sqrt(rows) of normal scores).
_FEWEST_IN_A_TAIL, _ONE_SIDED, _LEAN_OF_A_TAIL, _LEAN_BY_CHANCE = 5.0, 0.9, 0.1, 4.2
_BENT = "log odds that bend where the model's are straight (try squares, products or splines of the columns)"
_BENDS = {
    Kind.NOTHING: Kind.BENT,
    Kind.FLIPPED: Kind.FLIPPED_AND_BENT,
    Kind.FLIPPED_BY_ROW: Kind.FLIPPED_BY_ROW_AND_BENT,
}
#: Least probability at which an explanation has a say.
_LIKELY = 0.05


def law_findings(verdict: Verdict) -> tuple[str, ...]:
    """Deviations of the clean rows' law: of its declared spread, else of the likeliest explanation's own law."""
    # Of a wrong spread tails, skewness and bends make what they can, so they say nothing.
    spread = noise_words(verdict) or covariance_words(verdict)
    if spread is not None:
        return (spread,)
    if Kind.FLIPPED in verdict.explanations:
        told = any(
            verdict.probabilities.get(bent, 0.0) >= _LIKELY
            and verdict.explanations[bent].evidence > verdict.explanations[straight].evidence + constants.PRICE
            for straight, bent in _BENDS.items()
        )
        return (_BENT,) if told else ()
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
    # Counts whose spread is a parameter are negative binomial already.
    poisson = counts and fit.rows.model.noise == "implied"
    wider = "a negative binomial model" if poisson else "more bad rows, or a column that is missing"
    found = []
    if tail < _TAILS:
        found.append(f"tails heavier than declared (try {wider if counts else 'a Student-t model'})")
    if abs(skew) > _SKEW and (counts or skew * _lean(fit) > _LEAN_OF_SKEW):
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
        other = f"an exposure, or {wider}" if counts else "a log response, or weights"
        found.append(f"spread that changes with the fitted value (try {other})")
    elif max(growth, default=0.0) > _GROWTH:
        found.append("spread that changes with the features")
    if max(abs(parameters[3 + grown :]), default=0.0) > _BEND:
        found.append("curvature that the model has not (try squares or splines of the columns)")
    return tuple(found)


def label_words(verdict: Verdict) -> str | None:
    """Say that a response is of two values where the law is of a continuous one; None where it is of more."""
    y = _continuous_response(verdict)
    if y is None or len(np.unique(y)) != 2:
        return None
    return "the response has two values only (fit it as a label: a logistic model)"


def repeated_words(verdict: Verdict) -> str | None:
    """Say that a response is one value far too often, where the law is of a continuous one; None where none is.

    Chance does not repeat a continuous response, and rounding repeats its neighbours as well. Of clean responses,
    rounded or not, fewer than one table in 1000 is said to have such a value.
    """
    y = _continuous_response(verdict)
    if y is None:
        return None
    counts = np.unique(y, return_counts=True)[1]
    most = int(counts.argmax())
    beside = np.concatenate([counts[max(most - 1, 0) : most], counts[most + 1 : most + 2]])
    if counts[most] < max(_OFTEN * len(y), _FEWEST_EQUAL, _TIMES_BESIDE * int(beside.max(initial=1))):
        return None
    # The rows may be in other units than the user's, so the value goes by its place.
    place = ", the smallest" if most == 0 else ", the largest" if most == len(counts) - 1 else ""
    return (
        f"{counts[most] / len(y):.0%} of the responses are one and the same value{place}, and no noise around a line "
        "makes so many equal (model whether a response is this value as a label, and the others apart)"
    )


def _continuous_response(verdict: Verdict) -> FloatArray | None:
    """The responses of the rows that were judged, where their law is of numbers that chance does not repeat."""
    fits = [fit for fit in verdict.explanations.values() if isinstance(fit, Explanation)]
    response = None if not fits or fits[0].rows.discrete else fits[0].rows.model.response
    return None if response is None else np.asarray(response)


def one_tail_words(verdict: Verdict) -> tuple[str, ...]:
    """Say where the rows that are called bad go on what the kept ones begin: a lean to one side.

    Without them a skewed law looks less so, and is not seen as such.
    """
    if _continuous_response(verdict) is None:
        return ()
    fit = verdict.explanations[max(verdict.probabilities, key=lambda name: verdict.probabilities[name])]
    assert isinstance(fit, Explanation)
    doubt, side = 1.0 - verdict.weights[: fit.rows.count], np.sign(fit.scores.point)
    called, above = float(doubt.sum()), float(doubt @ (side > 0.0))
    if called < _FEWEST_IN_A_TAIL or max(above, called - above) < _ONE_SIDED * called:
        return ()
    chance = _LEAN_BY_CHANCE / math.sqrt(fit.rows.count)
    if (1.0 if 2.0 * above > called else -1.0) * _lean(fit) < max(_LEAN_OF_A_TAIL, chance):
        return ()
    where = "above" if 2.0 * above > called else "below"
    return (
        f"nearly all of the {called:.0f} rows that are called bad are {where} what the model says, and the others lean "
        "to that side too, so they may be one long tail and no mistakes (compare with contamination=0, and try a log "
        "or square-root response)",
    )


def _lean(fit: Explanation) -> float:
    """How much farther the kept rows' scores reach up than down, from -1 to 1; 0 where they are symmetric.

    By quantiles, which a few bad rows hardly move: 0.1 for a lognormal law with a log scale of 0.2.
    """
    low, middle, high = np.quantile(fit.scores.point[fit.weights > _ONE_ROW], [0.05, 0.5, 0.95])
    return float((high + low - 2.0 * middle) / max(high - low, 1e-300))


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


def exact_words(verdict: Verdict) -> str | None:
    """Say that the clean rows have no noise, where they do not just share one response; None where they have some."""
    fits = [fit for fit in verdict.explanations.values() if isinstance(fit, Explanation) and fit.exact]
    if not fits:
        return None
    likeliest = max(fits, key=lambda fit: fit.evidence)
    share, rows = 1.0 - likeliest.called, likeliest.rows
    sharing = np.unique(np.asarray(rows.model.response), return_counts=True)[1].max() / rows.count
    if sharing > share / 2:
        # Rows that share one response need no column to be fitted.
        return None
    fitted = f"{share:.0%} of the rows are fitted to the last digit"
    if rows.count <= rows.dim:
        return (
            f"{fitted}, for there are {rows.dim} parameters and only {rows.count} rows, so nothing is left to judge "
            "them by (leave columns out, or add rows)"
        )
    return (
        f"{fitted}: there the response was computed from the columns (leave out the column that it is a copy or a sum "
        "of, or fit these rows apart)"
    )


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
