"""The excess rule for logistic regression: labels that contradict the model more often than it predicts.

Two kinds of wrong labels leave different traces. Flips of confident rows put contrary labels where the model expects
almost none, and the excess can be counted. Random flips are spread thin; they are met by the likelihood of flipped
labels, (1 - e) s + e (1 - s) for a row of probability s, averaged over the flip rate e. Its gradient is the plain
gradient times s (1 - 2 e) / ((1 - e) s + e (1 - s)), which is a row weight in [0, 1].
"""

from __future__ import annotations

import time

import numpy as np
from scipy.special import expit, logsumexp

from robula._types import FloatArray
from robula.models.logistic import LogisticModel
from robula.models.mode import weighted_mode
from robula.selectors.base import ContaminationEstimate
from robula.selectors.excess.counts import poisson_limit, quantile_groups
from robula.selectors.excess.start import Candidate, RobustStart

_RATES = (0.0, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3)
#: Prior probability that no label is flipped at random; without it, clean but noisy data lose their confidence.
_NO_FLIPS = 0.5
_GATE = 2.33
_DOUBT_LEVELS = (1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6)
_ALTERNATIONS = 8
_STEPS = 50


def logistic_start(model: LogisticModel, contamination: float) -> RobustStart:
    """Modes of the flipped-label likelihood over a grid of flip rates; the largest evidence wins."""
    began = time.perf_counter()
    rates = [rate for rate in _RATES if rate <= contamination] or [0.0]
    modes, evidences = _grid(model, np.ones(model.n_rows), rates, model.initial)
    best = int(np.argmax(evidences))
    names = [f"flip rate {rate:g}" for rate in rates]
    candidates = tuple(Candidate(name, float(value)) for name, value in zip(names, evidences, strict=True))
    nothing = np.zeros(model.n_rows, dtype=np.bool_)
    return RobustStart(modes[best], names[best], candidates, nothing, time.perf_counter() - began)


def logistic_weights(
    model: LogisticModel, start: RobustStart, contamination: float
) -> tuple[FloatArray, FloatArray, ContaminationEstimate]:
    """Row weights (n,), the mode (d,) of the rows so weighted, and the share of flipped labels."""
    theta = start.theta
    powers = np.ones(model.n_rows)
    rate = float(start.name.rsplit(" ", 1)[1])
    for round_number in range(_ALTERNATIONS):
        fresh = _contrary_weights(model, theta, rate)
        fresh = fresh if round_number < 2 else 0.5 * (powers + fresh)
        change = float(np.abs(fresh - powers).sum())
        powers = fresh
        left = contamination - float((1.0 - powers).mean())
        rates = [value for value in _RATES if value <= left] or [0.0]
        modes, evidences = _grid(model, powers, rates, theta)
        chances = _posterior(evidences)
        theta, rate = chances @ modes, float(chances @ rates)
        if change < 0.5:
            break
    for _ in range(_STEPS):
        weights = powers * _flip_weights(model, theta, np.asarray(rates), chances)
        moved = weighted_mode(model, weights, theta, steps=2)
        step = float(np.abs(moved - theta).max())
        theta = moved
        if step < 1e-6:
            break
    flips = np.asarray(rates)
    spread = float(np.sqrt(max(chances @ flips**2 - (chances @ flips) ** 2, 0.0)))
    touched = float((powers < 1.0).sum()) + 1.0
    estimate = ContaminationEstimate(
        float((1.0 - powers).mean() + chances @ flips), float(np.hypot(spread, np.sqrt(touched) / model.n_rows))
    )
    return weights, theta, estimate


def _own_probability(model: LogisticModel, theta: FloatArray) -> FloatArray:
    """Probability (n,) that the model gives to each row's own label."""
    eta = model.predictor(theta)
    probability: FloatArray = expit(np.where(model.y > 0.5, eta, -eta))
    return probability


def _flip_weights(model: LogisticModel, theta: FloatArray, rates: FloatArray, chances: FloatArray) -> FloatArray:
    """Gradient of the flipped-label likelihood over the plain one, averaged over the rates (k,); shape (n,)."""
    own = np.maximum(_own_probability(model, theta), 1e-300)
    total = np.zeros_like(own)
    for rate, chance in zip(rates, chances, strict=True):
        total += chance * own * (1.0 - 2.0 * rate) / ((1.0 - rate) * own + rate * (1.0 - own))
    return total


def _contrary_weights(model: LogisticModel, theta: FloatArray, rate: float) -> FloatArray:
    """Weights (n,) that bring contrary labels back to the odds the model predicts, where they are beyond chance.

    In groups of equal doubt q = min(p, 1 - p), contrary labels O are compared with what model and flip rate predict.
    Weight (n - O) / O * q / (1 - q) leaves the odds q : (1 - q) in the group.
    """
    p = expit(model.predictor(theta))
    doubt = np.minimum(p, 1.0 - p)
    contrary = (p > 0.5) != (model.y > 0.5)
    weights = np.ones(model.n_rows)
    groups = quantile_groups(doubt, _DOUBT_LEVELS)
    for group in np.unique(groups):
        rows = groups == group
        against = float((contrary & rows).sum())
        mean_doubt = float(doubt[rows].mean())
        expected = np.asarray(rows.sum() * ((1.0 - rate) * mean_doubt + rate * (1.0 - mean_doubt)))
        if against > poisson_limit(expected, _GATE):
            odds = mean_doubt / (1.0 - mean_doubt)
            weights[contrary & rows] = min(1.0, (rows.sum() - against) / against * odds)
    return weights


def _grid(
    model: LogisticModel, powers: FloatArray, rates: list[float], start: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Modes (k, d) and Laplace log evidences (k,) of the flipped-label likelihood at k flip rates."""
    modes, evidences = [], []
    theta = start
    for rate in rates:
        one = np.asarray([rate])
        for _ in range(_STEPS):
            weights = powers * _flip_weights(model, theta, one, np.ones(1))
            moved = weighted_mode(model, weights, theta, steps=1)
            step = float(np.abs(moved - theta).max())
            theta = moved
            if step < 1e-4:
                break
        modes.append(theta)
        evidences.append(_log_evidence(model, theta, powers, rate))
    return np.array(modes), np.array(evidences)


def _log_evidence(model: LogisticModel, theta: FloatArray, powers: FloatArray, rate: float) -> float:
    own = np.maximum(_own_probability(model, theta), 1e-300)
    mixed = (1.0 - rate) * own + rate * (1.0 - own)
    slope = (1.0 - 2.0 * rate) * own * (1.0 - own) / mixed
    curvature = powers * (slope**2 - slope * (1.0 - 2.0 * own))
    design = model.design
    precision = (design.T * curvature) @ design + model.prior.precision(theta)
    values = np.linalg.eigvalsh(precision)
    # At a mode the curvature is positive; the prior's smallest stands in where an iteration stopped short of it.
    floor = float(np.linalg.eigvalsh(model.prior.precision(theta))[0])
    log_determinant = float(np.log(np.maximum(values, max(floor, 1e-12))).sum())
    return float(powers @ np.log(mixed) + model.prior.log_density(theta)) - 0.5 * log_determinant


def _posterior(evidences: FloatArray) -> FloatArray:
    """Posterior probabilities (k,) of the flip rates, the first of which is 0."""
    count = len(evidences)
    if count == 1:
        return np.ones(1)
    prior = np.full(count, (1.0 - _NO_FLIPS) / (count - 1))
    prior[0] = _NO_FLIPS
    unnormalised = evidences + np.log(prior)
    chances: FloatArray = np.exp(unnormalised - logsumexp(unnormalised))
    return chances
