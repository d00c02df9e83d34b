"""From a data file to the constants of the theorem: the rows trusted at a robust centre stand in for the clean ones."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from robula._threads import few_threads_for_small_data
from robula._validation import check_contamination, check_name, check_positive
from robula.exceptions import InputError
from robula.models import MODELS
from robula.models.linear_model import LinearModel
from robula.models.logistic_model import LogisticModel
from robula.models.mean_model import MeanModel
from robula.models.priors import NormalPrior
from robula.result.thresholds import DISTRUSTED
from robula.selectors.recursive import RecursiveMean
from robula.tables.prepared_table import prepare_table, require_numbers, response_of
from robula.tables.table_files import read_table
from robula.target.centre_search import robust_centre
from robula.theory.constants import Constants, mean_constants, regression_constants, share_of_bad_rows
from robula.theory.corrected import bound_for
from robula.theory.planning import Plan

#: Rows are trusted by the recursion on all rows, which has a bound; Algorithm 2 as printed may have none.
_TRUSTING = RecursiveMean(variant="all_rows")
PlannedModel = MeanModel | LinearModel | LogisticModel
#: The theorem needs a bound on the curvature; the others have none.
_PLANNED = ("mean", "linear", "logistic")


def read_model(
    path: Path, kind: str, target: str | None, noise_scale: float | None, prior_variance: float, intercept: bool
) -> PlannedModel:
    """Make a model of a file: all columns but the target are features."""
    model: Any = MODELS[check_name(kind, "model", _PLANNED)]
    prior = NormalPrior(0.0, check_positive(prior_variance, "prior_variance", "the prior's variance"))
    prepared = prepare_table(read_table(path), target=None if kind == "mean" else target)
    if kind == "mean":
        return MeanModel(prepared.rows[require_numbers(prepared.encoding)], prior=prior)
    if target is None:
        raise InputError(f"the {kind} model needs --target, the column to explain.")
    y = response_of(prepared, target, kind, classes=kind == "logistic")
    options: dict[str, Any] = {"prior": prior, "intercept": intercept}
    if kind == "linear":
        if noise_scale is None:
            raise InputError("a linear model needs --noise-scale, the standard deviation of the noise.")
        options["noise_scale"] = noise_scale
    made: PlannedModel = model(prepared.encoding.design(prepared.rows), y, **options)
    return made


@few_threads_for_small_data
def data_constants(model: PlannedModel, contamination: float, delta: float | None = None) -> Constants:
    """Return the theorem's constants, measured on the rows that are trusted at a robust centre.

    With ``delta`` the contamination is the probability that a row is bad, and the constants carry gamma = epsilon + e_n
    (lem:rob_bound). For logistic regression m-bar is the prior's curvature alone, which is what is proved, and the
    gradients' covariance is at most the second moment of the features, wherever theta is.
    """
    epsilon = share_of_bad_rows(check_contamination(contamination), model.n_rows, delta)
    centre = robust_centre(model, _TRUSTING, epsilon, "n", model.initial)
    trusted = _TRUSTING.select_rows(model, centre.theta, epsilon).weights >= DISTRUSTED
    prior = model.prior
    if not isinstance(prior, NormalPrior):
        raise InputError("planning needs a normal prior.")
    # The recursive mean trusts fewer rows than are clean: averages are per row of a data set of this size, then
    # stretched.
    size = max(2, round(trusted.sum() / (1.0 - epsilon)))
    if isinstance(model, MeanModel):
        constants = mean_constants(
            model.z[trusted],
            size,
            covariance=model.covariance.value,
            prior_mean=prior.mean,
            prior_covariance=prior.covariance.value,
            contamination=epsilon,
        )
        return _stretched(constants, model.n_rows)
    design = model.design[trusted]
    if isinstance(model, LinearModel):
        constants = regression_constants(
            design,
            size,
            noise_scale=model.noise_scale,
            truth=centre.theta,
            clean_y=model.y[trusted],
            prior_mean=prior.mean,
            prior_covariance=prior.covariance.value,
            contamination=epsilon,
        )
        return _stretched(constants, model.n_rows)
    n, prior_precision = model.n_rows, prior.precision(centre.theta)
    second_moment = float(np.linalg.eigvalsh(design.T @ design / len(design))[-1])
    smallest = float(np.linalg.eigvalsh(prior_precision)[0])
    return Constants(
        n,
        model.dim,
        epsilon,
        centre.smoothness / n,
        smallest / n,
        0.0,
        second_moment,
        float(np.linalg.norm(centre.theta)),
        centre.width,
    )


def _stretched(constants: Constants, rows: int) -> Constants:
    """Return the constants of ``rows`` rows like those that were seen."""
    return constants._replace(n=rows, width=constants.width * math.sqrt(constants.n / rows))


def bound_figure(constants: Constants, numbers: Plan, C_R: float) -> Figure:
    """Draw the bound and its parts, in posterior widths, against the number of steps."""
    figure = Figure(figsize=(6.5, 4.2), layout="constrained")
    axes = figure.subplots()
    steps = np.unique(np.linspace(0, 2 * numbers.steps, 200).astype(int))
    bounds = [bound_for(constants, int(step), numbers.step_size, C_R) for step in steps]
    curves = {
        "start": [bound.initial for bound in bounds],
        "step size": [bound.discretization for bound in bounds],
        "bad rows (C_R assumed)": [bound.contamination for bound in bounds],
        "total": [bound.total for bound in bounds],
    }
    for (name, values), colour in zip(curves.items(), ("#56B4E9", "#E69F00", "#D55E00", "#000000"), strict=True):
        heights = [math.sqrt(value) / numbers.width for value in values]
        axes.plot(steps, heights, color=colour, label=name, linestyle="--" if name == "total" else "-", linewidth=2)
    axes.axvline(numbers.steps, color="0.6", linewidth=1, label="planned number of steps")
    axes.set(xlabel="step k", ylabel="bound on W2 (posterior widths)", yscale="log", title="What the theorem promises")
    # The start's part decays to nothing; half of the step size's part is low enough to see all others.
    axes.set_ylim(0.5 * math.sqrt(bounds[0].discretization) / numbers.width, 2 * bounds[0].w2 / numbers.width)
    axes.legend(frameon=False)
    axes.grid(alpha=0.25)
    return figure
