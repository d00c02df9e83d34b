"""The search for the best explanation of labels: all right, also where the law bends, or some flipped.

Each begins where it may end, and is fitted by :mod:`robula.selectors.trust.label_flips`.
"""

from __future__ import annotations

import numpy as np

from robula._types import FloatArray
from robula.models.law import ModelWithLaw
from robula.models.posterior_mode import HeldPrecision, weighted_mode
from robula.selectors.trust.bent_labels import BentLabels, bent_flips
from robula.selectors.trust.explanation_kinds import Kind
from robula.selectors.trust.feature_space import FeatureMap
from robula.selectors.trust.label_flips import FlipExplanation, FlipsAtAnyRate, NoFlips, held_for
from robula.selectors.trust.systematic_sample import systematic_places

LabelExplanation = NoFlips | BentLabels | FlipExplanation | FlipsAtAnyRate

# Rounds, and steps of each: few where a precision is held, because which labels fit worst is settled before theta is.
_TRIMMING_STEPS, _TRIMMED_STEPS, _TRIMMED_HELD = 10, 25, 4
# Nats behind another explanation that no step makes up for.
_OUT_OF_REACH = 30.0
# Of more rows than these, as many say which of several beginnings leads furthest.
_LOOKED_AT = 10_000
# Rates of flips that are tried.
_RATES = np.array([0.005, 0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5])


def explain_labels(model: ModelWithLaw, budget: float, exact_law: bool | None = None) -> dict[Kind, LabelExplanation]:
    """Explanations of labels by kind; none in which the law is off where the user says that it is exact."""
    n = model.n_rows
    plain = weighted_mode(model, np.ones(n), model.initial, held=held_for(model))
    nothing, space = NoFlips(model, plain), FeatureMap(model.covariates).space
    # Beyond half of the smaller class, most of its labels would be wrong.
    most = min(budget, 0.5 * float(np.unique(np.asarray(model.response), return_counts=True)[1].min()) / n)
    rates = _RATES[most >= _RATES] if most >= _RATES[0] else np.array([most])
    at_rates: list[FlipExplanation] = []
    held, before, last = HeldPrecision(), plain, plain
    held.hold(nothing.precision)
    apart = np.diff(rates, prepend=0.0)
    for rate, further in zip(rates, [1.0, *(apart[1:] / apart[:-1])], strict=True):
        # Straight on from the two rates before.
        start = last + further * (last - before)
        at_rates.append(FlipExplanation(model, space, budget, start, np.full(n, rate), float(rate), held))
        before, last = last, at_rates[-1].theta
    flipped = FlipsAtAnyRate(at_rates, rates, most)
    bent = BentLabels(model, nothing, space)
    reach = max(nothing.evidence, flipped.evidence, bent.evidence) - _OUT_OF_REACH
    trimmed, dropped = _trimmed(model, plain, budget)
    far = 0.9 * (space.distance > np.quantile(space.distance, 1.0 - budget))
    tried = [(plain, np.full(n, 0.1 * budget)), (trimmed, 0.9 * dropped), (plain, far)]
    if n > _LOOKED_AT:
        some = systematic_places(np.asarray(model.response), space.distance, _LOOKED_AT)
        part, there = model.take(some), space.take(some)
        assert isinstance(part, ModelWithLaw)
        looked = [FlipExplanation(part, there, budget, theta, who[some], None).evidence for theta, who in tried]
        tried = [tried[int(np.argmax(looked))]]
    depending = [FlipExplanation(model, space, budget, *begun, None, reach=reach) for begun in tried]
    by_row = max(depending, key=lambda fit: fit.evidence)
    found: dict[Kind, LabelExplanation] = {Kind.NOTHING: nothing, Kind.FLIPPED: flipped, Kind.FLIPPED_BY_ROW: by_row}
    if exact_law:
        return found
    found[Kind.BENT] = bent
    for kind, both, flips in (
        (Kind.FLIPPED, Kind.FLIPPED_AND_BENT, flipped.likeliest),
        (Kind.FLIPPED_BY_ROW, Kind.FLIPPED_BY_ROW_AND_BENT, by_row),
    ):
        if (flips_and_bent := bent_flips(model, flips, space, budget, found[kind].evidence)) is not None:
            found[both] = flips_and_bent
    return found


def _trimmed(model: ModelWithLaw, theta: FloatArray, budget: float) -> tuple[FloatArray, FloatArray]:
    """Parameters without the labels that fit worst, and those rows (n,) as 0 and 1."""
    dropped, held = np.zeros(model.n_rows), held_for(model)
    for _ in range(_TRIMMING_STEPS):
        order = np.argsort(model.log_likelihood(theta), kind="stable")
        fresh = np.zeros(model.n_rows)
        fresh[order[: int(budget * model.n_rows)]] = 1.0
        if (fresh == dropped).all():
            break
        dropped = fresh
        theta = weighted_mode(model, 1.0 - dropped, theta, _TRIMMED_HELD if held else _TRIMMED_STEPS, held=held)
    return theta, dropped
