"""The excess rule for logistic regression: how often labels contradict the model, and where.

Random flips are spread over all rows and are met by the likelihood of flipped labels, averaged over the flip rate.
Flips of the rows that the model is surest of are met by flip rates that depend on the row's doubt. The likelihood
decides between the two.
"""

from __future__ import annotations

import time

import numpy as np
from scipy.special import logsumexp

from robula._types import FloatArray
from robula.models.logistic_model import LogisticModel
from robula.selectors.excess.flips import (
    flip_modes,
    flip_weights,
    log_evidence,
    own_probability,
    self_consistent,
)
from robula.selectors.excess.grouped_flips import climb, within_budget
from robula.selectors.excess.starting_point import Candidate, RobustStart
from robula.selectors.selector import ContaminationEstimate

_RATES = (0.0, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3)
#: Rates whose modes are the starting points for rates by group; the budget does not limit where to start.
_START_RATES = (0.0, 0.05, 0.1, 0.2, 0.3)
#: Prior probability that no label is flipped at random; without it, clean but noisy data lose their confidence.
_NO_FLIPS = 0.5
#: Log evidence by which rates by doubt must beat one rate for all: the larger of the first two (the second times n),
#: and the third times d. Real data, clean or with random flips, gained up to 8, and 0.013 a row where the model itself
#: is wrong; simulated clean data 17, and 0.27 a coefficient where there are many. Flips of the surest tenth of the
#: labels gain 0.03 to 0.19 a row.
_LEAST_GAIN, _GAIN_PER_ROW, _GAIN_PER_COEFFICIENT = 15.0, 0.015, 0.25
_BY_DOUBT = "flip rates by doubt"


def logistic_start(model: LogisticModel, contamination: float) -> RobustStart:
    """Explanations of the labels: one flip rate for all rows, over a grid, or rates by doubt; the likeliest wins."""
    began = time.perf_counter()
    modes = dict(zip(_RATES, flip_modes(model, _RATES, model.initial), strict=True))
    found = [
        (Candidate(f"flip rate {rate:g}", log_evidence(model, theta, rate)), theta)
        for rate, theta in modes.items()
        if rate <= contamination
    ]
    # The budget limits the rates, not where the search for them starts.
    price = max(_LEAST_GAIN, _GAIN_PER_ROW * model.n_rows) + _GAIN_PER_COEFFICIENT * model.dim
    for rate in _START_RATES:
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
    allowed = [rate for rate in _RATES if rate <= contamination]
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
    prior = np.full(count, (1.0 - _NO_FLIPS) / (count - 1))
    prior[0] = _NO_FLIPS
    unnormalised = evidences + np.log(prior)
    chances: FloatArray = np.exp(unnormalised - logsumexp(unnormalised))
    return chances
