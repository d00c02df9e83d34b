"""The default selector: weights that are each row's probability of being clean, found once for a model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from robula._threads import few_threads_for_small_data
from robula._types import FloatArray, IntArray
from robula._validation import check_contamination, show, warn
from robula.exceptions import BreakdownWarning, InputError, MisfitWarning
from robula.models.large_model import LargeModel
from robula.models.law import ModelWithLaw
from robula.models.model import Model
from robula.models.posterior_mode import HeldPrecision, weighted_mode, weighted_precision, width_factor
from robula.selectors.sample_mean import SampleMean
from robula.selectors.selection import ContaminationEstimate, Part, Selection, Selector
from robula.selectors.spectral_filter import SpectralFilter
from robula.selectors.trust.law_words import exact_words, group_words, law_findings, share_words, trust_words
from robula.selectors.trust.row_doubt import widening, without_leverage_of_doubt
from robula.selectors.trust.set_aside import SetAside, set_aside
from robula.selectors.trust.trust_constants import DEFAULT_BUDGET, MOST_BAD
from robula.selectors.trust.trust_search import Verdict, weigh_explanations


@dataclass(frozen=True)
class TrustSelector(Selector):
    """Trust each row by its probability of being clean.

    What explains the data best: nothing is wrong, the law is a little off, or some rows are bad? Each explanation is a
    likelihood of all rows; bad rows are gross (they follow no law) or a population with a regression, a spread and a
    place of its own. Explanations are weighed by an evidence that counts at most as many rows as a nearly right law is
    good for, and a row's weight is its probability of being clean, averaged over them. Never more than the declared
    contamination is removed, except rows that are unmistakable. docs/method.md has it on half a page.

    Needs a model that says the law of its rows (:class:`robula.models.law.ModelWithLaw`); others get a
    :class:`SpectralFilter` on their gradients, with a warning.

    Parameters
    ----------
    exact_law : bool, optional
        True takes the model's law at its word: what disagrees with it is bad, also where each row does so only a
        little. That finds more bad rows, and takes whatever the law lacks (skew, tails, a bend) for bad rows. False
        takes the law for nearly right, as real data are. None, the default, is True where the model was told its noise
        as a number (``noise_scale=1.0``) and False where noise is estimated or implied. For models of one number a row;
        labels and vectors have no such choice.
    """

    name: ClassVar[str | None] = "trust"
    citations: ClassVar[tuple[str, ...]] = ("miller2019", "jones2009", "louis1982")
    exact_law: bool | None = None

    def __post_init__(self) -> None:
        if not (self.exact_law is None or isinstance(self.exact_law, bool)):
            raise InputError(
                f"exact_law={show(self.exact_law)} must be True, False, or None (True where the noise was declared)."
            )

    def prepared(self, model: Model, contamination: float) -> Selector:
        """Find the row weights of this model, once."""
        contamination = check_contamination(contamination)
        if contamination == 0.0:
            return SampleMean()
        if not isinstance(model, ModelWithLaw):
            warn(
                f"{type(model).__name__} does not say the law of its rows, so rows are judged by their gradients alone "
                "(a spectral filter), which finds fewer bad rows and can cost good ones. Give the model a law: "
                "pit, features and simulate (robula.models.law.ModelWithLaw).",
                BreakdownWarning,
            )
            return SpectralFilter()
        return PreparedTrust(self, judge(model, contamination, self.exact_law))

    def select_rows(self, model: Model, theta: FloatArray, contamination: float) -> Selection:
        """Return the selection for this model; it is found anew at each call, so prepare the selector for a run."""
        return self.prepared(model, contamination).select_rows(model, theta, contamination)


@dataclass(frozen=True, eq=False)
class Trust:
    """What was found about the rows of a model.

    Attributes
    ----------
    weights : ndarray, shape (n,)
        How much each row counts: its probability of being clean, and less for a row in doubt that the fit would follow.
    theta : ndarray, shape (d,)
        Mode of the posterior of the rows so weighted.
    share, standard_error : float
        Share of bad rows and the standard error of that estimate.
    explanations : dict of str to float
        The explanations that were compared, with their probabilities.
    law : tuple of str
        What is off in the declared law, in words; empty where nothing is.
    contested : ndarray of int
        Rows of a group that may be bad or show what the model lacks, which the data do not tell: they are kept.
    copied : ndarray of int
        Rows that are copies of one another, many times over: each group of k of them counts once, 1 / k each.
    misfit : str or None
        Why the model does not fit; None where it does.
    beyond_budget : int
        How many unmistakable rows were removed beyond the declared contamination.
    widening : ndarray, shape (d, d), or None
        Linear map that puts the doubt about which rows are bad into draws around theta; None where there is no doubt.
    """

    weights: FloatArray
    theta: FloatArray
    share: float
    standard_error: float
    explanations: dict[str, float]
    law: tuple[str, ...]
    contested: IntArray
    copied: IntArray
    misfit: str | None
    beyond_budget: int
    widening: FloatArray | None

    def __repr__(self) -> str:
        return f"Trust: {trust_words(self.weights, self.share, self.standard_error, self.record())}"

    def record(self) -> dict[str, Any]:
        """Explanations with their probabilities, what is off in the law, and why the model does not fit, as JSON."""
        return {
            "explanations": {name: round(chance, 6) for name, chance in self.explanations.items()},
            "law": list(self.law),
            "contested": self.contested.tolist(),
            "copied": self.copied.tolist(),
            "misfit": self.misfit,
            "beyond_budget": self.beyond_budget,
        }


def judge(model: ModelWithLaw, contamination: float, exact_law: bool | None = None) -> Trust:
    """Weigh the explanations of a model's rows; warns where the model does not fit or the budget was passed."""
    aside = set_aside(model)
    if aside is None:
        return _judge_kept(model, contamination, exact_law)
    kept = model.take(aside.kept)
    assert isinstance(kept, ModelWithLaw)
    return of_all_rows(_judge_kept(kept, aside.left_of(contamination), exact_law), aside, contamination)


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
        copied=aside.copied,
        beyond_budget=found.beyond_budget + beyond,
    )


