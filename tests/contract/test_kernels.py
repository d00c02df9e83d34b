"""Every kernel through one contract, and against its own law on Gaussian targets."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import solve_discrete_lyapunov

import robula
from robula.kernels import KERNELS, resolve_kernel
from robula.kernels.kernel import Info, State, standard_normal
from robula.kernels.preconditioned import Scaled
from tests.helpers import assert_variance

PRECISION = 7.0


def kernel_named(name: str) -> robula.kernels.Kernel:
    """The kernel, ready to step: a preconditioned one needs coordinates, and gets those of the identity in d = 4."""
    kernel = resolve_kernel(name)
    return Scaled(kernel.kernel, np.eye(4)) if isinstance(kernel, robula.kernels.Preconditioned) else kernel


def baoab_autocorrelation(k: float, h: float, lag: int) -> float:
    """From the stationary covariance of (theta, v) under v' = v - h k theta; half A, O with friction 1, half A."""
    c = math.exp(-h)
    step = np.array([[1 - h**2 * k * (1 + c) / 2, h * (1 + c) / 2], [-c * h * k, c]])
    noise = math.sqrt(1 - c**2) * np.array([[h / 2], [1.0]])
    covariance = solve_discrete_lyapunov(step, noise @ noise.T)
    return float((np.linalg.matrix_power(step, lag) @ covariance)[0, 0] / covariance[0, 0])


#: Stationary variance, and autocorrelation at a lag, on a Gaussian of precision k with step size h.
VARIANCES = {
    "ula": lambda k, h: 1.0 / (k * (1.0 - h * k / 2.0)),
    "lm": lambda k, h: 1.0 / k,
    "preconditioned_lm": lambda k, h: 1.0 / k,
    "baoab": lambda k, h: 1.0 / k,
    "preconditioned_baoab": lambda k, h: 1.0 / k,
}
AUTOCORRELATIONS = {
    "ula": lambda k, h, lag: (1.0 - h * k) ** lag,
    "lm": lambda k, h, lag: (1.0 - h * k / 2.0) * (1.0 - h * k) ** (lag - 1),
    "preconditioned_lm": lambda k, h, lag: (1.0 - h * k / 2.0) * (1.0 - h * k) ** (lag - 1),
    "baoab": baoab_autocorrelation,
    "preconditioned_baoab": baoab_autocorrelation,
}


@pytest.fixture(params=list(KERNELS))
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def generators(count: int, seed: int = 0) -> list[np.random.Generator]:
    return [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(count)]


def test_step_keeps_shapes_and_leaves_its_input_alone(name):
    kernel, rngs = kernel_named(name), generators(3)
    theta = np.ones((3, 4))
    state = kernel.init(rngs, theta)
    memory = [array.copy() for array in state.memory]
    new, info = kernel.step(rngs, state, lambda t: -t, 0.1)
    assert isinstance(new, State)
    assert isinstance(info, Info)
    assert new.theta.shape == info.drift.shape == (3, 4)
    np.testing.assert_array_equal(theta, 1.0)
    for array, before in zip(state.memory, memory, strict=True):
        np.testing.assert_array_equal(array, before)
    assert [array.shape for array in new.memory] == [array.shape for array in memory]


def test_a_chain_does_not_depend_on_its_neighbours(name):
    """Also not on one that diverges beside it."""
    kernel = kernel_named(name)

    def drift(theta: np.ndarray) -> np.ndarray:
        return np.where(theta[:, :1] > 5, np.nan, -theta)

    def run(count: int) -> np.ndarray:
        rngs = generators(5)[:count]
        start = np.zeros((count, 4))
        start[2:] = 10.0
        state = kernel.init(rngs, start)
        for _ in range(10):
            state, _ = kernel.step(rngs, state, drift, 0.3)
        return state.theta

    together = run(5)
    np.testing.assert_allclose(together[:2], run(2), rtol=0, atol=1e-14)
    assert np.isnan(together[2:]).all()


