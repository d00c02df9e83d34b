"""Fitted explanations as they apply to rows that had no part in them, however many: small, and fit to travel.

The laws of bad rows stay where the fit put them; clean rows are those of the theta that is asked about. Medians and
other quantiles that the fit used are those of its own rows.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logit

from robula._types import FloatArray
from robula.models.law import ModelWithLaw
from robula.selectors.trust import trust_constants as constants
from robula.selectors.trust.bad_population import BadPopulation, gross_log_density
from robula.selectors.trust.explanation import NO_SHARE, Explanation
from robula.selectors.trust.feature_space import FeatureMap, FeatureSpace
from robula.selectors.trust.label_flips import FlipExplanation, FlipsAtAnyRate
from robula.selectors.trust.scored_rows import ScoredRows, Scores
from robula.selectors.trust.vector_rows import CloudExplanation, _log_cauchy, _log_normal

_MOST_LOG_ODDS = 15.0
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
    """

    log_odds: FloatArray
    prior_odds: FloatArray
    columns: FloatArray
    slope: FloatArray


class Rule(ABC):
    """An explanation that can be asked about any rows.

    Attributes
    ----------
    gate : ndarray, shape (k,)
        Its parameters that all rows decide: the log odds of being bad, as far as the rows of the fit leave it open.
    precision : ndarray, shape (k,)
        Of their prior, which is around 0.
    """

    gate: FloatArray = np.zeros(0)
    precision: FloatArray = np.zeros(0)

    @abstractmethod
    def judge(self, model: ModelWithLaw, theta: FloatArray) -> Judged:
        """Judge the rows of a block, if the clean ones are those of theta (d,)."""

    def moved(self, step: FloatArray) -> Rule:
        """Return the rule with other parameters."""
        other = copy(self)
        other.gate = self.gate + step
        return other

    def hold_within_budget(self, fit: Any, sample: ModelWithLaw) -> None:
        """Where the fit took something off all log odds to stay within its budget, do so too, and leave it at that."""
        self.taken_off = 0.0
        weights: FloatArray = fit.weights
        if fit.wanted <= float((1.0 - weights).mean()) + 1e-3:
            return
        unsure = (weights > 1e-6) & (weights < 1.0 - 1e-6)
        if unsure.any():
            odds = self.judge(sample, fit.theta).log_odds[unsure]
            self.taken_off = max(float(np.median(odds - logit(1.0 - weights[unsure]))), 0.0)

    def _judged(
        self, prior_odds: FloatArray, likelihood_ratio: FloatArray, columns: FloatArray, slope: FloatArray
    ) -> Judged:
        odds = prior_odds + likelihood_ratio - self.taken_off
        return Judged(odds, prior_odds, columns[:, :0] if self.taken_off else columns, slope)


def rule_of(fit: Any, sample: ModelWithLaw) -> Rule:
    """Return the rule of an explanation that was fitted to the rows of ``sample``."""
    if isinstance(fit, FlipExplanation | FlipsAtAnyRate):
        return FlipRule(fit, sample)
    if isinstance(fit, CloudExplanation) and fit._bad:
        return CloudRule(fit, sample)
    if isinstance(fit, Explanation) and fit.gross_share > NO_SHARE:
        return NumberRule(fit, sample)
    return AllClean()


class AllClean(Rule):
    """Nothing is wrong."""

    def judge(self, model: ModelWithLaw, theta: FloatArray) -> Judged:
        """Odds far below any that matter."""
        never = np.full(model.n_rows, _SURELY_CLEAN)
        return Judged(never, never, np.zeros((model.n_rows, 0)), np.zeros(model.n_rows))


class GateScales:
    """Gate features of any rows, on the scales that the fit's own rows had."""

    def __init__(self, space: FeatureSpace, strength: FloatArray, members: FloatArray) -> None:
        self._centre = members @ space.inner / max(float(members.sum()), 1e-9)
        vote = space.inner @ self._centre
        self._size = math.sqrt(float(vote @ vote) / len(vote)) + 1e-12
        self._middle = float(np.median(strength))
        self._unit = max(1.4826 * float(np.median(np.abs(strength - self._middle))), 0.2)

    def columns(self, space: FeatureSpace, strength: FloatArray) -> FloatArray:
        """1, where the bad rows are, how strong the disagreement or certainty is, the distance, shape (b, 4)."""
        vote = np.clip(space.inner @ self._centre / self._size, -6.0, 6.0)
        strong = np.clip((strength - self._middle) / self._unit, -4.0, 4.0)
        return np.column_stack([np.ones(len(vote)), vote, strong, space.distance])


