"""Bad rows: gross ones, which follow no law, and a population with a regression, a spread and a place of its own."""

from __future__ import annotations

import math

import numpy as np

from robula._types import FloatArray
from robula.selectors.trust import trust_constants as constants
from robula.selectors.trust.feature_space import standardised
from robula.selectors.trust.gate import gate_columns, gate_log_odds, gate_log_prior, improved_gate
from robula.selectors.trust.log_sums import log_add
from robula.selectors.trust.row_law import log_normal_mass
from robula.selectors.trust.scored_rows import ScoredRows, Scores
from robula.selectors.trust.weighted_median import weighted_median

_HALF = np.concatenate([np.arange(0.0, 3.01, 0.25), [3.5, 4.0, 5.0, 6.0, 8.0, 12.0, 20.0, 50.0, np.inf]])
EDGES = np.concatenate([-_HALF[:0:-1], _HALF])
_BINS = len(EDGES) - 1
# No row is predicted by a fit from which less than this is left without it.
_LEAST_LEFT = 0.02
_WARM_UP = 4
# Axes whose part outside the others is less than this are none of their own.
_SAME_AXIS = 1e-3
# Free numbers besides what is leave-one-out: a population's share, three slopes, a spread and half of a histogram; of
# shifted rows their share and shift.
_NUMBERS_OF_A_POPULATION, _NUMBERS_OF_SHIFTED_ROWS = 7, 2


def gross_log_density(scores: Scores, scale: float) -> FloatArray:
    """Log density (n,) of gross rows: anything, or, where a cell stands apart, as likely an ordinary response."""
    far = far_log_density(scores, scale)
    possible = np.isfinite(scores.ordinary)
    return np.where(possible, np.logaddexp(far, scores.ordinary) - math.log(2.0), far) if possible.any() else far


def far_log_density(scores: Scores, scale: float) -> FloatArray:
    """Log density (n,) of anything, or mass where a row is known to an interval: a Cauchy law around the fit."""
    density = -math.log(math.pi * scale) - np.log1p((scores.point / scale) ** 2)
    if not scores.interval.any():
        return density
    mass = (np.arctan(scores.upper / scale) - np.arctan(scores.lower / scale)) / math.pi
    return np.where(scores.interval, np.log(np.maximum(mass, 1e-300)), density)


def scale_of_gross_rows(scores: Scores, members: FloatArray, scale: float) -> float:
    """Scale of the Cauchy law whose median size is that of the gross rows, by their probabilities (n,)."""
    # An ordinary response to wrong features says nothing of how far gross ones are out.
    far = np.where(scores.ordinary > far_log_density(scores, scale), 0.0, members) + 1e-12
    sizes = np.abs(scores.point)
    return max(constants.GROSS_SCALE, weighted_median(sizes, far))


GROSS_SHARES = np.diff(0.5 + np.arctan(EDGES / constants.GROSS_SCALE) / math.pi)


