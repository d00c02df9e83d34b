"""The default selector: each row counts by its probability of being clean, found once for a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from robula._threads import few_threads_for_small_data
from robula._types import FloatArray
from robula._validation import budget_of, check_contamination, show, warn
from robula.exceptions import BreakdownWarning, InputError
from robula.models.large_model import LargeModel
from robula.models.law import ModelWithLaw
from robula.models.model import Model, require_model
from robula.models.posterior_mode import HeldPrecision, weighted_mode
from robula.models.precision import weighted_precision
from robula.selectors.sample_mean import SampleMean
from robula.selectors.selection import ContaminationEstimate, Part, Selection, Selector
from robula.selectors.spectral_filter import SpectralFilter
from robula.selectors.trust.conclusion import Trust, beside_hidden, conclude, of_all_rows
from robula.selectors.trust.declared_spread import refuse_noise_far_too_small
from robula.selectors.trust.row_doubt import SURE, mean_theta, widening
from robula.selectors.trust.set_aside import set_aside
from robula.selectors.trust.trust_constants import MOST_BAD
from robula.selectors.trust.trust_search import Verdict, weigh_explanations

_HOW_TO_SAY_IT = (
    "Give the model a law: pass cdf= or simulate= to from_jax; in NumPyro, write what numpyro.factor adds to the rows "
    "as an observed site; in a class of your own, pit, features and simulate (robula.models.law.ModelWithLaw)."
)


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
        takes the law for nearly right, as real data are. None, the default, is False where noise is estimated or
        implied; where the model was told its noise as a number (``noise_scale=1.0``) rows are judged as by True, but
        the law may still be skewed, have tails or bend. Of labels it says whether their log odds may bend; vectors have
        no such choice.
    """

    name: ClassVar[str | None] = "trust"
    citations: ClassVar[tuple[str, ...]] = ("miller2019", "jones2009", "louis1982")
    exact_law: bool | None = None

    def __post_init__(self) -> None:
        if not (self.exact_law is None or isinstance(self.exact_law, bool | np.bool_)):
            raise InputError(
                f"exact_law={show(self.exact_law)} must be True, False, or None: exact where noise_scale was declared, "
                "but skew, tails and bends are still allowed."
            )
        if isinstance(self.exact_law, np.bool_):
            object.__setattr__(self, "exact_law", bool(self.exact_law))

    def prepared(self, model: Model, contamination: float) -> Selector:
        """Find the row weights of this model, once."""
        contamination = check_contamination(contamination)
        if contamination == 0.0:
            return SampleMean()
        if not isinstance(model, ModelWithLaw):
            warn(
                f"{type(model).__name__} does not say the law of its rows, so rows are judged by their gradients alone "
                f"(a spectral filter), which finds fewer bad rows and can cost good ones. {_HOW_TO_SAY_IT}",
                BreakdownWarning,
            )
            return SpectralFilter()
        return PreparedTrust(self, judge(model, contamination, self.exact_law))

    def select_rows(self, model: Model, theta: FloatArray, contamination: float) -> Selection:
        """Return the selection for this model; it is found anew at each call, so prepare the selector for a run."""
        return self.prepared(model, contamination).select_rows(model, theta, contamination)


def judge(model: ModelWithLaw, contamination: float, exact_law: bool | None = None) -> Trust:
    """Weigh the explanations of a model's rows; warns where the model does not fit or the budget was passed."""
    hidden = model.hidden
    if hidden.any() and not hidden.all():
        seen = model.take(np.flatnonzero(~hidden))
        assert isinstance(seen, ModelWithLaw)
        return beside_hidden(judge(seen, contamination, exact_law), hidden)
    aside = set_aside(model)
    if aside is None:
        return _judge_kept(model, contamination, exact_law)
    kept = model.take(aside.kept)
    assert isinstance(kept, ModelWithLaw)
    return of_all_rows(_judge_kept(kept, aside.left_of(contamination), exact_law), aside, contamination)


def _judge_kept(model: ModelWithLaw, contamination: float, exact_law: bool | None) -> Trust:
    verdict = weigh(model, contamination, exact_law)
    weights = verdict.weights if verdict.weights.sum() >= 1.0 else np.ones(model.n_rows)
    mode = weighted_mode(model, weights, verdict.theta, held=HeldPrecision())
    shift = shift_of(model, verdict, weights, mode)
    precision = weighted_precision(model, weights, mode)
    wider = widening(model, verdict.explanations, verdict.in_doubt, mode + shift, weights, precision)
    return conclude(verdict, weights, mode, shift, contamination, wider, precision)


def shift_of(model: ModelWithLaw, verdict: Verdict, weights: FloatArray, mode: FloatArray) -> FloatArray:
    """From the mode (d,) of the rows so weighted (n,) to the mean of the explanations.

    Between "these rows are bad" and "nothing is wrong" their weight is in between, and the fit of rows so weighted is
    not: rows of leverage draw it to themselves at little weight. How rows spread is in between: doubtful rows count in
    it as far as they may belong to it. Where no row is in doubt, and where none would be left and all are kept, there
    is nothing in between.
    """
    if (weights > 1.0 - SURE).all():
        return np.zeros_like(mode)
    return np.where(model.of_the_mean, mean_theta(verdict.explanations, verdict.probabilities) - mode, 0.0)


def weigh(model: ModelWithLaw, contamination: float, exact_law: bool | None = None) -> Verdict:
    """Compare the explanations of a model's rows, or refuse rows without noise, or with far more than was declared."""
    try:
        refuse_noise_far_too_small(model, contamination)
        return weigh_explanations(model, contamination, exact_law)
    except np.linalg.LinAlgError:
        raise InputError(
            "the noise scale cannot be estimated: the model fits most rows exactly. Pass noise_scale= as a number, or "
            "use contamination=0."
        ) from None


@dataclass(frozen=True, eq=False)
class PreparedTrust(Selector):
    """Row weights found once for one model; the same selection at every theta.

    Attributes
    ----------
    made_by : TrustSelector
        What was asked for.
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
        return self.found.theta - self.found.shift

    @property
    def widening(self) -> FloatArray | None:
        """The map (d, d) that puts the doubt about rows into the draws."""
        return self.found.widening

    @property
    def shift(self) -> FloatArray:
        """From the mode of the weighted rows to the mean of the explanations, shape (d,)."""
        return self.found.shift

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
    require_model(model, LargeModel)
    budget, _ = budget_of(contamination, MOST_BAD)
    exact_law = TrustSelector(exact_law).exact_law
    from robula.selectors.trust.streamed_trust import judge_by_passes, trust_by_passes

    if isinstance(model, LargeModel):
        if not model.in_memory:
            return trust_by_passes(model, budget, exact_law).found
        model = model.sample
    if not isinstance(model, ModelWithLaw):
        raise InputError(
            f"{type(model).__name__} does not say the law of its rows, so there is nothing to judge them by. "
            f"{_HOW_TO_SAY_IT}"
        )
    many = budget > 0.0 and LargeModel.is_judged_by_passes(model)
    return (judge_by_passes if many else judge)(model, budget, exact_law)
