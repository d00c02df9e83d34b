"""How much wider the posterior is because it is not known for sure which rows are bad."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from robula._types import FloatArray
from robula.models.law import ModelWithLaw
from robula.models.precision import weighted_precision, width_factor
from robula.selectors.trust.explanation_kinds import Kind

#: Explanations less likely than this do not count in the width.
LEAST_LIKELY = 1e-4
# Doubt about rows within one explanation can at most treble a width, where it is beyond linearising.
_MOST_WIDENING = 9.0
# Between explanations tenfold: a normal law goes as far beyond one of them as to it. Without an end predictions of
# phishing with a tenth of its labels flipped are worse than the plain fit's (-.263 against -.242; so -.214); with five
# times, intervals cover .83 with a fifth of labels flipped (so .92).
_MOST_BETWEEN = 100.0
#: A row whose weight is this near 0 or 1 is not in doubt.
SURE = 1e-4


def without_bad_rows(weights: FloatArray) -> FloatArray:
    """Weights (n,) in which a row that is bad for sure counts nothing at all.

    Little weight is not nothing where the likelihood has no limit: the mean count of a row with a column a thousand
    times too large overflows.
    """
    return np.where(weights < SURE, 0.0, weights)


class Explained(Protocol):
    """An explanation that can say the covariance (d, d) of theta when which rows are bad is its own guess."""

    theta: FloatArray
    weights: FloatArray

    def covariance(self, model: ModelWithLaw) -> FloatArray:
        """Covariance (d, d) of theta, with the doubt about rows in it."""


def louis_covariance(model: ModelWithLaw, weights: FloatArray, theta: FloatArray) -> FloatArray:
    """Inverse (d, d) of the information that is left when rows are bad with probability 1 - w [louis1982].

    What is missing is the variance of the score over which rows are bad, sum of w (1 - w) g g' with g the rows'
    gradients (n, d).
    """
    factor = width_factor(weighted_precision(model, weights, theta))
    doubtful = np.flatnonzero(weights * (1.0 - weights) > SURE)
    if not len(doubtful):
        return np.asarray(factor @ factor.T)
    w, rows = weights[doubtful], model.take(doubtful)
    whitened = rows.gradients(theta) @ factor * rows.counted(np.sqrt(w * (1.0 - w)))[:, None]
    missing, axes = np.linalg.eigh(whitened.T @ whitened)
    widened = 1.0 / np.maximum(1.0 - missing, 1.0 / _MOST_WIDENING)
    rotated = factor @ axes
    return np.asarray((rotated * widened) @ rotated.T)


def widening(
    model: ModelWithLaw,
    explanations: Mapping[Kind, Explained],
    chances: Mapping[Kind, float],
    theta: FloatArray,
    weights: FloatArray,
    precision: FloatArray,
) -> FloatArray | None:
    """Linear map A (d, d) that turns draws around theta of the weighted rows into ones with the doubt in them.

    ``precision`` (d, d) is that of the weighted rows at theta.

    The total variance: within explanations, each with the doubt about its rows, and between them. None where no row is
    in doubt.
    """
    if (weights > 1.0 - SURE).all():
        return None
    covariance = between_explanations(explanations, chances, theta)
    likely = {name: chance for name, chance in chances.items() if chance > LEAST_LIKELY}
    for name, chance in likely.items():
        covariance += chance / sum(likely.values()) * explanations[name].covariance(model)
    return widening_to(covariance, precision)


def mean_theta(explanations: Mapping[Kind, Explained], chances: Mapping[Kind, float]) -> FloatArray:
    """Mean (d,) of the explanations' parameters, each as likely as it is: of the posterior in which any may hold."""
    thetas = np.stack([explanations[name].theta for name in chances])
    mean: FloatArray = np.array(list(chances.values())) @ thetas
    return mean


def between_explanations(
    explanations: Mapping[Kind, Explained], chances: Mapping[Kind, float], theta: FloatArray
) -> FloatArray:
    """Mean square (d, d) of the distances of the explanations from theta."""
    likely = {name: chance for name, chance in chances.items() if chance > LEAST_LIKELY}
    thetas = np.stack([explanations[name].theta for name in likely])
    shares = np.array(list(likely.values())) / sum(likely.values())
    away = thetas - theta
    between: FloatArray = (away.T * shares) @ away
    return between


def widening_to(covariance: FloatArray, precision: FloatArray) -> FloatArray:
    """Linear map (d, d) that gives draws of this precision the covariance, where it is wider, at most tenfold."""
    return _widened_axes(covariance, precision, _MOST_BETWEEN)[0]


def linearised(covariance: FloatArray, precision: FloatArray) -> FloatArray:
    """A covariance (d, d) from slopes at one theta, no narrower than of this precision and at most trebled in width."""
    widening, factor = _widened_axes(covariance, precision, _MOST_WIDENING)
    root = widening @ factor
    return np.asarray(root @ root.T)


def _widened_axes(covariance: FloatArray, precision: FloatArray, most: float) -> tuple[FloatArray, FloatArray]:
    """Linear map (d, d) from draws of this precision to ones of the covariance, and a root (d, d) of their own."""
    factor = width_factor(precision)
    inverse = np.linalg.inv(factor)
    wider, axes = np.linalg.eigh(inverse @ covariance @ inverse.T)
    root = np.sqrt(np.clip(wider, 1.0, most))
    return np.asarray(factor @ (axes * root) @ axes.T @ inverse), factor


def without_doubt(draws: FloatArray, precision: FloatArray) -> FloatArray:
    """Take the doubt about rows out of draws (S, d): no wider around their mean than of this precision (d, d).

    :func:`widening_to` undone for a posterior near to normal, whatever map it was: along the axes on which whitened
    draws are too wide.
    """
    factor, mean = width_factor(precision), draws.mean(axis=0)
    whitened = np.linalg.solve(factor, (draws - mean).T)
    wider, axes = np.linalg.eigh(np.atleast_2d(np.cov(whitened)))
    root = np.sqrt(np.maximum(wider, 1.0))
    return np.asarray(mean + (factor @ (axes / root) @ (axes.T @ whitened)).T)
