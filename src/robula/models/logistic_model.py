"""Logistic regression for two classes."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from robula._types import ArrayInput, FloatArray
from robula.models.generalized_linear_model import ALL_ROWS, GeneralizedLinearModel
from robula.models.priors import Prior, require_proper
from robula.tables.arrays import encode_labels, refuse_misaligned


class LogisticModel(GeneralizedLinearModel):
    """Rows y_i ~ Bernoulli(1 / (1 + exp(-x_i' theta))).

    Parameters
    ----------
    X : array-like, shape (n, p)
    y : array-like, shape (n,)
        0 and 1, -1 and 1, booleans, or any two classes (sorted; the second is the positive one).
    prior : NormalPrior
        Required: where a plane separates the classes, a flat prior has no posterior.
    intercept : bool, optional
        Add a column of ones in front.

    Attributes
    ----------
    classes : tuple
        The negative and the positive class.
    """

    skewed_gradients = True
    _row_curvature_bound = 0.25

    def __init__(self, X: ArrayInput, y: ArrayInput, *, prior: Prior | None = None, intercept: bool = False) -> None:
        super().__init__(X, prior, intercept)
        require_proper(self.prior, "LogisticModel", "with separable classes a flat prior has no posterior.")
        refuse_misaligned(X, y)
        self.y, self.classes = encode_labels(y, self.n_rows)

    def _score(self, eta: FloatArray, rows: slice = ALL_ROWS) -> FloatArray:
        score: FloatArray = self.y[rows] - expit(eta)
        return score

    def _row_curvature(self, eta: FloatArray) -> FloatArray:
        probability: FloatArray = expit(eta)
        return probability * (1.0 - probability)

    def _row_log_likelihood(self, eta: FloatArray) -> FloatArray:
        # log(1 + exp(t)) without overflow; t = -eta for a positive label, eta for a negative one.
        return -np.logaddexp(0.0, np.where(self.y > 0.5, -eta, eta))
