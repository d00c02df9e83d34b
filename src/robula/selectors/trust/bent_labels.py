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
    bends: FloatArray = covariance @ (constants.PLACE * _NOISE * axes[:, kept] / np.sqrt(variances[kept]))
    return bends


def _similarity(places: FloatArray, known: np.ndarray) -> FloatArray:
    """exp(-distance^2 / 2) of the places (n, r) of all rows from those of some, shape (n, k)."""
    half_squares = 0.5 * np.einsum("ij,ij->i", places, places)
    # In place: of many rows, new memory takes longer than the arithmetic.
    near: FloatArray = places @ places[known].T
    near -= half_squares[:, None]
    near -= half_squares[known]
    return np.exp(np.minimum(near, 0.0, out=near), out=near)


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


class _Bent(NamedTuple):
    """Theta and the sizes of the bends, as steps from where there are none, and how likely they are.

    Attributes
    ----------
    theta : ndarray, shape (d,)
    sizes : list of ndarray, each of shape (k,)
        For each decision.
    log_odds : list of ndarray, each of shape (m,)
    value : float
        Log density of labels, theta and bends.
    """

    theta: FloatArray
    sizes: list[FloatArray]
    log_odds: list[FloatArray]
    value: float


class _LogDensity:
    """Log density of labels, theta and bends; log odds go on in theta as straight as they begin."""

    def __init__(self, model: ModelWithLaw, theta: FloatArray, space: FeatureSpace) -> None:
        kept = ~model.hyperparameters
        self.decisions = _decisions(model, theta, kept)
        self.bends = [_bends(space.take(each.rows), each.log_odds) for each in self.decisions]
        counted = model.counted(np.ones(model.n_rows))
        self._counted = [counted[each.rows] for each in self.decisions]
        self._prior = model.prior.precision(theta)[np.ix_(kept, kept)]
        self._pull = model.prior.gradient(theta)[kept]

    def straight(self) -> _Bent:
        """No bend."""
        return self.at(np.zeros(len(self._pull)), [np.zeros(bend.shape[1]) for bend in self.bends])

    def at(self, theta: FloatArray, sizes: list[FloatArray]) -> _Bent:
        """Bends of these sizes."""
        value, log_odds = float(self._pull @ theta - 0.5 * theta @ self._prior @ theta), []
        for each, counted, bend, size in zip(self.decisions, self._counted, self.bends, sizes, strict=True):
            odds = each.log_odds + each.slopes @ theta + bend @ size
            value -= float(counted @ np.logaddexp(0.0, -each.sign * odds)) + 0.5 * float(size @ size)
            log_odds.append(odds)
        return _Bent(theta, sizes, log_odds, value)

    def step(self, bent: _Bent) -> tuple[FloatArray, list[FloatArray], float]:
        """Newton's step of theta and of the sizes, and log |H| that the bends add to that of theta alone.

        Bends have theta in common only: theta's is solved for with each of them taken out (Schur's complement).
        """
        of_theta, slope, parts = self._prior.copy(), self._pull - self._prior @ bent.theta, []
        taken, volume = np.zeros_like(of_theta), 0.0
        for each, counted, bend, odds, size in zip(
            self.decisions, self._counted, self.bends, bent.log_odds, bent.sizes, strict=True
        ):
            chance = expit(odds)
            information = (counted * chance * (1.0 - chance))[:, None]
            residual = counted * each.sign * expit(-each.sign * odds)
            of_bend = bend.T @ (information * bend) + np.eye(len(size))
            between = bend.T @ (information * each.slopes)
            solved = np.linalg.solve(of_bend, np.column_stack([between, bend.T @ residual - size]))
            of_theta += each.slopes.T @ (information * each.slopes)
            taken += between.T @ solved[:, :-1]
            slope += each.slopes.T @ residual - between.T @ solved[:, -1]
            volume += float(np.linalg.slogdet(of_bend)[1])
            parts.append((solved[:, :-1], solved[:, -1]))
        volume += float(np.linalg.slogdet(of_theta - taken)[1] - np.linalg.slogdet(of_theta)[1])
        move = np.asarray(np.linalg.lstsq(of_theta - taken, slope, rcond=None)[0], dtype=np.float64)
        return move, [alone - with_theta @ move for with_theta, alone in parts], volume


def _gain(model: ModelWithLaw, theta: FloatArray, space: FeatureSpace) -> float:
    """Log evidence that a bend adds to that of labels that are all right at theta (d,)."""
    density = _LogDensity(model, theta, space)
    bent = density.straight()
    straight, volume = bent.value, math.inf
    for _ in range(_STEPS):
        move, steps, volume = density.step(bent)
        moved, length = bent, 1.0
        while length > _SHORTEST:
            sizes = [size + length * step for size, step in zip(bent.sizes, steps, strict=True)]
            moved = density.at(bent.theta + length * move, sizes)
            if moved.value >= bent.value:
                break
            length *= 0.5
        else:
            break
        rise, bent = moved.value - bent.value, moved
        if rise < _SETTLED:
            break
    gain = bent.value - straight - 0.5 * volume
    return gain if math.isfinite(gain) else -math.inf
