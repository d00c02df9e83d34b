"""The sampler: checks what it is given, wires model, selector, target and kernel, runs the chains, makes the result."""

from __future__ import annotations

import os
import time
from typing import Literal

import numpy as np

from robula._files import file_path
from robula._threads import few_threads_for_small_data
from robula._types import ArrayInput
from robula._validation import budget_of, check_count, check_name, check_positive
from robula.exceptions import InputError
from robula.kernels import resolve_kernel
from robula.kernels.kernel import Kernel
from robula.models.fingerprint import identity
from robula.models.large_model import SAMPLE_ROWS, LargeModel
from robula.models.model import Model, known_name, require_model
from robula.models.regression import Regression
from robula.result.posterior import Posterior
from robula.run.assembly import assemble
from robula.run.cautions import (
    refuse_what_independent_draws_ignore,
    require_data_curvature,
    require_memory,
    warn_if_guarded,
    warn_if_unconverged,
    warn_if_unstable,
)
from robula.run.checkpoint import Checkpoints, seconds_of
from robula.run.collector import Collector, collect, widened
from robula.run.descriptions import describe
from robula.run.driver import iterate, track
from robula.run.large_run import sample_large
from robula.run.record import record_of_run, record_of_seed
from robula.run.setup import Setup, describe_seed, describe_step, seed_sequence
from robula.run.starts import check_start, draw_start
from robula.run.step_choice import (
    StepFor,
    StepSize,
    check_step_size,
    choose_step,
    refuse_bias_of_adjusted,
    step_size_from,
)
from robula.run.step_pair import StepBias
from robula.selectors import SampleMean, TrustSelector, resolve_selector
from robula.selectors.selection import Selector
from robula.selectors.trust.trust_constants import MOST_BAD
from robula.target.robust_target import LIKELIHOOD_ROWS, LikelihoodRows
from robula.target.selection_refresh import RefreshRule

# A stable chain stays within a few widths of the centre or of its start; this far out it is lost.
_LOST = 1e4


