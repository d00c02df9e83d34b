"""Flip rates that depend on how sure the model is: one rate in each group of rows of equal doubt min(p, 1 - p).

An adversary flips the labels that the right model is surest of. With one flip rate for all rows the best explanation
is then a flattened theta. With a rate of its own for the surest rows, the right theta explains all other rows better
by far, and the likelihood says so.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robula._types import FloatArray, IntArray
from robula.models.logistic_model import LogisticModel
from robula.selectors.excess.excess_counts import quantile_groups
from robula.selectors.excess.flips import flip_weights, mixed_probability, own_probability, self_consistent

_DOUBT_LEVELS = (1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6)
#: At one half a label says nothing and its row has weight 0; beyond it would count as its opposite.
_RATES: FloatArray = np.array([0, 1, 2, 3, 5, 7.5, 10, 12.5, 15, 20, 25, 30, 35, 40, 45, 50]) / 100.0
#: Log-likelihood that a rate must gain to be above zero.
_RATE_PRICE = 2.0
_CLIMBS = 20
_INNER_STEPS = 15


class GroupedFlips(NamedTuple):
    """One explanation of the labels.

    Attributes
    ----------
    objective : float
        Log-likelihood and log prior, less the price of the rates above zero.
    theta : ndarray, shape (d,)
    rates : ndarray, shape (n,)
        Flip rate of each row's group.
    groups : ndarray of int, shape (n,)
    """

    objective: float
    theta: FloatArray
    rates: FloatArray
    groups: IntArray


def climb(model: LogisticModel, theta: FloatArray) -> GroupedFlips:
    """Improve an explanation: fit theta and the rates in the present groups, form the groups anew, while it helps."""
    best = _explain(model, theta, _doubt_groups(model, theta))
    for _ in range(_CLIMBS):
        groups = best.groups

        def weigh(theta: FloatArray, groups: IntArray = groups) -> FloatArray:
            return flip_weights(own_probability(model, theta), _explain(model, theta, groups).rates)

        _, moved = self_consistent(model, weigh, best.theta, 1e-3, _INNER_STEPS)
        found = _explain(model, moved, _doubt_groups(model, moved))
        if found.objective <= best.objective + 0.01:
            break
        best = found
    return best


def within_budget(found: GroupedFlips, contamination: float) -> FloatArray:
    """Rates (n,) lowered in proportion where their mean is above the contamination."""
    return found.rates * min(1.0, contamination / max(float(found.rates.mean()), 1e-300))


def _doubt_groups(model: LogisticModel, theta: FloatArray) -> IntArray:
    own = own_probability(model, theta)
    return quantile_groups(np.minimum(own, 1.0 - own), _DOUBT_LEVELS)


def _explain(model: LogisticModel, theta: FloatArray, groups: IntArray) -> GroupedFlips:
    """Best rate of each group at theta."""
    own = own_probability(model, theta)
    rates = np.zeros_like(own)
    total = float(model.prior.log_density(theta))
    for group in np.unique(groups):
        members = groups == group
        gains = np.log(mixed_probability(own[members], _RATES[:, None])).sum(axis=1) - _RATE_PRICE * (_RATES > 0)
        best = int(np.argmax(gains))
        rates[members] = _RATES[best]
        total += float(gains[best])
    return GroupedFlips(total, theta, rates, groups)
