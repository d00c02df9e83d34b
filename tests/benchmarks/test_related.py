"""The related work's methods against what their papers define, on problems where it can be computed otherwise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks.leaderboard import coarsened, localized, m_posterior, related, reweighted
from benchmarks.leaderboard.weighted_rows import Gaussian, LogisticRows, MeanRows, RegressionRows
from scipy import integrate


def regression_rows(seed: int = 0, n: int = 200, bad: int = 0) -> tuple[RegressionRows, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    truth = np.array([1.0, -1.0, 0.5])
    y = X @ truth + rng.standard_normal(n)
    y[:bad] += 30.0 * np.sign(X[:bad, 0])
    return RegressionRows(X, y), truth


def test_weighted_posteriors_are_those_of_the_weighted_density(rng):
    for rows in (regression_rows()[0], MeanRows(rng.standard_normal((50, 3))), logistic_rows()):
        weights = rng.uniform(size=rows.n)
        found = rows.posterior(weights)

        def log_density(theta, rows=rows, weights=weights):
            return float(weights @ rows.log_likelihood(theta)) - 0.5 * float(theta @ theta)

        step = 1e-4 * np.eye(3)
        gradient = [log_density(found.mean + h) - log_density(found.mean - h) for h in step]
        np.testing.assert_allclose(gradient, 0.0, atol=1e-7)
        curvature = [
            [
                log_density(found.mean + g + h) - log_density(found.mean + g) - log_density(found.mean + h)
                + log_density(found.mean)
                for g in 10 * step
            ]
            for h in 10 * step
        ]  # fmt: skip
        np.testing.assert_allclose(-np.array(curvature) / 1e-6, found.precision, rtol=0.02, atol=0.02 * rows.n)


def logistic_rows(seed: int = 0) -> LogisticRows:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((150, 3))
    return LogisticRows(X, (rng.uniform(size=150) < 1 / (1 + np.exp(-X[:, 0]))).astype(float))


def test_coarsening_is_a_power_of_the_likelihood(rng):
    rows, _ = regression_rows()
    draws, suspicion = coarsened.sample(rows, rng, 2, 20_000)
    power = 50 / 250
    exact = rows.posterior(np.full(200, power))
    assert suspicion is None
    np.testing.assert_allclose(draws.mean(axis=(0, 1)), exact.mean, atol=0.01)
    np.testing.assert_allclose(np.cov(draws.reshape(-1, 3).T), np.linalg.inv(exact.precision), atol=1e-3)


def test_the_weights_have_the_tilted_beta_law(rng):
    """Mean of w under w^(a-1) (1-w)^(b-1) exp(-w loss), by quadrature, at several losses."""
    for loss in (0.0, 0.7, 5.0, 300.0):

        def moment(k: int, c: float = loss) -> float:
            # The two ends have integrable poles: t = log w below one half, an algebraic weight above.
            low = integrate.quad(
                lambda t: math.exp(t * (0.1 + k) - c * math.exp(t)) * (1 - math.exp(t)) ** -0.99,
                -300,
                math.log(0.5),
                limit=500,
            )[0]
            high = integrate.quad(
                lambda s: (1 - s) ** (k - 0.9) * math.exp(-c * (1 - s)), 0, 0.5, weight="alg", wvar=(-0.99, 0)
            )[0]
            return low + high

        drawn = reweighted.draw_weights(np.full(200_000, loss), rng)
        expected = moment(1) / moment(0)
        # 5 standard errors, and what the table's steps in the loss (1 %) and the quantiles (1 / 4000) leave.
        slack = 5 * drawn.std() / math.sqrt(200_000) + 0.02 * expected + 1 / 4000
        assert drawn.mean() == pytest.approx(expected, abs=slack)
        assert drawn.min() >= 0
        assert drawn.max() <= 1


@pytest.mark.parametrize("method", ["reweighted", "localized"])
def test_gross_outliers_lose_their_say(method):
    rows, truth = regression_rows(bad=20)
    draws, suspicion = related.run(method, rows, 0)
    assert np.linalg.norm(draws.mean(axis=(0, 1)) - truth) < 0.3
    assert suspicion[:20].min() > np.median(suspicion[20:])
    plain = rows.posterior(np.ones(rows.n)).mean
    assert np.linalg.norm(plain - truth) > 0.5


def test_the_m_posterior_is_a_median(rng):
    """One subset far away gets little weight; and the inner product is E k(x, y)."""
    near = [Gaussian(0.1 * rng.standard_normal(2), 10.0 * np.eye(2)) for _ in range(4)]
    votes = m_posterior.median_weights(
        m_posterior.inner_products([*near, Gaussian(np.full(2, 50.0), 10.0 * np.eye(2))])
    )
    assert votes.sum() == pytest.approx(1.0)
    assert votes[-1] < 0.5 * votes[:-1].min()
    first, second = Gaussian(np.zeros(2), 2.0 * np.eye(2)), Gaussian(np.ones(2), 4.0 * np.eye(2))
    x, y = first.draw(rng, 400_000), second.draw(rng, 400_000)
    bandwidth = 2.0  # the squared distance of the two means
    expected = np.exp(-((x - y) ** 2).sum(axis=1) / (2 * bandwidth)).mean()
    assert m_posterior.inner_products([first, second])[0, 1] == pytest.approx(expected, rel=0.01)


def test_local_scales_are_estimated(rng):
    X = rng.standard_normal((20_000, 2))
    rows = RegressionRows(X, X @ [1.0, 2.0] + 0.5 * rng.standard_t(4.0, 20_000))
    freedom, scale, theta = localized.fit_scales(rows)
    assert freedom == pytest.approx(4.0, rel=0.15)
    assert scale == pytest.approx(0.5, rel=0.05)
    np.testing.assert_allclose(theta, [1.0, 2.0], atol=0.03)


def test_local_log_odds_without_spread_are_logistic_regression():
    rows = logistic_rows()
    found, _ = localized.local_odds(rows, 0.0)
    exact = rows.posterior(np.ones(rows.n))
    np.testing.assert_allclose(found.mean, exact.mean, atol=1e-6)
    np.testing.assert_allclose(found.precision, exact.precision, rtol=1e-6)
    # A spread of the local odds flattens the likelihood: each label says less.
    spread, _ = localized.local_odds(rows, 4.0)
    assert np.linalg.slogdet(spread.precision)[1] < np.linalg.slogdet(exact.precision)[1]
