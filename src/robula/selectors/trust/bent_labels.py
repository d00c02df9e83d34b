"""Labels whose law is a little off: log odds that bend from place to place, and no label wrong.

Every law of labels is only nearly right: a curve, a product of two columns, a link of another shape. Flipped labels
explain some of that, so they have to explain the labels better than a smooth function of the place does.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logsumexp

from robula._types import BoolArray, FloatArray
from robula.models.law import ModelWithLaw
from robula.selectors.trust import trust_constants as constants
from robula.selectors.trust.feature_space import FeatureSpace, standardised
from robula.selectors.trust.label_flips import NoFlips
from robula.selectors.trust.systematic_sample import systematic_places

# The noise of a logistic law, in log odds: a bend is measured in noise widths, as of numbers.
_NOISE = math.pi / math.sqrt(3.0)
# Rows that the function is known at, from which it follows everywhere (Nystroem); directions with less than this share
# of the largest variance are none.
_KNOWN_AT, _RANK = 50, 1e-4
# Farthest that fitted values go, in their median deviations.
_FARTHEST = 4.0
_STEPS, _SETTLED, _SHORTEST = 20, 0.01, 1e-3


class _Decision(NamedTuple):
    """Whether a label is one class or a later one, for rows that are of no earlier one.

    Attributes
    ----------
    rows : ndarray of bool, shape (n,)
    log_odds : ndarray, shape (m,)
        At theta, for the m rows.
    slopes : ndarray, shape (m, d)
        Their derivatives in theta.
    sign : ndarray, shape (m,)
        1 where the label is this one, -1 where it is a later one.
    """

    rows: BoolArray
    log_odds: FloatArray
    slopes: FloatArray
    sign: FloatArray


class BentLabels:
    """Every label is right, and the log odds are off by a Gaussian process of the row's place and fitted value.

    Its standard deviation is that of a bend, PLACE, in widths of the logistic noise; its lengths are those of the
    whitened features and of the fitted values, so that it says the same in any units. The evidence is Laplace's
    [rasmussen2006], with theta where the bend puts it. Labels of several classes are decided one class after the other,
    each decision with a bend of its own.

    Parameters
    ----------
    nothing : NoFlips
        The same without a bend: what the rows count is the same, only the evidence is not.
    space : FeatureSpace

    Attributes
    ----------
    theta, weights, evidence, wanted, price
        As for :class:`NoFlips`.
    """

    wanted = price = 0.0

    def __init__(self, model: ModelWithLaw, nothing: NoFlips, space: FeatureSpace) -> None:
        self.theta, self.weights, self._nothing = nothing.theta, nothing.weights, nothing
        self.evidence = nothing.evidence + _gain(model, nothing.theta, space)

    def covariance(self, model: ModelWithLaw) -> FloatArray:
        """Covariance (d, d) of theta: no row is in doubt."""
        return self._nothing.covariance(model)


def _bends(space: FeatureSpace, log_odds: FloatArray) -> FloatArray:
    """Functions (n, k) of the rows of which independent standard normal multiples add up to the process.

    The fitted values are the log odds (n,) of the decision: what a row's own class is they do not tell.
    """
    fitted = np.clip(standardised(log_odds), -_FARTHEST, _FARTHEST)[:, None]
    known = systematic_places(fitted[:, 0], space.distance, min(_KNOWN_AT, len(fitted)))
    covariance = _similarity(fitted, known)
    if space.rank:
        covariance += _similarity(space.inner / math.sqrt(space.rank), known)
    variances, axes = np.linalg.eigh(covariance[known])
    kept = variances > _RANK * variances[-1]
    bends: FloatArray = constants.PLACE * _NOISE * covariance @ (axes[:, kept] / np.sqrt(variances[kept]))
    return bends


def _similarity(places: FloatArray, known: np.ndarray) -> FloatArray:
    """exp(-distance^2 / 2) of the places (n, r) of all rows from those of some, shape (n, k)."""
    squares = (places**2).sum(axis=1)
    away = squares[:, None] + squares[known] - 2.0 * places @ places[known].T
    similarity: FloatArray = np.exp(-0.5 * np.maximum(away, 0.0))
    return similarity


def _decisions(model: ModelWithLaw, theta: FloatArray, kept: BoolArray) -> list[_Decision]:
    """What the labels are decided by, class after class; derivatives in the kept (d,) parameters."""
    labels = np.asarray(model.response)
    classes = np.unique(labels)
    each = [model.with_response(np.full(model.n_rows, label)) for label in classes]
    log_p = np.stack([one.log_likelihood(theta) for one in each])
    gradients = [one.gradients(theta)[:, kept] for one in each]
    found = []
    for place, label in enumerate(classes[:-1]):
        rows = labels >= label
        later = logsumexp(log_p[place + 1 :, rows], axis=0)
        slopes = gradients[place][rows]
        for other in range(place + 1, len(classes)):
            slopes = slopes - np.exp(log_p[other, rows] - later)[:, None] * gradients[other][rows]
        found.append(_Decision(rows, log_p[place, rows] - later, slopes, np.where(labels[rows] == label, 1.0, -1.0)))
    return found


def _gain(model: ModelWithLaw, theta: FloatArray, space: FeatureSpace) -> float:
    """Log evidence that a bend adds to that of labels that are all right at theta (d,)."""
    kept = ~model.hyperparameters
    decisions = _decisions(model, theta, kept)
    counted = model.counted(np.ones(model.n_rows))
    prior, pull = model.prior.precision(theta)[np.ix_(kept, kept)], model.prior.gradient(theta)[kept]
    bends = [_bends(space.take(each.rows), each.log_odds) for each in decisions]
    step_of_theta, sizes = np.zeros(len(prior)), [np.zeros(bend.shape[1]) for bend in bends]

    def log_odds(move: FloatArray, of_bends: list[FloatArray]) -> list[FloatArray]:
        return [
            each.log_odds + each.slopes @ move + bend @ size
            for each, bend, size in zip(decisions, bends, of_bends, strict=True)
        ]

    def value(move: FloatArray, of_bends: list[FloatArray]) -> float:
        total = float(pull @ move - 0.5 * move @ prior @ move)
        for each, odds, size in zip(decisions, log_odds(move, of_bends), of_bends, strict=True):
            total -= float(counted[each.rows] @ np.logaddexp(0.0, -each.sign * odds)) + 0.5 * float(size @ size)
        return total

    first = before = value(step_of_theta, sizes)
    volume = math.inf
    for _ in range(_STEPS):
        # Bends have theta in common only: theirs is solved for with each of them taken out (Schur's complement).
        of_theta, slope, parts = prior.copy(), pull - prior @ step_of_theta, []
        reduced, volume = np.zeros_like(prior), 0.0
        for each, bend, odds, size in zip(decisions, bends, log_odds(step_of_theta, sizes), sizes, strict=True):
            chance = expit(odds)
            residual = counted[each.rows] * (each.sign * expit(-each.sign * odds))
            curved = (counted[each.rows] * chance * (1.0 - chance))[:, None] * each.slopes
            of_bend = (bend.T * (counted[each.rows] * chance * (1.0 - chance))) @ bend + np.eye(len(size))
            between, uphill = bend.T @ curved, bend.T @ residual - size
            solved = np.linalg.solve(of_bend, np.column_stack([between, uphill]))
            of_theta += each.slopes.T @ curved
            reduced += between.T @ solved[:, :-1]
            slope += each.slopes.T @ residual - between.T @ solved[:, -1]
            volume += float(np.linalg.slogdet(of_bend)[1])
            parts.append((solved[:, :-1], solved[:, -1]))
        volume += float(np.linalg.slogdet(of_theta - reduced)[1] - np.linalg.slogdet(of_theta)[1])
        move = np.linalg.lstsq(of_theta - reduced, slope, rcond=None)[0]
        steps, length = [alone - with_theta @ move for with_theta, alone in parts], 1.0
        while length > _SHORTEST:
            moved = (
                step_of_theta + length * move,
                [size + length * step for size, step in zip(sizes, steps, strict=True)],
            )
            now = value(*moved)
            if now >= before:
                break
            length *= 0.5
        else:
            break
        (step_of_theta, sizes), rise, before = moved, now - before, now
        if rise < _SETTLED:
            break
    gain = before - first - 0.5 * volume
    return gain if math.isfinite(gain) else -math.inf
