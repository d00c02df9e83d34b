"""Tails far out against finite sums, and whitened residuals against Mahalanobis' distance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln, logsumexp

import robula
from robula.models.tail_scores import log_beta_cdf, log_gamma_sf


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


@pytest.mark.parametrize(
    ("count", "size", "mean"),
    [(1000, 4.0, 2.0), (999, 4.0, 0.1), (9000, 0.3, 2.0), (40_000, 4.0, 50.0), (10, 2000.0, 3000.0), (200, 1e4, 5e3)],
)
def test_beta_tails_beyond_underflow_are_sums_of_counts(count, size, mean):
    """P(Y >= y) or P(Y <= y) of a negative binomial law, against the sum of its log probabilities."""
    law = stats.nbinom(size, size / (size + mean))
    if count > mean:
        found = log_beta_cdf(np.array([float(count)]), np.array([size]), np.log([mean / size]))
        expected = logsumexp(law.logpmf(np.arange(count, 20 * count)))
    else:
        found = log_beta_cdf(np.array([size]), np.array([count + 1.0]), np.log([size / mean]))
        expected = logsumexp(law.logpmf(np.arange(count + 1)))
    assert expected < -700
    np.testing.assert_allclose(found, expected, rtol=1e-9)
