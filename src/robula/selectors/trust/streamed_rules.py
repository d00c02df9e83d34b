"""Fitted explanations as they apply to rows that had no part in them, however many: small, and fit to travel.

The laws of bad rows stay where the fit put them; clean rows are those of the theta that is asked about. Medians and
other quantiles that the fit used are those of its own rows.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logit

from robula._types import FloatArray
from robula.models.law import ModelWithLaw
from robula.models.tail_scores import log_of_the_rest
from robula.selectors.trust import trust_constants as constants
from robula.selectors.trust.bad_population import gross_log_density, odds_by_cells
from robula.selectors.trust.chance_of_mistake import Places
from robula.selectors.trust.explanation import NO_SHARE, Explanation
from robula.selectors.trust.feature_space import BlockMap, FeatureSpace
from robula.selectors.trust.gate import GateScales, gate_log_odds, gate_precision
from robula.selectors.trust.label_flips import FlipExplanation, FlipsAtAnyRate
from robula.selectors.trust.row_law import RowLaw, price_of_the_unseen
from robula.selectors.trust.scored_rows import ScoredRows, Scores
from robula.selectors.trust.streamed_population import BlockRows, PopulationRule
from robula.selectors.trust.vector_rows import CloudExplanation, _log_cauchy, _log_normal

_SURELY_CLEAN = -700.0


class Judged(NamedTuple):
    """What a rule says of the rows of a block.

    Attributes
    ----------
    log_odds : ndarray, shape (b,)
        Of each row to be bad.
    prior_odds : ndarray, shape (b,)
        The same before its response is seen.
    columns : ndarray, shape (b, k)
        Their derivatives in the rule's own parameters.
    slope : ndarray, shape (b,)
        The log odds fall by this times the row's gradient as theta moves.
    most : float or None
        The share of bad rows, where that is what decides the rule's one parameter.
    mistakes : ndarray, shape (b,), or 1
        Chance that a row which deviates is a mistake.
    decisive : callable or None
        Gives the log likelihood ratios (b,) of bad against clean at the fit's own theta, before prices; None where no
        row is unmistakable.
    """

    log_odds: FloatArray
    prior_odds: FloatArray
    columns: FloatArray
    slope: FloatArray
    most: float | None = None
    mistakes: FloatArray | float = 1.0
    decisive: Callable[[], FloatArray] | None = None


class Rule(ABC):
    """An explanation that can be asked about any rows.

    Attributes
    ----------
    gate : ndarray, shape (k,)
        Its parameters that all rows decide: the log odds of being bad, as far as the rows of the fit leave it open.
    precision : ndarray, shape (k,)
        Of their prior, which is around 0.
    coordinates : BlockMap or None
        In which it wants to know where the rows are; the same for all rules, so they are computed once a block.
    """

    gate: FloatArray = np.zeros(0)
    precision: FloatArray = np.zeros(0)
    coordinates: BlockMap | None = None
    #: What is taken off the log odds of rows to stay within the budget.
    taken_off = 0.0
    #: Whether rows that deviate were judged once for all, at the fit's own theta: what all rows decide is theta alone.
    settled = False
    _theta: FloatArray

    @abstractmethod
    def judge(self, model: ModelWithLaw, theta: FloatArray, space: FeatureSpace | None) -> Judged:
        """Judge the rows of a block, if the clean ones are those of theta (d,); ``space`` is where they are."""

    @property
    def parameters(self) -> FloatArray:
        """What all rows decide, (k,): the gate, or what is taken off log odds to stay within the budget."""
        if self.settled:
            return np.zeros(0)
        return np.array([-self.taken_off]) if self.taken_off else self.gate

    def moved(self, step: FloatArray) -> Rule:
        """Return the rule with other parameters."""
        other = copy(self)
        if self.settled:
            return other
        if self.taken_off:
            other.taken_off = max(self.taken_off - float(step[0]), 1e-9)
        else:
            other.gate = self.gate + step
        return other

    def hold_within_budget(self, fit: Any, sample: ModelWithLaw, space: FeatureSpace | None = None) -> None:
        """Where the fit took something off log odds to stay within its budget, all rows decide how much."""
        weights: FloatArray = fit.conforming[0] if isinstance(fit, Explanation) else fit.weights
        if fit.wanted <= float((1.0 - weights).mean()) + 1e-3:
            return
        judged = self.judge(sample, self._theta, space)
        held = np.ones(len(weights), dtype=np.bool_)
        if judged.decisive is not None:
            # Rows that are unmistakable go beyond the budget too, as in within_budget.
            held = judged.decisive() <= constants.GROSS_ODDS
        unsure = held & (weights > 1e-6) & (weights < 1.0 - 1e-6)
        if unsure.any():
            odds = judged.log_odds[unsure]
            self.taken_off = max(float(np.median(odds - logit(1.0 - weights[unsure]))), 0.0)
        elif held.any():
            # Those that go in any case had used up the budget, and all others were kept.
            self.taken_off = -_SURELY_CLEAN
        if self.taken_off:
            self._most, self.precision = float((1.0 - weights).mean()), np.zeros(1)

    def _judged(
        self,
        prior_odds: FloatArray,
        likelihood_ratio: FloatArray,
        columns: FloatArray,
        slope: FloatArray,
        decisive: Callable[[], FloatArray] | None = None,
    ) -> Judged:
        odds = prior_odds + likelihood_ratio
        if not self.taken_off:
            return Judged(odds, prior_odds, columns, slope, decisive=decisive)
        held = np.ones(len(odds))
        if decisive is not None:
            # Rows that go in any case are known once: if they changed with theta, a wider noise would call more rows
            # clean, which would widen it.
            held[decisive() > constants.GROSS_ODDS] = 0.0
        return Judged(odds - self.taken_off * held, prior_odds, held[:, None], slope, self._most, decisive=decisive)


def rules_of(fits: Sequence[Any], sample: ModelWithLaw) -> list[Rule]:
    """Return the rules of explanations that were fitted to the rows of ``sample``."""
    places = _Places(sample)
    return [_rule_of(fit, sample, places) for fit in fits]


def _rule_of(fit: Any, sample: ModelWithLaw, places: _Places) -> Rule:
    if isinstance(fit, FlipExplanation | FlipsAtAnyRate):
        return FlipRule(fit, sample, places)
    if isinstance(fit, CloudExplanation) and fit._bad:
        return CloudRule(fit, sample)
    if isinstance(fit, Explanation) and fit.gross_share > NO_SHARE:
        return NumberRule(fit, sample, places)
    return AllClean()


class _Places:
    """Coordinates that the rows of the fit define, and their own; found once, if a rule asks."""

    def __init__(self, sample: ModelWithLaw) -> None:
        self._sample = sample

    @cached_property
    def coordinates(self) -> BlockMap:
        return BlockMap(self._sample.covariates, self._sample.codes)

    @cached_property
    def space(self) -> FeatureSpace:
        return self.coordinates(self._sample.covariates)


class AllClean(Rule):
    """Nothing is wrong."""

    def judge(self, model: ModelWithLaw, theta: FloatArray, space: FeatureSpace | None) -> Judged:
        """Odds far below any that matter."""
        never = np.full(model.n_rows, _SURELY_CLEAN)
        return Judged(never, never, np.zeros((model.n_rows, 0)), np.zeros(model.n_rows))


class FlipRule(Rule):
    """Labels flipped at one rate, or at one that depends on the row; no label is impossible."""

    def __init__(self, fit: FlipExplanation | FlipsAtAnyRate, sample: ModelWithLaw, places: _Places) -> None:
        self._theta, self.gate = fit.theta, fit.gate
        self._bend = fit.bend if isinstance(fit, FlipExplanation) else None
        self.precision = gate_precision(len(self.gate))
        if self._bend is not None or len(self.gate) > 1:
            self.coordinates = places.coordinates
        if len(self.gate) > 1:
            self._scales = GateScales(places.space, self._certainty(sample), 1.0 - fit.weights)
        self.hold_within_budget(fit, sample, None if self.coordinates is None else places.space)

    def _certainty(self, model: ModelWithLaw) -> FloatArray:
        right = model.log_likelihood(self._theta)
        strength: FloatArray = np.log1p(np.abs(right - log_of_the_rest(right)))
        return strength

    def judge(self, model: ModelWithLaw, theta: FloatArray, space: FeatureSpace | None) -> Judged:
        """Odds of each label to be flipped; the other label's probability follows theta too."""
        columns = np.ones((model.n_rows, 1))
        if len(self.gate) > 1:
            assert space is not None
            columns = self._scales.columns(space, self._certainty(model))
        right = model.log_likelihood(theta)
        wrong = log_of_the_rest(right)
        ratio = wrong - right
        if self._bend is not None:
            assert space is not None
            # Beside the bend theta is another one; it goes along with that of the declared law.
            beside = model.log_likelihood(theta + self._bend.beside - self._theta)
            ratio = log_of_the_rest(beside) - beside
            at_bend = model.log_likelihood(self._bend.theta)
            ratio -= self._bend.at(at_bend - log_of_the_rest(at_bend), np.asarray(model.response), space.inner)
        return self._judged(gate_log_odds(columns, self.gate), ratio, columns, np.exp(-wrong))


