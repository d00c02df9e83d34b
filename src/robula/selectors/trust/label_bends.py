"""Log odds that bend: a Gaussian process of a row's place and fitted value, beside labels that may be flipped."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logsumexp

from robula._types import BoolArray, FloatArray
from robula.models.law import ModelWithLaw
from robula.selectors.trust import trust_constants as constants
from robula.selectors.trust.feature_space import FeatureSpace, median_and_deviation
from robula.selectors.trust.systematic_sample import systematic_places

# The noise of a logistic law, in log odds: a bend is measured in noise widths, as of numbers.
_NOISE = math.pi / math.sqrt(3.0)
# Rows that the function is known at, from which it follows everywhere (Nystroem); directions with less than this share
# of the largest variance are none.
_KNOWN_AT, _RANK = 50, 1e-4
# Farthest that fitted values go, in their median deviations.
_FARTHEST = 4.0
_STEPS, _SETTLED, _SHORTEST = 20, 0.01, 1e-3
# A row tells at least this part of what it would if its label were known to be right.
_MOST_MISSING = 9.0


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


class Surroundings(NamedTuple):
    """Rows that bends are known at, and where other rows are by their fitted values and places.

    Attributes
    ----------
    middle, unit : float
        Of the fitted values.
    fitted, places : ndarray, shape (k, 1) and (k, r)
        Of the known rows.
    """

    middle: float
    unit: float
    fitted: FloatArray
    places: FloatArray

    def similarity(self, log_odds: FloatArray, places: FloatArray) -> FloatArray:
        """Similarity (b, k) of rows with these log odds (b,) and places (b, r) to the known ones."""
        near = _similarity(_standard(log_odds, self.middle, self.unit), self.fitted)
        rank = self.places.shape[1]
        if rank:
            near += _similarity(places / math.sqrt(rank), self.places / math.sqrt(rank))
        return near


class Bend(NamedTuple):
    """A bend of two classes' log odds, for any rows.

    Attributes
    ----------
    theta, beside : ndarray, shape (d,)
        At which log odds are fitted values, and where the bend puts theta.
    first : float
        The label whose log odds they are.
    surroundings : Surroundings
    size : ndarray, shape (k,)
        How much the surroundings of each known row are bent.
    """

    theta: FloatArray
    beside: FloatArray
    first: float
    surroundings: Surroundings
    size: FloatArray

    def at(self, own_log_odds: FloatArray, labels: FloatArray, places: FloatArray) -> FloatArray:
        """What is added to the log odds (b,) of rows' own labels (b,), at these places (b, r)."""
        sign = np.where(labels == self.first, 1.0, -1.0)
        return np.asarray(sign * (self.surroundings.similarity(sign * own_log_odds, places) @ self.size))


class Bends(NamedTuple):
    """Functions of which independent standard normal multiples add up to the process.

    Attributes
    ----------
    functions : ndarray, shape (m, j)
        Of the rows.
    surroundings : Surroundings
        Of k known rows.
    roots : ndarray, shape (k, j)
        The functions are the rows' similarity to the known ones times these.
    """

    functions: FloatArray
    surroundings: Surroundings
    roots: FloatArray

    @classmethod
    def of(cls, space: FeatureSpace, log_odds: FloatArray) -> Bends:
        """Of rows whose fitted values are the log odds (m,) of a decision: they do not tell a row's own class."""
        middle, unit = median_and_deviation(log_odds)
        fitted = _standard(log_odds, middle, unit)
        known = systematic_places(fitted[:, 0], space.distance, min(_KNOWN_AT, len(fitted)))
        surroundings = Surroundings(middle, unit, fitted[known], space.inner[known])
        covariance = surroundings.similarity(log_odds, space.inner)
        variances, axes = np.linalg.eigh(covariance[known])
        kept = variances > _RANK * variances[-1]
        roots: FloatArray = constants.PLACE * _NOISE * axes[:, kept] / np.sqrt(variances[kept])
        return cls(covariance @ roots, surroundings, roots)


def _standard(log_odds: FloatArray, middle: float, unit: float) -> FloatArray:
    """Fitted values (m, 1) in their median deviations, none farther than ``_FARTHEST``."""
    fitted: FloatArray = np.clip((log_odds - middle) / unit, -_FARTHEST, _FARTHEST)[:, None]
    return fitted


