"""How much the step size moves a finished run's posterior."""

from __future__ import annotations

import numpy as np

from robula._validation import check_count
from robula.diagnosis.certification import kernel_of, selector_of
from robula.exceptions import InputError
from robula.kernels.kernel import Kernel
from robula.models.model import Model
from robula.result.posterior import Posterior
from robula.run.step_pair import StepBias, measure_step_bias, run_pair
from robula.selectors.selection import Selector
from robula.target.centre_search import find_centre
from robula.target.drift import drift_maker


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

    A robust drift need not be the gradient of any density, so there is no Metropolis correction; this says what is lost
    by that. From the run's last draws, two runs go on: one with its step, one with half of it and the same noise.

    Parameters
    ----------
    model : Model
    posterior : Posterior
        Of this model.
    steps : int, optional
        Steps of the run with the whole step; the other makes twice as many.
    seed : int, optional
    selector, kernel : optional
        Only for a run with objects of your own.

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
    known = isinstance(posterior, Posterior) and "step_size" in posterior.settings
    if not isinstance(model, Model) or not known or posterior.draws.shape[-1] != model.dim:
        raise InputError("step_bias needs the model, and the posterior that robula.sample drew from it, in this order.")
    settings = posterior.settings
    steps, seed = check_count(steps, "steps", 20), check_count(seed, "seed", 0)
    chosen = selector_of(settings, selector).prepared(model, settings["contamination_budget"])
    contamination, rule = settings["contamination"], settings["likelihood_rows"]
    centre = find_centre(model, chosen, contamination, rule)
    rngs = [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(1 + len(posterior.draws))]
    adapted = kernel_of(settings, kernel).adapt(centre, rngs[0])
    drift_for = drift_maker(
        model,
        chosen,
        contamination,
        rule,
        settings["refresh_every"],
        0,
        centre,
        adapted.smoothness,
        adapted.scaling,
        settings.get("guard", True),
    )
    step_size = float(settings["step_size"])
    pair = run_pair(adapted.kernel, drift_for, posterior.draws[:, -1], step_size, steps, rngs[1:])
    return measure_step_bias(*pair, step_size, adapted.kernel.order)
