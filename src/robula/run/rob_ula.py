"""The paper's Algorithm 1 to the letter."""

from __future__ import annotations

import numpy as np

from robula._types import ArrayInput
from robula.models.model import Model
from robula.result.posterior import Posterior
from robula.run.sampler import sample
from robula.run.step_choice import StepSize


def rob_ula(
    model: Model,
    *,
    contamination: float,
    draws: int = 1000,
    burn_in: int = 300,
    chains: int = 4,
    seed: int | np.random.SeedSequence = 0,
    step_size: StepSize = None,
    start: ArrayInput = None,
    start_variance: float | None = None,
    guard: bool = False,
    progress: bool = True,
) -> Posterior:
    """Run the paper's Algorithm 1 (alg:rula) to the letter; its settings never change with robula's defaults.

    The same as :func:`sample` with ``selector="recursive"``, ``kernel="ula"``, ``likelihood_rows="n"``,
    ``refresh_every=1`` and ``thin=1``, and no guard unless asked for. Algorithm 2 has no bound where bad rows can
    become the majority of its last level; a ``BreakdownWarning`` tells (docs/errata.md).
    """
    return sample(
        model,
        contamination=contamination,
        selector="recursive",
        kernel="ula",
        likelihood_rows="n",
        refresh_every=1,
        thin=1,
        draws=draws,
        burn_in=burn_in,
        chains=chains,
        seed=seed,
        step_size=step_size,
        start=start,
        start_variance=start_variance,
        guard=guard,
        progress=progress,
    )
