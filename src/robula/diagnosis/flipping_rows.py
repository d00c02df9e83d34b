"""The smallest set of rows whose removal turns a conclusion: ranked by influence, again and again, then refitted once.

Rows can mask each other: where a group pulls the fit through itself, no single one of them seems to matter. So rows are
ranked not only at the fit of all rows but also at the fit without the set found last, and without the rows that carry
most of what is known about the quantity; there a masked group stands out [broderick2020, kuschnig2021].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh

from robula._intervals import LEVEL, TAILS
from robula._types import FloatArray, IntArray
from robula.models.law import ModelWithLaw
from robula.models.model import Model
from robula.models.posterior_mode import weighted_mode
from robula.models.precision import weighted_precision, width_factor

# Sets of more than this share of the rows are not looked for: then a conclusion hangs on no few rows.
_LARGEST_SET = 0.2
# Shares of the rows, those that know most about a quantity, that are set aside to find rows which mask each other.
_ASIDE = (0.2, 0.07, 0.02)
# Rankings of the rows; refits, where the first falls short of what was predicted; rows that a sentence names.
_RANKINGS, _REFITS, _NAMED_ROWS = 6, 3, 8
# Of what all rows know in a direction, a share that rounding errors alone can be.
_ROUNDING = 1e-12


class Estimate(NamedTuple):
    """Mean and the ends of the 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def text(self) -> str:
        """In digits."""
        return f"{self.mean:.4g} [{self.low:.4g}, {self.high:.4g}]"


@dataclass(frozen=True, eq=False)
class Hinge:
    """What a conclusion hangs on.

    Attributes
    ----------
    quantity : str
    conclusion : "sign" or "interval"
    rows : ndarray of int, or None
        The smallest set that was found, the most influential first; None if no set of up to a fifth of the rows was.
    n_rows : int
        Rows that count at all.
    before, predicted, refitted : Estimate
        With all rows; without these, as predicted from the draws; and as refitted, the others' weights held. The last
        two are None where there is no set.
    confirmed : bool
        Whether the refit turns the conclusion too.
    """

    quantity: str
    conclusion: str
    rows: IntArray | None
    n_rows: int
    before: Estimate
    predicted: Estimate | None
    refitted: Estimate | None
    confirmed: bool

    @property
    def text(self) -> str:
        """One sentence."""
        return self.words()

    def words(self, labels: Sequence[Any] | None = None) -> str:
        """One sentence, in which rows go by these labels."""
        what = f"The sign of {self.quantity}"
        if self.conclusion == "interval":
            holds = self.before.low <= 0.0 <= self.before.high
            what = f"That the {100 * LEVEL:.0f} % interval of {self.quantity} {'holds' if holds else 'excludes'} 0"
        if self.rows is None or self.refitted is None:
            share = f"{100 * _LARGEST_SET:.0f} %"
            return f"{what} hangs on no few rows: no set of up to {share} of {self.n_rows:,} was found that turns it."
        count = len(self.rows)
        named = [str(row if labels is None else labels[row]) for row in self.rows[:_NAMED_ROWS]]
        told = (
            f"{what} hangs on {count:,} row{'s' if count > 1 else ''} of {self.n_rows:,} "
            f"({', '.join(named)}{', ...' if count > _NAMED_ROWS else ''}): without {'them' if count > 1 else 'it'} "
            f"{self.refitted.text} instead of {self.before.text}"
        )
        return told + ("." if self.confirmed else ", not enough; the draws had predicted that it turns.")

    def __repr__(self) -> str:
        return f"Hinge: {self.text}"


