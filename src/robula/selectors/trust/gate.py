"""Where bad rows are before their responses are seen: log odds that are linear in four features of a row's place."""

from __future__ import annotations

import math

import numpy as np

from robula._types import FloatArray
from robula.selectors.trust import trust_constants as constants
from robula.selectors.trust.feature_space import FeatureSpace, median_and_deviation

# Most log odds either way, and how far the features of the gate go: no single row decides its slopes.
_MOST_LOG_ODDS, _MOST_VOTE, _MOST_STRENGTH = 15.0, 6.0, 4.0
# Precision of the level, which all but nothing is known of.
_OF_THE_LEVEL = 1e-4


def gate_columns(vote: FloatArray, strength: FloatArray, distance: FloatArray) -> FloatArray:
    """Features (n, 4) of a gate: 1, where bad rows are, how strong something is there, the distance from the middle.

    ``vote`` (n,) is of any size, ``strength`` (n,) standardised.
    """
    return _columns(vote / _size(vote), strength, distance)


def gate_log_odds(columns: FloatArray, gate: FloatArray) -> FloatArray:
    """Log odds (n,) of being bad before the response is seen, bounded."""
    return np.clip(columns @ gate, -_MOST_LOG_ODDS, _MOST_LOG_ODDS)


def gate_precision(count: int) -> FloatArray:
    """Precision (k,) of the prior of the first k coefficients of a gate, which is around 0."""
    return np.array([_OF_THE_LEVEL, *(deviation**-2.0 for deviation in constants.GATE_SLOPES)])[:count]


def gate_log_prior(gate: FloatArray) -> float:
    """Log prior density of the slopes of a gate (k,), without its constant."""
    slopes = gate[1:]
    return -0.5 * float(((slopes / np.array(constants.GATE_SLOPES[: len(slopes)])) ** 2).sum())


def improved_gate(
    gate: FloatArray,
    columns: FloatArray,
    residual: FloatArray,
    variance: FloatArray,
    *,
    damping: float,
    longest: float,
) -> FloatArray:
    """Return a gate (k,) after one Newton step.

    Parameters
    ----------
    columns : ndarray, shape (n, k)
    residual, variance : ndarray, shape (n,)
        Of the rows' membership, from the shares that the gate expects.
    damping : float
        Share of the information's diagonal that is added to it.
    longest : float
        Most that the log odds of a row may change.
    """
    precision = gate_precision(len(gate))
    gradient = columns.T @ residual - precision * gate
    information = (columns.T * variance) @ columns
    of_its_own = information.diagonal() + precision
    information.flat[:: len(gate) + 1] = (1.0 + damping) * of_its_own
    step = np.linalg.solve(information, gradient)
    moved: FloatArray = gate + step * min(1.0, longest / max(float(np.abs(columns @ step).max()), 1e-9))
    return moved


class GateScales:
    """Gate features of any rows, on the scales that the fit's own rows had."""

    def __init__(self, space: FeatureSpace, strength: FloatArray, members: FloatArray) -> None:
        self._centre = members @ space.inner / max(float(members.sum()), 1e-9)
        self._size = _size(space.inner @ self._centre)
        self._middle, self._unit = median_and_deviation(strength)

    def columns(self, space: FeatureSpace, strength: FloatArray) -> FloatArray:
        """1, where the bad rows are, how strong the disagreement or certainty is, the distance, shape (b, 4)."""
        vote = space.inner @ self._centre / self._size
        return _columns(vote, (strength - self._middle) / self._unit, space.distance)


def _size(vote: FloatArray) -> float:
    return math.sqrt(float(vote @ vote) / len(vote)) + 1e-12


def _columns(vote: FloatArray, strength: FloatArray, distance: FloatArray) -> FloatArray:
    vote, strength = np.clip(vote, -_MOST_VOTE, _MOST_VOTE), np.clip(strength, -_MOST_STRENGTH, _MOST_STRENGTH)
    return np.column_stack([np.ones(len(vote)), vote, strength, distance])
