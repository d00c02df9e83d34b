"""Kernels that need a log density: one contract with the others, and exact whatever the step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import robula
from robula.kernels import HMC, KERNELS, Exact, Preconditioned
from robula.kernels.kernel import Info, Kernel, State, standard_normal
from robula.kernels.preconditioned import Scaled
from robula.target.robust_target import GaussianLaw
from tests.helpers import FunctionTarget, assert_variance, normal_target

PRECISION = 7.0


@dataclass(frozen=True)
class MALA(Kernel):
    """The Metropolis-adjusted Langevin algorithm, as a user would write it; ``adjusted=False`` forgets to reject."""

    adjusted: bool = True
    needs_density: ClassVar[bool] = True

    def step(self, rngs, state, target, step_size):
        density, force = target.log_density_and_drift(state.theta)
        noise = standard_normal(rngs, state.theta.shape[1] + 2)
        move = math.sqrt(2 * step_size) * noise[:, :-2]
        theta = state.theta + step_size * force + move
        new_density, new_force = target.log_density_and_drift(theta)
        back = state.theta - theta - step_size * new_force
        log_ratio = new_density - density - ((back**2).sum(axis=1) - (move**2).sum(axis=1)) / (4 * step_size)
        exponential = 0.5 * (noise[:, -2:] ** 2).sum(axis=1)
        accepted = (-exponential < log_ratio) if self.adjusted else np.ones(len(theta), dtype=bool)
        kept = np.where(accepted[:, None], theta, state.theta)
        return State(kept), Info(force, np.exp(np.minimum(log_ratio, 0.0)))


def generators(count: int, seed: int = 0) -> list[np.random.Generator]:
    return [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(count)]


def stationary(kernel: Kernel, h: float, dim: int = 10, steps: int = 40, chains: int = 2_000) -> np.ndarray:
    """Many chains of a N(0, I / k) target, from the target itself: what a right kernel leaves as it is; (chains, d)."""
    rngs = [np.random.default_rng(seed) for seed in range(chains)]
    target = normal_target(PRECISION)
    state = kernel.init(rngs, standard_normal(rngs, dim) / math.sqrt(PRECISION), target)
    state = kernel.settled(state)
    for _ in range(steps):
        state, _ = kernel.step(rngs, state, target, h)
    return state.theta


@pytest.mark.parametrize(
    ("kernel", "h"),
    [
        (MALA(), 1.2 / PRECISION),
        (HMC(), 1.0 / math.sqrt(PRECISION)),
        (HMC(travel=1.0), 0.4 / math.sqrt(PRECISION)),
        (HMC(travel=1e-9), 1.4 / math.sqrt(PRECISION)),  # one leapfrog: MALA
        (Scaled(HMC(travel=2.0), np.eye(10) + 0.1 * np.tri(10)), 0.4),
    ],
    ids=["mala", "hmc", "short hmc", "one leapfrog", "scaled hmc"],
)
def test_the_variance_is_exact_at_a_large_step(kernel, h):
    values = stationary(kernel, h)
    # Chains and, since they start in the law that must stay, coordinates are independent.
    assert_variance(values.ravel(), 1.0 / PRECISION)
    assert abs(values.mean()) < 5 / math.sqrt(PRECISION * values.size)
    assert np.abs(np.corrcoef(values.T) - np.eye(10)).max() < 5 / math.sqrt(len(values))


def test_without_the_accept_step_it_is_not():
    """Negative control: at this step Euler's variance is 2.5 times too large."""
    with pytest.raises(AssertionError, match="variance off"):
        assert_variance(stationary(MALA(adjusted=False), 1.2 / PRECISION).ravel(), 1.0 / PRECISION)


def test_a_users_mala_runs_through_sample():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 2))
    y = X @ [1.0, -0.5] + rng.standard_normal(100)
    y[:5] = 50.0
    model = robula.LinearModel(X, y, noise_scale=1.0, prior=robula.NormalPrior(0.0, 4.0))
    options = {"contamination": 0.1, "seed": 1, "draws": 4000}
    mala = robula.sample(model, kernel=Preconditioned(MALA()), step_size=0.8, **options)
    exact = robula.sample(model, kernel="exact", **options)
    assert 0.3 < mala.settings["acceptance"] < 0.95
    assert mala.stats["acceptance"].shape == (4, 4000)
    reference = model.gaussian_posterior(exact.row_weights)
    wider = robula.trust(model, 0.1).widening
    if wider is not None:  # the doubt about rows is in the draws
        reference = reference._replace(covariance=wider @ reference.covariance @ wider.T)
    for posterior in (mala, exact):
        gap = robula.metrics.clean_posterior_gap(posterior, reference)
        assert gap.bias < 4 * gap.bias_mcse
        assert abs(gap.spread - 1.0) < 5 * gap.spread_mcse
    with pytest.raises(robula.exceptions.InputError, match="needs a log density"):
        robula.sample(model, kernel=MALA(), selector="recursive", contamination=0.1)