@dataclass(frozen=True, eq=False)
class WithoutRows:
    """The posterior without some of its rows, the others' weights held, by steps from the draws.

    Attributes
    ----------
    model : Model
    theta : ndarray, shape (d,)
        Mean of the posterior of the weighted rows.
    draws : ndarray, shape (S, d), with the doubt about rows in them
    weights : ndarray, shape (n,)
    gradients : ndarray, shape (n, d)
        Of each row's log-likelihood, as often as the model counts the row, averaged over the posterior: from
        covariances of the draws.
    directions : ndarray, shape (k, d)
        Of the quantities: their regression on theta over the draws.
    linear_slopes : ndarray, shape (n, k)
        The part of the quantities' covariances with the log-likelihoods that goes through these directions.
    """

    model: Model
    theta: FloatArray
    draws: FloatArray
    weights: FloatArray
    gradients: FloatArray
    directions: FloatArray
    linear_slopes: FloatArray

    @cached_property
    def _offset(self) -> FloatArray:
        """Gradient of the log posterior at its mean, (d,): not 0 where it is skewed, nor without a few rows."""
        likelihood = self.model.weighted_gradient(self.theta, self.weights)
        offset: FloatArray = likelihood + self.model.prior.gradient(self.theta)
        return offset

    @cached_property
    def _precision(self) -> FloatArray:
        return weighted_precision(self.model, self.weights, self.theta)

    def _rest(self, rows: IntArray) -> list[tuple[Model, FloatArray]]:
        """Models and weights whose likelihoods add up to that of the other rows: without a pass where that can be."""
        if self._few is None:
            return [(self.model, self.left(rows))]
        if not len(rows):
            return [self._few]
        # Each set is asked about several times in a row, and many rows take as long to gather as to sum.
        if self._last.get("rows") is not rows:
            self._last.update(rows=rows, model=self.model.take(rows))
        return [self._few, (self._last["model"], -self.weights[rows])]

    @cached_property
    def _last(self) -> dict[str, Any]:
        """The set of rows that was asked about last, and its model."""
        return {}

    @cached_property
    def _few(self) -> tuple[Model, FloatArray] | None:
        return self.model.compressed(self.weights)

    def gradient_left(self, rows: IntArray, theta: FloatArray) -> FloatArray:
        """Gradient (d,) of the log posterior without these rows."""
        likelihood = sum(model.weighted_gradient(theta, weights) for model, weights in self._rest(rows))
        gradient: FloatArray = likelihood + self.model.prior.gradient(theta)
        return gradient

    def precision_left(self, rows: IntArray, theta: FloatArray) -> FloatArray:
        """Negative Hessian (d, d) of the log posterior without these rows."""
        likelihood = sum(model.curvature(theta, weights) for model, weights in self._rest(rows))
        precision: FloatArray = likelihood + self.model.prior.precision(theta)
        return precision

    def left(self, rows: IntArray) -> FloatArray:
        """Weights (n,) without these rows."""
        weights = self.weights.copy()
        weights[rows] = 0.0
        return weights

    def move(self, rows: IntArray) -> FloatArray:
        """Change of the posterior mean of theta (d,): a Newton step from the draws' gradients, and one more.

        NaN where the rows that are left determine nothing.
        """
        gradient = self.gradients[rows].T @ self.weights[rows]
        if not self.model.dense_curvature:
            centred = self.draws - self.theta
            step: FloatArray = -(centred.T @ (centred @ gradient)) / (len(centred) - 1.0)
            return step
        left = self.precision_left(rows, self.theta)
        if not self._determines(left):
            return np.full_like(gradient, np.nan)
        first = -_solve(left, gradient)
        there = self.theta + first
        rest = self.gradient_left(rows, there) - self._offset
        precision = self.precision_left(rows, there)
        second = _solve(precision, rest)
        # A correction that is larger than what it corrects is none: the steps have left where they are good.
        sound = np.isfinite(second).all() and second @ precision @ second < first @ precision @ first
        return first + second if sound else first

    def _determines(self, precision: FloatArray) -> bool:
        """Whether rows that are left tell every direction apart from rounding errors of the rows that went."""
        try:
            shares = eigh(precision, self._precision, eigvals_only=True)
        except np.linalg.LinAlgError:  # in a hierarchical model the precision of all rows need not be positive either
            return True
        return float(np.abs(shares).min()) > _ROUNDING

    def estimate(self, before: Estimate, place: int, rows: IntArray, moved: FloatArray) -> Estimate:
        """Predict a quantity's mean and interval, given the move of theta (d,)."""
        direction = self.directions[place]
        widening = 1.0
        if self.model.dense_curvature:
            now = self.precision_left(rows, self.theta + moved)
            variances = [float(direction @ _solve(matrix, direction)) for matrix in (now, self._precision)]
            widening = float(np.sqrt(variances[0] / variances[1])) if min(variances) > 0 else np.inf
        mean = before.mean + float(direction @ moved)
        return Estimate(
            mean, mean - widening * (before.mean - before.low), mean + widening * (before.high - before.mean)
        )

    def refit(self, values: Callable[[FloatArray], FloatArray], rows: IntArray) -> Estimate:
        """Find the mode without these rows and carry the draws there, as wide as the posterior is there."""
        modes, factors = [], []
        for weights, start in ((self.weights, self.theta), (self.left(rows), self.theta + self.move(rows))):
            mode = weighted_mode(self.model, weights, start)
            modes.append(mode)
            if self.model.dense_curvature:
                factors.append(width_factor(weighted_precision(self.model, weights, mode)))
        centred = self.draws - self.theta
        if factors:
            centred = np.linalg.solve(factors[0], centred.T).T @ factors[1].T
        return interval(values(self.theta + modes[1] - modes[0] + centred))


def interval(values: FloatArray) -> Estimate:
    """Mean and the ends of the 95 % interval of draws (S,)."""
    low, high = np.quantile(values, TAILS)
    return Estimate(float(values.mean()), float(low), float(high))