class CloudRule(Rule):
    """Vector rows: a normal cloud, gross rows, and possibly a group."""

    def __init__(self, fit: CloudExplanation, sample: ModelWithLaw) -> None:
        self._theta, self._shape, self._gross_scale = fit.theta, fit._shape, fit._gross_scale
        self._shares = (fit._share, fit._group_share)
        self._group: tuple[FloatArray, float] | None = None
        if fit._members is not None:
            rows, total = sample.whitened(fit.theta), max(float(fit._members.sum()), 1e-9)
            centre = fit._members @ rows / total
            away = ((rows - centre) ** 2).sum(axis=1)
            self._group = centre, max(float(fit._members @ away) / (total * len(centre)), constants.FINEST**2)
        self.gate, self.precision = np.zeros(1), np.zeros(1)
        self.hold_within_budget(fit, sample)

    def judge(self, model: ModelWithLaw, theta: FloatArray, space: FeatureSpace | None) -> Judged:
        """Odds of each row to be gross or in the group; all rows decide how many are."""
        fixed = model.whitened(self._theta)
        bad = math.log(self._shares[0]) + _log_cauchy(fixed, self._gross_scale)
        if self._group is not None:
            centre, variance = self._group
            away = ((fixed - centre) ** 2).sum(axis=1)
            density = -0.5 * away / variance - 0.5 * len(centre) * math.log(2.0 * math.pi * variance)
            bad = np.logaddexp(bad, math.log(self._shares[1]) + density)
        share, rows = sum(self._shares), np.ones(model.n_rows)
        prior = (math.log(share) - math.log(max(1.0 - share, 1e-6)) + self.gate[0]) * rows
        bad = bad - math.log(share)
        ratio = bad - _log_normal(model.whitened(theta), self._shape)
        return self._judged(prior, ratio, rows[:, None], rows, lambda: bad - _log_normal(fixed, self._shape))