class FlipRule(Rule):
    """Labels flipped at one rate, or at one that depends on the row."""

    def __init__(self, fit: FlipExplanation | FlipsAtAnyRate, sample: ModelWithLaw) -> None:
        self._theta, self.gate = fit.theta, fit.gate
        self.precision = np.array([1e-4, *(deviation**-2.0 for deviation in constants.GATE_SLOPES)])[: len(self.gate)]
        self._map = FeatureMap(sample.covariates) if len(self.gate) > 1 else None
        if self._map is not None:
            self._scales = GateScales(self._map(sample.covariates), self._certainty(sample), 1.0 - fit.weights)
        self.hold_within_budget(fit, sample)

    def _certainty(self, model: ModelWithLaw) -> FloatArray:
        right = model.log_likelihood(self._theta)
        strength: FloatArray = np.log1p(np.abs(right - _of_the_other_label(right)))
        return strength

    def judge(self, model: ModelWithLaw, theta: FloatArray) -> Judged:
        """Odds of each label to be flipped; the other label's probability follows theta too."""
        columns = np.ones((model.n_rows, 1))
        if self._map is not None:
            columns = self._scales.columns(self._map(model.covariates), self._certainty(model))
        right = model.log_likelihood(theta)
        wrong = _of_the_other_label(right)
        prior = np.clip(columns @ self.gate, -_MOST_LOG_ODDS, _MOST_LOG_ODDS)
        return self._judged(prior, wrong - right, columns, np.exp(-wrong))


def _of_the_other_label(right: FloatArray) -> FloatArray:
    """Log probability of the label that was not seen, from that of the one that was."""
    return np.log(np.maximum(-np.expm1(right), 1e-300))


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

    def judge(self, model: ModelWithLaw, theta: FloatArray) -> Judged:
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
        ratio = bad - math.log(share) - _log_normal(model.whitened(theta), self._shape)
        return self._judged(prior, ratio, rows[:, None], rows)


class NumberRule(Rule):
    """Rows with one response: clean ones by a law around theta, gross ones, and bad populations."""

    def __init__(self, fit: Explanation, sample: ModelWithLaw) -> None:
        self._map = FeatureMap(sample.covariates)
        self._theta, self._gross = fit.theta, (fit.gross_share, fit.gross_scale)
        response = sample.response
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
        self._handicaps = fit.handicaps
        self.gate, self.precision = np.zeros(1), np.zeros(1)
        self.hold_within_budget(fit, sample)

    @staticmethod
    def _scores(rows: ScoredRows, theta: FloatArray) -> Scores:
        # Of many rows none has a leverage to speak of.
        return rows.scores(theta, np.zeros(rows.count), np.ones(rows.count))

    def judge(self, model: ModelWithLaw, theta: FloatArray) -> Judged:
        """Odds of each row to be gross or in a bad population; all rows decide how many are."""
        rows = _BlockRows(model, self._map(model.covariates), self._ends)
        scores, fixed = self._scores(rows, theta), self._scores(rows, self._theta)
        assert self._covariates is not None
        law = self._law.among(*self._covariates(rows, theta)).log_density(scores.lower, scores.upper, scores.interval)
        share, scale = self._gross
        ones = np.ones(model.n_rows)
        prior = (math.log(share) - math.log1p(-share)) * ones
        joint = prior + gross_log_density(fixed, scale) - self._handicaps[0]
        for population, handicap in zip(self._populations, self._handicaps[1:], strict=True):
            odds, density = population.among(rows, fixed)
            prior, joint = np.logaddexp(prior, odds), np.logaddexp(joint, odds + density - handicap)
        return self._judged(prior + self.gate[0], joint - prior + rows.bad_odds - law, ones[:, None], ones)


class _BlockRows(ScoredRows):
    """Rows of a block: the ends of the response's range are those of the fit."""

    def __init__(self, model: ModelWithLaw, space: FeatureSpace, ends: tuple[float | None, ...]) -> None:
        self._ends = ends
        super().__init__(model, space)

    def _limits(self) -> tuple[Any, Any]:
        y = self.model.response
        nowhere = np.zeros(self.count, dtype=np.bool_)
        low, high = (nowhere if y is None or end is None else y == end for end in self._ends)
        return low, high


class PopulationRule:
    """A bad population as it applies to rows that had no part in describing it."""

    def __init__(self, population: BadPopulation, rows: ScoredRows, members: FloatArray) -> None:
        self._population = population.without_rows()
        self._scales = GateScales(rows.space, population.disagreement(rows), members)

    def among(self, rows: ScoredRows, scores: Scores) -> tuple[FloatArray, FloatArray]:
        """Log odds and log density (b,)."""
        gate = self._population.gate
        gate = self._scales.columns(rows.space, self._population.disagreement(rows))[:, : len(gate)] @ gate
        return np.clip(gate, -_MOST_LOG_ODDS, _MOST_LOG_ODDS), self._population.among(rows, scores)[1]
