"""What a run warns of or refuses once the robust centre is known."""

from __future__ import annotations

import numpy as np

from robula._types import FloatArray
from robula._validation import warn
from robula.exceptions import BreakdownWarning, GuardWarning, InputError, StepSizeWarning, TruncationBiasWarning
from robula.kernels.kernel import Adapted
from robula.models.model import Model
from robula.selectors.selection import Selector
from robula.target.robust_centre import RobustCentre


def require_data_curvature(centre: RobustCentre) -> None:
    """Refuse to derive a step size from a log-likelihood without curvature."""
    if not centre.bounded and centre.data_curvature <= 1e-6 * centre.smoothness:
        raise InputError(
            "the log-likelihood has no curvature at the centre (is it piecewise linear?), so no step size follows. "
            "Pass step_size=."
        )


def warn_if_uninformed(model: Model, centre: RobustCentre) -> None:
    """Tell when a direction that the data inform is left to the prior by the rows that are trusted."""
    if centre.bounded and centre.trusted_information < centre.prior_information < 0.1 * centre.all_information:
        heaviest = int(np.abs(centre.weakest_direction).argmax())
        warn(
            f"the trusted rows say almost nothing about parameter {model.parameter_names[heaviest]!r} (or a "
            "combination with it), although all rows together do: the rows that carry it are distrusted as a group, as "
            "happens with rare categories. Its posterior is the prior's. Lower contamination, or drop the column.",
            BreakdownWarning,
        )


def warn_if_biased(model: Model, selector: Selector, contamination: float) -> None:
    """Tell when truncation meets gradients that are skewed at the truth."""
    if model.skewed_gradients and selector.truncates and contamination > 0:
        warn(
            f"{selector!r} cuts the rows with the largest gradients, and for {type(model).__name__} those are the rows "
            "it fits worst, bad or not: expect over-confident coefficients, with an intercept even of the wrong sign. "
            "Use selector='excess', the default of robula.sample (docs/guide.md, Limits).",
            TruncationBiasWarning,
        )


def warn_if_unstable(step_sizes: FloatArray, adapted: Adapted) -> None:
    """Tell when a given step size is beyond stability."""
    largest, smoothness = float(step_sizes.max()), adapted.smoothness
    stable = adapted.kernel.stable_below(smoothness)
    if largest >= stable:
        warn(
            f"step_size {largest:.3g} is beyond {stable:.3g}, where the chain becomes unstable "
            f"(2 / L for ULA, L = {smoothness:.3g} is the largest curvature of the trusted rows). "
            f"step_size=None takes {adapted.kernel.default_step_size(smoothness):.3g}.",
            StepSizeWarning,
        )


def warn_if_guarded(guarded: np.ndarray) -> None:
    """Tell when the drift was still cut after burn-in."""
    share = float(guarded.mean()) if guarded.size else 0.0
    if share > 0.01:
        warn(
            f"the drift was cut in {share:.0%} of the kept draws: the chains had not reached the posterior. "
            "Use a smaller step_size, a longer burn_in, or a start nearer to it.",
            GuardWarning,
        )
