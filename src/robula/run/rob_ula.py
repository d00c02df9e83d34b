"""The paper's Algorithm 1 to the letter."""

from __future__ import annotations

import numpy as np

from robula._types import ArrayInput
from robula._validation import show
from robula.exceptions import InputError
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

    Parameters
    ----------
    model : Model
    contamination : float
        The paper's epsilon: an upper bound on the share of bad rows, in [0, 0.5).
    draws, burn_in, chains : int, optional
        Each chain makes ``burn_in + draws`` steps and keeps ``draws``.
    seed : int or SeedSequence, optional
        The same seed and arguments give the same bits.
    step_size : float, sequence, function of k = 1, 2, ..., StepFor(bias=...) or None, optional
        None is 1 / L, with L the largest curvature of the posterior of the trusted rows at a robust centre.
    start : array-like, shape (d,) or (chains, d), optional
        None draws from N(0, start_variance I).
    start_variance : float, optional
        The paper's beta; None is 1 / L.
    guard : bool, optional
        Cut drifts far longer than any in the bulk of the posterior; the paper does not.
    progress : bool, optional
        Show a progress bar where there is a terminal or a notebook.

    Returns
    -------
    Posterior
    """
    # "estimate" needs another selector than the paper's, which sample would advise and this function does not take.
    if isinstance(contamination, str):
        raise InputError(
            f"contamination={show(contamination)}: the paper's algorithm takes a number in [0, 0.5). Where the share "
            "of bad rows is not known, use robula.sample with contamination='estimate'."
        )
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
