"""The trust rule on rows that are read in blocks: explanations found on a sample, theta and weights from all rows.

What the bad rows and the law look like is taken from 10 000 to 50 000 rows in memory; where the posterior is, how many
rows are bad and every row's weight come from passes over all rows, each of them a step of Newton's method.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from scipy.special import expit

from robula._types import FloatArray
from robula.models.large_model import LargeModel
from robula.models.law import ModelWithLaw
from robula.models.model import Model
from robula.models.posterior_mode import weighted_mode
from robula.models.regression import Regression
from robula.selectors.selection import Selector
from robula.selectors.trust.conclusion import Trust, conclude, of_all_rows
from robula.selectors.trust.row_doubt import (
    SURE,
    between_explanations,
    linearised,
    mean_theta,
    widening_to,
    without_bad_rows,
)
from robula.selectors.trust.set_aside import SetAside, set_aside
from robula.selectors.trust.streamed_rules import Judged, Rule, rules_of
from robula.selectors.trust.trust_selector import PreparedTrust, TrustSelector, shift_of, weigh
from robula.tables.cell_limits import CellLimits
from robula.tables.row_source import Sums

# An explanation less probable than this is left out: no weight changes by more, and each costs as much as all passes.
_NEGLIGIBLE = 1e-2
_PASSES = 10
# Squared length of the last step, in posterior widths. Newton's method squares it: after such a step 1e-4 widths were
# left, and 2e-3 at worst (d = 20, 10^5 and 10^6 rows).
_ARRIVED = 0.05
# Least share of what the rows would tell if it were known which are bad that is left when it is not.
_LEAST_LEFT = 0.01
# Longest step of the log odds of being bad.
_LONGEST = 0.5

# Rows whose columns say which cells of labelled rows are wrong.
_LOOKED_AT_CELLS = 10_000

# Of a model that is there: its rows that are judged, whose cells are looked at once for all contaminations, and others.
_LOOKED_AT: WeakKeyDictionary[Regression, tuple[LargeModel, SetAside | None]] = WeakKeyDictionary()


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
        clean = np.zeros(model.n_rows)
        for chance, judged in zip(self.chances, self._judged(model), strict=True):
            clean += chance * (1.0 - judged.mistakes * expit(judged.log_odds))
        return without_bad_rows(clean)

    def _judged(self, model: ModelWithLaw) -> Iterator[Judged]:
        """What each rule says of the rows."""
        coordinates = next((rule.coordinates for rule in self.rules if rule.coordinates is not None), None)
        space = None if coordinates is None else coordinates(model.covariates)
        return (rule.judge(model, self.theta, space) for rule in self.rules)

    def moved(self, step: FloatArray) -> Weighing:
        """Return the weighing after a step of theta and of the rules' own parameters, one after the other."""
        dim = len(self.theta)
        sizes = np.cumsum([dim, *(len(rule.precision) for rule in self.rules)])
        steps = np.split(step, sizes[:-1])
        rules = [rule.moved(own) for rule, own in zip(self.rules, steps[1:], strict=True)]
        return Weighing(rules, self.chances, self.theta + steps[0])

    def sums(self, model: ModelWithLaw) -> Sums:
        """Equations (d + k,) that all parameters solve, minus their derivatives (d + k, d + k), and what they vary by.

        sum_i w_i g_i for theta, and for a rule's own parameters sum_i c_i (P(bad | row) - P(bad)), or the budget less
        P(bad | row) where that is spent. Then the sum of
        their squares over the rows (d + k, d + k), for labels only, and the derivatives (d + k, d + k) if it were known
        which rows are bad.
        """
        gradients, dim = model.gradients(self.theta), len(self.theta)
        size = dim + sum(len(rule.precision) for rule in self.rules)
        equations, slopes, known = np.zeros(size), np.zeros((size, size)), np.zeros((size, size))
        weights, following = np.zeros(model.n_rows), np.zeros(model.n_rows)
        scores = np.zeros((model.n_rows, size)) if model.response_kind == "label" else None
        first = dim
        for rule, chance, judged in zip(self.rules, self.chances, self._judged(model), strict=True):
            odds, prior_odds, columns, slope, most, mistakes, _ = judged
            doubt, expected = expit(odds), expit(prior_odds)
            weights += chance * (1.0 - mistakes * doubt)
            change = doubt * (1.0 - doubt)
            following += chance * mistakes * change * slope
            own = slice(first, first + columns.shape[1])
            slopes[:dim, own] = chance * gradients.T @ (columns * (mistakes * change)[:, None])
            if most is None:
                residual = columns * (doubt - expected)[:, None]
                slopes[own, :dim] = (columns * (change * slope)[:, None]).T @ gradients
                known[own, own] = (columns.T * (expected * (1.0 - expected))) @ columns
                slopes[own, own] = known[own, own] - (columns.T * change) @ columns
            else:
                residual = (most - doubt)[:, None]
                slopes[own, :dim] = -(change * slope) @ gradients
                slopes[own, own] = known[own, own] = change @ columns
            equations[own] = residual.sum(axis=0)
            if scores is not None:
                scores[:, own] = residual
            first += len(rule.precision)
        known[:dim, :dim] = model.curvature(self.theta, weights)
        equations[:dim] = weights @ gradients
        slopes[:dim, :dim] = known[:dim, :dim] - gradients.T @ (gradients * following[:, None])
        if scores is None:
            return equations, slopes, 0.0, known
        scores[:, :dim] = gradients * weights[:, None]
        return equations, slopes, scores.T @ scores, known


