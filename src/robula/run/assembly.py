"""Wire model, selector, target and kernel together: the one place where that is done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from robula._types import FloatArray
from robula._validation import budget_of
from robula.exceptions import InputError
from robula.kernels import kernel_for, resolve_kernel
from robula.kernels.kernel import Adapted, Kernel
from robula.models.model import Model
from robula.run.cautions import warn_if_biased, warn_if_uninformed
from robula.selectors import resolve_selector
from robula.selectors.selection import ContaminationEstimate, Selector
from robula.selectors.trust import MOST_BAD
from robula.selectors.trust.streamed_trust import prepared_for
from robula.target.centre_search import find_centre
from robula.target.robust_centre import RobustCentre
from robula.target.robust_target import RobustTarget, drift_limit
from robula.target.selection_refresh import RefreshRule, Schedule


class Assembly(NamedTuple):
    """The parts of a run, fitted to each other.

    Attributes
    ----------
    selector : Selector
        Prepared for the model.
    contamination, budget : float
        The share of bad rows that is used, and the one that was declared; they differ where it was estimated.
    estimate : ContaminationEstimate or None
        What the selector found.
    centre : RobustCentre
    kernel : Kernel
        As asked for, or as chosen by "auto".
    adapted : Adapted
        The kernel, ready for this posterior.
    make_target : callable
        Makes a target that has not selected any rows yet.
    """

    selector: Selector
    contamination: float
    budget: float
    estimate: ContaminationEstimate | None
    centre: RobustCentre
    kernel: Kernel
    adapted: Adapted
    make_target: Callable[[], RobustTarget]

    @property
    def default_step_size(self) -> float:
        """The kernel's own step size here."""
        return self.adapted.kernel.default_step_size(self.adapted.smoothness, len(self.centre.theta))


def assemble(
    model: Model,
    *,
    contamination: float | Literal["estimate"],
    selector: str | Selector,
    kernel: str | Kernel,
    likelihood_rows: str,
    refresh_every: RefreshRule,
    burn_in: int,
    guard: bool,
    step_given: bool,
    looking: np.random.Generator,
) -> Assembly:
    """Prepare the selector, find the centre, choose and adapt the kernel.

    Parameters
    ----------
    guard : bool
        Limit the drift where the curvature has no global bound.
    step_given : bool
        Whether there is a step size already: "auto" then is a kernel that has one.
    looking : Generator
        For a look at the curvature around the centre.
    """
    budget, estimate = budget_of(contamination, MOST_BAD)
    asked = resolve_selector(selector)
    chosen = prepared_for(asked, model, budget)
    found = chosen.estimated_contamination
    share = _require_estimate(found, chosen) if estimate else budget
    warn_if_biased(model, asked, chosen, share)
    centre = find_centre(model, chosen, share, likelihood_rows)
    warn_if_uninformed(model, centre)

    def target(limit: float | None = None, scaling: FloatArray | None = None) -> RobustTarget:
        schedule = Schedule(refresh_every, centre.width, burn_in)
        return RobustTarget(model, chosen, share, likelihood_rows, schedule, limit, scaling)

    moving = _kernel(kernel, target(), model, step_given, burn_in)
    adapted = moving.adapt(centre, looking)
    limit = drift_limit(adapted.smoothness, model.dim) if guard and not centre.bounded else None
    return Assembly(chosen, share, budget, found, centre, moving, adapted, lambda: target(limit, adapted.scaling))


def _kernel(kernel: str | Kernel, target: RobustTarget, model: Model, step_given: bool, burn_in: int) -> Kernel:
    """Return the kernel for this target, or refuse one that needs what the target has not."""
    if kernel == "auto":
        own = model.own_kernel(target.row_counts, burn_in) if target.has_density and not step_given else None
        if isinstance(own, Kernel):
            return own
        return resolve_kernel("preconditioned_lm") if step_given else kernel_for(target, model.dense_curvature)
    asked = resolve_kernel(kernel)
    if asked.needs_density and not target.has_density:
        raise InputError(
            f"{asked!r} needs a log density, and there is none: the selector's row weights change with theta. Use "
            'kernel="auto" (or "preconditioned_lm"), or a selector with fixed weights ("trust", "mean").'
        )
    return asked


def _require_estimate(found: ContaminationEstimate | None, selector: Selector) -> float:
    if found is None:
        raise InputError(
            f'contamination="estimate" needs a selector that counts bad rows; {selector!r} does not for this model. '
            'Pass selector="trust" and a model that says the law of its rows (from_jax takes cdf= or simulate=), or a '
            "number."
        )
    return min(found.share, 0.49)