class NumberRule(Rule):
    """Rows with one response: clean ones by a law around theta, gross ones, and bad populations."""

    def __init__(self, fit: Explanation, sample: ModelWithLaw, places: _Places) -> None:
        self.coordinates = places.coordinates
        self._gross, self._mistakes = (fit.gross_share, fit.gross_scale), fit.mistakes
        # Populations are described around the theta that nothing was excused at.
        self._theta = fit.theta if fit.mistakes is None else fit.conforming[1]
        response, self._codes = sample.response, fit.rows.response_codes
        self._ends = tuple(
            None if response is None or not at.any() else float(response[at][0])
            for at in (fit.rows._at_lower, fit.rows._at_upper)
        )
        # Light enough to travel: the law without the rows that it was fitted to.
        self._covariates, self._law = fit.law.covariates, fit.law.take(np.arange(0))
        self._populations = [
            PopulationRule(population, fit.rows, fit.members[:, index])
            for index, population in enumerate(fit.populations)
        ]
        self._handicaps, self._pays, self._exact_law = fit.handicaps, fit.pays, fit.rows.exact_law
        self.gate, self.precision = np.zeros(1), np.zeros(1)
        self.hold_within_budget(fit, sample, places.space)
        if self._mistakes is not None:
            self.settled, self.precision = True, np.zeros(0)

    def judge(self, model: ModelWithLaw, theta: FloatArray, space: FeatureSpace | None) -> Judged:
        """Odds of each row to be gross or in a bad population; all rows decide how many are."""
        rows = BlockRows(model, space, self._ends, self._codes, self._exact_law)
        theta = self._theta if self.settled else theta
        scores, fixed = rows.scores_at(theta), rows.scores_at(self._theta)
        share, scale = self._gross
        ones = np.ones(model.n_rows)
        prior = (math.log(share) - math.log1p(-share)) * ones
        joint = prior + gross_log_density(fixed, scale) + rows.bad_odds
        priced = joint - self._handicaps[0]
        for population, handicap in zip(self._populations, self._handicaps[1:], strict=True):
            odds, density = population.among(rows, fixed)
            bad = odds + density + odds_by_cells(rows, population.placed)
            prior, joint = np.logaddexp(prior, odds), np.logaddexp(joint, bad)
            priced = np.logaddexp(priced, bad - handicap)

        def decisive() -> FloatArray:
            ratio: FloatArray = joint - prior - self._of_clean_rows(rows, self._theta, fixed)
            return ratio

        ratio = priced - prior - self._price_of_the_unseen(rows, fixed) - self._of_clean_rows(rows, theta, scores)
        judged = self._judged(prior + self.gate[0], ratio, ones[:, None], ones, decisive)
        if self._mistakes is None:
            return judged
        mistakes, none = self._mistakes(Places(rows), decisive()), np.zeros((model.n_rows, 0))
        return judged._replace(mistakes=mistakes, columns=none, slope=0.0 * ones, most=None)

    def _of_clean_rows(self, rows: ScoredRows, theta: FloatArray, scores: Scores) -> FloatArray:
        return self._law_at(rows, theta).log_density(scores.lower, scores.upper, scores.interval)

    def _price_of_the_unseen(self, rows: ScoredRows, scores: Scores) -> FloatArray:
        if not self._pays:
            return np.zeros(rows.count)
        return price_of_the_unseen(self._law_at(rows, self._theta), scores.point)

    def _law_at(self, rows: ScoredRows, theta: FloatArray) -> RowLaw:
        assert self._covariates is not None
        return self._law.among(*self._covariates(rows, theta))
