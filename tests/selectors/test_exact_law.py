"""The law taken at its word, or for nearly right, whoever says how wide the noise is."""

from __future__ import annotations

import numpy as np
import pytest

import robula
from robula.exceptions import InputError
from robula.selectors import TrustSelector
from tests.helpers import unknown_scale


def shifted(n: int = 400, share: float = 0.1) -> tuple[np.ndarray, np.ndarray, int]:
    """Normal rows around a line, the first of them together in one place and too high: a bend explains them as well."""
    rng = np.random.default_rng(0)
    X, bad = rng.normal(size=(n, 2)), round(share * n)
    X[:bad] = 0.3 * X[:bad] + [2.5, 2.5]
    y = X @ [1.0, -0.5] + rng.standard_normal(n)
    y[:bad] += 4.0
    return X, y, bad


def skewed(n: int = 1000) -> robula.LinearModel:
    """No row is bad, but the noise is skewed, and half as wide again as was declared."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 2))
    y = X @ [1.0, -0.5] + 1.5 * (rng.gamma(3.0, size=n) - 3.0) / np.sqrt(3.0)
    return robula.LinearModel(X, y, noise_scale=1.0, prior=robula.NormalPrior(0.0, 10.0), intercept=True)


def test_an_exact_law_finds_rows_that_a_nearly_right_one_keeps():
    X, y, bad = shifted()
    model = unknown_scale(X, y)
    kept, found = (robula.trust(model, 0.2, exact_law=told).weights for told in (None, True))
    assert kept[:bad].mean() > 0.8
    assert found[:bad].mean() < 0.35
    assert found[bad:].mean() > 0.95


def test_noise_that_was_told_may_still_be_of_a_law_that_is_only_nearly_right():
    exact, near = (1.0 - robula.trust(skewed(), 0.2, exact_law=told).weights.mean() for told in (None, False))
    assert near < 0.04 < 0.1 < exact


def test_only_a_law_that_is_said_to_be_exact_may_not_be_free():
    """Declared noise of a skewed law: the shape may still be free unless the user says that it is not."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(600, 2))
    y = X @ [1.0, -0.5] + (rng.gamma(3.0, size=600) - 3.0) / np.sqrt(3.0)
    model = robula.LinearModel(X, y, noise_scale=1.0, prior=robula.NormalPrior(0.0, 10.0), intercept=True)
    free, held = (robula.trust(model, 0.2, exact_law=told) for told in (None, True))
    assert free.share < 0.03
    assert any("skewed" in words for words in free.law)
    assert held.share > 2.0 * free.share + 0.01
    assert not any("skewed" in words for words in held.law)


@pytest.mark.parametrize("told", [True, False])
def test_clean_rows_lose_nothing_either_way(told):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 3))
    model = unknown_scale(X, X @ [1.0, 0.0, -1.0] + rng.standard_normal(400))
    assert robula.trust(model, 0.2, exact_law=told).weights.mean() > 0.995


def test_a_run_knows_its_law_and_can_be_repeated():
    X, y, _ = shifted()
    model = unknown_scale(X, y)
    selector = TrustSelector(exact_law=True)
    posterior = robula.sample(model, contamination=0.2, selector=selector, draws=20, burn_in=20, chains=2)
    np.testing.assert_allclose(posterior.row_weights, robula.trust(model, 0.2, exact_law=True).weights, atol=1e-12)
    again = robula.run.repeat.repeat(posterior, model)
    np.testing.assert_array_equal(again.draws, posterior.draws)


def test_rows_in_passes_take_the_same_word():
    X, y, bad = shifted(60_000)
    options = {"noise_scale": "estimate", "prior": robula.NormalPrior(0.0, 10.0), "intercept": True}
    model = robula.LargeModel(robula.LinearModel, X, y, **options)
    near, exact = (robula.trust(model, 0.2, exact_law=told) for told in (None, True))
    assert exact.weights[:bad].mean() < 0.35
    # Beyond the overlap that no rule can resolve, passes do with the law what the sample did.
    assert exact.weights[bad:].mean() > 0.95
    assert near.share <= exact.share + 0.02


@pytest.mark.parametrize("wrong", ["yes", 2, np.ones(2)])
def test_what_it_takes(wrong):
    with pytest.raises(InputError, match="must be True, False, or None"):
        TrustSelector(exact_law=wrong)


def test_a_large_model_is_sampled_with_the_selectors_word():
    X, y, bad = shifted(60_000)
    options = {"noise_scale": "estimate", "prior": robula.NormalPrior(0.0, 10.0), "intercept": True}
    model = robula.LargeModel(robula.LinearModel, X, y, **options)
    posterior = robula.sample(model, contamination=0.2, selector=TrustSelector(exact_law=True), draws=50)
    assert posterior.row_weights[:bad].mean() < 0.35
