"""The sampler: checks what it is given, wires model, selector, target and kernel, runs the chains, makes the result."""

from __future__ import annotations

import time
from typing import Any, Literal

import numpy as np

from robula._threads import few_threads_for_small_data
from robula._types import ArrayInput
from robula._validation import check_contamination, check_count, check_name, check_positive, show
from robula._version import __version__
from robula.exceptions import InputError
from robula.kernels import resolve_kernel
from robula.kernels.kernel import Kernel
from robula.models.model import Model
from robula.result.posterior import Posterior
from robula.run.cautions import (
    require_data_curvature,
    warn_if_biased,
    warn_if_guarded,
    warn_if_uninformed,
    warn_if_unstable,
)
from robula.run.collector import collect
from robula.run.driver import iterate, track
from robula.run.starts import check_start, draw_start
from robula.run.step_choice import StepFor, StepSize, check_step_size, choose_step
from robula.run.step_pair import StepBias
from robula.selectors import resolve_selector
from robula.selectors.excess import DEFAULT_BUDGET
from robula.selectors.selection import ContaminationEstimate, Selector
from robula.target.centre_search import find_centre
from robula.target.drift import LIKELIHOOD_ROWS, LikelihoodRows, drift_maker
from robula.target.robust_gradient import RefreshRule

# A stable chain stays within a few widths of the centre or of its start; this far out it is lost.
_LOST = 1e4
# 128 GiB of draws: a slip of the pen, not a plan.
_MOST_NUMBERS = 2**34


