"""The trust rule on rows that are read in blocks: explanations found on a sample, theta and weights from all rows.

What the bad rows and the law look like is taken from the rows in memory (50 000); where the posterior is, how many rows
are bad and every row's weight come from passes over all rows, each of them a step of Newton's method.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from robula._types import FloatArray
from robula.models.large_model import LargeModel
from robula.models.law import ModelWithLaw
from robula.selectors.trust.row_doubt import SURE, between_explanations, widening_to, without_bad_rows
from robula.selectors.trust.streamed_rules import Rule, rule_of
from robula.selectors.trust.trust_selector import Trust, conclude, weigh
from robula.tables.row_source import Sums

# An explanation less probable than this is left out.
_NEGLIGIBLE = 1e-3
_PASSES = 10
# Squared length of the last step, in posterior widths.
_ARRIVED = 1e-4
# Longest step of the log odds of being bad.
_LONGEST = 0.5


class Weighing:
    """Row weights of a block: the probability of being clean, averaged over explanations.

    Parameters
    ----------
    rules : sequence of Rule
    chances : sequence of float
        Probabilities of the explanations.
    theta : ndarray, shape (d,)
    """

    def __init__(self, rules: Sequence[Rule], chances: Sequence[float], theta: FloatArray) -> None:
        self.rules, self.chances, self.theta = tuple(rules), tuple(chances), theta

    def __call__(self, model: ModelWithLaw) -> FloatArray:
        """Weights (b,)."""
        judged = (chance * expit(-rule.judge(model, self.theta).log_odds) for rule, chance in self._each())
        return without_bad_rows(sum(judged, np.zeros(model.n_rows)))

    def _each(self) -> Iterator[tuple[Rule, float]]:
        return zip(self.rules, self.chances, strict=True)

    def moved(self, step: FloatArray) -> Weighing:
        """Return the weighing after a step of theta and of the rules' own parameters, one after the other."""
        dim = len(self.theta)
        sizes = np.cumsum([dim, *(len(rule.gate) for rule in self.rules)])
        steps = np.split(step, sizes[:-1])
        rules = [rule.moved(own) for rule, own in zip(self.rules, steps[1:], strict=True)]
        return Weighing(rules, self.chances, self.theta + steps[0])

    def sums(self, model: ModelWithLaw) -> Sums:
        """Equations (d + k,) that all parameters solve, minus their derivatives (d + k, d + k), and what they vary by.

        sum_i w_i g_i for theta, and for a rule's own parameters sum_i c_i (P(bad | row) - P(bad)). Then the sum of
        their squares over the rows (d + k, d + k), and the curvature (d, d) of the weighted rows.
        """
        gradients = model.gradients(self.theta)
        dim = len(self.theta)
        size = dim + sum(len(rule.gate) for rule in self.rules)
        scores, slopes, weights = np.zeros((model.n_rows, size)), np.zeros((size, size)), np.zeros(model.n_rows)
        first = dim
        for rule, chance in self._each():
            odds, prior_odds, columns, slope = rule.judge(model, self.theta)
            doubt, expected = expit(odds), expit(prior_odds)
            weights += chance * (1.0 - doubt)
            change = doubt * (1.0 - doubt)
            following = gradients * (change * slope)[:, None]
            slopes[:dim, :dim] -= chance * gradients.T @ following
            own = slice(first, first + columns.shape[1])
            scores[:, own] = columns * (doubt - expected)[:, None]
            slopes[:dim, own] = chance * (gradients.T * change) @ columns
            slopes[own, :dim] = columns.T @ following
            slopes[own, own] = (columns.T * (expected * (1.0 - expected) - change)) @ columns
            first += len(rule.gate)
        curvature = model.curvature(self.theta, weights)
        scores[:, :dim] = gradients * weights[:, None]
        slopes[:dim, :dim] += curvature
        return scores.sum(axis=0), slopes, scores.T @ scores, curvature


class StreamedTrust(NamedTuple):
    """What was found: weights of any block, the mode (d,) under them, and what :class:`Trust` says of all rows."""

    weigher: Weighing
    found: Trust


def trust_by_passes(model: LargeModel, budget: float) -> StreamedTrust:
    """Weigh the explanations on the rows in memory, then find theta and the weights of all rows."""
    verdict = weigh(model.sample, budget)
    names = [name for name, chance in verdict.probabilities.items() if chance > _NEGLIGIBLE]
    chances = np.array([verdict.probabilities[name] for name in names])
    rules = [rule_of(verdict.explanations[name], model.sample) for name in names]
    start = Weighing(rules, (chances / chances.sum()).tolist(), verdict.theta)
    weighing, covariance, precision = _settled(model, start)
    covariance = covariance + between_explanations(verdict.explanations, verdict.in_doubt, weighing.theta)
    weights = model.weights(weighing)
    wider = None if (weights > 1.0 - SURE).all() else widening_to(covariance, precision)
    return StreamedTrust(weighing, conclude(verdict, weights, weighing.theta, budget, wider))


def _settled(model: LargeModel, weighing: Weighing) -> tuple[Weighing, FloatArray, FloatArray]:
    """Newton's method on the equations of theta and of the shares of bad rows, a pass a step.

    Returns the weighing where they are solved, the covariance (d, d) of theta with the doubt about rows in it, and the
    precision (d, d) of the weighted rows without.
    """
    dim, prior = model.dim, model.prior
    for _ in range(_PASSES):
        equations, slopes, spread, curvature = model.sum(weighing.sums)
        precision = curvature + prior.precision(weighing.theta)
        of_gates = np.concatenate([rule.precision for rule in weighing.rules])
        gates = np.concatenate([rule.gate for rule in weighing.rules])
        equations[:dim] += prior.gradient(weighing.theta)
        equations[dim:] -= of_gates * gates
        slopes[:dim, :dim] += prior.precision(weighing.theta)
        # A parameter that nothing decides stays where it is.
        slopes[dim:, dim:] += np.diag(of_gates + 1e-9 * model.n_rows)
        step = np.linalg.solve(slopes, equations)
        step *= min(1.0, _LONGEST / max(float(np.abs(step[dim:]).max(initial=0.0)), 1e-300))
        weighing = weighing.moved(step)
        if float(step[:dim] @ precision @ step[:dim]) < _ARRIVED:
            break
    inverse = np.linalg.inv(slopes)
    if model.sample.response_kind == "label":
        # The equations of flipped labels are not the slopes of a likelihood [huber1967].
        spread[:dim, :dim] += prior.precision(weighing.theta)
        inverse = inverse @ spread @ inverse.T
    covariance = 0.5 * (inverse + inverse.T)[:dim, :dim]
    return weighing, covariance, precision