@few_threads_for_small_data
def sample(
    model: Model | LargeModel,
    *,
    contamination: float | Literal["estimate"],
    selector: str | Selector = "trust",
    kernel: str | Kernel = "auto",
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
    checkpoint: str | os.PathLike[str] | Checkpoints | None = None,
    checkpoint_every: str | float = "60s",
) -> Posterior:
    """Draw from the posterior that the clean rows alone would have given.

    Parameters
    ----------
    model : Model or LargeModel
        ``LinearModel`` or another of ``robula.models``, ``from_numpyro(...)``, ``from_pymc(...)``, ``from_jax(...)``,
        or a subclass of ``Model``. A ``LargeModel``, and a regression on a ``numpy.memmap`` of more than 50 000 rows,
        is fitted in a few passes over its rows and takes ``selector="trust"`` or ``"mean"`` and no kernel
        (docs/large-data.md).
    contamination : float or "estimate"
        The paper's epsilon: an upper bound on the share of bad rows among all rows, in [0, 0.5). "estimate" needs
        selector="trust"; the share it finds is in ``settings["contamination_estimate"]``, with its standard error.
    selector : str or Selector, optional
        Which rows to trust: "trust" (each row by its probability of being clean, docs/method.md),
        "recursive" (the paper's Algorithm 2), "spectral", "geometric_median", "median_of_means", "mean" (all rows:
        plain ULA), or an object.
    kernel : str or Kernel, optional
        "auto" takes "exact" (independent draws) where the posterior of the weighted rows is normal, "hmc"
        (Metropolis-adjusted) where the row weights are fixed (NumPyro's NUTS for models from NumPyro, PyMC and JAX, if
        it is installed), and else, or with a ``step_size``, "preconditioned_lm";
        ``settings["kernel"]`` says which. "ula" is the paper's, "lm" Leimkuhler and Matthews' (no variance bias on
        Gaussians), "preconditioned_lm" the same in coordinates in which the trusted rows' posterior is round; "baoab"
        is kinetic, also "preconditioned_baoab". Or an object.
    step_size : float, sequence, function of k = 1, 2, ..., StepFor(bias=...) or None, optional
        None takes the kernel's own default: "hmc" adapts it in burn-in; for ULA it is the largest the theorem admits,
        1 / L, with L the largest curvature of the posterior of the rows that are trusted at a robust centre.
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
    checkpoint : path, optional
        Write the state of the run to this file from time to time; after a crash ``robula.resume(path, model)`` goes on
        from there and returns the draws that the whole run would have given, bit for bit.
    checkpoint_every : str or float, optional
        Time between two checkpoints: "60s", "5m", "1h", or seconds.

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
    require_model(model, LargeModel)
    budget, estimate = budget_of(contamination, MOST_BAD)
    contamination = "estimate" if estimate else budget
    selector = resolve_selector(selector)
    if kernel != "auto":
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
    refuse_what_independent_draws_ignore(kernel, step_size=step_size, start=start, start_variance=start_variance)
    in_memory_only = any(value is not None for value in (step_size, start, start_variance, checkpoint))
    in_memory_only |= kernel != "auto" or likelihood_rows != "weights" or thin != 1
    in_memory_only |= not isinstance(selector, TrustSelector | SampleMean)
    model = _in_memory_or_not(model, in_memory_only)
    if isinstance(model, LargeModel):
        return sample_large(
            model,
            contamination=contamination,
            selector=selector,
            draws=draws,
            chains=chains,
            root=seed_sequence(seed),
        )
    given_start = None if start is None else check_start(start, chains, model.dim)
    root = seed_sequence(seed)
    steps = burn_in + draws * thin
    require_memory(chains * draws * model.dim, steps)
    step_sizes = check_step_size(step_size, steps)
    setup = Setup(
        model=identity(model),
        selector=describe(selector),
        kernel="auto" if kernel == "auto" else describe(kernel),
        step=describe_step(step_size, step_sizes),
        contamination=contamination,
        likelihood_rows=likelihood_rows,
        draws=draws,
        burn_in=burn_in,
        chains=chains,
        thin=thin,
        refresh_every=refresh_every,
        start=None if given_start is None else given_start.tolist(),
        start_variance=start_variance,
        guard=guard,
        seed=describe_seed(root),
    )

    interval = seconds_of(checkpoint_every)
    if checkpoint is not None:
        checkpoint = (
            checkpoint
            if isinstance(checkpoint, Checkpoints)
            else Checkpoints(file_path(checkpoint, "checkpoint"), interval)
        )
        checkpoint.begin(setup)
    rngs = [np.random.default_rng(child) for child in root.spawn(chains)]
    looking = np.random.default_rng(root.spawn(1)[0])
    parts = assemble(
        model,
        contamination=contamination,
        selector=selector,
        kernel=kernel,
        likelihood_rows=likelihood_rows,
        refresh_every=refresh_every,
        burn_in=burn_in,
        step_given=step_size is not None,
        looking=looking,
        guard=guard,
    )
    moving, centre, adapted = parts.adapted.kernel, parts.centre, parts.adapted
    measured: StepBias | None = None
    adapting = burn_in if step_size is None else 0
    if step_sizes is None:
        if not moving.needs_density:
            require_data_curvature(centre)
        size = parts.default_step_size
        if isinstance(step_size, StepFor):
            refuse_bias_of_adjusted(parts.kernel)
            measured = choose_step(parts, chains, step_size.bias, looking)
            size = measured.step_size
        step_sizes = np.full(steps, size)
    else:
        warn_if_unstable(step_sizes, adapted, parts.default_step_size)
    first, start_record = (
        draw_start(rngs, model, parts.selector, parts.contamination, centre, start_variance)
        if given_start is None
        else (given_start, "given")
    )

    target = parts.make_target()
    reach = float(np.linalg.norm(first - centre.theta, axis=1).max()) + centre.width
    collector = Collector((chains, draws, model.dim), model.n_rows, burn_in, thin)
    snapshot = None if checkpoint is None else checkpoint.resumed
    if snapshot is not None:
        snapshot.restore(rngs, target, collector)
    resumed = None if snapshot is None else (snapshot.number, snapshot.state)
    moves = iterate(moving, target, first, step_sizes, rngs, centre.theta, _LOST * reach, adapting, resumed)
    shown = track(moves, steps, "sampling", progress)
    write = None if checkpoint is None else checkpoint.writer(setup, steps, rngs, target, collector)
    collected = collect(shown, target, collector, parts.default_step_size, write)
    kept, doubt = widened(collected.draws, parts.selector.widening, parts.selector.shift)
    warn_if_guarded(collected.stats["guarded"])
    variables = model.variables(kept)
    # Independent draws have nothing to converge to, and how few they are is known to whoever asked for them.
    agreed = None
    if not parts.kernel.independent:
        names = tuple(known_name(name, variables) for name in model.parameter_names)
        agreed = warn_if_unconverged(collected.draws, names)
    settings = record_of_run(model, parts, setup, collected, step_size_from(step_size, moving), measured)
    settings |= {
        "row_doubt": doubt,
        "row_shift": None if doubt is None or parts.selector.shift is None else parts.selector.shift.tolist(),
        "convergence": None if agreed is None else list(agreed),
        "selections": target.selections_made,
        "start": "none: every draw is independent" if parts.kernel.independent else start_record,
        "seed": record_of_seed(root),
        "seconds": round(time.perf_counter() - began, 3),
    }
    return Posterior(
        draws=kept,
        row_weights=collected.row_weights,
        parameter_names=model.parameter_names,
        stats=collected.stats,
        settings=settings,
        citations=tuple(dict.fromkeys(("bhatia2019", *parts.selector.citations, *parts.kernel.citations))),
        variables=variables,
        half_row_weights=collected.half_row_weights,
    )


def _in_memory_or_not(model: Model | LargeModel, in_memory_only: bool) -> Model | LargeModel:
    """Return the model as it is to be fitted: from memory, or in passes over its rows."""
    if isinstance(model, LargeModel):
        if model.in_memory:
            return model.sample
        if in_memory_only:
            raise InputError(
                'a LargeModel is fitted in passes over its rows: selector="trust" or "mean", '
                'likelihood_rows="weights", and no kernel, step size, start, thinning or checkpoint.'
            )
        return model
    on_disk = isinstance(model, Regression) and not model.in_memory and model.n_rows > SAMPLE_ROWS
    if isinstance(model, Regression) and on_disk and not in_memory_only and LargeModel.can_be(model):
        return LargeModel.of(model)
    return model
