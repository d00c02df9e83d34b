"""How much the step size moves a finished run's posterior."""

from __future__ import annotations

import numpy as np

from robula._threads import few_threads_for_small_data
from robula._validation import check_count
from robula.exceptions import InputError
from robula.kernels.kernel import Kernel
from robula.models.model import Model
from robula.result.posterior import Posterior
from robula.run.assembly import assemble
from robula.run.repeat import setup_of
from robula.run.step_pair import StepBias, measure_step_bias, run_pair
from robula.selectors.selection import Selector


@few_threads_for_small_data
def step_bias(
    model: Model,
    posterior: Posterior,
    *,
    steps: int = 2000,
    seed: int = 0,
    selector: Selector | None = None,
    kernel: Kernel | None = None,
) -> StepBias:
    """Measure the bias that the step size gave a finished run, by halving it.

    From the run's last draws, two runs go on: one with its step, one with half of it and the same noise. Exact and
    Metropolis-adjusted draws have no such bias, and nothing is run for them.

    Parameters
    ----------
    model : Model
    posterior : Posterior
        Of this model.
    steps : int, optional
        Steps of the run with the whole step; the other makes twice as many.
    seed : int, optional
    selector, kernel : optional
        Only for a run with objects of your own that cannot be made again from their class and parameters.

    Returns
    -------
    StepBias
        Print its ``text``.

    Examples
    --------
    >>> import robula
    >>> problem = robula.simulate.mean_estimation(n_clean=200, dim=3, contamination=0.1, seed=1)
    >>> posterior = robula.sample(problem.model, contamination=0.1, kernel="ula", draws=200, seed=1)
    >>> bias = robula.step_bias(problem.model, posterior)
    >>> abs(bias.spread - 2**0.5) < 0.1  # ULA at 1 / L doubles the variance
    True
    """
    if not isinstance(posterior, Posterior):
        raise InputError("step_bias needs the model, and the posterior that robula.sample drew from it, in this order.")
    posterior.require_model(model, "step_bias")
    steps, seed = check_count(steps, "steps", 20), check_count(seed, "seed", 0)
    given = {name: value for name, value in (("selector", selector), ("kernel", kernel)) if value is not None}
    run = setup_of(posterior).arguments(given)
    rngs = [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(1 + len(posterior.draws))]
    parts = assemble(
        model,
        burn_in=0,
        step_given=run["step_size"] is not None,
        looking=rngs[0],
        **{
            name: run[name]
            for name in ("contamination", "selector", "kernel", "likelihood_rows", "refresh_every", "guard")
        },
    )
    step_size = float(posterior.settings["step_size"])
    if parts.kernel.needs_density:
        return StepBias(step_size, 0.0, 1.0, 0.0, 0.0)
    moving = parts.adapted.kernel
    pair = run_pair(moving, parts.make_target(), posterior.draws[:, -1], step_size, steps, rngs[1:])
    return measure_step_bias(*pair, step_size, moving.order)
