"""Whether a declared noise scale or covariance is that of the rows; the posterior's widths are as wrong as it is."""

from __future__ import annotations

import math

import numpy as np

from robula._types import FloatArray
from robula.exceptions import InputError
from robula.models.law import ModelWithLaw
from robula.models.posterior_mode import weighted_mode
from robula.selectors.trust import trust_constants as constants
from robula.selectors.trust.beginnings import beginning_parameters
from robula.selectors.trust.explanation import Explanation
from robula.selectors.trust.explanation_kinds import Kind
from robula.selectors.trust.scored_rows import ScoredRows
from robula.selectors.trust.trust_search import Verdict
from robula.selectors.trust.vector_rows import CloudExplanation

# A spread within these factors of the declared one is left alone: widths are then a quarter off at most.
_LEAST, _MOST = 0.8, 1.25
# Chance alone passes the limits once in a hundred times at most: so many standard errors, of which the median size of
# m normal residuals has 1.17 / sqrt(m); and exp(-t^2 / 2) for an eigenvalue's root to be t / sqrt(m) further than
# sqrt(d / m) from 1 [davidson2001].
_STANDARD_ERRORS, _OF_A_MEDIAN = 3.0, 1.17
# Beyond so many noise scales the arithmetic of the search is no longer sure, and the slip is one of units.
_ABSURD = 1e4
_TO_DEVIATIONS = 1.4826


def refuse_noise_far_too_small(model: ModelWithLaw, budget: float) -> None:
    """Refuse a noise less than a ten-thousandth of what the residuals spread, whatever robust fit they are of.

    Most rows would be bad, or none: nothing can be said of which.
    """
    if model.noise != "declared" or model.response_kind != "number":
        return
    if _size(model, weighted_mode(model, np.ones(model.n_rows), model.initial)) <= _ABSURD:
        return
    # A few gross rows can do that to the fit of all rows, but not to all of these.
    times = min(_size(model, theta) for theta in beginning_parameters(ScoredRows(model), budget))
    if times > _ABSURD:
        raise InputError(
            f"the residuals spread {_rounded(times)} times {_declared(model)}: are its units those of the response, "
            "and is there an intercept? Declare the noise that the residuals have, or let the model estimate it "
            "(noise_scale='estimate')."
        )


def noise_ratio(verdict: Verdict) -> float | None:
    """How many times the declared noise the residuals spread; None where it is right, or none was declared.

    The law's own scale cannot tell: it is held to the declared one, so tails and skewness take up the rest. And where
    the noise is larger than declared its tails can be taken for bad rows, so that the others look right: one normal law
    of a larger scale for all rows is then likelier than what was followed.
    """
    fits = {name: fit for name, fit in verdict.explanations.items() if isinstance(fit, Explanation)}
    if not fits or next(iter(fits.values())).rows.model.noise != "declared":
        return None
    followed = fits[max(fits, key=lambda name: verdict.probabilities[name])]
    kept = np.abs(followed.scores.point)[verdict.weights > 0.5]
    few = len(kept) < constants.MOST_BAD * followed.rows.count
    if few or _likelier_with_another_scale(fits[Kind.NOTHING], followed):
        rows, everyone = followed.rows, np.ones(followed.rows.count)
        kept = np.abs(rows.scores(followed.theta, rows.leverage(everyone, followed.theta), everyone).point)
    times = _TO_DEVIATIONS * float(np.median(kept))
    doubt = _STANDARD_ERRORS * _OF_A_MEDIAN / math.sqrt(len(kept))
    right = min(math.log(_LEAST), -doubt) <= math.log(max(times, 1e-300)) <= max(math.log(_MOST), doubt)
    return None if right else times


def noise_words(verdict: Verdict) -> str | None:
    """Say by how much the residuals spread more or less than was declared; None where that is right."""
    times = noise_ratio(verdict)
    if times is None:
        return None
    model = next(fit.rows.model for fit in verdict.explanations.values() if isinstance(fit, Explanation))
    estimated = " (noise_scale='estimate' finds theirs)" if hasattr(model, "noise_scale") else ""
    return f"the residuals spread {_rounded(times)} times {_declared(model)}{estimated}"


def covariance_words(verdict: Verdict) -> str | None:
    """Say by how much rows that are vectors spread more or less than was declared; None where that is right."""
    fits = {name: fit for name, fit in verdict.explanations.items() if isinstance(fit, CloudExplanation)}
    if not fits or verdict.beyond_budget:
        # Rows that are bad, but more than were allowed and so kept, are no measure of the others' spread.
        return None
    roots = fits[max(fits, key=lambda name: verdict.probabilities[name])].spreads(verdict.weights)
    doubt = (math.sqrt(len(roots)) + _STANDARD_ERRORS) / math.sqrt(max(float(verdict.weights.sum()), 1.0))
    low, high = float(roots[0]), float(roots[-1])
    if min(_LEAST, 1.0 - doubt) <= low and high <= max(_MOST, 1.0 + doubt):
        return None
    times = " to ".join(dict.fromkeys((_rounded(low), _rounded(high))))
    return f"the rows spread {times} times the declared covariance (pass the covariance that they have)"


def _rounded(times: float) -> str:
    """Two digits, and no power of ten for numbers of ordinary size: 590, not 5.9e+02."""
    return f"{float(f'{times:.2g}'):g}"


def _declared(model: ModelWithLaw) -> str:
    """What the user declared, by its name where it has one: models of other packages declare it in their own way."""
    return f"noise_scale={model.noise_scale:g}" if hasattr(model, "noise_scale") else "the declared noise"


def _size(model: ModelWithLaw, theta: FloatArray) -> float:
    """Median size of the residuals at theta, as a normal's standard deviation, in units of the declared noise."""
    lower, upper = model.scores(theta)
    return _TO_DEVIATIONS * float(np.median(np.minimum(np.abs(lower), np.abs(upper))))


def _likelier_with_another_scale(plain: Explanation, followed: Explanation) -> bool:
    """Whether all rows, normal with a scale of their own around the fit of all, have more evidence than the other."""
    rows = plain.rows
    scale = max(float(np.sqrt(np.mean(plain.scores.point**2))), 1e-300)
    log_likelihood = plain.scores.base - rows.count * (math.log(scale) + 0.5 * math.log(2.0 * math.pi * math.e))
    evidence = rows.coarsening * log_likelihood - 0.5 * math.log1p(rows.coarsening * rows.count) - constants.PRICE
    return evidence > followed.evidence
