"""Labels: no label is impossible, so what is wrong shows only together: a likelihood in which labels may be flipped.

p(label) = (1 - pi) p + pi (1 - p) / (classes - 1): a wrong label is any of the others. With no flips, with one rate pi
for all rows, or with a rate that depends on where the row is and how sure the model is of it. The probability of a row
not to be flipped is its weight: at the true parameters the score so weighted has mean 0, so the centre is not
attenuated.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit

from robula._types import FloatArray
from robula.models.law import ModelWithLaw
from robula.models.posterior_mode import weighted_mode
from robula.selectors.trust import trust_constants as constants
from robula.selectors.trust.explanation import within_budget
from robula.selectors.trust.feature_space import FeatureSpace, feature_space, standardised

_STEPS, _SETTLED = 60, 0.01
_TRIMMING_STEPS = 10
_RATES = (0.02, 0.1, 0.25)


class FlipExplanation:
    """Labels flipped at a rate that may depend on the row.

    Attributes
    ----------
    theta : ndarray, shape (d,)
    weights : ndarray, shape (n,)
        Probability of each label to be right.
    evidence, wanted : float
        As for :class:`Explanation`.
    """

    def __init__(
        self,
        model: ModelWithLaw,
        space: FeatureSpace,
        budget: float,
        theta: FloatArray,
        flipped: FloatArray,
        gated: bool,
    ) -> None:
        self._model, self._space, self._budget = model, space, budget
        n = model.n_rows
        self._slopes = 3 if gated else 0
        self._columns = np.ones((n, 1))
        self._gate = np.array([math.log(max(float(flipped.mean()), 1e-3))])
        self.theta, self._flipped = theta, flipped
        self.weights: FloatArray = 1.0 - flipped
        self.wanted = 0.0
        self._fit()

    def _fit(self) -> None:
        before = -np.inf
        if self._slopes:
            self._gate = np.concatenate([self._gate, np.zeros(3)])
        for step in range(_STEPS):
            right = self._model.log_likelihood(self.theta)
            wrong = np.log(np.maximum(-np.expm1(right), 1e-300)) - math.log(self._model.classes - 1)
            if self._slopes:
                self._columns = self._gate_columns(right, wrong)
            log_odds = np.clip(self._columns @ self._gate, -15.0, 15.0)
            bad, clean = log_odds + wrong, right
            self.log_likelihood = float((np.logaddexp(bad, clean) - np.logaddexp(0.0, log_odds)).sum())
            self.wanted, self._flipped = within_budget(bad - clean, self._budget, np.zeros_like(bad))
            self.weights = 1.0 - self._flipped
            value = self.log_likelihood + self._log_prior()
            if step > 3 and abs(value - before) < _SETTLED:
                break
            before = value
            self._improve_gate(expit(log_odds))
            self.theta = weighted_mode(self._model, self.weights, self.theta, 2)
        self.evidence = (
            self.log_likelihood
            + self._log_prior()
            - 0.5 * (1.0 + self._slopes) * math.log1p(float(self._flipped.sum()))
            - (constants.PRICE if self._slopes else 0.0)
        )

    def _gate_columns(self, right: FloatArray, wrong: FloatArray) -> FloatArray:
        """1, where flipped rows are (a vote without the row itself), how sure the model is, the distance."""
        place, flipped = self._space.inner, self._flipped
        total = max(float(flipped.sum()), 1e-9)
        vote = place @ (flipped @ place / total) - flipped * (place**2).sum(axis=1) / total
        size = math.sqrt(float(vote @ vote) / len(vote)) + 1e-12
        sure = standardised(np.log1p(np.abs(right - wrong)))
        return np.column_stack(
            [np.ones(len(vote)), np.clip(vote / size, -6.0, 6.0), np.clip(sure, -4.0, 4.0), self._space.distance]
        )

    def _improve_gate(self, expected: FloatArray) -> None:
        precision = np.array([1e-4, *(sd**-2.0 for sd in constants.GATE_SLOPES)])[: len(self._gate)]
        gradient = self._columns.T @ (self._flipped - expected) - precision * self._gate
        variance = expected * (1.0 - expected) + 1e-9
        information = (self._columns.T * variance) @ self._columns + np.diag(precision)
        step = np.linalg.solve(information, gradient)
        self._gate = self._gate + step * min(1.0, 2.0 / max(float(np.abs(self._columns @ step).max()), 1e-9))

    def _log_prior(self) -> float:
        if not self._slopes:
            return 0.0
        return -0.5 * float(((self._gate[1:] / np.array(constants.GATE_SLOPES)) ** 2).sum())


class NoFlips:
    """Every label is right."""

    wanted = 0.0

    def __init__(self, model: ModelWithLaw, theta: FloatArray) -> None:
        self.theta = theta
        self.weights: FloatArray = np.ones(model.n_rows)
        self.evidence = float(model.log_likelihood(theta).sum())


def explain_labels(model: ModelWithLaw, budget: float) -> dict[str, NoFlips | FlipExplanation]:
    """Explanations of labels by name."""
    n = model.n_rows
    plain = weighted_mode(model, np.ones(n), model.initial)
    space = feature_space(model.covariates)
    found: dict[str, NoFlips | FlipExplanation] = {"nothing is wrong": NoFlips(model, plain)}
    trimmed, dropped = _trimmed(model, plain, budget)
    far = 0.9 * (space.distance > np.quantile(space.distance, 1.0 - budget))
    beginnings = [(plain, np.full(n, rate)) for rate in _RATES if rate <= budget] + [(trimmed, 0.9 * dropped)]
    for name, gated in (("flipped labels", False), ("flipped labels that depend on the row", True)):
        tried = beginnings + ([(plain, far)] if gated else [])
        fits = [FlipExplanation(model, space, budget, theta, who, gated) for theta, who in tried]
        found[name] = max(fits, key=lambda fit: fit.evidence)
    return found


def _trimmed(model: ModelWithLaw, theta: FloatArray, budget: float) -> tuple[FloatArray, FloatArray]:
    """Parameters without the labels that fit worst, and those rows (n,) as 0 and 1."""
    dropped = np.zeros(model.n_rows)
    for _ in range(_TRIMMING_STEPS):
        order = np.argsort(model.log_likelihood(theta), kind="stable")
        fresh = np.zeros(model.n_rows)
        fresh[order[: int(budget * model.n_rows)]] = 1.0
        if (fresh == dropped).all():
            break
        dropped = fresh
        theta = weighted_mode(model, 1.0 - dropped, theta)
    return theta, dropped
