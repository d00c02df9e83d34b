"""The law of clean rows when the declared one is only nearly right: a sinh-arcsinh law around it."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import log_ndtr

from robula._types import BoolArray, FloatArray
from robula.selectors.trust import trust_constants as constants

if TYPE_CHECKING:
    from robula.selectors.trust.law_covariates import LawCovariates

_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
_NODE_WEIGHTS = _NODE_WEIGHTS / _NODE_WEIGHTS.sum()
_LOG_ROOT_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_HALVINGS = 6
# Nats that a step must promise: less is rounding, and halving the step would not find it either.
_SETTLED = 1e-3
# Bounds of skewness and log tail weight, beyond any data, and of the log spread's range.
_MOST_SKEW, _TAILS, _MOST_TREND = 2.0, (constants.HEAVIEST_TAIL, 1.0), 3.0


#: How far a law may differ from the declared one: not at all, in its shape, and from place to place too.
AS_DECLARED, ANY_SHAPE, ANY_PLACE = 0, 1, 2


class RowLaw:
    """Scores z of clean rows: (z - bend) / spread has a sinh-arcsinh law of mean 0 and variance 1 [jones2009].

    A shift or a wider spread cannot hide in the shape, because the shape has neither; the priors pull every parameter
    to 0, which is the declared law N(0, 1).

    Parameters
    ----------
    trends : ndarray, shape (n, v)
        What the log spread may grow with.
    bends : ndarray, shape (n, b)
        What the mean may be off by.
    free : bool
        False keeps the declared law.
    scale_sd : float
        Prior standard deviation of the log scale.

    Attributes
    ----------
    covariates : LawCovariates or None
        Where trends and bends are from, for the law of other rows.
    parameters : ndarray, shape (3 + v + b,)
        Log scale, skewness, log tail weight (negative is heavier), trends, bends.
    """

    covariates: LawCovariates | None = None

    def __init__(self, trends: FloatArray, bends: FloatArray, free: bool, scale_sd: float) -> None:
        self.trends, self.bends, self.free = trends, bends, free
        varying = np.full(trends.shape[1] + bends.shape[1], constants.PLACE)
        self._deviations = np.array([scale_sd, constants.SHAPE, constants.SHAPE, *varying])
        self.parameters: FloatArray = np.zeros(len(self._deviations))

    @property
    def freedom(self) -> int:
        """How far it may differ from the declared law."""
        if not self.free:
            return AS_DECLARED
        return ANY_PLACE if self.trends.shape[1] or self.bends.shape[1] else ANY_SHAPE

    def log_density(self, lower: FloatArray, upper: FloatArray, interval: BoolArray) -> FloatArray:
        """Log density (n,) of scores, or the log mass where a row is known to an interval only."""
        return self._evaluate(self.parameters, lower, upper, interval, False)[0]

    def scored(self, lower: FloatArray, upper: FloatArray, interval: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Log density (n,) and its derivatives (n, p) in the parameters; none of the declared law."""
        return self._evaluate(self.parameters, lower, upper, interval, self.free)

    def normal_scores(self, z: FloatArray) -> FloatArray:
        """Scores (n,) that are N(0, 1) where z has this law."""
        if not self.free:
            return z
        scores: FloatArray = np.sinh(self._transform(self.parameters, z, False)[1])
        return scores

    def log_prior(self, parameters: FloatArray | None = None) -> float:
        """Log prior density, without its constant; 0 for the declared law."""
        p = self.parameters if parameters is None else parameters
        return -0.5 * float(((p / self.deviations(p)) ** 2).sum()) if self.free else 0.0

    def deviations(self, parameters: FloatArray) -> FloatArray:
        """Prior standard deviations (p,); tails lighter than declared are rarer than heavier ones."""
        if parameters[2] <= 0.0:
            return self._deviations
        light = self._deviations.copy()
        light[2] = constants.HARDLY
        return light

    def improve(
        self,
        lower: FloatArray,
        upper: FloatArray,
        interval: BoolArray,
        weights: FloatArray,
        scored: tuple[FloatArray, FloatArray],
    ) -> None:
        """One damped scoring step for rows that are clean with probability ``weights`` (n,) and scored so now."""
        if not self.free:
            return
        value, slopes = scored
        sd = self.deviations(self.parameters)
        gradient = weights @ slopes - self.parameters / sd**2
        information = (slopes.T * weights) @ slopes + np.diag(1.0 / sd**2)
        direction = _solved(information, gradient)
        if float(gradient @ direction) < _SETTLED:
            return
        start = float(weights @ value) + self.log_prior()
        factor = 1.0
        for _ in range(_HALVINGS):
            tried = _bounded(self.parameters + factor * direction)
            risen = float(weights @ self._evaluate(tried, lower, upper, interval, False)[0]) + self.log_prior(tried)
            if risen >= start:
                self.parameters = tried
                return
            factor *= 0.5

    def log_volume(self, slopes: FloatArray, weights: FloatArray) -> float:
        """Occam's factor: half the log determinant of the information in prior units (Laplace)."""
        if not self.free:
            return 0.0
        scaled = slopes * self.deviations(self.parameters)
        return 0.5 * float(np.linalg.slogdet(np.eye(scaled.shape[1]) + (scaled.T * weights) @ scaled)[1])

    def among(self, trends: FloatArray, bends: FloatArray) -> RowLaw:
        """Return the same law for other rows, (m, v) and (m, b)."""
        other = RowLaw(trends, bends, self.free, float(self._deviations[0]))
        other.parameters = self.parameters.copy()
        return other

    def take(self, rows: np.ndarray) -> RowLaw:
        """Return the same law for some of the rows."""
        return self.among(self.trends[rows], self.bends[rows])

    def _evaluate(
        self, p: FloatArray, lower: FloatArray, upper: FloatArray, interval: BoolArray, slopes: bool
    ) -> tuple[FloatArray, FloatArray]:
        value, derivative = self._density(p, upper, slopes)
        rows = np.flatnonzero(interval)
        if len(rows):
            part = self.take(rows)
            mass, change = part._mass(p, lower[rows], upper[rows], slopes)
            value[rows] = mass
            if slopes:
                derivative[rows] = change
        return value, derivative

    def _transform(
        self, p: FloatArray, z: FloatArray, slopes: bool
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """The normalising transform: its argument u and value v (N(0, 1) is sinh v), log spread, du and dv (n, p)."""
        skew, tail = _shape(p)
        grown = self.trends.shape[1]
        mean, sd = _moments(skew, tail)
        spread = p[0] + np.clip(self.trends @ p[3 : 3 + grown], -_MOST_TREND, _MOST_TREND)
        scale = np.exp(spread)
        with np.errstate(invalid="ignore"):
            t = (z - self.bends @ p[3 + grown :]) / scale
            u = mean + sd * t
        weight = math.exp(tail)
        v = np.clip(weight * np.arcsinh(u) - skew, -30.0, 30.0)
        if not slopes:
            return u, v, spread, np.empty(0), np.empty(0)
        t = np.clip(t, -1e6, 1e6)
        step = 1e-4
        (mean_k, sd_k), (mean_d, sd_d) = _moments(skew + step, tail), _moments(skew, tail + step)
        du = np.empty((len(z), len(p)))
        du[:, 0] = -sd * t
        du[:, 1] = (mean_k - mean + (sd_k - sd) * t) / step
        du[:, 2] = (mean_d - mean + (sd_d - sd) * t) / step
        du[:, 3 : 3 + grown] = (-sd * t)[:, None] * self.trends
        du[:, 3 + grown :] = (-sd / scale)[:, None] * self.bends
        dv = (weight / np.sqrt(1.0 + u * u))[:, None] * du
        dv[:, 1] -= 1.0
        dv[:, 2] += weight * np.arcsinh(u)
        return u, v, spread, du, dv

    def _density(self, p: FloatArray, z: FloatArray, slopes: bool) -> tuple[FloatArray, FloatArray]:
        z = np.where(np.isfinite(z), z, 0.0)
        if not self.free:
            return -0.5 * z * z - _LOG_ROOT_TWO_PI, np.empty(0)
        skew, tail = _shape(p)
        sd = _moments(skew, tail)[1]
        u, v, spread, du, dv = self._transform(p, z, slopes)
        grown = np.exp(v)
        sinh, cosh = 0.5 * (grown - 1.0 / grown), 0.5 * (grown + 1.0 / grown)
        value = -0.5 * sinh**2 + np.log(cosh) + tail - 0.5 * np.log1p(u * u) - spread - _LOG_ROOT_TWO_PI + math.log(sd)
        if not slopes:
            return value, np.empty(0)
        derivative = (-sinh * cosh + sinh / cosh)[:, None] * dv - (u / (1.0 + u * u))[:, None] * du
        derivative[:, 0] -= 1.0
        derivative[:, 1] += (_moments(skew + 1e-4, tail)[1] - sd) / (1e-4 * sd)
        derivative[:, 2] += 1.0 + (_moments(skew, tail + 1e-4)[1] - sd) / (1e-4 * sd)
        derivative[:, 3 : 3 + self.trends.shape[1]] -= self.trends
        return value, derivative

    def _mass(self, p: FloatArray, lower: FloatArray, upper: FloatArray, slopes: bool) -> tuple[FloatArray, FloatArray]:
        ends, changes = [], []
        for z in (lower, upper):
            finite = np.isfinite(z)
            _, v, _, _, dv = self._transform(p, np.where(finite, z, 0.0), slopes)
            ends.append(np.where(finite, np.sinh(v), z))
            if slopes:
                changes.append(np.where(finite[:, None], np.cosh(v)[:, None] * dv, 0.0))
        mass = log_normal_mass(ends[0], ends[1])
        if not slopes:
            return mass, np.empty(0)
        at = [np.exp(np.clip(-0.5 * end**2 - _LOG_ROOT_TWO_PI - mass, -700.0, 50.0)) for end in ends]
        derivative: FloatArray = at[1][:, None] * changes[1] - at[0][:, None] * changes[0]
        return mass, derivative


def price_of_the_unseen(law: RowLaw, z: FloatArray) -> FloatArray:
    """Nats (n,) that rows with scores z pay besides: how much likelier they are than a row at SEEN deviations, in logs.

    A bad row that does harm is seen. What a population gains from rows that fit the law is what the law lacks, and so
    it is where one of their cells stands apart.
    """
    price: FloatArray = 0.5 * np.maximum(constants.SEEN**2 - law.normal_scores(z) ** 2, 0.0)
    return price


def log_normal_mass(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Log of Phi(upper) - Phi(lower) (n,), without cancellation in either tail."""
    flip = lower > 0.0
    a, b = np.where(flip, -upper, lower), np.where(flip, -lower, upper)
    log_a, log_b = log_ndtr(a), log_ndtr(b)
    with np.errstate(divide="ignore"):
        mass: FloatArray = log_b + np.log(-np.expm1(np.minimum(log_a - log_b, -1e-12)))
    return np.maximum(mass, -700.0)


def _bounded(p: FloatArray) -> FloatArray:
    """Parameters (p,) with skewness and log tail weight within their bounds."""
    p[1], p[2] = _shape(p)
    return p


def _shape(p: FloatArray) -> tuple[float, float]:
    """Skewness and log tail weight, within their bounds."""
    return min(max(float(p[1]), -_MOST_SKEW), _MOST_SKEW), min(max(float(p[2]), _TAILS[0]), _TAILS[1])


def _solved(information: FloatArray, gradient: FloatArray) -> FloatArray:
    """Scoring's direction (p,); where rows have no noise all slopes say one thing, and its least length is taken."""
    try:
        return np.asarray(np.linalg.solve(information, gradient))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(information, gradient, rcond=None)[0])


@lru_cache(maxsize=64)
def _moments(skew: float, tail: float) -> tuple[float, float]:
    """Mean and standard deviation of sinh((arcsinh(N) + skew) / e^tail)."""
    values = np.sinh((np.arcsinh(_NODES) + skew) * math.exp(-tail))
    mean = float(_NODE_WEIGHTS @ values)
    return mean, math.sqrt(float(_NODE_WEIGHTS @ values**2) - mean**2)
