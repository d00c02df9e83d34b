"""Rows of a block, and the bad populations among them, as a fit to other rows describes them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from robula._types import FloatArray
from robula.models.law import ModelWithLaw
from robula.models.tail_scores import middle_scores
from robula.selectors.trust import trust_constants as constants
from robula.selectors.trust.bad_population import (
    EDGES,
    GROSS_SHARES,
    BadPopulation,
    far_log_density,
    normal_log_density,
)
from robula.selectors.trust.feature_space import FeatureSpace
from robula.selectors.trust.gate import GateScales, gate_log_odds
from robula.selectors.trust.scored_rows import ScoredRows, Scores


class BlockRows(ScoredRows):
    """Rows of a block: the ends of the response's range, and its codes for "missing", are those of the fit."""

    response_codes: tuple[float, ...] = ()

    def __init__(
        self,
        model: ModelWithLaw,
        space: FeatureSpace | None,
        ends: tuple[float | None, ...],
        codes: tuple[float, ...],
        exact_law: bool,
    ) -> None:
        self._ends, self.response_codes = ends, codes
        super().__init__(model, exact_law, space)

    def scores_at(self, theta: FloatArray) -> Scores:
        """Scores at theta (d,): of many rows none has a leverage to speak of."""
        lower, upper = self.model.scores(theta)
        if self._at_lower.any() or self._at_upper.any():
            lower = np.where(self._at_lower, -np.inf, lower)
            upper = np.where(self._at_upper, np.inf, upper)
        interval = lower < upper
        point = np.where(interval, middle_scores(lower, upper), upper) if interval.any() else upper
        return Scores(point, lower, upper, np.ones(self.count), interval, 0.0, np.full(self.count, -np.inf))

    def _limits(self) -> tuple[Any, Any]:
        y = self.model.response
        nowhere = np.zeros(self.count, dtype=np.bool_)
        low, high = (nowhere if y is None or end is None else y == end for end in self._ends)
        return low, high


class PopulationRule:
    """A bad population as it applies to rows that had no part in describing it.

    Light enough to travel: without the rows that described it.
    """

    def __init__(self, population: BadPopulation, rows: ScoredRows, members: FloatArray) -> None:
        self._coefficients, self._gate = population.coefficients, population.gate
        self._sd, share = math.sqrt(population._variance), population.histogram_share
        self.placed = population.placed
        if not population.placed:
            return
        self._log_shares = math.log1p(-share), math.log(share)
        total = float(population._counts.sum()) + constants.PSEUDO_ROWS
        self._log_ratios = np.log((population._counts / GROSS_SHARES + constants.PSEUDO_ROWS) / total)
        self._scales = GateScales(rows.space, np.log1p(np.abs(self._predicted(rows))), members)

    def _predicted(self, rows: ScoredRows) -> FloatArray:
        predicted: FloatArray = rows.space.whitened @ self._coefficients[1:] + self._coefficients[0]
        return predicted

    def among(self, rows: ScoredRows, scores: Scores) -> tuple[FloatArray, FloatArray]:
        """Log odds and log density (b,)."""
        if not self.placed:
            shift, anywhere = np.full(rows.count, self._coefficients[0]), np.full(rows.count, self._gate[0])
            return anywhere, normal_log_density(scores, shift, np.full(rows.count, self._sd))
        predicted = self._predicted(rows)
        columns = self._scales.columns(rows.space, np.log1p(np.abs(predicted)))
        around = normal_log_density(scores, predicted, np.full(rows.count, self._sd))
        places = np.digitize(scores.point * np.where(predicted < 0.0, -1.0, 1.0), EDGES[1:-1])
        ratio = np.where(scores.interval, 0.0, self._log_ratios[places])
        counted = far_log_density(scores, constants.GROSS_SCALE) + ratio
        density = np.logaddexp(self._log_shares[0] + around, self._log_shares[1] + counted)
        return gate_log_odds(columns, self._gate), density