def stationary_run(kernel: robula.kernels.Kernel, k: float, h: float, steps: int = 1) -> np.ndarray:
    """40,000 independent coordinates with precision k, run from 0 for long enough to forget it; (steps, 40000)."""
    chains, dim = 4, 10_000
    if isinstance(kernel, Scaled):
        chains, dim = 400, 100
        kernel = Scaled(kernel.kernel, np.eye(dim))
    rngs = generators(chains, seed=7)
    state = kernel.init(rngs, np.zeros((chains, dim)))
    kept = []
    relaxation = kernel.relaxation_steps(h, k)
    for index in range(math.ceil(12.0 * max(relaxation, 1.0)) + steps):
        state, _ = kernel.step(rngs, state, lambda theta: -k * theta, h)
        if index >= math.ceil(12.0 * max(relaxation, 1.0)):
            kept.append(state.theta.ravel())
    return np.stack(kept)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.75])
def test_stationary_law_is_the_kernels_own(name, share):
    """Mean, variance and autocorrelation at a share of the largest stable step."""
    kernel, k = kernel_named(name), PRECISION
    h = share * kernel.stable_below(k)
    first, second, third = stationary_run(kernel, k, h, steps=3)
    expected = VARIANCES[name](k, h)
    assert_variance(first, expected)
    assert abs(first.mean()) < 5 * math.sqrt(expected / first.size)
    assert kernel.variance_inflation(h, k) == pytest.approx(expected * k)
    for lag, later in ((1, second), (2, third)):
        # A correlation of N pairs has a standard error of at most 1 / sqrt(N).
        error = np.mean(first * later) / expected - AUTOCORRELATIONS[name](k, h, lag)
        assert abs(error) < 5 * math.sqrt(2 / first.size), lag


@pytest.mark.parametrize(
    "inner", [robula.kernels.ULA(), robula.kernels.LeimkuhlerMatthews(), robula.kernels.BAOAB()], ids=repr
)
def test_preconditioning_is_the_kernel_on_scaled_coordinates(inner):
    scaling = np.random.default_rng(3).standard_normal((4, 4))

    def drift(theta: np.ndarray) -> np.ndarray:
        return -(theta**3)

    def run(kernel: robula.kernels.Kernel, start: np.ndarray, force) -> np.ndarray:
        rngs = generators(3)
        state = kernel.init(rngs, start)
        for _ in range(5):
            state, _ = kernel.step(rngs, state, force, 0.01)
        return state.theta

    phi = run(inner, np.full((3, 4), 0.2), lambda phi: drift(phi @ scaling.T) @ scaling)
    theta = run(Scaled(inner, scaling), np.full((3, 4), 0.2) @ scaling.T, drift)
    np.testing.assert_allclose(theta, phi @ scaling.T, atol=1e-10)


class HalfNoise(robula.kernels.Kernel):
    """A kernel with the noise of sqrt(h) instead of sqrt(2 h): the negative control."""

    def step(self, rngs, state, drift, step_size):
        force = drift(state.theta)
        noise = standard_normal(rngs, state.theta.shape[1])
        return State(state.theta + step_size * force + math.sqrt(step_size) * noise), Info(force)


@pytest.mark.parametrize("name", ["ula", "lm"])
def test_the_variance_check_catches_a_wrong_noise_scale(name):
    values = stationary_run(HalfNoise(), PRECISION, 0.5 / PRECISION)
    with pytest.raises(AssertionError, match="variance off"):
        assert_variance(values, VARIANCES[name](PRECISION, 0.5 / PRECISION))


def test_the_variance_check_catches_ten_percent_of_step_size():
    """Sensitivity: a kernel that silently used 1.1 h would be noticed at h k = 1."""
    values = stationary_run(resolve_kernel("ula"), PRECISION, 1.1 / PRECISION)
    with pytest.raises(AssertionError, match="variance off"):
        assert_variance(values, VARIANCES["ula"](PRECISION, 1.0 / PRECISION))


def test_euler_fails_the_law_of_leimkuhler_and_matthews():
    values = stationary_run(resolve_kernel("ula"), PRECISION, 0.1 / PRECISION)
    with pytest.raises(AssertionError, match="variance off"):
        assert_variance(values, VARIANCES["lm"](PRECISION, 0.1 / PRECISION))


def test_a_preconditioned_kernel_says_what_it_needs():
    with pytest.raises(robula.exceptions.InputError, match="needs a posterior"):
        robula.kernels.Preconditioned().step(generators(1), State(np.zeros((1, 2))), lambda t: -t, 0.1)
    with pytest.raises(robula.exceptions.InputError, match="not preconditioned itself"):
        robula.kernels.Preconditioned(robula.kernels.Preconditioned())
    with pytest.raises(robula.exceptions.InputError, match="friction"):
        robula.kernels.BAOAB(friction=-1.0)
