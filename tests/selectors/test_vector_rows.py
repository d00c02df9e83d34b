"""Rows of several numbers, some of them counts or of an estimated scale: clean rows stay, bad ones go.

False alarms: a Kolmogorov-Smirnov test fails a correct law with probability 1e-6.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import robula
from robula.models.tail_scores import scores_within

numpyro = pytest.importorskip("numpyro")
dist = pytest.importorskip("numpyro.distributions")
jnp = pytest.importorskip("jax.numpy")

N = 300


def height_and_count(x, height, count):
    a = numpyro.sample("a", dist.Normal(0.0, 5.0).expand([2]).to_event(1))
    b = numpyro.sample("b", dist.Normal(0.0, 2.0).expand([2]).to_event(1))
    s = numpyro.sample("s", dist.HalfNormal(2.0))
    with numpyro.plate("rows", N):
        numpyro.sample("height", dist.Normal(a[0] + b[0] * x, s), obs=height)
        numpyro.sample("count", dist.Poisson(jnp.exp(a[1] + b[1] * x)), obs=count)


def two_counts(u, v):
    a = numpyro.sample("a", dist.Normal(0.0, 5.0).expand([2]).to_event(1))
    with numpyro.plate("rows", N):
        numpyro.sample("u", dist.Poisson(jnp.exp(a[0])), obs=u)
        numpyro.sample("v", dist.Poisson(jnp.exp(a[1])), obs=v)


def test_clean_rows_of_an_estimated_scale_are_no_group():
    """With a larger scale all scores are smaller, and that passed for a better fit: 15 % of the weight was lost."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=N)
    height, count = 1.0 + x + 0.5 * rng.normal(size=N), rng.poisson(np.exp(0.5 + 0.5 * x))
    clean = robula.trust(robula.from_numpyro(height_and_count, x, height, count), 0.15)
    assert clean.share < 0.001
    # Negative control: bad rows in either site go, and they alone.
    height[:12] = 100.0
    count[12:24] += 50
    found = robula.trust(robula.from_numpyro(height_and_count, x, height, count), 0.15)
    assert found.weights[:24].max() < 0.001
    assert found.weights[24:].mean() > 0.99


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(0)
    return rng.poisson(0.5, N), rng.poisson(1.5, N)


def test_clean_counts_are_no_groups(counts):
    """The middles of their intervals lie in clumps: 11 % of the weight was lost."""
    u, v = counts
    assert robula.trust(robula.from_numpyro(two_counts, u, v), 0.15).share < 0.001
    bad = u.copy()
    bad[:20] += 30  # negative control
    found = robula.trust(robula.from_numpyro(two_counts, bad, v), 0.15)
    assert found.weights[:20].max() < 0.001
    assert found.weights[20:].mean() > 0.99


def test_scores_of_counts_are_normal_and_those_of_their_rows(counts):
    theta, order = np.log([0.5, 1.5]), np.random.default_rng(1).permutation(N)
    model = robula.from_numpyro(two_counts, *counts)
    scores = model.whitened(theta)
    for column in scores.T:
        assert stats.kstest(column, "norm").pvalue > 1e-6
    middles = scores_within(*model._laws[0].scores(theta, *model._point), np.full((N, 1), 0.5))
    assert stats.kstest(middles[:, 0], "norm").pvalue < 1e-6  # negative control
    # The same at every call and for any order; equal rows may change places.
    np.testing.assert_array_equal(model.whitened(theta), scores)
    moved = robula.from_numpyro(two_counts, *(column[order] for column in counts)).whitened(theta)
    assert not np.array_equal(moved, scores)
    np.testing.assert_allclose(np.sort(moved, axis=0), np.sort(scores, axis=0), rtol=1e-12)
    # Other responses have other ones: simulated tables are independent of this one.
    other = model.with_response(model.simulate(theta, np.random.default_rng(2)))
    assert np.abs(np.corrcoef(other.whitened(theta)[:, 0], scores[:, 0])[0, 1]) < 5.0 / np.sqrt(N)
