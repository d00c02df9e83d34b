"""Rows that are vectors: a normal cloud whose covariance may differ from the declared one, gross rows, and a group.

The same three explanations as for rows with one response, in d dimensions.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln

from robula._types import FloatArray
from robula.models.law import ModelWithLaw
from robula.models.posterior_mode import weighted_mode
from robula.selectors.trust import trust_constants as constants
from robula.selectors.trust.explanation_kinds import Kind
from robula.selectors.trust.feature_space import FeatureSpace, feature_space
from robula.selectors.trust.limit import within_budget
from robula.selectors.trust.row_doubt import louis_covariance
from robula.selectors.trust.weighted_median import weighted_median

_STEPS, _SETTLED = 60, 0.01
_LOOK = 6
_LEAST_LEFT = 0.02


class CloudExplanation:
    """Clean rows around theta, gross rows anywhere, and possibly one group of bad rows around a point of its own.

    Parameters
    ----------
    members : ndarray, shape (n,), or None
        Probabilities to belong to the group to begin from; None has no group.
    bad : bool
        Whether there can be bad rows at all.
    free : bool
        Whether the clean rows' covariance is fitted rather than declared.

    Attributes
    ----------
    theta : ndarray, shape (d,)
    weights : ndarray, shape (n,)
    evidence, wanted : float
    """

    price = 0.0  # is in the evidence

    def __init__(
        self,
        model: ModelWithLaw,
        budget: float,
        members: FloatArray | None = None,
        *,
        bad: bool = True,
        free: bool = False,
    ) -> None:
        self._model, self._budget, self._bad, self._free = model, budget, bad, free
        n, d = model.n_rows, model.whitened(model.initial).shape[1]
        self._counted = min(1.0, constants.ROWS_OF_AN_EXACT_LAW / n)
        self._members = members
        self._share, self._group_share = 0.02, 0.0 if members is None else max(float(members.mean()), 1e-3)
        self._gross_scale = constants.GROSS_SCALE
        self._shape = np.eye(d)
        self.weights: FloatArray = np.ones(n) if members is None else 1.0 - members
        self.theta = weighted_mode(model, (self.weights > 0.5).astype(np.float64), model.initial)
        self.wanted = 0.0

    def fit(self, steps: int = _STEPS) -> CloudExplanation:
        """Expectation-maximisation; returns itself."""
        before = -np.inf
        for step in range(steps):
            value = self._expect()
            if step > 3 and abs(value - before) < _SETTLED:
                break
            before = value
            if step + 1 < steps:
                self._maximise()
        self._weigh_evidence()
        return self

    def covariance(self, model: ModelWithLaw) -> FloatArray:
        """Covariance (d, d) of theta with the doubt about rows in it."""
        return louis_covariance(model, self.weights, self.theta)

    def spreads(self, weights: FloatArray) -> FloatArray:
        """How many times the declared covariance rows so weighted (n,) spread: roots of eigenvalues (d,), rising."""
        rows = self._model.whitened(self.theta)
        total = max(float(weights.sum()), 1e-9)
        away = rows - weights @ rows / total
        values = np.linalg.eigvalsh((away.T * weights) @ away / total)
        return np.asarray(np.sqrt(np.maximum(values, 0.0)))

    def _expect(self) -> float:
        rows = self._model.whitened(self.theta)
        clean = _log_normal(rows, self._shape)
        # Makes densities of scores those of rows: with a larger spread all scores are smaller, and that is no gain.
        unit = float((self._model.log_likelihood(self.theta) - _log_normal(rows, np.eye(rows.shape[1]))).sum())
        if not self._bad:
            self.log_likelihood = float(clean.sum()) + unit
            return self.log_likelihood
        parts = [math.log(self._share) + _log_cauchy(rows, self._gross_scale)]
        if self._members is not None:
            parts.append(math.log(self._group_share) + self._group(rows))
        bad = np.logaddexp.reduce(np.stack(parts), axis=0)
        good = math.log(max(1.0 - self._share - self._group_share, 1e-6)) + clean
        self.log_likelihood = float(np.logaddexp(bad, good).sum()) + unit
        self.decisive = bad - math.log(self._share + self._group_share) - clean
        self.wanted, doubt = within_budget(bad - good, self._budget, self.decisive)
        self.weights = 1.0 - doubt
        self._gross = doubt * np.exp(parts[0] - bad)
        if self._members is not None:
            self._members = doubt * np.exp(parts[1] - bad)
        return self.log_likelihood

    def _group(self, rows: FloatArray) -> FloatArray:
        """Log density (n,) of the group: spherical around its mean, a row never part of its own."""
        assert self._members is not None
        members, d = self._members, rows.shape[1]
        total = max(float(members.sum()), 1e-9)
        centre = members @ rows / total
        left = np.maximum(1.0 - members / total, _LEAST_LEFT)
        away = ((rows - centre) ** 2).sum(axis=1)
        spread = np.maximum(float(members @ (away / left)) / (total * d), constants.FINEST**2)
        variance = spread * (1.0 + 1.0 / total)
        density: FloatArray = -0.5 * away / left**2 / variance - 0.5 * d * np.log(2.0 * math.pi * variance)
        return density

    def _maximise(self) -> None:
        n = self._model.n_rows
        if self._bad:
            self._share = float(np.clip((self._gross.sum() + 0.5) / n, 1e-6, 0.5))
            lengths = np.sqrt((self._model.whitened(self.theta) ** 2).mean(axis=1))
            self._gross_scale = max(constants.GROSS_SCALE, weighted_median(lengths, self._gross + 1e-12))
        if self._members is not None:
            self._group_share = float(np.clip(self._members.mean(), 1e-6, 0.5))
        self.theta = weighted_mode(self._model, self.weights, self.theta, 2)
        if self._free:
            rows = self._model.whitened(self.theta)
            d = rows.shape[1]
            # One prior row for each dimension, at the declared covariance.
            scatter = (rows.T * self.weights) @ rows + d * np.eye(d)
            self._shape = scatter / (float(self.weights.sum()) + d)

    def _weigh_evidence(self) -> None:
        n, d = self._model.n_rows, len(self._shape)
        log_rows = math.log1p(self._counted * n)
        self.evidence = self._counted * self.log_likelihood
        if self._free:
            self.evidence -= 0.25 * d * (d + 1) * log_rows + constants.PRICE
        if self._bad:
            self.evidence -= 0.5 * log_rows
        if self._members is not None:
            size = math.log1p(self._counted * float(self._members.sum()))
            self.evidence -= 0.5 * (d + 2) * size + constants.PRICE


def explain_vectors(model: ModelWithLaw, budget: float) -> dict[Kind, CloudExplanation]:
    """Explanations of vector rows by kind; each with the covariance that suits it better."""
    n = model.n_rows
    space = feature_space(model.whitened(model.initial))
    found: dict[Kind, CloudExplanation] = {}
    for kind, bad in ((Kind.NOTHING, False), (Kind.GROSS, True)):
        found[kind] = _best([CloudExplanation(model, budget, bad=bad, free=free).fit() for free in (False, True)])
    beginnings = _suspects(model, space, budget, found[Kind.GROSS].theta)
    if beginnings and n > space.whitened.shape[1] + 2:
        looked = [
            CloudExplanation(model, budget, who, free=free).fit(_LOOK) for who in beginnings for free in (False, True)
        ]
        looked.sort(key=lambda explanation: -explanation.evidence)
        found[Kind.GROUP] = _best([explanation.fit() for explanation in looked[:3]])
    return found


def _suspects(model: ModelWithLaw, space: FeatureSpace, budget: float, theta: FloatArray) -> list[FloatArray]:
    """Rows (n,) that may be a group: far ones, near ones, and the ends of directions."""
    rows = model.whitened(theta)
    middle = rows - np.median(rows, axis=0)
    skew = (middle**2).sum(axis=1) @ np.clip(middle, -6.0, 6.0)
    coordinates = [(middle**2).sum(axis=1), *space.directions.T, middle @ skew]
    axes = np.linalg.eigh(np.cov(np.clip(middle, -6.0, 6.0).T).reshape(rows.shape[1], rows.shape[1]))[1]
    coordinates.append(middle @ axes[:, -1])
    found = []
    for values in coordinates:
        for ends in (values > np.quantile(values, 1.0 - budget), values < np.quantile(values, budget)):
            if ends.any():
                found.append(0.95 * ends)
    return found


def _best(explanations: list[CloudExplanation]) -> CloudExplanation:
    return max(explanations, key=lambda explanation: explanation.evidence)


def _log_normal(rows: FloatArray, covariance: FloatArray) -> FloatArray:
    inverse = np.linalg.inv(np.linalg.cholesky(covariance))
    half = rows @ inverse.T
    log_root = -float(np.log(np.diag(inverse)).sum())
    density: FloatArray = -0.5 * (half**2).sum(axis=1) - log_root - 0.5 * rows.shape[1] * math.log(2.0 * math.pi)
    return density


def _log_cauchy(rows: FloatArray, scale: float) -> FloatArray:
    """Log density (n,) of a multivariate Cauchy law of this scale."""
    d = rows.shape[1]
    constant = gammaln(0.5 * (d + 1)) - gammaln(0.5) - 0.5 * d * math.log(math.pi) - d * math.log(scale)
    density: FloatArray = constant - 0.5 * (d + 1) * np.log1p((rows**2).sum(axis=1) / scale**2)
    return density