def smallest_set(
    without: WithoutRows, name: str, values: Callable[[FloatArray], FloatArray], place: int, conclusion: str
) -> Hinge:
    """Look for the smallest set of rows that turns a conclusion about one quantity.

    Parameters
    ----------
    values : function of draws (S, d), which gives the quantity's values (S,)
    place : int
        Its place among the directions.
    conclusion : "sign" or "interval"
    """
    before = interval(values(without.draws))
    margin = _margin(before, conclusion)
    counted = int((without.weights > 0).sum())
    limit, sign = int(_LARGEST_SET * counted), -_side(before, conclusion)

    def predicted(rows: IntArray) -> Estimate:
        return without.estimate(before, place, rows, without.move(rows))

    def shorter(found: _Found | None, ranking: IntArray) -> _Found | None:
        most = limit if found is None else len(found.rows) - 1
        rows = _shortest_prefix(ranking[:most], lambda rows: margin(predicted(rows)))
        return found if rows is None else _Found(rows, ranking[:limit])

    found = shorter(None, _ranked(without.linear_slopes[:, place] * without.weights * sign))
    if without.model.dense_curvature:
        for aside in _carriers(without, place):
            found = shorter(found, _ranked_without(without, place, sign, aside))
        for _ in range(_RANKINGS):
            last = found
            if last is not None:
                found = shorter(last, _ranked_without(without, place, sign, last.rows))
            if found is last:
                break
    if found is None:
        return Hinge(name, conclusion, None, counted, before, None, None, False)
    best = found.rows
    refitted = without.refit(values, best)
    for _ in range(_REFITS):
        if margin(refitted) < 0.0:
            break
        # The prediction was a little too bold: ask for as much more, and refit again.
        missed = margin(refitted) - margin(predicted(best))
        longer = _shortest_prefix(found.ranking, partial(lambda missed, rows: margin(predicted(rows)) + missed, missed))
        if longer is None or len(longer) <= len(best):
            break
        best, refitted = longer, without.refit(values, longer)
    return Hinge(name, conclusion, best, counted, before, predicted(best), refitted, margin(refitted) < 0.0)


def _side(before: Estimate, conclusion: str) -> float:
    """The side of 0 that rows are to be removed for: -1 lowers the mean, 1 raises it."""
    here = 1.0 if before.mean >= 0.0 else -1.0
    leaves = conclusion == "sign" or not before.low <= 0.0 <= before.high
    return -here if leaves else here


def _margin(before: Estimate, conclusion: str) -> Callable[[Estimate], float]:
    """What an estimate lacks to turn the conclusion: below 0 where it is turned."""
    here = 1.0 if before.mean >= 0.0 else -1.0
    if conclusion == "sign":
        return lambda found: here * found.mean
    if before.low > 0.0 or before.high < 0.0:
        return lambda found: found.low if here > 0 else -found.high
    return lambda found: -found.low if here > 0 else found.high


class _Found(NamedTuple):
    """A set of rows that turns the conclusion, and the ranking that begins with it."""

    rows: IntArray
    ranking: IntArray


def _ranked_without(without: WithoutRows, place: int, sign: float, aside: IntArray) -> IntArray:
    """All rows, those first that pull the quantity most at the fit without some of them."""
    there = without.theta + without.move(aside)
    pull = _solve(without.precision_left(aside, there), without.directions[place])
    return _ranked((without.model.gradients(there) @ pull) * without.model.counted(without.weights) * sign)


def _carriers(without: WithoutRows, place: int) -> list[IntArray]:
    """The rows that know most about a quantity, whatever their responses: some of them, and fewer."""
    if not isinstance(without.model, ModelWithLaw):
        return []
    features = without.model.features(without.theta) @ _solve(without._precision, without.directions[place])
    known = (features.reshape(len(features), -1) ** 2).sum(axis=1) * without.model.counted(without.weights)
    order = np.argsort(-known, kind="stable")
    return [order[: int(share * len(order))] for share in _ASIDE]


def _ranked(gains: FloatArray) -> IntArray:
    """Rows with a positive gain, the largest first."""
    order = np.argsort(-gains, kind="stable")
    return order[: int((gains > 0).sum())]


def _shortest_prefix(ranking: IntArray, margin: Callable[[IntArray], float]) -> IntArray | None:
    """The first rows of a ranking, as few as turn the conclusion: doubled until they do, then halved between.

    To one row in 256: that a conclusion hangs on 5120 rows or on 5100 is the same.
    """
    if not len(ranking):
        return None
    short, long = 0, 1
    while not margin(ranking[:long]) < 0.0:
        if long == len(ranking):
            return None
        short, long = long, min(2 * long, len(ranking))
    while long - short > max(1, long // 256):
        middle = (short + long) // 2
        if margin(ranking[:middle]) < 0.0:
            long = middle
        else:
            short = middle
    return ranking[:long]


def _solve(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    """Solve; NaN where the rows that are left determine nothing."""
    try:
        return np.asarray(np.linalg.solve(matrix, vector), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.full_like(vector, np.nan)
