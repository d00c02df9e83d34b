"""Two runs side by side, one with half the other's step, on the same noise: what the step size does to the result."""

from __future__ import annotations

import math
from typing import NamedTuple, cast

import numpy as np

from robula._types import FloatArray
from robula.kernels.kernel import Kernel
from robula.target.drift_maker import DriftMaker

# Share of the pair's steps that is thrown away, for both runs to find their own laws.
_WARM_UP = 0.2


class Pair(NamedTuple):
    """Draws (chains, steps, d) at the same times, of the run with the whole step and of that with half of it."""

    whole: FloatArray
    half: FloatArray


class _WholeNoise:
    """Noise of the run with the whole step: the sum of two that the other run is to use, over sqrt(2)."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self.halves: list[FloatArray] = []

    def standard_normal(self, size: int) -> FloatArray:
        self.halves += [self._rng.standard_normal(size), self._rng.standard_normal(size)]
        joined: FloatArray = (self.halves[-2] + self.halves[-1]) / math.sqrt(2.0)
        return joined


class _HalfNoise:
    """Noise of the run with half the step, as the other one left it: the same Brownian path, seen closely."""

    def __init__(self, whole: _WholeNoise) -> None:
        self._whole = whole

    def standard_normal(self, size: int) -> FloatArray:
        return self._whole.halves.pop(0)


def run_pair(
    kernel: Kernel,
    drift_for: DriftMaker,
    start: FloatArray,
    step_size: float,
    steps: int,
    rngs: list[np.random.Generator],
) -> Pair:
    """Run ``steps`` steps of ``step_size`` and, from the same start, twice as many of half of it.

    Both use the selections made along the first run, and the same noise: their difference is due to the step alone and
    has far less Monte Carlo error than either of them. A kernel that draws the same number of noises in every step is
    assumed.

    Parameters
    ----------
    kernel : Kernel
        As adapted to the posterior.
    drift_for : callable
        Makes the drifts.
    start : ndarray, shape (c, d)
    """
    noises = [_WholeNoise(rng) for rng in rngs]
    whole_rngs = cast(list[np.random.Generator], noises)
    half_rngs = cast(list[np.random.Generator], [_HalfNoise(noise) for noise in noises])
    whole_drift = drift_for(None)
    half_drift = drift_for(whole_drift)
    whole, half = kernel.init(whole_rngs, start), kernel.init(half_rngs, start)
    for noise in noises:
        noise.halves.clear()
    kept: tuple[list[FloatArray], list[FloatArray]] = ([], [])
    # Overflow means divergence, which shows in the numbers.
    with np.errstate(over="ignore", invalid="ignore"):
        for index in range(steps):
            whole, _info = kernel.step(whole_rngs, whole, whole_drift, step_size)
            for _ in range(2):
                half, _info = kernel.step(half_rngs, half, half_drift, step_size / 2.0)
            if index >= _WARM_UP * steps:
                kept[0].append(whole.theta)
                kept[1].append(half.theta)
    return Pair(np.stack(kept[0], axis=1), np.stack(kept[1], axis=1))
