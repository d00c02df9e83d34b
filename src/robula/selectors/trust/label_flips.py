"""Labels: no label is impossible, so what is wrong shows only together: a likelihood in which labels may be flipped.

p(label) = (1 - pi) p + pi (1 - p) / (K - 1), a wrong label being any of the others, each as likely: with no flips, with
one rate pi for all rows, averaged over pi, or with a rate that depends on where the row is and how sure the model is of
it. The probability of a row not to be flipped is its weight: at the true parameters the score so weighted has mean 0,
so the centre is not attenuated.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit, logit, logsumexp, softmax

from robula._types import FloatArray
from robula.models.law import ModelWithLaw
from robula.models.posterior_mode import HeldPrecision, weighted_mode
from robula.models.precision import is_positive, weighted_precision
from robula.models.tail_scores import log_of_the_rest
from robula.selectors.trust import trust_constants as constants
from robula.selectors.trust.feature_space import FeatureSpace, standardised
from robula.selectors.trust.gate import gate_columns, gate_log_odds, gate_log_prior, gate_precision, improved_gate
from robula.selectors.trust.label_bends import Bend
from robula.selectors.trust.limit import within_budget
from robula.selectors.trust.log_sums import log_one_plus_exp
from robula.selectors.trust.row_doubt import LEAST_LIKELY, linearised, louis_covariance

_STEPS, _SETTLED = 60, 0.01
# Squared length of a step, in posterior widths, at which theta at a rate has arrived; growing so many times it is lost.
_ARRIVED, _ASTRAY = 1e-6, 100.0
# Products that a precision is a sum of, n d^2, from which on it is held: below, exact steps take no time and end at the
# same weights, to rounding, whatever the model was written in.
_WORTH_HOLDING = 5e6
_MOST_VOLUME = 9.0


class FlipExplanation:
    """Labels flipped at a given rate, or at one that depends on the row.

    Parameters
    ----------
    rate : float or None
        None where it depends on the row.
    held : HeldPrecision, optional
        Of a mode near that of these labels.
    reach : float, optional
        It is given up where its evidence would stay below this if each step that is left rose as far as the last went.

    Attributes
    ----------
    theta : ndarray, shape (d,)
    weights : ndarray, shape (n,)
        Probability of each label to be right.
    gate : ndarray, shape (1,) or (4,)
        Log odds of a flip: one, or what they depend on.
    evidence, price, wanted : float
        As for :class:`Explanation`.
    log_volume : float
        Of the posterior of theta at a given rate.
    columns : ndarray, shape (n, 1) or (n, 4)
        What the log odds of a flip depend on.
    bend : Bend or None
        How log odds bend besides.
    """

    bend: Bend | None = None

    def __init__(
        self,
        model: ModelWithLaw,
        space: FeatureSpace,
        budget: float,
        theta: FloatArray,
        flipped: FloatArray,
        rate: float | None,
        held: HeldPrecision | None = None,
        reach: float = -np.inf,
    ) -> None:
        self._model, self._space, self._budget = model, space, budget
        self._gated = rate is None
        first = max(float(flipped.mean()), 1e-3) if rate is None else rate
        self.gate = np.array([logit(min(first, 0.5)), 0.0, 0.0, 0.0])[: 4 if self._gated else 1]
        self.columns = np.ones((model.n_rows, 1))
        self._own_vote = np.einsum("ij,ij->i", space.inner, space.inner) if self._gated else np.zeros(0)
        self._log_others = math.log(max(len(np.unique(np.asarray(model.response))) - 1, 1))
        self.theta, self._flipped, self.wanted = theta, flipped, 0.0
        self.price = _price(model)
        self.weights: FloatArray = 1.0 - flipped
        if self._gated:
            self._alternate(reach)
        else:
            self._solve(held or HeldPrecision())

    def _expect(self) -> tuple[FloatArray, FloatArray]:
        """Find weights and likelihood; returns log-likelihoods (n,) of right labels and log odds (n,) of flips."""
        right = self._model.log_likelihood(self.theta)
        wrong = log_of_the_rest(right) - self._log_others
        if self._gated:
            self.columns = self._gate_columns(right, wrong)
        log_odds = gate_log_odds(self.columns, self.gate)
        bad = log_odds + wrong - right
        self.log_likelihood = float((right + log_one_plus_exp(bad) - log_one_plus_exp(log_odds)).sum())
        self.wanted, self._flipped = within_budget(bad, self._budget, np.zeros_like(bad))
        self.weights = 1.0 - self._flipped
        return right, log_odds

    def _alternate(self, reach: float) -> None:
        """Weights, gate and theta by turns."""
        before, held = -np.inf, held_for(self._model)
        for step in range(_STEPS):
            right, log_odds = self._expect()
            self.evidence = self._log_evidence()
            value = self.log_likelihood + self._log_prior()
            rise, before = value - before, value
            hopeless = self.evidence + (_STEPS - step) * abs(rise) < reach
            if step > 3 and (abs(rise) < _SETTLED or hopeless):
                break
            self._improve_gate(expit(log_odds))
            self.theta = weighted_mode(self._model, self.weights, self.theta, 2, held=held, at_start=right)

    def _solve(self, held: HeldPrecision) -> None:
        """Solve sum of w_i g_i = 0 for theta, on which the weights depend too.

        Of two classes that sum is the slope of the log-likelihood of flips, but for a factor. So the precision of the
        evidence serves for steps, at this rate or one nearby, and each step says how much longer or shorter the next
        has to be [barzilai1988].
        """
        model, scale, nearest, step, before = self._model, 1.0, np.inf, None, self.theta
        for _ in range(_STEPS):
            right = self._expect()[0]
            if held.factor is None:
                held.hold(self._precision())
            slope = model.weighted_gradient(self.theta, self.weights) + model.prior.gradient(self.theta)
            direction = np.zeros_like(slope) if held.factor is None else held.step(slope)
            length = float(slope @ direction)
            if held.factor is not None and length < _ARRIVED:
                break
            if held.factor is None or not length < _ASTRAY * nearest:
                # With weights that stay where they are, every step leads uphill.
                self.theta = weighted_mode(model, self.weights, self.theta, 2, at_start=right)
                scale, step = 1.0, None
                continue
            if step is not None and (fallen := float((before - slope) @ step)) > 0.0:
                scale = min(max(scale * float(before @ step) / fallen, 1.0 / _MOST_VOLUME), _MOST_VOLUME)
            step, before, nearest = scale * direction, slope, min(length, nearest)
            self.theta = self.theta + step
        self.evidence = _at_its_peak(model, self.log_likelihood, self.theta)
        precision = self._precision()
        self.log_volume = -0.5 * float(np.linalg.slogdet(precision)[1])
        held.hold(precision)

    def _log_evidence(self) -> float:
        """Log evidence with a gate."""
        evidence = _at_its_peak(self._model, self.log_likelihood, self.theta)
        size = math.log1p(float(self._flipped.sum()))
        return evidence + self._log_prior() - 0.5 * len(self.gate) * size - constants.PRICE

    def covariance(self, model: ModelWithLaw) -> FloatArray:
        """Covariance (d, d) of theta with the doubt about rows and gate in it.

        That of the solution of sum w_i g_i = 0 and of the gate's own equations [huber1967].
        """
        w, d = self.weights, model.dim
        right = np.minimum(np.exp(model.log_likelihood(self.theta)), 1.0 - 1e-9)
        # The derivative of a weight in theta is w (1 - w) (g - g'), g' the gradient of the other label: -p / (1 - p) g.
        variance = w * (1.0 - w)
        moved = variance / (1.0 - right)
        slope = weighted_precision(model, w, self.theta) - model.gradient_products(self.theta, moved)
        spread = model.gradient_products(self.theta, w * model.counted(w)) + model.prior.precision(self.theta)
        if self._gated:
            gradients, columns = model.gradients(self.theta), self.columns
            counted = gradients * model.counted(np.ones(model.n_rows))[:, None]
            expected = expit(gate_log_odds(columns, self.gate))
            prior, residual = np.diag(gate_precision(len(self.gate))), 1.0 - w - expected
            own = (columns.T * (expected * (1.0 - expected) - variance)) @ columns + prior
            slope = np.block([[slope, (counted.T * variance) @ columns], [(columns.T * moved) @ gradients, own]])
            between = (counted.T * (w * residual)) @ columns
            spread = np.block([[spread, between], [between.T, (columns.T * residual**2) @ columns + prior]])
        inverse = np.linalg.pinv(slope)[:d]
        return linearised(inverse @ spread @ inverse.T, weighted_precision(model, w, self.theta))

    def _precision(self) -> FloatArray:
        """Negative Hessian (d, d) of the log-likelihood of flips at a given rate; of the weighted rows with a gate."""
        model, w = self._model, self.weights
        if self._gated:
            return weighted_precision(model, w, self.theta)
        right = np.minimum(np.exp(model.log_likelihood(self.theta)), 1.0 - 1e-9)
        # Labels of a logistic model have the same curvature; what is missing is which of them is right.
        everyone = weighted_precision(model, np.ones_like(w), self.theta)
        precision: FloatArray = everyone - model.gradient_products(self.theta, w * (1.0 - w) / (1.0 - right) ** 2)
        # The weighted rows' own precision is no more than that of all of them, which is at hand.
        if is_positive(precision - everyone / _MOST_VOLUME):
            return precision
        least = weighted_precision(model, w, self.theta) / _MOST_VOLUME
        return precision if is_positive(precision - least) else least

    def _gate_columns(self, right: FloatArray, wrong: FloatArray) -> FloatArray:
        """1, where flipped rows are (a vote without the row itself), how sure the model is, the distance."""
        place, flipped = self._space.inner, self._flipped
        total = max(float(flipped.sum()), 1e-9)
        vote = place @ (flipped @ place / total) - flipped * self._own_vote / total
        # Of two classes, the odds are as far from even whichever the label is; of more, they would tell the label.
        two = self._log_others == 0.0
        sure = standardised(np.log1p(np.abs(right - wrong))) if two else np.zeros_like(vote)
        return gate_columns(vote, sure, self._space.distance)

    def _improve_gate(self, expected: FloatArray) -> None:
        variance = expected * (1.0 - expected) + 1e-9
        residual = self._flipped - expected
        self.gate = improved_gate(self.gate, self.columns, residual, variance, damping=0.0, longest=2.0)
        # Only towards where flipped rows are: among rows of equal features, the flipped ones have the smaller vote,
        # because their own is left out, and a negative slope would know them by that.
        self.gate[1] = max(self.gate[1], 0.0)

    def _log_prior(self) -> float:
        return gate_log_prior(self.gate)


class FlipsAtAnyRate:
    """Labels flipped at one rate for all rows, averaged over the rate: the labels alone hardly tell it.

    Attributes
    ----------
    theta, weights, wanted
        Averages over rates that are equally likely up to the largest possible.
    evidence : float
        That of all rates together; whatever theta's volume, as of any kind of explanation. Where labels are flipped,
        their rate is another matter: theta goes with it, and it is as likely as its theta is all in all.
    gate : ndarray, shape (1,)
        Log odds of the average rate.
    """

    def __init__(self, at_rates: list[FlipExplanation], rates: FloatArray, most: float) -> None:
        widths = np.diff(np.concatenate([[0.0], 0.5 * (rates[1:] + rates[:-1]), [most]]))
        peaks = np.array([fit.evidence for fit in at_rates]) + np.log(widths / most)
        self.evidence = float(logsumexp(peaks))
        self.price = at_rates[0].price
        self._fits, self._chances = at_rates, softmax(peaks + [fit.log_volume for fit in at_rates])
        self.theta: FloatArray = self._mean([fit.theta for fit in at_rates])
        self.weights: FloatArray = self._mean([fit.weights for fit in at_rates])
        self.wanted = float(self._chances @ [fit.wanted for fit in at_rates])
        self.gate: FloatArray = np.array([logit(float(self._chances @ rates))])

    @property
    def likeliest(self) -> FlipExplanation:
        """Flips at the rate of the largest evidence."""
        return max(self._fits, key=lambda fit: fit.evidence)

    def covariance(self, model: ModelWithLaw) -> FloatArray:
        """Covariance (d, d) of theta: at a rate, and between rates."""
        covariance = np.zeros((model.dim, model.dim))
        for fit, chance in zip(self._fits, self._chances, strict=True):
            if chance > LEAST_LIKELY:
                away = fit.theta - self.theta
                covariance += chance * (fit.covariance(model) + np.outer(away, away))
        return covariance

    def _mean(self, arrays: list[FloatArray]) -> FloatArray:
        return np.asarray(np.tensordot(self._chances, np.stack(arrays), axes=1))


class NoFlips:
    """Every label is right."""

    wanted = price = 0.0

    def __init__(self, model: ModelWithLaw, theta: FloatArray) -> None:
        self.theta = theta
        self.weights: FloatArray = np.ones(model.n_rows)
        self.precision = weighted_precision(model, self.weights, theta)
        self.evidence = _at_its_peak(model, float(model.log_likelihood(theta).sum()), theta)

    def covariance(self, model: ModelWithLaw) -> FloatArray:
        """Covariance (d, d) of theta: no row is in doubt."""
        return louis_covariance(model, self.weights, self.theta)


def _at_its_peak(model: ModelWithLaw, log_likelihood: float, theta: FloatArray) -> float:
    """Log density of the labels and of theta (d,), whatever the volume of the posterior.

    Where labels may be wrong they say less about theta, so that the volume is larger: with vague priors it would be
    evidence that they are wrong (the more columns, the more), though nothing is explained [lindley1957].
    """
    return log_likelihood + float(model.prior.log_density(theta))


def _price(model: ModelWithLaw) -> float:
    """Nats for labels that may be wrong: of a population, or two standard deviations of what a theta gains by chance.

    Of labels that hang on nothing a theta of its own gains half a nat for each coefficient, give or take the square
    root of half their number [wilks1938]. Where labels may be flipped it goes where they happen to look orderly.
    """
    return max(constants.PRICE, math.sqrt(2.0 * float((~model.hyperparameters).sum())))


def held_for(model: ModelWithLaw) -> HeldPrecision | None:
    """Return where a precision is held from step to step; None where exact steps take no time."""
    return HeldPrecision() if model.n_rows * model.dim**2 > _WORTH_HOLDING else None