class StreamedTrust(NamedTuple):
    """What was found: weights of any block, what :class:`Trust` says of all rows, and sums of the weighted rows."""

    weigher: Weighing
    found: Trust
    sums: Sums


def trust_by_passes(model: LargeModel, budget: float, exact_law: bool | None = None) -> StreamedTrust:
    """Weigh the explanations on the rows in memory, then find theta and the weights of all rows."""
    verdict = weigh(model.sample, budget, exact_law)
    names = [name for name, chance in verdict.probabilities.items() if chance > _NEGLIGIBLE]
    chances = np.array([verdict.probabilities[name] for name in names])
    rules = rules_of([verdict.explanations[name] for name in names], model.sample)
    start = Weighing(rules, (chances / chances.sum()).tolist(), verdict.theta)
    weighing, covariance, precision = _settled(model, start)
    # Around their own middle: that all rows say something else than the sample does is no doubt about explanations.
    middle = mean_theta(verdict.explanations, verdict.in_doubt)
    covariance = covariance + between_explanations(verdict.explanations, verdict.in_doubt, middle)
    weights, sums = model.weights(weighing)
    wider = None if (weights > 1.0 - SURE).all() else widening_to(covariance, precision)
    shift = shift_of(model.sample, verdict, weights, weighted_mode(model.sample, verdict.weights, verdict.theta))
    return StreamedTrust(weighing, conclude(verdict, weights, weighing.theta, shift, budget, wider, precision), sums)


def prepared_for(selector: Selector, model: Model, contamination: float) -> Selector:
    """Return the selector prepared for a model: the trust rule in passes where the model has many rows."""
    if not (isinstance(selector, TrustSelector) and contamination > 0.0 and LargeModel.is_judged_by_passes(model)):
        return selector.prepared(model, contamination)
    return PreparedTrust(selector, judge_by_passes(model, contamination, selector.exact_law))


def judge_by_passes(model: Model, contamination: float, exact_law: bool | None) -> Trust:
    """Weigh the explanations of a model with many rows, in memory or not, as :func:`judge` does of one with few."""
    assert isinstance(model, Regression)
    if model not in _LOOKED_AT:
        aside = set_aside(model, _cell_odds(model)) if model.in_memory else None
        _LOOKED_AT[model] = LargeModel.of(model if aside is None else model.take(aside.kept)), aside
    kept, aside = _LOOKED_AT[model]
    left = contamination if aside is None else aside.left_of(contamination)
    found = trust_by_passes(kept, left, exact_law).found
    return found if aside is None else of_all_rows(found, aside, contamination)


def _cell_odds(model: Regression) -> FloatArray:
    """Log odds (n,) of a wrong cell in each row of labels, column by column of some rows; passes look for others'."""
    if model.response_kind != "label":
        return np.zeros(model.n_rows)
    places = np.linspace(0, model.n_rows - 1, min(model.n_rows, _LOOKED_AT_CELLS)).round().astype(np.intp)
    some = model.take(places)
    return CellLimits(some.covariates, some.codes)(model.covariates)


def _settled(model: LargeModel, weighing: Weighing) -> tuple[Weighing, FloatArray, FloatArray]:
    """Newton's method on the equations of theta and of the shares of bad rows, a pass a step.

    Returns the weighing where they are solved, the covariance (d, d) of theta with the doubt about rows in it, and the
    precision (d, d) of the weighted rows without.
    """
    dim, prior = model.dim, model.prior
    for _ in range(_PASSES):
        equations, slopes, spread, known = model.sum(weighing.sums)
        of_gates = np.concatenate([rule.precision for rule in weighing.rules])
        gates = np.concatenate([rule.parameters for rule in weighing.rules])
        # A parameter that nothing decides stays where it is.
        prior_precision = np.zeros_like(known)
        prior_precision[:dim, :dim] = prior.precision(weighing.theta)
        prior_precision[dim:, dim:] = np.diag(of_gates + 1e-9 * model.n_rows)
        equations[:dim] += prior.gradient(weighing.theta)
        equations[dim:] -= of_gates * gates
        precision = (known + prior_precision)[:dim, :dim]
        slopes = _bounded_below(slopes + prior_precision, known + prior_precision)
        step = np.asarray(np.linalg.solve(slopes, equations), dtype=np.float64)
        left = float(step[:dim] @ precision @ step[:dim])
        step *= min(1.0, _LONGEST / max(float(np.abs(step[dim:]).max(initial=0.0)), 1e-300))
        weighing = weighing.moved(step)
        if left < _ARRIVED:
            break
    inverse = np.linalg.inv(slopes)
    if model.sample.response_kind == "label":
        # The equations of flipped labels are not the slopes of a likelihood [huber1967].
        spread[:dim, :dim] += prior.precision(weighing.theta)
        inverse = inverse @ spread @ inverse.T
    return weighing, linearised(0.5 * (inverse + inverse.T)[:dim, :dim], precision), precision


def _bounded_below(slopes: FloatArray, known: FloatArray) -> FloatArray:
    """Return the slopes (m, m); where the doubt about rows leaves hardly a direction uphill, 1 % of the known ones.

    By the known slopes alone the steps are those of expectation and maximisation, short but never downhill.
    """
    try:
        factor = np.linalg.cholesky(known)
    except np.linalg.LinAlgError:
        return slopes
    inverse = np.linalg.inv(factor)
    whitened = inverse @ slopes @ inverse.T
    values, axes = np.linalg.eigh(0.5 * (whitened + whitened.T))
    if values[0] >= _LEAST_LEFT:
        return slopes
    root = factor @ axes
    return np.asarray((root * np.maximum(values, _LEAST_LEFT)) @ root.T)
