"""What follows from a verdict about the rows: weights, how many are bad, what is off, why the model does not fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robula._types import BoolArray, FloatArray, IntArray
from robula._validation import warn
from robula.exceptions import BreakdownWarning, MisfitWarning
from robula.models.precision import width_factor
from robula.selectors.trust.declared_spread import noise_ratio
from robula.selectors.trust.law_words import (
    exact_words,
    group_words,
    label_words,
    law_findings,
    one_tail_words,
    repeated_words,
    share_words,
    trust_words,
)
from robula.selectors.trust.set_aside import SetAside
from robula.selectors.trust.trust_constants import MOST_BAD, WORTH_NAMING
from robula.selectors.trust.trust_search import Verdict


@dataclass(frozen=True, eq=False)
class Trust:
    """What was found about the rows of a model.

    Attributes
    ----------
    weights : ndarray, shape (n,)
        Probability of each row to be clean, which is how much it counts.
    theta : ndarray, shape (d,)
        Mean of the explanations' parameters, each as probable as it is; how rows spread is that of the weighted rows.
    share, standard_error : float
        Share of bad rows and the standard error of that estimate.
    explanations : dict of str to float
        The explanations that were compared, with their probabilities.
    law : tuple of str
        What is off in the declared law, in words; empty where nothing is.
    contested : ndarray of int
        Rows of a group that may be bad or show what the model lacks, which the data do not tell: they are kept.
    contested_shift : float
        By how many posterior widths the parameter that they move most differs without them; 0 where there are none.
    wrong_cells : ndarray of int
        Rows with a cell so surely wrong (a code, a unit, a slipped decimal) that they were not judged: they count 0.
    copied : ndarray of int
        Rows that are copies of one another, many times over: each group of k of them counts once, 1 / k each.
    misfit : str or None
        Why the model does not fit; None where it does.
    beyond_budget : int
        How many unmistakable rows were removed beyond the declared contamination.
    widening : ndarray, shape (d, d), or None
        Linear map that puts the doubt about which rows are bad into draws around theta; None where there is no doubt.
    shift : ndarray, shape (d,)
        From the mode of the posterior of the rows so weighted to theta: 0 where one explanation is sure.
    """

    weights: FloatArray
    theta: FloatArray
    share: float
    standard_error: float
    explanations: dict[str, float]
    law: tuple[str, ...]
    contested: IntArray
    contested_shift: float
    wrong_cells: IntArray
    copied: IntArray
    misfit: str | None
    beyond_budget: int
    widening: FloatArray | None
    shift: FloatArray

    def __repr__(self) -> str:
        return f"Trust: {trust_words(self.weights, self.share, self.standard_error, self.record())}"

    def record(self) -> dict[str, Any]:
        """All but the weights, as JSON."""
        return {
            "explanations": {name: round(chance, 6) for name, chance in self.explanations.items()},
            "law": list(self.law),
            "contested": self.contested.tolist(),
            "contested_shift": round(self.contested_shift, 3),
            "wrong_cells": self.wrong_cells.tolist(),
            "copied": self.copied.tolist(),
            "misfit": self.misfit,
            "beyond_budget": self.beyond_budget,
        }


def conclude(
    verdict: Verdict,
    weights: FloatArray,
    mode: FloatArray,
    shift: FloatArray,
    contamination: float,
    wider: FloatArray | None,
    precision: FloatArray,
) -> Trust:
    """Say what follows from a verdict and the weights (n,) of all rows, of which the verdict may have seen some.

    ``mode`` and ``precision`` (d, d) are those of the weighted rows.
    """
    rows, theta = len(weights), mode + shift
    exact, repeated = exact_words(verdict), repeated_words(verdict)
    # Around a line without noise, or of two values, rows have tails, bends and groups of no meaning.
    wrong_kind = exact or label_words(verdict)
    law = () if wrong_kind else law_findings(verdict) or one_tail_words(verdict)
    contested = None if wrong_kind else verdict.contested
    group, group_shift = np.zeros(0, dtype=np.intp), 0.0
    if contested is not None:
        deviations = np.sqrt((width_factor(precision) ** 2).sum(axis=1))
        moved = float((np.abs(contested.theta - theta) / deviations).max())
        if moved > WORTH_NAMING:
            law, group_shift = (*law, group_words(contested, moved, rows)), moved
            if len(contested.members) == rows:
                group = np.flatnonzero(contested.members > 0.5)
    removed = float((1.0 - weights).sum())
    # Then all are kept (``judge``).
    nobody = float(verdict.weights.sum()) < 1.0
    first = [words for words in (wrong_kind, None if wrong_kind else repeated) if words]
    law = (*first, *law, *share_words(verdict, removed / rows))
    off = f" What is off: {'; '.join(law)}." if law else ""
    misfit = None
    if exact is not None:
        misfit = f"{exact}. What is said of the noise, of rows and of chains means nothing then."
    elif verdict.beyond_budget:
        few = f"only the {removed:.0f} that stand out are called bad and the others are kept"
        kept = few if removed > 0.5 else "all of them are kept"
        times = noise_ratio(verdict)
        if repeated:
            remedy = "A larger contamination is no remedy."
        elif times is None:
            remedy = "Look at the residuals, change the model, or declare a larger contamination."
        elif times > 1.0:
            remedy = "Declare the noise that the residuals have, or a larger contamination if these rows are bad."
        else:
            remedy = "Declare the noise that the residuals have."
        misfit = (
            f"more rows disagree with the model than the limit of {100 * contamination:g}% allows, so {kept}: the "
            f"model does not fit these data.{off} {remedy}"
        )
    elif nobody or removed > max(MOST_BAD, contamination) * rows:
        far = f"{'all' if nobody else f'{removed / rows:.0%} of the'} rows are far from what the model says"
        far += ", so none is called bad" if nobody else ""
        misfit = (
            f"{far}: it does not fit these data.{off} Look at the units of the response and of a declared noise scale "
            "(noise_scale='estimate' needs none), at codes for missing values in the columns, and whether there is an "
            "intercept."
        )
    if misfit:
        warn(misfit, MisfitWarning)
    beyond = max(0, round(removed - contamination * rows))
    if beyond and not misfit:
        warn(
            f"{removed:.0f} rows are unmistakably bad, {beyond} more than contamination={contamination:g} declares; "
            "they do not count either. Check them, and declare more.",
            BreakdownWarning,
        )
    error = _standard_error(verdict, weights)
    none = np.zeros(0, dtype=np.intp)
    return Trust(
        weights=weights,
        theta=theta,
        share=removed / rows,
        standard_error=error,
        explanations={str(kind): chance for kind, chance in verdict.probabilities.items()},
        law=law,
        contested=group,
        contested_shift=group_shift,
        wrong_cells=none,
        copied=none,
        misfit=misfit,
        beyond_budget=beyond,
        widening=wider,
        shift=shift,
    )


def _standard_error(verdict: Verdict, weights: FloatArray) -> float:
    """Of the share of bad rows: which rows, which explanation, and that a share of n rows was drawn."""
    names = list(verdict.probabilities)
    shares = np.array([1.0 - float(verdict.explanations[name].weights.mean()) for name in names])
    chances = np.array([verdict.probabilities[name] for name in names])
    n = len(weights)
    share = float(chances @ shares)
    which_rows = float((weights * (1.0 - weights)).sum()) / n**2
    which_explanation = float(chances @ (shares - share) ** 2)
    return float(np.sqrt(which_rows + which_explanation + share * (1.0 - share) / n + 1.0 / n**2))


def of_all_rows(found: Trust, aside: SetAside, contamination: float) -> Trust:
    """Say of all rows what was found of those that were judged; warns where the others alone pass the limit."""
    n, kept = len(aside.place), len(aside.kept)
    beyond = max(0, round(aside.number - contamination * n))
    if beyond:
        warn(
            f"{aside.number} rows are unmistakably bad (a wrong cell, or copies of another row), {beyond} more than "
            f"contamination={contamination:g} declares; they do not count either. Check them, and declare more.",
            BreakdownWarning,
        )
    weights = aside.spread(found.weights)
    return replace(
        found,
        weights=weights,
        share=1.0 - float(weights.mean()),
        standard_error=found.standard_error * kept / n,
        contested=aside.kept[found.contested],
        wrong_cells=aside.wrong,
        copied=aside.copied,
        beyond_budget=found.beyond_budget + beyond,
    )


def beside_hidden(found: Trust, hidden: BoolArray) -> Trust:
    """Say of all rows what was found of those that are not hidden: nothing speaks against the others, which count 0."""
    seen, weights = np.flatnonzero(~hidden), np.ones(len(hidden))
    weights[seen] = found.weights
    places = {name: seen[getattr(found, name)] for name in ("contested", "wrong_cells", "copied")}
    return replace(found, weights=weights, **places)
