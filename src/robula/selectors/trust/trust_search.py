"""Which explanation fits best: nothing is wrong, the law is a little off, or some rows are bad? Asked once, softly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import logsumexp

from robula._types import FloatArray
from robula.models.law import ModelWithLaw
from robula.selectors.trust import trust_constants as constants
from robula.selectors.trust.bad_group import bad_group
from robula.selectors.trust.beginnings import (
    beginning_parameters,
    suspects_by_place,
    suspects_by_score,
)
from robula.selectors.trust.chance_of_mistake import Places
from robula.selectors.trust.explanation import Explanation
from robula.selectors.trust.explanation_kinds import Kind
from robula.selectors.trust.label_search import explain_labels
from robula.selectors.trust.leaders import SETTLE, best, best_allowed, best_few, settled, with_any_law
from robula.selectors.trust.limit import within_limit
from robula.selectors.trust.row_doubt import Explained, without_bad_rows
from robula.selectors.trust.row_law import AS_DECLARED
from robula.selectors.trust.scored_rows import ScoredRows
from robula.selectors.trust.systematic_sample import systematic_places
from robula.selectors.trust.vector_rows import explain_vectors

# Nats behind the best that neither Occam's factors make up for, nor all rows where a sample of them saw it: evidence
# counts at most 500 rows (1500 where the law counts as exact), and a sample of 2000 tells their sum to a few nats.
_OUT_OF_REACH = 30.0
# A group of fewer rows than a line needs is none.
_FEWEST_CONTESTED = 3.0
# Two parameters are the same beginning if nine rows in ten are predicted alike, within this many noise widths.
_SAME = 0.3


class Contested(NamedTuple):
    """Rows that would be called bad if they did not have to pay for it.

    Attributes
    ----------
    theta : ndarray, shape (d,)
        Of the other rows.
    members : ndarray, shape (n,)
        Probability of each row to be of the group.
    """

    theta: FloatArray
    members: FloatArray


class Fitted(Explained, Protocol):
    """What every fitted explanation has, whatever its rows are."""

    evidence: float
    price: float
    wanted: float


@dataclass(frozen=True)
class Verdict:
    """What the rows were found to be.

    Attributes
    ----------
    weights : ndarray, shape (n,)
        Probability of each row to be clean, averaged over the explanations.
    theta : ndarray, shape (d,)
        Of the best explanation.
    explanations : dict of Kind to Fitted
        Each with the law that suits it better.
    probabilities : dict of Kind to float
        Of the explanations, from their tempered evidence.
    in_doubt : dict of Kind to float
        The same before prices: rows are not given up for a bargain, but the width has to cover it.
    beyond_budget : bool
        Whether the best explanation would call more rows bad than the budget allows, so that it was not followed.
    contested : Contested or None
        A group that data cannot tell from a law that is off: kept, and said.
    """

    weights: FloatArray
    theta: FloatArray
    explanations: dict[Kind, Fitted]
    probabilities: dict[Kind, float]
    in_doubt: dict[Kind, float]
    beyond_budget: bool
    contested: Contested | None


def weigh_explanations(model: ModelWithLaw, budget: float, exact_law: bool | None = None) -> Verdict:
    """Compare the explanations of a model's rows and average their weights.

    The law says which kind its responses are of: one number a row, a label, or a vector. ``exact_law`` matters to
    numbers and labels: a vector's covariance is declared, or fitted by the rule.
    """
    found: Mapping[Kind, Fitted]
    contested = None
    if model.response_kind == "label":
        found = explain_labels(model, budget, exact_law)
    elif model.response_kind == "vector":
        found = explain_vectors(model, budget)
    else:
        rows = ScoredRows(model, exact_law)
        found, contested = _explain_numbers(rows, budget)
        followed, places = best_allowed(list(found.values())), Places(rows)
        for explanation in found.values():
            explanation.conforming = explanation.weights, explanation.theta
            explanation.weights, explanation.mistakes = places.excuse(explanation.weights, explanation.decisive)
            if explanation is followed and explanation.mistakes is not None and contested is None:
                contested = Contested(explanation.theta, explanation.weights - explanation.conforming[0])
            explanation.theta = rows.mode(explanation.weights, explanation.theta, SETTLE)
    return _averaged(found, contested, model.n_rows, budget)


def _explain_numbers(rows: ScoredRows, budget: float) -> tuple[dict[Kind, Explanation], Contested | None]:
    """Explanations of rows with one response each; searched for on some of the rows where there are many."""
    if rows.count <= constants.SEARCHED_ROWS:
        found, group = _searched(rows, budget)
        return found, None if group is None else Contested(group.theta, group.members[:, -1])
    # Which rows these are must not depend on their order.
    response = rows.model.response
    first = rows.space.distance if response is None else response
    places = systematic_places(first, rows.space.distance, constants.SEARCHED_ROWS)
    sampled, group = _searched(rows.take(places), budget)
    within_reach = best_allowed(list(sampled.values())).evidence - _OUT_OF_REACH
    found = {
        name: _carry_over(explanation, rows)
        for name, explanation in sampled.items()
        if name == Kind.NOTHING or explanation.evidence > within_reach
    }
    return found, None if group is None else Contested(group.theta, _adopted(group, rows).members[:, -1])


def _searched(rows: ScoredRows, budget: float) -> tuple[dict[Kind, Explanation], Explanation | None]:
    """Explanations, and a group that is contested."""
    found = _asked_without_limit(_explanations(rows, budget))
    group = bad_group(found, best([found[Kind.NOTHING], found[Kind.GROSS]]))
    if group is None or not group.settled:
        return found, None if group is None else group.found
    return {**found, Kind.SHIFTED_ALONE: group.found}, None


def _asked_without_limit(found: dict[Kind, Explanation]) -> dict[Kind, Explanation]:
    """The same, with what is wanted by those that spend the limit: what a search of its own without one calls bad.

    Bad rows are as many as they are. A law that is off can use any number, and going on from where the limit stopped
    it does not find them all.
    """
    followed = best_allowed(list(found.values()))
    rows, budget, called = followed.rows, followed.budget, followed.called
    spent = (1.0 - constants.LEEWAY) * budget
    if rows.exact_law or called < spent or budget >= constants.MOST_BAD:
        return found
    free = best(list(_explanations(rows, constants.MOST_BAD).values()))
    decisive = free.evidence > followed.evidence + constants.PRICE
    if decisive and not within_limit(free.called, max(budget, called), rows.count):
        for explanation in found.values():
            if explanation.called >= spent:
                explanation.wanted = max(explanation.wanted, free.called)
    return found


def _explanations(rows: ScoredRows, budget: float) -> dict[Kind, Explanation]:
    thetas = _distinct(rows, beginning_parameters(rows, budget))
    gross = best_allowed(
        best_few([Explanation(rows, theta, budget, freedom=freedom) for theta in thetas for freedom in rows.freedoms])
    )
    found = {Kind.NOTHING: _nothing_wrong(rows, thetas[0], gross), Kind.GROSS: gross}
    distinct = _distinct(rows, [gross.theta, *thetas[1:]])
    declared = [Explanation(rows, theta, budget, freedom=AS_DECLARED) for theta in distinct]
    shifted = with_any_law(best_few([shift for law in declared for shift in _shifts(law)]))
    if shifted:
        # Some may be off upwards and others downwards.
        shifted += best_few(_shifts(best_allowed(shifted)))
        found[Kind.SHIFTED] = best_allowed(shifted)
    # Where rows pay for being called bad, groups that show only by their place never do: the thorough search finds
    # nothing there (benchmarks/results/ablation.md).
    thorough = rows.exact_law
    by_place = suspects_by_place(rows, budget, thorough)
    begun = [declared[0].with_population(who) for who in by_place.values() if who.any()]
    for law in declared:
        suspects = suspects_by_score(rows, law.theta)
        begun += [law.with_population(who) for who in suspects.values() if who.any()]
    populations = with_any_law(best_few(begun))
    if not populations:
        return found
    one = best_allowed(populations)
    found[Kind.ONE_POPULATION] = one
    # Where noise is estimated and the law only nearly right, a second population finds no more mistakes, but fits what
    # the law lacks.
    told = rows.exact_law or rows.model.noise == "implied"
    if told and one.evidence > max(gross.evidence, found[Kind.NOTHING].evidence):
        suspects = {**by_place, **suspects_by_score(rows, one.theta)}
        left = 1.0 - one.members.sum(axis=1)
        more = best_few([one.with_population(who) for who in suspects.values() if (who * left).sum() > 2])
        if more:
            found[Kind.TWO_POPULATIONS] = best_allowed(more)
            populations += more
    if best(populations) not in found.values():
        found[Kind.TOO_MANY] = best(populations)
    return found


def _nothing_wrong(rows: ScoredRows, plain: FloatArray, gross: Explanation) -> Explanation:
    """That nothing is wrong, with the law that suits best; given up where it is out of reach of gross rows."""
    begun = [Explanation(rows, plain, gross.budget, gross=False, freedom=freedom) for freedom in rows.freedoms]
    if gross.free:
        begun.append(Explanation(rows, plain, gross.budget, gross=False, freedom=gross.freedom, law=gross.law))
    return best([explanation.fit(SETTLE, gross.evidence - _OUT_OF_REACH) for explanation in begun])


def _shifts(explanation: Explanation) -> list[Explanation]:
    """The explanation with rows besides that are all off by the same amount, upwards or downwards, in any place."""
    suspects = suspects_by_score(explanation.rows, explanation.theta)
    left = 1.0 - explanation.members.sum(axis=1)
    sides = [suspects[side] for side in ("high", "low")]
    return [explanation.with_population(who, placed=False) for who in sides if float(who @ left) > 2.0]


def _distinct(rows: ScoredRows, thetas: list[FloatArray]) -> list[FloatArray]:
    """The first three of these parameters (d,) that predict rows differently."""
    kept: list[FloatArray] = []
    for theta in thetas:
        features = rows.model.features(theta)
        if all(float(np.quantile(np.abs(features @ (theta - other)), 0.9)) > _SAME for other in kept):
            kept.append(theta)
    return kept[:3]


def _carry_over(explanation: Explanation, rows: ScoredRows) -> Explanation:
    """Fit an explanation that was found on some rows to all of them."""
    carried = settled(_adopted(explanation, rows))
    carried.wanted = max(carried.wanted, explanation.wanted)
    return carried


def _adopted(explanation: Explanation, rows: ScoredRows) -> Explanation:
    carried = explanation.on(rows, explanation.theta)
    for population in explanation.populations:
        carried = carried.adopting(population)
    return carried


def _averaged(found: Mapping[Kind, Fitted], contested: Contested | None, rows: int, budget: float) -> Verdict:
    names = list(found)
    unpriced = np.array([found[name].evidence for name in names])
    evidence = unpriced - [found[name].price for name in names]
    # That nothing is wrong needs no limit, also where rows have no noise.
    kept = np.array([name == Kind.NOTHING or within_limit(found[name].wanted, budget, rows) for name in names])
    beyond = bool(not kept[int(evidence.argmax())])
    if beyond and Kind.GROSS in found:
        # A model that does not fit has populations of its own making.
        kept &= np.array([name in (Kind.NOTHING, Kind.GROSS) for name in names])
    chances, in_doubt = (
        np.exp(log - logsumexp(log)) for log in (np.where(kept, e, -np.inf) for e in (evidence, unpriced))
    )
    weights = sum((p * found[name].weights for name, p in zip(names, chances, strict=True)), np.zeros(rows))
    likeliest = found[names[int(chances.argmax())]]
    if contested is not None:
        # What is called bad is not contested.
        kept_of_it = contested.members * weights
        contested = contested._replace(members=kept_of_it) if kept_of_it.sum() > _FEWEST_CONTESTED else None
    return Verdict(
        without_bad_rows(np.clip(weights, 0.0, 1.0)),
        likeliest.theta,
        dict(found),
        dict(zip(names, chances.tolist(), strict=True)),
        dict(zip(names, in_doubt.tolist(), strict=True)),
        beyond,
        contested,
    )
