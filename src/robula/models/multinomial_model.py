"""Multinomial logistic regression: several classes, one line of coefficients for each but the first."""

from __future__ import annotations

import numpy as np

from robula._types import ArrayInput, BoolArray, FloatArray
from robula.models.law import Tails
from robula.models.model import unique_names, weighted_sum
from robula.models.priors import Prior, require_proper, resolve_prior
from robula.models.regression import Regression, joined
from robula.models.tail_scores import log_of_the_rest
from robula.tables.arrays import encode_classes, refuse_misaligned


class MultinomialModel(Regression):
    """Rows y_i in K classes, P(y_i = k) in proportion to exp(x_i' theta_k), with theta_0 = 0 for the first class.

    theta is theta_1, ..., theta_(K-1) one after the other: log odds of each class against the first.

    Parameters
    ----------
    X : array-like, shape (n, p)
    y : array-like, shape (n,)
        Labels of two classes or more: numbers, booleans or texts. Sorted; the first is compared with.
    prior : NormalPrior
        Required: where planes separate the classes, a flat prior has no posterior.
    intercept : bool, optional
        Add a column of ones in front.
    row_weights : array-like, shape (n,), optional
        How often each row counts, as for :class:`Regression`.

    Attributes
    ----------
    classes : tuple
    parameter_names : tuple of str
        "class:column".
    """

    name = "multinomial"
    noise = "implied"
    response_kind = "label"
    skewed_gradients = True

    def __init__(
        self,
        X: ArrayInput,
        y: ArrayInput,
        *,
        prior: Prior | None = None,
        intercept: bool = False,
        row_weights: ArrayInput = None,
    ) -> None:
        super().__init__(X, intercept, row_weights=row_weights)
        refuse_misaligned(X, y)
        labels, self.classes = encode_classes(y, self.n_rows)
        names = [f"{label}:{column}" for label in self.classes[1:] for column in self.parameter_names]
        self.dim, self.parameter_names = len(names), unique_names(names)
        self.prior = resolve_prior(prior, self.dim)
        require_proper(self.prior, "MultinomialModel", "with separable classes a flat prior has no posterior.")
        self._set_response(labels)

    def _set_response(self, y: FloatArray) -> None:
        super()._set_response(y)
        self._is_class: FloatArray = (self.y == np.arange(len(self.classes))[:, None]).astype(np.float64)

    @property
    def initial(self) -> FloatArray:
        """0: every class alike."""
        return np.zeros(self.dim)

    def predictors(self, theta: FloatArray) -> FloatArray:
        """Linear predictors of each class but the first, shape (..., K - 1, n)."""
        theta = self.check_theta(theta)
        lines = theta.reshape(*theta.shape[:-1], len(self.classes) - 1, self.columns)
        return joined([lines @ block for _, block in self.blocks()])

    def log_probabilities(self, theta: FloatArray) -> FloatArray:
        """Log probability of each class for each row, shape (..., K, n)."""
        return log_softmax(self.predictors(theta))

    def predictor(self, theta: FloatArray) -> FloatArray:
        """Log odds of the row's own class, shape (..., n): how sure the model is of it."""
        right = self.log_likelihood(theta)
        return right - log_of_the_rest(right)

    def log_likelihood(self, theta: FloatArray) -> FloatArray:
        """Log-likelihood of each row, shape (..., n)."""
        value: FloatArray = (self._is_class * self.log_probabilities(theta)).sum(axis=-2)
        return value

    def _scores(self, theta: FloatArray) -> FloatArray:
        """Derivatives of the log-likelihood in the linear predictors, shape (..., K - 1, n)."""
        return self._is_class[1:] - np.exp(self.log_probabilities(theta)[..., 1:, :])

    def label_contrasts(self, rows: BoolArray) -> FloatArray:
        """Return what raises the log odds of each row's class against each other one, shape (m (K - 1), d)."""
        own = self._is_class[:, rows].T
        other = np.eye(len(self.classes))[:, None, :] * np.ones((1, len(own), 1))
        # The first class has no coefficients of its own.
        signs = (own - other)[..., 1:][(own[None] * other).sum(axis=2) == 0.0]
        design = np.broadcast_to(self.design[rows], (len(self.classes), len(own), self.columns))
        design = design[(own[None] * other).sum(axis=2) == 0.0]
        contrasts: FloatArray = (signs[:, :, None] * design[:, None, :]).reshape(len(signs), self.dim)
        return contrasts

    def gradients(self, theta: FloatArray) -> FloatArray:
        """Gradient of each row's log-likelihood, shape (..., n, d)."""
        scores = self._scores(theta)
        design = self.design
        product = np.swapaxes(scores, -1, -2)[..., None] * design[:, None, :]
        return product.reshape(*product.shape[:-2], self.dim)

    def weighted_gradient(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Weighted sum of the rows' gradients, shape (..., d)."""
        return self._summed(self._scores(theta), self.counted(weights))

    def _summed(self, scores: FloatArray, weights: FloatArray) -> FloatArray:
        pull = weights[..., None, :] * scores
        flat = pull.reshape(-1, self.n_rows)
        total = sum((flat[:, rows] @ block.T for rows, block in self.blocks()), np.zeros((len(flat), self.columns)))
        return total.reshape(*pull.shape[:-2], self.dim)

    def weighted_log_likelihood_and_gradient(
        self, theta: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Both from the same linear predictors: shapes (...) and (..., d), for weights (n,)."""
        log_p, weights = self.log_probabilities(theta), self.counted(weights)
        value = weighted_sum((self._is_class * log_p).sum(axis=-2), weights)
        return value, self._summed(self._is_class[1:] - np.exp(log_p[..., 1:, :]), weights)

    def curvature(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Negative Hessian of the weighted log-likelihood at one theta, shape (d, d)."""
        p, weights = np.exp(self.log_probabilities(theta)[1:]), self.counted(weights)
        size, count = self.columns, len(p)
        result = np.empty((count, size, count, size))
        for k in range(count):
            for other in range(k + 1):
                about = p[k] * ((1.0 if k == other else 0.0) - p[other])
                result[k, :, other] = result[other, :, k] = self._weighted_gram(weights * about)
        return result.reshape(self.dim, self.dim)

    def curvature_bound(self, weights: FloatArray) -> FloatArray:
        """(I - 1 1' / K) / 2 times the weighted Gram matrix [boehning1992], shape (d, d)."""
        count = len(self.classes) - 1
        bound = 0.5 * (np.eye(count) - 1.0 / len(self.classes))
        return np.kron(bound, self._weighted_gram(self.counted(weights))).astype(np.float64)

    @property
    def of_the_mean(self) -> BoolArray:
        """All: each class has a line of coefficients, shape (d,)."""
        return np.ones(self.dim, dtype=np.bool_)

    def features(self, theta: FloatArray) -> FloatArray:
        """Rows of the design times sqrt(p_j) (1[j = k] - p_k), shape (n, K, d): j a response, k a line of theta."""
        p = np.exp(self.log_probabilities(theta)).T
        root = np.sqrt(p)[:, :, None] * (np.eye(len(self.classes))[:, 1:] - p[:, None, 1:])
        features: FloatArray = root[:, :, :, None] * self.design[:, None, None, :]
        return features.reshape(self.n_rows, len(self.classes), self.dim)

    def information(self, theta: FloatArray, weights: FloatArray | None = None) -> FloatArray:
        """Fisher information of the rows: the curvature, which does not hang on the labels, shape (d, d)."""
        return self.curvature(theta, np.ones(self.n_rows) if weights is None else weights)

    def pit(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P(Y < y) and P(Y <= y) of each row, in the order of the classes, shapes (n,)."""
        tails = self.log_tails(theta)
        return np.exp(tails.below), np.minimum(np.exp(tails.up_to), 1.0)

    def log_tails(self, theta: FloatArray) -> Tails:
        """Log of the tail probabilities, with full precision where a label is all but certain."""
        log_p = self.log_probabilities(theta)
        nothing = np.full((1, self.n_rows), -np.inf)
        up_to = np.minimum(np.logaddexp.accumulate(log_p, axis=0), 0.0)
        from_here = np.minimum(np.logaddexp.accumulate(log_p[::-1], axis=0)[::-1], 0.0)
        # The ends are certain, not certain but for rounding.
        up_to[-1], from_here[0] = 0.0, 0.0
        own, rows = self.y.astype(int), np.arange(self.n_rows)
        return Tails(
            np.concatenate([nothing, up_to[:-1]])[own, rows],
            up_to[own, rows],
            from_here[own, rows],
            np.concatenate([from_here[1:], nothing])[own, rows],
        )

    def simulate(self, theta: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw a label for every row, as its place among the classes, shape (n,)."""
        return self.responses(self.predictors(theta), np.empty(0), rng)

    def responses(self, eta: FloatArray, rest: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw labels for linear predictors (..., K - 1, k), shape (..., k)."""
        reached = np.cumsum(np.exp(log_softmax(eta)), axis=-2)[..., :-1, :]
        uniform = rng.uniform(size=(*eta.shape[:-2], 1, eta.shape[-1]))
        labels: FloatArray = (uniform >= reached).sum(axis=-2).astype(np.float64)
        return labels


def log_softmax(eta: FloatArray) -> FloatArray:
    """Log probabilities (..., K, n) of the classes from the linear predictors (..., K - 1, n) of all but the first."""
    total = np.logaddexp(0.0, np.logaddexp.reduce(eta, axis=-2, keepdims=True))
    return np.concatenate([-total, eta - total], axis=-2)
