"""Logistic regression for two classes."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_expit

from robula._types import ArrayInput, BoolArray, FloatArray
from robula.models.generalized_linear_model import ALL_ROWS, GeneralizedLinearModel
from robula.models.law import Tails
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
    offset : array-like, shape (n,), optional
        What is added to each row's log odds.
    row_weights : array-like, shape (n,), optional
        How often each row counts, as for :class:`Regression`.

    Attributes
    ----------
    classes : tuple
        The negative and the positive class.
    """

    name = "logistic"
    noise = "implied"
    response_kind = "label"
    skewed_gradients = True
    _row_curvature_bound = 0.25

    def __init__(
        self,
        X: ArrayInput,
        y: ArrayInput,
        *,
        prior: Prior | None = None,
        intercept: bool = False,
        offset: ArrayInput = None,
        row_weights: ArrayInput = None,
    ) -> None:
        super().__init__(X, prior, intercept, offset=offset, row_weights=row_weights)
        require_proper(self.prior, "LogisticModel", "with separable classes a flat prior has no posterior.")
        refuse_misaligned(X, y)
        labels, self.classes = encode_labels(y, self.n_rows)
        self._set_response(labels)

    def _score(self, eta: FloatArray, rows: slice = ALL_ROWS) -> FloatArray:
        score: FloatArray = self.y[rows] - expit(eta)
        return score

    def _row_curvature(self, eta: FloatArray) -> FloatArray:
        probability: FloatArray = expit(eta)
        return probability * (1.0 - probability)

    def _row_log_likelihood(self, eta: FloatArray) -> FloatArray:
        # log(1 + exp(t)) without overflow; t = -eta for a positive label, eta for a negative one. In place, and half as
        # long as numpy.logaddexp.
        t = np.where(self.y > 0.5, -eta, eta)
        value: FloatArray = np.exp(-np.abs(t))
        np.log1p(value, out=value)
        value += np.maximum(t, 0.0)
        return np.negative(value, out=value)

    def _row_pit(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        # P(Y = 0); a label 0 covers the probabilities from 0 to it, a label 1 those from it to 1.
        negative: FloatArray = expit(-eta)
        return np.where(self.y > 0.5, negative, 0.0), np.where(self.y > 0.5, 1.0, negative)

    def _row_simulation(self, eta: FloatArray, rng: np.random.Generator) -> FloatArray:
        probability: FloatArray = expit(eta)
        return (rng.uniform(size=len(eta)) < probability).astype(np.float64)

    def label_contrasts(self, rows: BoolArray) -> FloatArray:
        """Return the rows' features, with the sign that raises the odds of the row's own label, shape (m, d)."""
        contrasts: FloatArray = self.design[rows] * (2.0 * self.y[rows] - 1.0)[:, None]
        return contrasts

    def moments(self, eta: FloatArray, rest: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of a label that is 1 or 0, shapes (..., k)."""
        probability: FloatArray = expit(eta)
        return probability, probability * (1.0 - probability)

    def log_tails(self, theta: FloatArray) -> Tails:
        """Log of the tail probabilities, with full precision where a label is all but certain."""
        eta = self.predictor(theta)
        negative, positive = log_expit(-eta), log_expit(eta)
        one, nothing, certain = self.y > 0.5, np.full_like(eta, -np.inf), np.zeros_like(eta)
        return Tails(
            np.where(one, negative, nothing),
            np.where(one, certain, negative),
            np.where(one, positive, certain),
            np.where(one, nothing, positive),
        )