def _judge_kept(model: ModelWithLaw, contamination: float, exact_law: bool | None) -> Trust:
    verdict = weigh(model, contamination, exact_law)
    weights = verdict.weights if verdict.weights.sum() >= 1.0 else np.ones(model.n_rows)
    weights = without_leverage_of_doubt(model, weights, verdict.theta)
    theta = weighted_mode(model, weights, verdict.theta, held=HeldPrecision())
    precision = weighted_precision(model, weights, theta)
    wider = widening(model, verdict.explanations, verdict.in_doubt, theta, weights, precision)
    return conclude(verdict, weights, theta, contamination, wider, precision)


def weigh(model: ModelWithLaw, contamination: float, exact_law: bool | None = None) -> Verdict:
    """Compare the explanations of a model's rows, or refuse rows without noise."""
    try:
        return weigh_explanations(model, contamination, exact_law)
    except np.linalg.LinAlgError:
        raise InputError(
            "the rows cannot be weighed: the model fits most of them exactly, so their noise cannot be told. Pass "
            "noise_scale= as a number, or use contamination=0."
        ) from None


def conclude(
    verdict: Verdict,
    weights: FloatArray,
    theta: FloatArray,
    contamination: float,
    wider: FloatArray | None,
    precision: FloatArray,
) -> Trust:
    """Say what follows from a verdict and the weights (n,) of all rows, of which the verdict may have seen some.

    ``precision`` (d, d) is that of the weighted rows at theta.
    """
    rows = len(weights)
    law = law_findings(verdict)
    contested = verdict.contested
    group = np.zeros(0, dtype=np.intp)
    if contested is not None:
        deviations = np.sqrt((width_factor(precision) ** 2).sum(axis=1))
        law = (*law, group_words(contested, float((np.abs(contested.theta - theta) / deviations).max()), rows))
        if len(contested.members) == rows:
            group = np.flatnonzero(contested.members > 0.5)
    # What a row in doubt counts less for its leverage is not for being bad.
    clean = verdict.weights if len(verdict.weights) == rows else weights
    removed = float((1.0 - clean).sum())
    law = (*exact_words(verdict), *law, *share_words(verdict, removed / rows))
    misfit = None
    if verdict.beyond_budget:
        few = f"only the {removed:.0f} that stand out are called bad and the others are kept"
        kept = few if removed > 0.5 else "all of them are kept"
        off = f" What is off: {'; '.join(law)}." if law else ""
        misfit = (
            f"more rows disagree with the model than the limit of {100 * contamination:g}% allows, so {kept}: the "
            f"model does not fit these data.{off} Look at the residuals, change the model, or declare a larger "
            "contamination."
        )
    elif removed > MOST_BAD * rows:
        misfit = (
            f"{removed / rows:.0%} of the rows are far from what the model says: it does not fit these data. Look at "
            "the units of the response and of a declared noise scale (noise_scale='estimate' needs none), at codes for "
            "missing values in the columns, and whether there is an intercept."
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
    error = _standard_error(verdict, clean)
    none = np.zeros(0, dtype=np.intp)
    return Trust(weights, theta, removed / rows, error, verdict.probabilities, law, group, none, misfit, beyond, wider)


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


@dataclass(frozen=True, eq=False)
class PreparedTrust(Selector):
    """Row weights found once for one model; the same selection at every theta.

    Attributes
    ----------
    found : Trust
    """

    name: ClassVar[str | None] = None
    translation_equivariant: ClassVar[bool] = True
    depends_on_theta: ClassVar[bool] = False

    made_by: TrustSelector
    found: Trust

    @property
    def citations(self) -> tuple[str, ...]:  # type: ignore[override]
        """Those of the rule."""
        return self.made_by.citations

    @property
    def centre(self) -> FloatArray:
        """The mode of the weighted rows, shape (d,)."""
        return self.found.theta

    @property
    def widening(self) -> FloatArray | None:
        """The map (d, d) that puts the doubt about rows into the draws."""
        return self.found.widening

    @property
    def estimated_contamination(self) -> ContaminationEstimate:
        """Share of bad rows that were found."""
        return ContaminationEstimate(self.found.share, self.found.standard_error)

    @property
    def record(self) -> dict[str, Any]:
        """Explanations with their probabilities, what is off in the law, and why the model does not fit."""
        return self.found.record()

    def select_rows(self, model: Model, theta: FloatArray, contamination: float) -> Selection:
        """Return the one selection; the model must be the one it was prepared for."""
        # Full trust is 1, not the largest weight: a label is never fully trusted while labels may be flipped.
        return Selection((Part(self.found.weights),), model.dim, scales=(1.0,))

    def __repr__(self) -> str:
        return repr(self.made_by)


@few_threads_for_small_data
def trust(
    model: Model | LargeModel, contamination: float | Literal["estimate"], *, exact_law: bool | None = None
) -> Trust:
    """Which rows to trust, and what is off in the declared law, without sampling.

    Parameters
    ----------
    model : Model or LargeModel
        One that says the law of its rows.
    contamination : float or "estimate"
        Upper bound on the share of bad rows, in [0, 0.5); "estimate" where it is not known.
    exact_law : bool, optional
        Whether the model's law is taken at its word, as for :class:`TrustSelector`.

    Returns
    -------
    Trust

    Examples
    --------
    >>> import robula
    >>> problem = robula.simulate.linear_regression(n_clean=400, dim=3, contamination=0.2, seed=1)
    >>> found = robula.trust(problem.model, contamination=0.25)
    >>> bool(abs(found.theta - problem.truth).max() < 0.3)
    True
    """
    budget = check_contamination(DEFAULT_BUDGET if contamination == "estimate" else contamination)
    exact_law = TrustSelector(exact_law).exact_law
    if isinstance(model, LargeModel):
        from robula.selectors.trust.streamed_trust import trust_by_passes

        if model.in_memory:
            return judge(model.sample, budget, exact_law)
        return trust_by_passes(model, budget, exact_law).found
    if not isinstance(model, ModelWithLaw):
        raise InputError(
            f"{type(model).__name__} does not say the law of its rows, so there is nothing to judge them by."
        )
    return judge(model, budget, exact_law)
