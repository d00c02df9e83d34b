"""Tails far out against finite sums, and whitened residuals against Mahalanobis' distance."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, logsumexp

import robula
from robula.models.tail_scores import log_gamma_sf


def test_a_whole_shape_has_a_finite_sum():
    """P(Gamma(a) > x) = e^-x sum over k < a of x^k / k!."""
    k, x = np.arange(50), 1500.0
    exact = -x + logsumexp(k * np.log(x) - gammaln(k + 1.0))
    np.testing.assert_allclose(log_gamma_sf(np.array([50.0]), np.array([x])), exact, rtol=0, atol=1e-9)


def test_whitened_lengths_are_mahalanobis_distances():
    covariance = np.array([[2.0, 1.0], [1.0, 3.0]])
    z = np.random.default_rng(0).normal(size=(20, 2))
    model = robula.MeanModel(z, covariance=covariance, prior=robula.NormalPrior(0.0, 10.0))
    distance = (z @ np.linalg.inv(covariance) * z).sum(axis=1)
    np.testing.assert_allclose((model.whitened(np.zeros(2)) ** 2).sum(axis=1), distance)