@few_threads_for_small_data
def sample(
    model: Model,
    *,
    contamination: float | Literal["estimate"],
    selector: str | Selector = "excess",
    kernel: str | Kernel = "preconditioned_lm",
    step_size: StepSize = None,
    likelihood_rows: LikelihoodRows = "weights",
    draws: int = 1000,
    burn_in: int = 300,
    chains: int = 4,
    thin: int = 1,
    refresh_every: RefreshRule = "auto",
    start: ArrayInput = None,
    start_variance: float | None = None,
    guard: bool = True,
    seed: int | np.random.SeedSequence = 0,
    progress: bool = True,
) -> Posterior:
    """Draw from the posterior that the clean rows alone would have given.

    Parameters
    ----------
    model : Model
        ``MeanModel``, ``LinearModel``, ``LogisticModel``, ``PoissonModel``, ``from_jax(...)`` or a subclass of
        ``Model``.
    contamination : float or "estimate"
        The paper's epsilon: an upper bound on the share of bad rows among all rows, in [0, 0.5). "estimate" needs
        selector="excess"; the share it finds is in ``settings["contamination_estimate"]``, with its standard error.
    selector : str or Selector, optional
        Which rows to trust: "excess" (model-aware, docs/method.md; use it with ``likelihood_rows="weights"``),
        "recursive" (the paper's Algorithm 2), "spectral", "geometric_median", "mean" (all rows: plain ULA), or an
        object.
    kernel : str or Kernel, optional
        "ula" (the paper's), "lm" (Leimkuhler and Matthews: no variance bias on Gaussians), "preconditioned_lm" (the
        same in coordinates in which the trusted rows' posterior is round), "baoab" (kinetic),
        "preconditioned_baoab", or an object.
    step_size : float, sequence, function of k = 1, 2, ..., StepFor(bias=...) or None, optional
        None takes the kernel's own default. For ULA it is the largest the theorem admits, 1 / L, with L the largest
        curvature of the posterior of the rows that are trusted at a robust centre.
    likelihood_rows : {"n", "clean", "weights"}, optional
        How many rows the robust mean stands for: all n (the paper), (1 - contamination) n, or the sum of the row
        weights.
    draws, burn_in, chains, thin : int, optional
        Each chain makes ``burn_in + draws * thin`` steps and keeps ``draws``.
    refresh_every : int or "auto", optional
        Keep a selection for this many steps; 1 is the paper. "auto" keeps it until a chain has moved four posterior
        widths, for 50 steps at most, and makes one at every step early in burn-in. With anything but 1, chains share
        selections after burn-in, in two groups. Ignored where one selection is exact for ever (``MeanModel``).
    start : array-like, shape (d,) or (chains, d), optional
        Where the chains start. None draws from N(0, start_variance I), around ``init`` for ``from_jax``; with a
        model-aware selector around the centre that it found, as spread out as the posterior.
    start_variance : float, optional
        The paper's beta; None is the theorem's 1 / L.
    guard : bool, optional
        Cut drifts far longer than any in the bulk of the posterior, where the curvature has no global bound (Poisson,
        ``from_jax``) and one step could throw a chain to infinity.
    seed : int or SeedSequence, optional
        The same seed and arguments give the same bits.
    progress : bool, optional
        Show a progress bar where there is a terminal or a notebook.

    Returns
    -------
    Posterior

    Raises
    ------
    InputError
        Before any work, if an argument cannot be used.
    DivergenceError
        If a chain diverges; carries the draws so far.

    Examples
    --------
    >>> import robula
    >>> problem = robula.simulate.mean_estimation(n_clean=200, dim=5, contamination=0.1, seed=1)
    >>> posterior = robula.sample(problem.model, contamination=0.1, draws=100, seed=1)
    >>> posterior.draws.shape
    (4, 100, 5)
    """
    began = time.perf_counter()
    if not isinstance(model, Model):
        raise InputError(
            f"model={show(model)} is not a robula model; make one with MeanModel, LinearModel, LogisticModel, "
            "PoissonModel or from_jax, or subclass robula.models.Model."
        )
    estimate = isinstance(contamination, str) and contamination == "estimate"
    contamination = check_contamination(DEFAULT_BUDGET if estimate else contamination)
    selector = resolve_selector(selector)
    kernel = resolve_kernel(kernel)
    check_name(likelihood_rows, "likelihood_rows", LIKELIHOOD_ROWS)
    draws, thin = check_count(draws, "draws", 1), check_count(thin, "thin", 1)
    chains, burn_in = check_count(chains, "chains", 1), check_count(burn_in, "burn_in", 0)
    if isinstance(refresh_every, str):
        check_name(refresh_every, "refresh_every", ("auto",))
    else:
        refresh_every = check_count(refresh_every, "refresh_every", 1)
    if start_variance is not None:
        start_variance = check_positive(start_variance, "start_variance", "the variance of the start")
    given_start = None if start is None else check_start(start, chains, model.dim)
    root = _seed_sequence(seed)
    if chains * draws * model.dim > _MOST_NUMBERS:
        raise InputError(
            f"chains * draws * parameters = {chains * draws * model.dim:.3g} numbers do not fit in memory; "
            "keep fewer draws with thin=."
        )
    steps = burn_in + draws * thin
    step_sizes = check_step_size(step_size, steps)

    budget = contamination
    selector = selector.prepared(model, budget)
    found = selector.estimated_contamination
    if estimate:
        contamination = _require_estimate(found, selector)
    warn_if_biased(model, selector, contamination)
    centre = find_centre(model, selector, contamination, likelihood_rows)
    warn_if_uninformed(model, centre)
    rngs = [np.random.default_rng(child) for child in root.spawn(chains)]
    looking = np.random.default_rng(root.spawn(1)[0])
    adapted = kernel.adapt(centre, looking)
    drift_for = drift_maker(
        model,
        selector,
        contamination,
        likelihood_rows,
        refresh_every,
        burn_in,
        centre,
        adapted.smoothness,
        adapted.scaling,
        guard,
    )
    measured: StepBias | None = None
    if step_sizes is None:
        require_data_curvature(centre)
        size = adapted.kernel.default_step_size(adapted.smoothness)
        if isinstance(step_size, StepFor):
            around = np.tile(centre.theta, (chains, 1))
            measured = choose_step(adapted, drift_for, around, step_size.bias, looking)
            size = measured.step_size
        step_sizes = np.full(steps, size)
    else:
        warn_if_unstable(step_sizes, adapted)
    last_step = float(step_sizes[-1])
    first, start_record = (
        draw_start(rngs, model, selector, contamination, centre, start_variance)
        if given_start is None
        else (given_start, "given")
    )

    drift = drift_for(None)
    reach = float(np.linalg.norm(first - centre.theta, axis=1).max()) + centre.width
    moves = iterate(adapted.kernel, drift, first, step_sizes, rngs, centre.theta, _LOST * reach)
    shown = track(moves, steps, "sampling", progress)
    stable = adapted.kernel.default_step_size(adapted.smoothness)
    collected = collect(shown, drift, (chains, draws, model.dim), model.n_rows, burn_in, thin, stable)
    warn_if_guarded(collected.stats["guarded"])
    return Posterior(
        draws=collected.draws,
        row_weights=collected.row_weights,
        parameter_names=model.parameter_names,
        stats=collected.stats,
        settings={
            "model": type(model).__name__,
            "rows": model.n_rows,
            "dim": model.dim,
            "contamination": contamination,
            "contamination_budget": budget,
            "contamination_estimate": None if found is None else found._asdict(),
            "selector": repr(selector),
            "last_level_share": selector.last_level_share(contamination, model.dim),
            "kernel": repr(kernel),
            "step_size": last_step,
            "step_size_from": _step_size_from(step_size),
            "step_bias": None if measured is None else measured._asdict(),
            "smoothness": centre.smoothness,
            "strong_convexity": centre.strong_convexity,
            "variance_inflation": adapted.kernel.variance_inflation(last_step, adapted.smoothness),
            "relaxation_steps": adapted.kernel.relaxation_steps(last_step, adapted.strong_convexity),
            "likelihood_rows": likelihood_rows,
            "draws": draws,
            "burn_in": burn_in,
            "chains": chains,
            "thin": thin,
            "refresh_every": refresh_every,
            "guard": guard,
            "selections": drift.selections_made,
            "start": start_record,
            "seed": _seed_record(root),
            "interrupted": collected.interrupted,
            "seconds": round(time.perf_counter() - began, 3),
            "robula": __version__,
        },
        citations=tuple(dict.fromkeys(("bhatia2019", *selector.citations, *kernel.citations))),
        variables=model.variables(collected.draws),
        half_row_weights=collected.half_row_weights,
    )


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


def _step_size_from(step_size: StepSize) -> str:
    if step_size is None:
        return "1 / L of the trusted rows"
    return f"for a bias of {step_size.bias:g}" if isinstance(step_size, StepFor) else "given"


def _seed_sequence(seed: Any) -> np.random.SeedSequence:
    if isinstance(seed, np.random.SeedSequence):
        # A fresh copy: spawning must not change the caller's object, or a second call would draw other numbers.
        return np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key, pool_size=seed.pool_size)
    return np.random.SeedSequence(check_count(seed, "seed", 0, maximum=None))


def _seed_record(root: np.random.SeedSequence) -> Any:
    entropy = root.entropy if isinstance(root.entropy, int) else str(root.entropy)
    return [entropy, list(root.spawn_key)] if root.spawn_key else entropy


def _require_estimate(found: ContaminationEstimate | None, selector: Selector) -> float:
    if found is None:
        raise InputError(
            f'contamination="estimate" needs a selector that counts bad rows; {selector!r} does not for this model. '
            'Pass selector="excess" (regressions and MeanModel), or a number.'
        )
    return min(found.share, 0.49)