class BadPopulation:
    """Rows with their own regression of the scores on a few axes, their own spread and their own place.

    Its density of a score is a mixture of two descriptions that share one gate: normal around its own regression, and
    a histogram of the score towards the side that the regression predicts. The gate is logistic in three features: a
    vote of the population's rows for where they are, how much the population disagrees with the clean rows there, and
    the distance from the middle. A row never votes for or predicts itself.

    Parameters
    ----------
    rows : ScoredRows
    members : ndarray, shape (n,)
        Probability of each row to belong to it.
    axes : ndarray, shape (r, k), or None
        What its scores are regressed on, in the whitened features (:func:`population_axes`). None for rows that are all
        shifted by the same amount, wherever they are: normal around one mean, no more.

    Attributes
    ----------
    placed : bool
        False for shifted rows.
    numbers, axis_count : int
        How many free numbers describe it, and on how many axes it regresses besides.
    """

    def __init__(
        self,
        rows: ScoredRows,
        scores: Scores,
        members: FloatArray,
        axes: FloatArray | None,
        gate: FloatArray | None = None,
    ) -> None:
        self._rows, self._axes, self.placed = rows, axes, axes is not None
        space, placed = rows.space, self.placed
        one = np.ones((rows.count, 1))
        self._design = one if axes is None else np.hstack([one, space.whitened @ axes])
        self._ridge = np.ones(self._design.shape[1])
        self._ridge[0] = 1e-6
        self.numbers = _NUMBERS_OF_A_POPULATION if placed else _NUMBERS_OF_SHIFTED_ROWS
        self.axis_count = self._design.shape[1] - 1
        self._place = space.inner
        self._own_vote = (space.inner**2).sum(axis=1)
        self.histogram_share = 0.5 if placed else 0.0
        self.gate = np.zeros(4 if placed else 1) if gate is None else gate.copy()
        if gate is None:
            self.gate[0] = math.log(max(float(members.mean()), 1e-3))
        self.describe(scores, members)
        for _ in range(_WARM_UP if gate is None else 0):
            odds = np.exp(self.log_odds())
            self.improve_gate(members, odds / (1.0 + odds))

    def describe(self, scores: Scores, members: FloatArray) -> None:
        """Fit regression, spread, histogram and place to the members; each row is described without itself."""
        # Its own fit is linear in the features before doubt about theta divides the scores; so has its spread a floor.
        z = np.clip(scores.point * scores.scale, -1e8, 1e8)
        total = float(members.sum())
        gram = (self._design.T * members) @ self._design
        gram.flat[:: len(gram) + 1] += self._ridge
        # The inverse of the small factor, so that the pass over the rows is one matrix product.
        inverse = np.linalg.inv(np.linalg.cholesky(gram))
        leverage = ((self._design @ inverse.T) ** 2).sum(axis=1)
        along = inverse.T @ (inverse @ (self._design.T @ (members * z)))
        residual = z - self._design @ along
        self._along = along
        left = np.maximum(1.0 - members * leverage, _LEAST_LEFT)
        without = residual / left
        # Shifted rows have the spread of clean ones: nothing else is wrong with them.
        spread_of_members = float(members @ (residual * without)) / max(total, 1e-9) if self.placed else 1.0
        self._variance = variance = max(spread_of_members, constants.FINEST**2)
        spread = np.sqrt(variance * (1.0 + leverage / left))
        self.prediction = z - without
        around = normal_log_density(scores, self.prediction, spread)
        if not self.placed:
            self.log_density: FloatArray = around
            self._columns = np.ones((len(z), 1))
            return
        counted = self._histogram(scores, members, total)
        first = np.log1p(-self.histogram_share) + around
        second = math.log(self.histogram_share) + counted
        self.log_density = log_add(first, second)
        by_histogram = float(members @ np.exp(second - self.log_density))
        self.histogram_share = float(np.clip((by_histogram + 0.5) / (total + 1.0), 0.02, 0.98))
        self._columns = self._gate_columns(members, total)

    @property
    def coefficients(self) -> FloatArray:
        """Mean of its scores and slopes in the whitened features, shape (1 + r,)."""
        flat = np.zeros(self._rows.space.rank)
        return np.append(self._along[0], flat if self._axes is None else self._axes @ self._along[1:])

    def _histogram(self, scores: Scores, members: FloatArray, total: float) -> FloatArray:
        towards = np.where(self.prediction < 0.0, -1.0, 1.0)
        places = np.digitize(scores.point * towards, EDGES[1:-1])
        counts: FloatArray = np.bincount(places, weights=members, minlength=_BINS).astype(np.float64)
        smooth = counts.copy()
        smooth[1:-1] *= 0.5
        smooth[:-2] += 0.25 * counts[1:-1]
        smooth[2:] += 0.25 * counts[1:-1]
        pseudo = constants.PSEUDO_ROWS
        self._counts = smooth
        shares = smooth[places] - 0.5 * members + pseudo * GROSS_SHARES[places]
        ratio = np.maximum(shares, 1e-12) / (np.maximum(total - members, 0.0) + pseudo) / GROSS_SHARES[places]
        # An interval can be wider than a bin; of such rows the histogram knows nothing.
        return far_log_density(scores, constants.GROSS_SCALE) + np.where(scores.interval, 0.0, np.log(ratio))

    def _gate_columns(self, members: FloatArray, total: float) -> FloatArray:
        self._centre = members @ self._place / max(total, 1e-9)
        vote = self._place @ self._centre - members * self._own_vote / max(total, 1e-9)
        return gate_columns(vote, _disagreement(self.prediction), self._rows.space.distance)

    def log_odds(self) -> FloatArray:
        """Log odds (n,) of belonging to the population rather than to the clean rows, before the score is seen."""
        return gate_log_odds(self._columns, self.gate)

    def improve_gate(self, members: FloatArray, expected: FloatArray) -> None:
        """One damped Newton step of the gate towards the members (n,), from the shares (n,) that it expects."""
        variance = expected * (1.0 - np.minimum(expected, 0.999)) + 1e-9
        self.gate = improved_gate(self.gate, self._columns, members - expected, variance, damping=0.05, longest=4.0)

    def log_prior(self) -> float:
        """Log prior density of the gate's slopes, without its constant."""
        return gate_log_prior(self.gate)

    def moved_to(self, rows: ScoredRows, scores: Scores, members: FloatArray) -> BadPopulation:
        """Return the population of these members (n,) among these rows, with the same gate."""
        moved = BadPopulation(rows, scores, members, self._axes, self.gate)
        moved.histogram_share = self.histogram_share
        return moved

    def among(self, rows: ScoredRows, scores: Scores) -> tuple[FloatArray, FloatArray]:
        """Log odds and log density (n,) of rows that had no part in describing the population."""
        coefficients = self.coefficients
        prediction = rows.space.whitened @ coefficients[1:] + coefficients[0]
        around = normal_log_density(scores, prediction, np.full(rows.count, math.sqrt(self._variance)))
        if not self.placed:
            return np.full(rows.count, self.gate[0]), around
        places = np.digitize(scores.point * np.where(prediction < 0.0, -1.0, 1.0), EDGES[1:-1])
        total = float(self._counts.sum()) + constants.PSEUDO_ROWS
        ratio = (self._counts / GROSS_SHARES + constants.PSEUDO_ROWS)[places] / total
        counted = far_log_density(scores, constants.GROSS_SCALE) + np.where(scores.interval, 0.0, np.log(ratio))
        density = log_add(math.log1p(-self.histogram_share) + around, math.log(self.histogram_share) + counted)
        columns = gate_columns(rows.space.inner @ self._centre, _disagreement(prediction), rows.space.distance)
        return gate_log_odds(columns, self.gate), density


