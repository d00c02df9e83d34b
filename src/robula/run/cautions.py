"""What a run warns of or refuses, before it begins and once the robust centre is known."""

from __future__ import annotations

import os

import numpy as np

from robula._types import FloatArray
from robula._validation import warn
from robula.exceptions import (
    BreakdownWarning,
    ConvergenceWarning,
    GuardWarning,
    InputError,
    StepSizeWarning,
    TruncationBiasWarning,
)
from robula.kernels.kernel import Adapted, Kernel
from robula.models.model import Model, known_name
from robula.result.convergence import Agreement, agreement
from robula.result.thresholds import FEWEST_DRAWS, GOOD_R_HAT, GUARDED_SHARE, TOO_FEW_DRAWS
from robula.selectors.selection import Selector
from robula.target.robust_centre import RobustCentre

# Bytes, where the machine does not tell.
_USUAL_MEMORY = 2**34


def require_data_curvature(centre: RobustCentre) -> None:
    """Refuse to derive a step size from a log-likelihood without curvature."""
    if not centre.bounded and centre.data_curvature <= 1e-6 * centre.smoothness:
        raise InputError(
            "the log-likelihood has no curvature at the centre (is it piecewise linear?), so no step size follows. "
            "Pass step_size=."
        )


def refuse_what_independent_draws_ignore(kernel: str | Kernel, **given: object) -> None:
    """Refuse a start or a step size for a kernel whose draws depend on neither."""
    names = [name for name, value in given.items() if value is not None]
    if isinstance(kernel, Kernel) and kernel.independent and names:
        raise InputError(
            f"{kernel!r} makes every draw independent of the one before, so {' and '.join(names)} would be ignored. "
            'Leave them out, or take another kernel, such as "preconditioned_lm".'
        )


def warn_if_uninformed(model: Model, centre: RobustCentre) -> None:
    """Tell when a direction that the data inform is left to the prior by the rows that are trusted."""
    if centre.bounded and centre.trusted_information < centre.prior_information < 0.1 * centre.all_information:
        heaviest = model.parameter_names[int(np.abs(centre.weakest_direction).argmax())]
        variables = model.variables(centre.theta[None, None])
        warn(
            f"the trusted rows hardly determine parameter {known_name(heaviest, variables)!r} (or a combination with "
            "it), although all rows together do: the rows that it depends on are distrusted as a group, as happens "
            "with rare categories. Its posterior is the prior's. Lower contamination, or drop the column.",
            BreakdownWarning,
        )


def warn_if_biased(model: Model, asked: Selector, used: Selector, contamination: float) -> None:
    """Tell when truncation meets gradients that are skewed at the truth."""
    if not (model.skewed_gradients and used.truncates and contamination > 0):
        return
    if type(asked) is type(used):
        remedy = "Use selector='trust', the default of robula.sample (docs/explanation/wrong_tool.md)."
    else:
        remedy = (
            f"It stands in for {asked!r}, which has no rule for {type(model).__name__}: give the model a law of its "
            "rows, or compare with selector='mean'."
        )
    warn(
        f"{used!r} cuts the rows with the largest gradients, and for {type(model).__name__} those are the rows "
        "it fits worst, bad or not: expect over-confident coefficients, with an intercept even of the wrong sign. "
        f"{remedy}",
        TruncationBiasWarning,
    )


def warn_if_unstable(step_sizes: FloatArray, adapted: Adapted, default: float) -> None:
    """Tell when a given step size is beyond stability."""
    largest, smoothness = float(step_sizes.max()), adapted.smoothness
    stable = adapted.kernel.stable_below(smoothness)
    if largest >= stable:
        warn(
            f"step_size {largest:.3g} is beyond {stable:.3g}, where the chain becomes unstable "
            f"(2 / L for ULA, L = {smoothness:.3g} is the largest curvature of the trusted rows). "
            f"step_size=None takes {default:.3g}.",
            StepSizeWarning,
        )


def warn_if_guarded(guarded: np.ndarray) -> None:
    """Tell when the drift was still cut after burn-in."""
    share = float(guarded.mean()) if guarded.size else 0.0
    if share > GUARDED_SHARE:
        warn(
            f"the gradient was clipped (guard=True) in {share:.0%} of the kept draws: the chains had not reached the "
            "posterior. "
            "Use a smaller step_size, a longer burn_in, or a start nearer to it.",
            GuardWarning,
        )


def warn_if_unconverged(draws: FloatArray, names: tuple[str, ...]) -> Agreement | None:
    """Tell when the chains (chains, draws, d) do not agree, or hold too few effective draws; return how they do.

    None where there are too few draws to tell, or where one of them never moved, which shows in any coordinates.
    """
    if draws.shape[1] < FEWEST_DRAWS:
        return None
    found = agreement(draws, names, {})
    if not (found.r_hat <= GOOD_R_HAT and found.effective_draws >= TOO_FEW_DRAWS):
        warn(
            f"the chains have not converged: R-hat {found.r_hat:.3f} (parameter {found.parameter!r}), "
            f"{found.effective_draws:.0f} effective draws. Run longer (draws, burn_in); robula.diagnose, "
            "whose verdict a report begins with, has the reasons.",
            ConvergenceWarning,
        )
    return found if np.isfinite(found.r_hat) else None


def require_memory(numbers: int, steps: int) -> None:
    """Refuse draws or steps that this machine cannot hold, before any work.

    Draws are held about three times; an eighth of the memory full of steps is a slip of the pen, not a plan.
    """
    try:
        most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        most = _USUAL_MEMORY
    for count, factor, words in ((numbers, 3, "chains * draws * parameters"), (steps, 8, "burn_in + draws * thin")):
        if 8 * factor * count > most:
            raise InputError(
                f"{words} = {count:.3g} does not fit in the memory of this machine ({most / 2**30:.1f} GB, "
                f"{most // (8 * factor):.3g} at most); use fewer draws, or keep fewer of them with thin=."
            )
