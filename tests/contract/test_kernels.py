"""Every kernel through one contract, and against its own law on Gaussian targets."""

from __future__ import annotations

import math

import numpy as np
import pytest

import robula
from robula.langevin.base import Info, State, standard_normal
from robula.langevin.registry import KERNELS, resolve_kernel
from tests.helpers import assert_variance

#: Stationary variance on a Gaussian of precision k with step size h.
LAWS = {"ula": lambda k, h: 1.0 / (k * (1.0 - h * k / 2.0))}


@pytest.fixture(params=list(KERNELS))
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def generators(count: int, seed: int = 0) -> list[np.random.Generator]:
    return [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(count)]


def test_step_keeps_shapes_and_leaves_its_input_alone(name):
    kernel, rngs = resolve_kernel(name), generators(3)
    theta = np.ones((3, 4))
    state = kernel.init(rngs, theta)
    new, info = kernel.step(rngs, state, lambda t: -t, 0.1)
    assert isinstance(new, State)
    assert isinstance(info, Info)
    assert new.theta.shape == info.drift.shape == (3, 4)
    np.testing.assert_array_equal(theta, 1.0)


def test_a_chain_does_not_depend_on_its_neighbours(name):
    kernel = resolve_kernel(name)

    def run(count: int) -> np.ndarray:
        rngs = generators(5)[:count]
        state = kernel.init(rngs, np.zeros((count, 2)))
        for _ in range(10):
            state, _ = kernel.step(rngs, state, lambda t: -t, 0.3)
        return state.theta

    np.testing.assert_array_equal(run(5)[:2], run(2))


def stationary_values(kernel: robula.Kernel, k: float, h: float) -> np.ndarray:
    """40,000 independent coordinates with precision k, run from 0 for long enough to forget it."""
    rngs = generators(4, seed=7)
    state = kernel.init(rngs, np.zeros((4, 10_000)))
    for _ in range(math.ceil(12.0 / (h * k))):
        state, _ = kernel.step(rngs, state, lambda theta: -k * theta, h)
    return state.theta.ravel()


@pytest.mark.parametrize("stiffness", [0.1, 0.5, 1.0, 1.5])
def test_stationary_variance_is_the_kernels_own(name, stiffness):
    k = 7.0
    values = stationary_values(resolve_kernel(name), k, stiffness / k)
    expected = LAWS[name](k, stiffness / k)
    assert_variance(values, expected)
    assert abs(values.mean()) < 5 * math.sqrt(expected / values.size)
    assert resolve_kernel(name).variance_inflation(stiffness) == pytest.approx(expected * k)


class HalfNoise(robula.Kernel):
    """A kernel with the noise of sqrt(h) instead of sqrt(2 h): the negative control."""

    def step(self, rngs, state, drift, step_size):
        force = drift(state.theta)
        noise = standard_normal(rngs, state.theta.shape[1])
        return State(state.theta + step_size * force + math.sqrt(step_size) * noise), Info(force)


def test_the_variance_check_catches_a_wrong_noise_scale():
    values = stationary_values(HalfNoise(), 7.0, 0.5 / 7.0)
    with pytest.raises(AssertionError, match="variance off"):
        assert_variance(values, LAWS["ula"](7.0, 0.5 / 7.0))


def test_the_variance_check_catches_ten_percent_of_step_size():
    """Sensitivity: a kernel that silently used 1.1 h would be noticed at h k = 1."""
    values = stationary_values(resolve_kernel("ula"), 7.0, 1.1 / 7.0)
    with pytest.raises(AssertionError, match="variance off"):
        assert_variance(values, LAWS["ula"](7.0, 1.0 / 7.0))