def odds_by_cells(rows: ScoredRows, placed: bool) -> FloatArray:
    """Log odds (n,) of rows to be bad by their cells and limits; a cell that stands apart makes no shifted row."""
    return rows.bad_odds if placed else np.minimum(rows.bad_odds, 0.0)


def population_axes(rows: ScoredRows, theta: FloatArray) -> FloatArray:
    """What a population's scores may follow, orthonormal in the whitened features (r, k): few axes, whatever r is.

    The directions in which the rows look least normal, where groups of rows are apart, and the fitted value at theta
    (d,), which codes, wrong units and exchanged responses follow. None is chosen to suit the population.
    """
    space = rows.space
    directions = np.column_stack([space.directions, rows.model.fitted(theta)])
    axes = space.whitened.T @ (directions - directions.mean(axis=0)) / rows.count
    lengths = np.linalg.norm(axes, axis=0)
    basis, sizes, _ = np.linalg.svd(axes[:, lengths > 0.0] / lengths[lengths > 0.0], full_matrices=False)
    return np.asarray(basis[:, sizes > _SAME_AXIS])


def _disagreement(prediction: FloatArray) -> FloatArray:
    """How much a population disagrees with the clean rows (n,), standardised."""
    return standardised(np.log1p(np.abs(prediction)))


def normal_log_density(scores: Scores, mean: FloatArray, sd: FloatArray) -> FloatArray:
    """Log density (n,) of scores before doubt divides them, or mass of an interval, under N(mean, sd^2)."""
    mean, sd = mean / scores.scale, sd / scores.scale
    density = -0.5 * ((scores.point - mean) / sd) ** 2 - np.log(sd) - 0.5 * math.log(2.0 * math.pi)
    if not scores.interval.any():
        return density
    mass = log_normal_mass((scores.lower - mean) / sd, (scores.upper - mean) / sd)
    return np.where(scores.interval, mass, density)
