"""Labels whose law is a little off: log odds that bend from place to place, and no label wrong, or some.

Every law of labels is only nearly right: a curve, a product of two columns, a link of another shape. Flipped labels
explain some of that, so they have to explain the labels better than a smooth function of the place does; and where the
log odds bend, labels are wrong beside that.
"""

from __future__ import annotations

from copy import copy

import numpy as np

from robula._types import FloatArray
from robula.models.law import ModelWithLaw
from robula.models.posterior_mode import weighted_mode
from robula.selectors.trust import trust_constants as constants
from robula.selectors.trust.feature_space import FeatureSpace
from robula.selectors.trust.gate import gate_log_odds
from robula.selectors.trust.label_bends import settled_bends
from robula.selectors.trust.label_flips import FlipExplanation, NoFlips, held_for
from robula.selectors.trust.limit import within_budget


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
        self.evidence = nothing.evidence + settled_bends(model, nothing.theta, space).gain

    def covariance(self, model: ModelWithLaw) -> FloatArray:
        """Covariance (d, d) of theta: no row is in doubt."""
        return self._nothing.covariance(model)


def bent_flips(
    model: ModelWithLaw, flips: FlipExplanation, space: FeatureSpace, budget: float, evidence: float
) -> FlipExplanation | None:
    """The same flips, at the same rate of each row, where log odds bend besides; None unless there are two classes.

    Rows count as far as their labels are right beside the bend; theta is that of the declared law, of rows that count
    so. ``evidence`` is that of the flips without a bend. Rows are given up for two things at the price of both.
    """
    if len(np.unique(np.asarray(model.response))) != 2:
        return None
    flipped = gate_log_odds(flips.columns, flips.gate)
    bent = settled_bends(model, flips.theta, space, flipped)
    assert bent.log_odds is not None
    other, wrong = copy(flips), flipped - bent.log_odds
    other.wanted, doubt = within_budget(wrong, budget, np.zeros_like(wrong))
    other.weights, other.bend, other.evidence = 1.0 - doubt, bent.bend, evidence + bent.gain
    other.price = flips.price + constants.PRICE
    other.theta = weighted_mode(model, other.weights, flips.theta, held=held_for(model))
    return other
