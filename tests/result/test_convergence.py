"""R-hat and effective sample sizes: ArviZ's own numbers, for all parameters at once."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from robula.result.convergence import convergence, effective_sample_sizes, r_hats


def autoregression(chains: int, length: int, phi: float, seed: int = 0) -> np.ndarray:
    noise = np.random.default_rng(seed).standard_normal((chains, length, 5))
    draws = noise.copy()
    for index in range(1, length):
        draws[:, index] = phi * draws[:, index - 1] + noise[:, index]
    return draws


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.95, -0.6])
@pytest.mark.parametrize("shape", [(4, 300), (2, 25), (3, 101), (4, 7), (2, 4)])
def test_they_are_those_of_arviz(shape, phi):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import arviz as az

        draws = autoregression(*shape, phi)
        draws[:, 1::3, 1] = draws[:, :-1:3, 1][:, : draws[:, 1::3, 1].shape[1]]  # ties, as rejections leave them
        data = az.convert_to_dataset({"x": draws})
        np.testing.assert_allclose(r_hats(draws), az.rhat(data)["x"], rtol=1e-10)
        np.testing.assert_allclose(effective_sample_sizes(draws), az.ess(data, method="mean")["x"], rtol=1e-10)


def test_the_effective_size_of_an_autoregression_is_its_law():
    draws = autoregression(8, 20_000, 0.5)
    np.testing.assert_allclose(effective_sample_sizes(draws) / draws[..., 0].size, 1 / 3, rtol=0.1)


def test_the_worst_parameter_counts():
    draws = autoregression(4, 500, 0.0)
    draws[0, :, 3] += 1.0
    found = convergence(draws)
    assert found.worst == 3
    assert found.r_hat > 1.05
    assert convergence(draws[..., :3]).r_hat < 1.02


def test_a_parameter_without_a_number_is_not_converged():
    draws = autoregression(4, 500, 0.0)
    draws[2, 5, 2] = math.nan
    assert convergence(draws)[:2] == (math.inf, 2)
    assert convergence(draws).effective_draws == 0.0
    draws[..., 2] = 1.0
    assert convergence(draws)[:2] == (math.inf, 2)
    assert all(math.isnan(value) for value in convergence(draws[:, :3])[::2])