def _similarity(places: FloatArray, known: FloatArray) -> FloatArray:
    """exp(-distance^2 / 2) of the places (n, r) of rows from known ones (k, r), shape (n, k)."""
    # In place: of many rows, new memory takes longer than the arithmetic.
    near: FloatArray = places @ known.T
    near -= 0.5 * np.einsum("ij,ij->i", places, places)[:, None]
    near -= 0.5 * np.einsum("ij,ij->i", known, known)
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
    """Log density of labels, theta and bends; log odds go on in theta as straight as they begin.

    Where labels may be flipped their log odds (n,) before they are seen are ``flipped``, of two classes.
    """

    def __init__(self, model: ModelWithLaw, theta: FloatArray, space: FeatureSpace, flipped: FloatArray | None) -> None:
        kept = ~model.hyperparameters
        self.flipped = flipped
        self.decisions = _decisions(model, theta, kept)
        self.bends = [Bends.of(space.take(each.rows), each.log_odds) for each in self.decisions]
        counted = model.counted(np.ones(model.n_rows))
        self._counted = [counted[each.rows] for each in self.decisions]
        self._prior = model.prior.precision(theta)[np.ix_(kept, kept)]
        self._pull = model.prior.gradient(theta)[kept]

    def straight(self) -> _Bent:
        """No bend."""
        return self.at(np.zeros(len(self._pull)), [np.zeros(bend.functions.shape[1]) for bend in self.bends])

    def at(self, theta: FloatArray, sizes: list[FloatArray]) -> _Bent:
        """Bends of these sizes."""
        value, log_odds = float(self._pull @ theta - 0.5 * theta @ self._prior @ theta), []
        for each, counted, bend, size in zip(self.decisions, self._counted, self.bends, sizes, strict=True):
            odds = each.log_odds + each.slopes @ theta + bend.functions @ size
            likely = -np.logaddexp(0.0, -each.sign * odds)
            if self.flipped is not None:
                likely = np.logaddexp(likely, self.flipped - np.logaddexp(0.0, each.sign * odds))
            value += float(counted @ likely) - 0.5 * float(size @ size)
            log_odds.append(odds)
        return _Bent(theta, sizes, log_odds, value)

    def right(self, sign: FloatArray, log_odds: FloatArray) -> FloatArray:
        """Probability (m,) that labels are right whose decision has these log odds (m,)."""
        if self.flipped is None:
            return np.ones_like(log_odds)
        return np.asarray(expit(sign * log_odds - self.flipped))

    def step(self, bent: _Bent) -> tuple[FloatArray, list[FloatArray], float]:
        """Newton's step of theta and of the sizes, and log |H| that the bends add to that of theta alone.

        Bends have theta in common only: theta's is solved for with each of them taken out (Schur's complement).
        """
        of_theta, slope, parts = self._prior.copy(), self._pull - self._prior @ bent.theta, []
        taken, volume = np.zeros_like(of_theta), 0.0
        for each, counted, bends, odds, size in zip(
            self.decisions, self._counted, self.bends, bent.log_odds, bent.sizes, strict=True
        ):
            bend, chance, right = bends.functions, expit(each.sign * odds), self.right(each.sign, odds)
            # What is missing is which labels are right [louis1982].
            whole = chance * (1.0 - chance)
            told = np.maximum(whole - right * (1.0 - right), whole / _MOST_MISSING)
            information, residual = (counted * told)[:, None], counted * each.sign * (right - chance)
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


class Settled(NamedTuple):
    """Where bends end.

    Attributes
    ----------
    gain : float
        Log evidence that they add; 0 where all labels are the same and nothing is decided.
    log_odds : ndarray, shape (n,), or None
        Of each row's own label; None unless there are two classes.
    bend : Bend or None
        That of the two classes.
    """

    gain: float
    log_odds: FloatArray | None = None
    bend: Bend | None = None


def settled_bends(
    model: ModelWithLaw, theta: FloatArray, space: FeatureSpace, flipped: FloatArray | None = None
) -> Settled:
    """Fit bends, with theta (d,) where they put it, to labels that are right or may be flipped."""
    density = _LogDensity(model, theta, space, flipped)
    if not density.decisions:
        return Settled(0.0)
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
    if not math.isfinite(gain):
        gain = -math.inf
    if len(density.decisions) != 1:
        return Settled(gain)
    decision, bends = density.decisions[0], density.bends[0]
    beside = theta.copy()
    beside[~model.hyperparameters] += bent.theta
    first = float(np.min(np.asarray(model.response)))
    bend = Bend(theta, beside, first, bends.surroundings, bends.roots @ bent.sizes[0])
    return Settled(gain, decision.sign * bent.log_odds[0], bend)
