"""The excess rule for logistic regression: how often labels contradict the model, and where.

Random flips are spread over all rows and are met by the likelihood of labels flipped with probability e,
(1 - e) s + e (1 - s) for a row of probability s, averaged over e. Its gradient is the plain gradient times
s (1 - 2 e) / ((1 - e) s + e (1 - s)), so for e up to one half a flip rate is a row weight in [0, 1].

An adversary flips the labels that the right model is surest of. With one flip rate for all rows the best explanation
is then a flattened theta. With a rate in each group of rows of equal doubt min(p, 1 - p), the right theta explains all
other rows better by far. The likelihood decides between the two.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logsumexp

from robula._types import FloatArray, IntArray
from robula.models.logistic_model import LogisticModel
from robula.models.posterior_mode import weighted_mode
from robula.selectors.excess.excess_constants import (
    CLIMB_STEPS,
    CLIMBS,
    COMMON_RATES,
    DOUBT_LEVELS,
    FLIP_STEPS,
    GAIN_PER_COEFFICIENT,
    GAIN_PER_ROW,
    LEAST_GAIN,
    NO_FLIPS,
    RATE_PRICE,
    RATES_BY_DOUBT,
    START_RATES,
)
from robula.selectors.excess.excess_counts import quantile_groups
from robula.selectors.excess.starting_point import Candidate, RobustStart
from robula.selectors.selection import ContaminationEstimate


def own_probability(model: LogisticModel, theta: FloatArray) -> FloatArray:
    """Probability (n,) that the model gives to each row's own label; never quite zero."""
    eta = model.predictor(theta)
    probability: FloatArray = expit(np.where(model.y > 0.5, eta, -eta))
    return np.maximum(probability, 1e-300)


def mixed_probability(own: FloatArray, rate: float | FloatArray) -> FloatArray:
    """Probability (n,) of the label when it may have been flipped; ``rate`` broadcasts against ``own``."""
    mixed: FloatArray = (1.0 - rate) * own + rate * (1.0 - own)
    return mixed


def flip_weights(own: FloatArray, rate: float | FloatArray) -> FloatArray:
    """Gradient of the flipped-label likelihood over the plain one, shape (n,)."""
    weights: FloatArray = own * (1.0 - 2.0 * rate) / mixed_probability(own, rate)
    return weights


def self_consistent(
    model: LogisticModel,
    weigh: Callable[[FloatArray], FloatArray],
    theta: FloatArray,
    tolerance: float = 1e-6,
    steps: int = FLIP_STEPS,
) -> tuple[FloatArray, FloatArray]:
    """Weights (n,) and the mode (d,) of the rows so weighted, ``weigh`` giving the weights at a theta.

    It ends when no row's linear predictor moves by more than ``tolerance``: that has no units.
    """
    for _ in range(steps):
        moved = weighted_mode(model, weigh(theta), theta, steps=1)
        change = float(np.abs(model.predictor(moved) - model.predictor(theta)).max())
        theta = moved
        if change < tolerance:
            break
    return weigh(theta), theta


def flip_modes(model: LogisticModel, rates: Sequence[float], start: FloatArray) -> FloatArray:
    """Modes (k, d) of the flipped-label likelihood at k flip rates, each found from the one before."""
    modes = []
    for rate in rates:

        def weigh(theta: FloatArray, rate: float = rate) -> FloatArray:
            return flip_weights(own_probability(model, theta), rate)

        _, start = self_consistent(model, weigh, start, 1e-4)
        modes.append(start)
    return np.array(modes)


def log_evidence(model: LogisticModel, theta: FloatArray, rate: float | FloatArray) -> float:
    """Laplace's approximation of the log evidence for a flip rate, or one a row (n,); theta (d,) is the mode there."""
    own = own_probability(model, theta)
    mixed = mixed_probability(own, rate)
    slope = (1.0 - 2.0 * rate) * own * (1.0 - own) / mixed
    curvature = slope**2 - slope * (1.0 - 2.0 * own)
    design = model.design
    precision = (design.T * curvature) @ design + model.prior.precision(theta)
    values = np.linalg.eigvalsh(precision)
    # At a mode the curvature is positive; the prior's smallest stands in where an iteration stopped short of it.
    floor = float(np.linalg.eigvalsh(model.prior.precision(theta))[0])
    log_determinant = float(np.log(np.maximum(values, max(floor, 1e-12))).sum())
    return float(np.log(mixed).sum() + model.prior.log_density(theta)) - 0.5 * log_determinant


class GroupedFlips(NamedTuple):
    """One explanation of the labels.

    Attributes
    ----------
    objective : float
        Log-likelihood and log prior, less the price of the rates above zero.
    theta : ndarray, shape (d,)
    rates : ndarray, shape (n,)
        Flip rate of each row's group.
    groups : ndarray of int, shape (n,)
    """

    objective: float
    theta: FloatArray
    rates: FloatArray
    groups: IntArray


