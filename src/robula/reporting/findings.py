"""What a report finds: diagnostics in plain words, and why a row is odd."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from robula._types import FloatArray
from robula.diagnosis.rows_to_check import OddRows
from robula.diagnosis.verdict import NOT_YET, USABLE, WITH_CARE, diagnose
from robula.reporting.quantities import Quantities
from robula.result.convergence import agreement
from robula.result.posterior import Posterior
from robula.result.thresholds import (
    BAD_R_HAT,
    DISTRUSTED,
    ENOUGH_DRAWS,
    FEWEST_DRAWS,
    GOOD_R_HAT,
    GUARDED_SHARE,
    TOO_FEW_DRAWS,
    VARIANCE_INFLATION,
)
from robula.tables.odd_cells import OddCells

#: Beyond this many times its usual size a distance is called odd.
ODD = 4.0
_MOST_REASONS = 3
# More than half of the data is most of it.
_MOST = 0.5


class Finding(NamedTuple):
    """One check: whether it is "good", "fair" or "poor", in one short title, and what to do."""

    grade: str
    title: str
    text: str
    verdict: bool = False  #: whether it is the verdict of :func:`robula.diagnose`, which the others explain


def findings(posterior: Posterior, shown: Quantities, odd: OddRows | None = None) -> list[Finding]:
    """Return the verdict of :func:`robula.diagnose`, then what it rests on, the usual questions first."""
    chains, draws, _ = shown.draws.shape
    result = [_verdict(posterior, odd)] if draws >= FEWEST_DRAWS else []
    if chains > 1 and draws >= FEWEST_DRAWS:
        result.append(_agreement(posterior, shown))
    if draws >= FEWEST_DRAWS:
        result.append(_precision(posterior, shown))
    result += _distrust(posterior) + _step_size(posterior) + _guard(posterior)
    if posterior.settings.get("interrupted"):
        result.append(Finding("fair", "The run was interrupted", "The draws made until then are shown."))
    return result


def _verdict(posterior: Posterior, odd: OddRows | None) -> Finding:
    diagnosis = diagnose(posterior, odd=odd)
    grade = {USABLE: "good", WITH_CARE: "fair", NOT_YET: "poor"}[diagnosis.verdict]
    return Finding(
        grade,
        f"Verdict: {diagnosis.verdict}",
        " ".join(diagnosis.findings) or "No check speaks against using these draws.",
        verdict=True,
    )


def _agreement(posterior: Posterior, shown: Quantities) -> Finding:
    # A parameter that never moved counts as infinite; it must not pass for one on which the chains agree.
    found = agreement(shown.draws, shown.names, posterior.settings)
    seen = f"Largest R-hat {found.r_hat:.3f} ({found.parameter})."
    if found.r_hat <= GOOD_R_HAT:
        return Finding("good", "The chains agree", f"{seen} Started apart, they ended in the same place.")
    if found.r_hat <= BAD_R_HAT:
        return Finding("fair", "The chains nearly agree", f"{seen} More draws would help.")
    return Finding(
        "poor", "The chains disagree", f"{seen} Do not use these numbers yet: run longer, with more burn-in."
    )


def _precision(posterior: Posterior, shown: Quantities) -> Finding:
    size = max(agreement(shown.draws, shown.names, posterior.settings).effective_draws, 1.0)
    seen = (
        f"The draws are worth at least {size:,.0f} independent ones for every quantity, so means "
        f"are known to within about {100 / np.sqrt(size):.0f} % of a standard deviation."
    )
    if size >= ENOUGH_DRAWS:
        return Finding("good", "There are enough draws", seen)
    if size >= TOO_FEW_DRAWS:
        return Finding("fair", "Draws are enough for means, scarce for intervals", f"{seen} More draws would help.")
    return Finding("poor", "There are too few draws", f"{seen} Run longer.")


def bad_rows(posterior: Posterior) -> str:
    """Say which share of the rows is taken to be bad, and whether it was declared or estimated; empty if unknown."""
    share = posterior.settings.get("contamination")
    if not isinstance(share, float | int):
        return ""
    if posterior.settings.get("contamination_budget", share) == share:
        return f"at most {100 * share:.3g} % are assumed bad"
    error = (posterior.settings.get("contamination_estimate") or {}).get("standard_error")
    known = "" if error is None else f" (standard error {100 * error:.2g} %)"
    few = 0.0005  # and less is said as such: an estimate of 0.0009 % means none
    told = f"{100 * share:.3g} %" if share >= few else f"less than {100 * few:g} %"
    return f"{told} are estimated to be bad{known}"


def _distrust(posterior: Posterior) -> list[Finding]:
    weights = posterior.row_weights
    declared = posterior.settings.get("contamination")
    if not len(weights) or not isinstance(declared, float | int):
        return []
    share = float((weights < DISTRUSTED).mean())
    lost = float(1.0 - weights.mean())
    seen = (
        f"{100 * share:.1f} % of the rows count less than half; {bad_rows(posterior)}. On average a row counts "
        f"{weights.mean():.2f}."
    )
    if share > declared + 2.0 * np.sqrt(max(declared, 0.01) / len(weights)):
        return [
            Finding(
                "fair",
                "More rows are distrusted than are assumed bad",
                f"{seen} Either more rows are bad, or the method also cuts good ones at the edge of the cloud; "
                "see how the answer moves with the assumed share.",
            )
        ]
    if lost > _MOST:
        return [Finding("poor", "Most of the data is set aside", f"{seen} Lower the assumed share.")]
    return [Finding("good", "The distrusted rows fit what was assumed", seen)]


def _step_size(posterior: Posterior) -> list[Finding]:
    inflation = posterior.settings.get("variance_inflation")
    if not isinstance(inflation, float | int):
        return []
    wide = 100.0 * (np.sqrt(inflation) - 1.0)
    seen = (
        f"The sampler's steps widen intervals by up to {wide:.0f} % in its stiffest direction."
        if wide >= 0.5  # what would be said as 0 %
        else "The sampler's steps do not widen the intervals."
    )
    if inflation <= VARIANCE_INFLATION:
        return [Finding("good", "The step size is small enough", seen)]
    return [Finding("fair", "The step size widens the intervals", f"{seen} A smaller step_size with more draws helps.")]


def _guard(posterior: Posterior) -> list[Finding]:
    guarded = posterior.stats.get("guarded")
    if guarded is None or not np.mean(guarded) > GUARDED_SHARE:
        return []
    return [
        Finding(
            "poor",
            "Some steps were cut short",
            f"In {100 * float(np.mean(guarded)):.1f} % of the steps the pull was cut, so the draws are biased. Run "
            "longer, or pass a smaller step_size.",
        )
    ]


class Reason(NamedTuple):
    """What makes a row odd: a column in words, or a distance by name in usual sizes."""

    words: str
    distance: float


def reasons(cells: OddCells | None, residuals: Mapping[str, FloatArray], row: int) -> list[Reason]:
    """Return what makes a row odd, the oddest first: cells, and distances such as prediction errors over their size."""
    found = [Reason(name, float(values[row])) for name, values in residuals.items() if abs(values[row]) > ODD]
    if cells is not None:
        for column in np.flatnonzero(cells.log_odds[row] >= 0.0):
            partner = cells.partner(row, int(column))
            if 0 <= partner < column and cells.partner(row, partner) == column:
                continue  # The first of the two says that they are exchanged.
            found.append(Reason(cells.reason(row, int(column)), float(cells.scores[row, column])))
    return sorted(found, key=lambda reason: -abs(reason.distance))[:_MOST_REASONS]
