"""robula's kernels in BlackJAX's inference loop."""

from __future__ import annotations

import numpy as np
import pytest

import robula
from robula.integrations import to_blackjax

blackjax = pytest.importorskip("blackjax")
jax = pytest.importorskip("jax")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((200, 2))
Y = X @ [1.0, -0.5] + 0.5 * RNG.standard_normal(200)
Y[:20] = 30.0
# One exact selection a step is quick with the paper's rule.
PAPER = {"selector": "recursive", "kernel": "ula", "likelihood_rows": "n"}
MODEL = robula.LinearModel(X, Y, noise_scale=0.5, prior=robula.NormalPrior(0.0, 4.0))


def test_runs_in_blackjaxs_own_loop_and_finds_the_same_posterior():
    algorithm = to_blackjax(MODEL, contamination=0.15, **PAPER)
    _, (states, info) = blackjax.util.run_inference_algorithm(
        jax.random.key(0), algorithm, num_steps=1200, initial_position=np.zeros(2)
    )
    theirs = np.asarray(states.position)[200:]
    assert info.drift.shape == (1200, 2)
    ours = robula.sample(MODEL, contamination=0.15, **PAPER, draws=1000, burn_in=200, chains=4, seed=1)
    # Means of chains of 1000 draws: 5 Monte Carlo errors, the effective size taken as a tenth of the draws.
    error = np.sqrt(np.diag(ours.covariance)) * np.sqrt(10 / 1000 + 10 / 4000)
    assert (np.abs(theirs.mean(axis=0) - ours.mean) < 5 * error).all()
    assert (np.abs(theirs.std(axis=0) / ours.flat_draws.std(axis=0) - 1.0) < 0.3).all()
    # Negative control: plain rows are elsewhere.
    assert (np.abs(MODEL.gaussian_posterior().mean - ours.mean) > 5 * error).any()


def test_a_step_is_robulas_own_and_pure():
    algorithm = to_blackjax(MODEL, contamination=0.15, **PAPER, step_size=1e-4)
    state = algorithm.init(np.array([0.3, 0.1]), jax.random.PRNGKey(1))
    key = jax.random.PRNGKey(7)
    first, info = algorithm.step(key, state)
    again, _ = jax.jit(algorithm.step)(key, state)
    np.testing.assert_array_equal(first.position, again.position)
    rng = np.random.default_rng(np.asarray(key))
    noise = rng.standard_normal(2)
    position = np.asarray(state.position, dtype=np.float64)
    expected = position + 1e-4 * np.asarray(info.drift) + np.sqrt(2e-4) * noise
    np.testing.assert_allclose(first.position, expected, rtol=1e-5)


def test_chains_by_vmap():
    algorithm = to_blackjax(MODEL, contamination=0.15, **PAPER)
    keys = jax.random.split(jax.random.key(0), 3)
    states = jax.vmap(algorithm.init)(np.zeros((3, 2)), keys)
    moved, _ = jax.jit(jax.vmap(algorithm.step))(keys, states)
    assert moved.position.shape == (3, 2)
    assert len(np.unique(np.asarray(moved.position)[:, 0])) == 3


def test_wrong_arguments_are_refused():
    for arguments, words in [
        (dict(model=3, contamination=0.1), "not a robula model"),
        (dict(model=MODEL, contamination=0.9), "contamination"),
        (dict(model=MODEL, contamination=0.1, step_size=-1.0), "step_size"),
        (dict(model=MODEL, contamination=0.1, selector="nope"), "selector"),
        (dict(model=MODEL, contamination=0.1, likelihood_rows="nope"), "likelihood_rows"),
    ]:
        with pytest.raises(robula.exceptions.InputError, match=words):
            to_blackjax(**arguments)
    with pytest.raises(robula.exceptions.InputError, match="position has shape"):
        to_blackjax(MODEL, contamination=0.1).init(np.zeros(3))