DENSITY_KERNELS = {"hmc": HMC(), "hmc-scaled": Scaled(HMC(), np.eye(4)), "mala": MALA()}


@pytest.mark.parametrize("name", DENSITY_KERNELS)
def test_step_keeps_shapes_and_leaves_its_input_alone(name):
    kernel, rngs, theta = DENSITY_KERNELS[name], generators(3), np.ones((3, 4))
    state = kernel.init(rngs, theta, normal_target(1.0))
    memory = [array.copy() for array in state.memory]
    new, info = kernel.step(rngs, state, normal_target(1.0), 0.1)
    assert new.theta.shape == info.drift.shape == (3, 4)
    assert info.acceptance.shape == (3,)
    np.testing.assert_array_equal(theta, 1.0)
    for array, before in zip(state.memory, memory, strict=True):
        np.testing.assert_array_equal(array, before)
    assert [array.shape for array in new.memory] == [array.shape for array in memory]


@pytest.mark.parametrize("name", DENSITY_KERNELS)
def test_a_chain_does_not_depend_on_its_neighbours(name):
    """Also not on one that meets nothing but NaN beside it, and that one stays where it is."""
    kernel = DENSITY_KERNELS[name]
    target = FunctionTarget(
        lambda theta: np.where(theta[:, :1] > 5, np.nan, -theta),
        lambda theta: np.where(theta[:, 0] > 5, np.nan, -0.5 * (theta**2).sum(axis=1)),
    )

    def run(count: int) -> np.ndarray:
        rngs, start = generators(5)[:count], np.zeros((count, 4))
        start[2:] = 10.0
        state = kernel.init(rngs, start, target)
        for _ in range(10):
            state, _ = kernel.step(rngs, state, target, 0.3)
        return state.theta

    with np.errstate(invalid="ignore"):
        together = run(5)
        np.testing.assert_allclose(together[:2], run(2), rtol=0, atol=1e-12)
    np.testing.assert_allclose(together[2:], 10.0)


def test_the_step_is_adapted_in_burn_in_and_frozen_after():
    kernel, rngs, target = HMC(), generators(4), normal_target(1.0)
    state = kernel.init(rngs, np.zeros((4, 50)), target)
    for _ in range(400):
        state, _ = kernel.step(rngs, state, target, 0.05)
    state = kernel.settled(state)
    seen = []
    for _ in range(300):
        state, info = kernel.step(rngs, state, target, 0.05)
        seen.append(info)
    sizes = np.stack([info.step_size for info in seen])
    np.testing.assert_array_equal(sizes, np.broadcast_to(sizes[0], sizes.shape))
    assert sizes[0].min() > 0.1
    # 1,200 probabilities of standard deviation below 0.3, and an adaptation that is itself noisy.
    assert np.stack([info.acceptance for info in seen]).mean() == pytest.approx(0.8, abs=0.05)
    fixed, _ = kernel.step(rngs, kernel.settled(kernel.init(rngs, np.zeros((4, 50)), target)), target, 0.05)
    assert fixed.memory[2][:, 0].tolist() == [0.0] * 4


def test_exact_draws_have_the_law_and_no_memory():
    rng = np.random.default_rng(3)
    factor = np.tril(rng.standard_normal((3, 3))) + 2 * np.eye(3)
    target = normal_target(1.0)
    target.gaussian = GaussianLaw(np.array([1.0, -2.0, 3.0]), factor)
    rngs = generators(2)
    state, draws = State(np.zeros((2, 3))), []
    for _ in range(10_000):
        state, _ = Exact().step(rngs, state, target, 1.0)
        draws.append(state.theta)
    values = np.concatenate(draws)
    white = np.linalg.solve(factor, (values - target.gaussian.mean).T)
    for row in white:
        assert_variance(row, 1.0)
    assert np.abs(np.corrcoef(white) - np.eye(3)).max() < 5 / math.sqrt(len(values))
    series = np.stack(draws)[:, 0, 0]
    assert abs(np.corrcoef(series[1:], series[:-1])[0, 1]) < 5 / math.sqrt(len(series))
    with pytest.raises(robula.exceptions.InputError, match="normal posteriors"):
        Exact().step(rngs, state, normal_target(1.0), 1.0)


def test_refusals_and_names():
    with pytest.raises(robula.exceptions.InputError, match="travel"):
        HMC(travel=0.0)
    assert KERNELS["hmc"].needs_density
    assert not KERNELS["preconditioned_lm"].needs_density
