"""Two runs side by side, one with half the other's step, on the same noise: the bias of a finite step size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robula._types import FloatArray
from robula.kernels.kernel import Kernel, Noise
from robula.result.convergence import effective_sample_sizes
from robula.result.thresholds import STEP_BIAS
from robula.target.robust_target import RobustTarget

# Share of the pair's steps that is thrown away, for both runs to find their own laws.
_WARM_UP = 0.2


class Pair(NamedTuple):
    """Draws (chains, steps, d) at the same times, of the run with the whole step and of that with half of it."""

    whole: FloatArray
    half: FloatArray


class _WholeNoise:
    """Noise of the run with the whole step: the sum of two that the other run is to use, over sqrt(2)."""

    def __init__(self, rng: Noise) -> None:
        self._rng = rng
        self.halves: list[FloatArray] = []

    def standard_normal(self, size: int, /) -> FloatArray:
        """Return what the whole step sees, and keep its two halves."""
        self.halves += [self._rng.standard_normal(size), self._rng.standard_normal(size)]
        joined: FloatArray = (self.halves[-2] + self.halves[-1]) / math.sqrt(2.0)
        return joined


class _HalfNoise:
    """Noise of the run with half the step, as the other one left it: the same Brownian path, seen closely."""

    def __init__(self, whole: _WholeNoise) -> None:
        self._whole = whole

    def standard_normal(self, size: int, /) -> FloatArray:
        """Return the next half."""
        return self._whole.halves.pop(0)


def run_pair(
    kernel: Kernel,
    target: RobustTarget,
    start: FloatArray,
    step_size: float,
    steps: int,
    rngs: Sequence[Noise],
) -> Pair:
    """Run ``steps`` steps of ``step_size`` and, from the same start, twice as many of half of it.

    Both use the selections made along the first run, and the same noise: their difference is due to the step alone and
    has far less Monte Carlo error than either of them. A kernel that draws the same number of noises in every step is
    assumed.

    Parameters
    ----------
    kernel : Kernel
        As adapted to the posterior.
    target : RobustTarget
        Fresh: it selects its rows along the first run.
    start : ndarray, shape (c, d)
    """
    whole_noise = [_WholeNoise(rng) for rng in rngs]
    half_noise = [_HalfNoise(noise) for noise in whole_noise]
    follower = target.follower()
    whole, half = kernel.init(whole_noise, start, target), kernel.init(half_noise, start, follower)
    for noise in whole_noise:
        noise.halves.clear()
    kept: tuple[list[FloatArray], list[FloatArray]] = ([], [])
    # Overflow means divergence, which shows in the numbers.
    with np.errstate(over="ignore", invalid="ignore"):
        for index in range(steps):
            whole, _info = kernel.step(whole_noise, whole, target, step_size)
            for _ in range(2):
                half, _info = kernel.step(half_noise, half, follower, step_size / 2.0)
            if index >= _WARM_UP * steps:
                kept[0].append(whole.theta)
                kept[1].append(half.theta)
    return Pair(np.stack(kept[0], axis=1), np.stack(kept[1], axis=1))


class StepBias(NamedTuple):
    """How far the step size moves the posterior.

    Means and spreads at h and h / 2 differ; with a bias of order h^p the bias at h is 2^p / (2^p - 1) times that.

    Attributes
    ----------
    step_size : float
        The step size h that is judged.
    shift : float
        Length of the bias of the mean, in posterior widths sqrt(tr Cov), Monte Carlo noise removed.
    spread : float
        sqrt(tr Cov) over what it would be with a vanishing step; 1 is right.
    shift_mcse, spread_mcse : float
        Monte Carlo errors.
    """

    step_size: float
    shift: float
    spread: float
    shift_mcse: float
    spread_mcse: float

    @property
    def total(self) -> float:
        """The larger of the two biases, with its Monte Carlo error added: what a target is compared with."""
        return max(self.shift + self.shift_mcse, abs(self.spread - 1.0) + self.spread_mcse)

    @property
    def text(self) -> str:
        """In words."""
        if self.shift == self.shift_mcse == 0.0:
            return "These draws have no step size bias: they are independent, or Metropolis-adjusted."
        found = (
            f"A step size of {self.step_size:.3g} moves the mean by {self.shift:.3f} +- {self.shift_mcse:.3f} "
            f"posterior widths and multiplies the spread by {self.spread:.3f} +- {self.spread_mcse:.3f}."
        )
        if not math.isfinite(self.total):
            return f"A step size of {self.step_size:.3g} is unstable here. Use a smaller one."
        if self.total <= STEP_BIAS:
            return f"{found} That is small: keep it."
        if max(self.shift_mcse, self.spread_mcse) > STEP_BIAS:
            return f"{found} The Monte Carlo error is too large to judge; pass steps= for a longer comparison."
        return f"{found} Use step_size=robula.StepFor(bias=...) or a smaller step_size."


def measure_step_bias(whole: FloatArray, half: FloatArray, step_size: float, order: int) -> StepBias:
    """Compare draws (chains, steps, d) at the whole step with coupled draws at half of it.

    Monte Carlo errors are those of the differences, draw by draw, from their effective sample sizes.
    """
    if not (np.isfinite(whole).all() and np.isfinite(half).all()):
        return StepBias(step_size, math.inf, math.inf, math.inf, math.inf)
    factor = 2.0**order / (2.0**order - 1.0)
    middle = half.mean(axis=(0, 1))
    squares = ((half - middle) ** 2).sum(axis=-1)
    width = math.sqrt(float(squares.mean()))
    difference = whole - half
    mean = difference.mean(axis=(0, 1))
    noise = float((difference.var(axis=(0, 1)) / _sizes(difference)).sum())
    shift = math.sqrt(max(float(mean @ mean) - noise, 0.0))
    # Squared distances from the same middle differ by the change of variance and, to second order, of mean.
    change = (((whole - middle - mean) ** 2).sum(axis=-1) - squares)[..., None]
    relative = float(change.mean()) / width**2
    relative_error = float(change.std()) / math.sqrt(float(_sizes(change)[0])) / width**2
    return StepBias(
        step_size,
        factor * shift / width,
        math.sqrt(max(1.0 + factor * relative, 0.0)),
        factor * math.sqrt(noise) / width,
        0.5 * factor * relative_error,
    )


def _sizes(draws: FloatArray) -> FloatArray:
    """Effective sample sizes, at least 1; a constant column counts as one draw."""
    with np.errstate(invalid="ignore", divide="ignore"):
        sizes = effective_sample_sizes(draws)
    floored: FloatArray = np.maximum(np.where(np.isfinite(sizes), sizes, 1.0), 1.0)
    return floored