def climb(model: LogisticModel, theta: FloatArray) -> GroupedFlips:
    """Improve an explanation: fit theta and the rates in the present groups, form the groups anew, while it helps."""
    best = _explain(model, theta, _doubt_groups(model, theta))
    for _ in range(CLIMBS):
        groups = best.groups

        def weigh(theta: FloatArray, groups: IntArray = groups) -> FloatArray:
            return flip_weights(own_probability(model, theta), _explain(model, theta, groups).rates)

        _, moved = self_consistent(model, weigh, best.theta, 1e-3, CLIMB_STEPS)
        found = _explain(model, moved, _doubt_groups(model, moved))
        if found.objective <= best.objective + 0.01:
            break
        best = found
    return best


def within_budget(found: GroupedFlips, contamination: float) -> FloatArray:
    """Rates (n,) lowered in proportion where their mean is above the contamination."""
    return found.rates * min(1.0, contamination / max(float(found.rates.mean()), 1e-300))


def _doubt_groups(model: LogisticModel, theta: FloatArray) -> IntArray:
    own = own_probability(model, theta)
    return quantile_groups(np.minimum(own, 1.0 - own), DOUBT_LEVELS)


def _explain(model: LogisticModel, theta: FloatArray, groups: IntArray) -> GroupedFlips:
    """Best rate of each group at theta."""
    own = own_probability(model, theta)
    rates = np.zeros_like(own)
    total = float(model.prior.log_density(theta))
    for group in np.unique(groups):
        members = groups == group
        gains = np.log(mixed_probability(own[members], RATES_BY_DOUBT[:, None])).sum(axis=1) - RATE_PRICE * (
            RATES_BY_DOUBT > 0
        )
        best = int(np.argmax(gains))
        rates[members] = RATES_BY_DOUBT[best]
        total += float(gains[best])
    return GroupedFlips(total, theta, rates, groups)


_BY_DOUBT = "flip rates by doubt"


def logistic_start(model: LogisticModel, contamination: float) -> RobustStart:
    """Explanations of the labels: one flip rate for all rows, over a grid, or rates by doubt; the likeliest wins."""
    began = time.perf_counter()
    modes = dict(zip(COMMON_RATES, flip_modes(model, COMMON_RATES, model.initial), strict=True))
    found = [
        (Candidate(f"flip rate {rate:g}", log_evidence(model, theta, rate)), theta)
        for rate, theta in modes.items()
        if rate <= contamination
    ]
    # The budget limits the rates, not where the search for them starts.
    price = max(LEAST_GAIN, GAIN_PER_ROW * model.n_rows) + GAIN_PER_COEFFICIENT * model.dim
    for rate in START_RATES:
        climbed = climb(model, modes[rate])
        evidence = log_evidence(model, climbed.theta, within_budget(climbed, contamination))
        found.append((Candidate(f"{_BY_DOUBT}, from {rate:g}", evidence - price), climbed.theta))
    best, theta = max(found, key=lambda candidate: candidate[0].score)
    nothing = np.zeros(model.n_rows, dtype=np.bool_)
    candidates = tuple(candidate for candidate, _ in found)
    return RobustStart(theta, best.name, candidates, nothing, time.perf_counter() - began)


def logistic_weights(
    model: LogisticModel, start: RobustStart, contamination: float
) -> tuple[FloatArray, FloatArray, ContaminationEstimate]:
    """Row weights (n,), the mode (d,) of the rows so weighted, and the share of flipped labels."""
    if start.name.startswith(_BY_DOUBT):
        rates = within_budget(climb(model, start.theta), contamination)
        weights, theta = self_consistent(
            model, lambda theta: flip_weights(own_probability(model, theta), rates), start.theta
        )
        error = float(np.sqrt((rates * (1.0 - rates)).sum() + 1.0)) / model.n_rows
        return weights, theta, ContaminationEstimate(float(rates.mean()), error)
    allowed = [rate for rate in COMMON_RATES if rate <= contamination]
    modes = flip_modes(model, allowed, start.theta)
    chances = _chances(np.array([log_evidence(model, *pair) for pair in zip(modes, allowed, strict=True)]))

    def averaged(theta: FloatArray) -> FloatArray:
        own = own_probability(model, theta)
        mean: FloatArray = chances @ np.array([flip_weights(own, rate) for rate in allowed])
        return mean

    weights, theta = self_consistent(model, averaged, chances @ modes)
    flips = np.asarray(allowed)
    spread = float(np.sqrt(max(chances @ flips**2 - (chances @ flips) ** 2, 0.0)))
    return weights, theta, ContaminationEstimate(float(chances @ flips), float(np.hypot(spread, 1.0 / model.n_rows)))


def _chances(evidences: FloatArray) -> FloatArray:
    """Posterior probabilities (k,) of the flip rates, the first of which is 0."""
    count = len(evidences)
    if count == 1:
        return np.ones(1)
    prior = np.full(count, (1.0 - NO_FLIPS) / (count - 1))
    prior[0] = NO_FLIPS
    unnormalised = evidences + np.log(prior)
    chances: FloatArray = np.exp(unnormalised - logsumexp(unnormalised))
    return chances
