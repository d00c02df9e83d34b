"""Climbs from many starts: the good mode is found, and told from the one that fits the bad rows."""

from __future__ import annotations

import numpy as np
import pytest

import robula

jnp = pytest.importorskip("jax.numpy")

RNG = np.random.default_rng(0)
CENTRES = np.array([[4.0, 0.0], [-4.0, 0.0]])
ROWS = CENTRES[RNG.integers(2, size=200)] + RNG.standard_normal((200, 2))
ROWS[:20] = np.array([0.0, 15.0]) + RNG.standard_normal((20, 2))


def log_likelihood(means, row):
    return jnp.logaddexp(-0.5 * jnp.sum((row - means[0]) ** 2), -0.5 * jnp.sum((row - means[1]) ** 2))


@pytest.fixture(scope="module")
def model() -> robula.models.Model:
    prior = robula.NormalPrior(0.0, 100.0)
    return robula.from_jax(log_likelihood, ROWS, log_prior=prior, init=ROWS[20:22], chunk_size=200)


def test_the_best_end_is_the_good_mode(model):
    """One start at the truth, one with a mean among the bad rows, one with the labels exchanged."""
    starts = np.array([[4.0, 0, 0, 15], [4, 0, -4, 0], [-4, 0, 4, 0]], dtype=float)
    found = robula.restarts(model, starts, contamination=0.12, selector=robula.selectors.TrimmedLikelihood())
    assert found.theta.shape == (3, 4)
    assert (np.diff(found.log_density) <= 0).all()
    for theta in found.theta[:2]:
        means = theta.reshape(2, 2)
        np.testing.assert_allclose(means[means[:, 0].argsort()], CENTRES[::-1], atol=0.5)
    assert found.agreeing == 2
    # The plain posterior has its best mode elsewhere: one mean goes to the bad rows' side.
    plain = robula.restarts(model, starts, contamination=0.0, selector="mean")
    assert plain.theta[0].reshape(2, 2)[:, 1].max() > 1.0


def test_chains_from_the_best_ends_stay_there(model):
    starts = np.array([[4.0, 0, -4, 0], [-4, 0, 4, 0]])
    settings = {"contamination": 0.12, "selector": robula.selectors.TrimmedLikelihood()}
    found = robula.restarts(model, starts, **settings)
    posterior = robula.sample(
        model,
        kernel="baoab",
        likelihood_rows="weights",
        refresh_every=20,
        chains=2,
        start=found.theta,
        draws=200,
        **settings,
    )
    assert posterior.row_weights[:20].max() == 0.0
    # Each chain keeps the labels it started with, and the chains agree after exchanging them.
    one, two = posterior.draws.mean(axis=1).reshape(2, 2, 2)
    np.testing.assert_allclose(one, two[::-1], atol=0.15)
    assert robula.diagnose(posterior).verdict == "not usable yet"


def test_refusals(model):
    for wrong in (np.zeros(4), np.zeros((0, 4)), np.zeros((2, 3)), np.full((1, 4), np.nan)):
        with pytest.raises(robula.exceptions.InputError, match="starts"):
            robula.restarts(model, wrong, contamination=0.1)
    with pytest.raises(robula.exceptions.InputError, match="is not a robula model"):
        robula.restarts(ROWS, np.zeros((1, 4)), contamination=0.1)
