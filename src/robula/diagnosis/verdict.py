"""Can this run be used? Checks that also fit an unadjusted sampler which selects its rows again and again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from robula._threads import few_threads_for_small_data
from robula.diagnosis.rows_to_check import DECIDES, MATTERS, OddRows, matter_words, require_odd_rows
from robula.exceptions import InputError
from robula.kernels.preconditioned import Preconditioned
from robula.models.model import known_name
from robula.result.convergence import agreement
from robula.result.law_fit import law_doubts
from robula.result.posterior import Posterior
from robula.result.thresholds import (
    BAD_R_HAT,
    CONTESTED_ROWS,
    CONTESTED_SHIFT,
    ENOUGH_DRAWS,
    FEWEST_DRAWS,
    GOOD_R_HAT,
    GUARDED_SHARE,
    MANY_BAD_ROWS,
    SPENT,
    STEADY_WEIGHTS,
    STEP_BIAS,
    TOO_FEW_DRAWS,
    VARIANCE_INFLATION,
    WRONG_LABELS,
)
from robula.run.record import was_of
from robula.run.step_pair import StepBias
from robula.selectors.trust.explanation_kinds import Kind

#: The verdicts, best first.
USABLE, WITH_CARE, NOT_YET = "usable", "usable with care", "not usable yet"
# Those that forbid the use of a run, and those that do not.
Problems = tuple[list[str], list[str]]


class Diagnosis(NamedTuple):
    """What a run says about itself.

    Attributes
    ----------
    verdict : {"usable", "usable with care", "not usable yet"}
    r_hat : float
        Largest over the parameters. Each chain selects its own rows (where the selector looks at theta), so chains
        that trust different rows show up here.
    effective_sample_size : float
        Smallest over the parameters.
    weight_drift : float
        Mean change of a row's weight from the first half of the run to the second; NaN if it was not recorded.
    weight_disagreement : float
        Mean distance of a row's weight in one chain from its average over the chains; NaN if all chains share their
        selections.
    guarded : float
        Share of the draws whose drift was cut.
    step_bias : StepBias or None
        As measured, where it was.
    findings : tuple of str
        One sentence for each problem, with what to do.
    """

    verdict: str
    r_hat: float
    effective_sample_size: float
    weight_drift: float
    weight_disagreement: float
    guarded: float
    step_bias: StepBias | None
    findings: tuple[str, ...]

    @property
    def text(self) -> str:
        """The verdict and its reasons, in words."""
        lines = [
            f"Verdict: {self.verdict}.",
            *(f"  {finding}" for finding in self.findings),
            f"  Largest R-hat {self.r_hat:.3f}, smallest effective sample size {self.effective_sample_size:.0f}.",
        ]
        if math.isnan(self.weight_disagreement):
            lines.append("  All chains use the same row weights, so R-hat says nothing about the choice of rows.")
        else:
            lines.append(
                f"  A row's weight differs by {self.weight_disagreement:.3f} between chains, on average, and moved by "
                f"{self.weight_drift:.3f} from the first to the second half."
            )
        if self.step_bias is not None:
            lines.append(f"  {self.step_bias.text}")
        return "\n".join(lines)


@few_threads_for_small_data
def diagnose(posterior: Posterior, step_bias: StepBias | None = None, *, odd: OddRows | None = None) -> Diagnosis:
    """Judge a finished run in plain words.

    Parameters
    ----------
    posterior : Posterior
    step_bias : StepBias, optional
        From ``robula.step_bias(model, posterior)``; without it, the bias measured by a pilot (``StepFor``), or the law
        of the kernel on a Gaussian, is judged.
    odd : OddRows, optional
        From ``robula.odd_rows(posterior, data, influence=robula.influence(model, posterior))``: a run whose answer
        hangs on odd rows that were kept is usable with care, or not usable yet where they decide it. The draws alone
        cannot tell.

    Returns
    -------
    Diagnosis
        Print its ``text``.

    Examples
    --------
    >>> import robula
    >>> problem = robula.simulate.mean_estimation(n_clean=200, dim=3, contamination=0.1, seed=1)
    >>> posterior = robula.sample(problem.model, contamination=0.2, kernel="lm", draws=1000, seed=1)
    >>> print(robula.diagnose(posterior).verdict)
    usable
    """
    if not isinstance(posterior, Posterior) or posterior.draws.shape[1] < FEWEST_DRAWS:
        raise InputError("diagnose needs a posterior of at least four draws a chain.")
    if not (step_bias is None or isinstance(step_bias, StepBias)) or not (odd is None or isinstance(odd, OddRows)):
        raise InputError("diagnose takes what robula.step_bias and robula.odd_rows returned, or nothing.")
    if odd is not None:
        require_odd_rows(odd, posterior)
    if step_bias is None and posterior.settings.get("step_bias"):
        step_bias = StepBias(**posterior.settings["step_bias"])
    found = agreement(posterior.draws, posterior.parameter_names, posterior.settings)
    halves = posterior.half_row_weights
    drift = float(np.abs(halves[:, 1] - halves[:, 0]).mean()) if halves.size else math.nan
    between = halves.mean(axis=1)
    disagreement = float(np.abs(between - between.mean(axis=0)).mean()) if len(halves) > 1 else math.nan
    guarded = float(posterior.stats["guarded"].mean()) if "guarded" in posterior.stats else 0.0
    measured = Diagnosis("", found.r_hat, found.effective_draws, drift, disagreement, guarded, step_bias, ())
    severe, mild = _findings(measured, posterior, known_name(found.parameter, posterior.variables))
    matter = None if odd is None else odd.matter
    if odd is not None and matter is not None and matter.in_sds > MATTERS:
        first = (
            "Rows that were kept are odd and may be mistakes: look at them first."
            if len(odd.kept) > 1
            else "A row that was kept is odd and may be a mistake: look at it first."
        )
        words = f"{first} {matter_words(matter, len(odd.kept))}"
        (severe if matter.in_sds > DECIDES else mild).append(words)
    verdict = NOT_YET if severe else WITH_CARE if mild else USABLE
    return measured._replace(verdict=verdict, findings=(*severe, *mild))


def _findings(measured: Diagnosis, posterior: Posterior, worst: str) -> Problems:
    """What speaks against the run, by subject."""
    severe: list[str] = []
    mild: list[str] = []
    for more_severe, more_mild in (
        _of_the_law(posterior),
        _of_the_rows(posterior),
        _of_the_chains(measured, posterior, worst),
        _of_the_steps(measured, posterior),
    ):
        severe += more_severe
        mild += more_mild
    return severe, mild


def _of_the_law(posterior: Posterior) -> Problems:
    """Whether the model fits, and has rows enough."""
    severe: list[str] = []
    mild: list[str] = []
    found = posterior.settings.get("rows_found") or {}
    if found.get("misfit"):
        severe.append(f"{found['misfit'][0].upper()}{found['misfit'][1:]}")
    elif found.get("law"):
        mild.append(f"The law of the rows is not quite the declared one: {'; '.join(found['law'])}.")
    if not found.get("misfit"):
        mild += law_doubts(posterior.settings)
    rows = max(len(posterior.row_weights), 1)
    shift = found.get("contested_shift", 0.0)
    if shift * math.sqrt(min(1.0, CONTESTED_ROWS / rows)) > CONTESTED_SHIFT:
        # Of more rows than are judged at once the group is known in a sample only.
        many = f"{len(posterior.contested)} " if len(posterior.contested) else ""
        where = "posterior.contested" if len(posterior.contested) else "robula.trust on some of the rows has them"
        severe.append(
            f"The conclusions depend on a group of {many}rows that may be errors. Look at these rows first ({where}): "
            "take them out if they are wrong, and give the model what it lacks if they are right."
        )
    if len(posterior.row_weights) <= (parameters := posterior.draws.shape[2]):
        mild.append(
            f"There are {len(posterior.row_weights)} rows for {parameters} parameters: the prior decides much of the "
            "answer, and which rows are wrong cannot be told."
        )
    return severe, mild


def _of_the_rows(posterior: Posterior) -> Problems:
    """What was called bad; none of it forbids the use."""
    mild: list[str] = []
    found = posterior.settings.get("rows_found") or {}
    rows = max(len(posterior.row_weights), 1)
    removed = 1.0 - float(posterior.row_weights.mean())
    budget = posterior.settings.get("contamination_budget")
    if budget != posterior.settings.get("contamination") and removed > MANY_BAD_ROWS:
        mild.append(
            f"{removed:.0%} of the rows are called bad, and no limit was declared: look at them, for a model that does "
            "not fit can look like that too; if you know that fewer are bad, declare it as contamination=."
        )
    elif found.get("explanations") and not found.get("misfit") and removed > SPENT * (budget or 1.0):
        mild.append(
            f"The whole of contamination={budget:g} is used up: there may be more bad rows, or the model does not fit "
            "and good ones were given up. Look at them, and compare with a smaller and a larger limit."
        )
    wrong_cells = len(found.get("wrong_cells", ()))
    labels = removed - wrong_cells / rows
    if _judged_labels(posterior.settings):
        if wrong_cells:
            mild.append(
                f"{wrong_cells} row(s) have a cell that is hardly right (a unit, a decimal point, a code) and do not "
                "count, whatever their label: look at them."
            )
        if labels > WRONG_LABELS:
            mild.append(
                f"{labels:.1%} of the labels are called wrong: look at them. Labels alone do not tell wrong ones from "
                "a model that lacks an interaction or a curve; compare with a model that has them."
            )
    if found.get("copied"):
        mild.append(
            f"{len(found['copied'])} rows are copies of one another, far more than chance repeats rows; each group "
            "of copies counts once. Take them out of the table, or find out why they are there."
        )
    if found.get("beyond_budget"):
        mild.append(f"{found['beyond_budget']} more rows are unmistakably bad than were declared: check them.")
    return [], mild


def _of_the_chains(measured: Diagnosis, posterior: Posterior, worst: str) -> Problems:
    """Whether the chains agree, and are long enough."""
    severe: list[str] = []
    mild: list[str] = []
    size, r_hat = measured.effective_sample_size, measured.r_hat
    if independent := bool(posterior.settings.get("independent")):
        # What is measured of independent draws is chance: R-hat is 1, and each of them is an effective one.
        size, r_hat = float(posterior.draws.shape[0] * posterior.draws.shape[1]), 1.0
    round_already = was_of(posterior.settings, "kernel", Preconditioned) or posterior.settings.get("adjusted")
    faster = "" if round_already else ', or use kernel="auto"'
    if r_hat > GOOD_R_HAT:
        if measured.weight_disagreement > STEADY_WEIGHTS:
            why = (
                "they trust different rows. Either the data have more than one explanation, or the selector is noisy: "
                "compare the chains' row weights, start closer, or use another selector"
            )
        elif size < TOO_FEW_DRAWS:
            why = f"run longer{faster}"
        elif r_hat > BAD_R_HAT:
            why = "there may be several modes: look at the chains one by one, and run longer"
        else:
            why = "short chains alone can do that, so run longer (draws=1000 and more)"
        (severe if r_hat > BAD_R_HAT else mild).append(
            f"The chains do not agree on parameter {worst!r} (R-hat {r_hat:.2f}): {why}."
        )
    if size < ENOUGH_DRAWS:
        times = math.ceil(ENOUGH_DRAWS / max(size, 1.0))
        (severe if size < TOO_FEW_DRAWS else mild).append(
            f"Only {size:.0f} independent draws: make {times} times as many (draws=)."
            if independent
            else f"Only {size:.0f} effective draws: make {times} times as many steps (draws= or thin=){faster}."
        )
    return severe, mild


def _of_the_steps(measured: Diagnosis, posterior: Posterior) -> Problems:
    """Whether the selector keeps its promise in every step, and the step size is small enough."""
    severe: list[str] = []
    mild: list[str] = []
    share = posterior.settings.get("last_level_share", 0.0)
    if share >= 0.5:
        severe.append(
            f"Up to {share:.0%} of the rows at the last level of the recursion can be bad, so bad rows can carry the "
            'whole answer away: use selector="trust", or RecursiveMean(variant="lai2016").'
        )
    if measured.weight_drift > STEADY_WEIGHTS:
        mild.append(
            f"Row weights still move ({measured.weight_drift:.2f} a row between the halves of the run): use a longer "
            "burn_in, or a start nearer to the posterior."
        )
    if measured.guarded > GUARDED_SHARE:
        severe.append(
            f"The gradient was clipped (guard=True) in {measured.guarded:.0%} of the draws: use a smaller step_size."
        )
    bias, inflation = measured.step_bias, posterior.settings.get("variance_inflation")
    if bias is not None:
        if not math.isfinite(bias.total):
            severe.append("The step size is unstable: use a smaller one.")
        elif max(bias.shift - bias.shift_mcse, abs(bias.spread - 1.0) - bias.spread_mcse) > STEP_BIAS:
            mild.append("The step size is felt in the result: use step_size=robula.StepFor(bias=0.05).")
    elif inflation is not None and inflation > VARIANCE_INFLATION:
        mild.append(
            f"The step size makes the variance of the stiffest direction {inflation:.1f} times too large: use "
            'kernel="auto", or a smaller step_size.'
        )
    return severe, mild


def _judged_labels(settings: Mapping[str, Any]) -> bool:
    """Whether the default rule asked which labels are right."""
    explanations = (settings.get("rows_found") or {}).get("explanations") or {}
    if "response_kind" not in settings:
        # A posterior stored before runs recorded it.
        return Kind.FLIPPED in explanations
    return bool(explanations) and settings["response_kind"] == "label"
