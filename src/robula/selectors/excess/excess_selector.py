"""The model-aware selector: compare, group by group, how many rows the model predicts with how many there are."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from robula._types import FloatArray
from robula._validation import check_contamination, show
from robula.exceptions import BreakdownWarning, InputError
from robula.models.linear_model import LinearModel, UnknownScaleLinearModel
from robula.models.logistic_model import LogisticModel
from robula.models.mean_model import MeanModel
from robula.models.model import Model
from robula.models.poisson_model import PoissonModel
from robula.models.posterior_mode import weighted_mode
from robula.selectors.excess.excess_constants import DEFAULT_BUDGET
from robula.selectors.excess.excess_logistic import logistic_start, logistic_weights
from robula.selectors.excess.excess_mean import mean_start, mean_weights
from robula.selectors.excess.excess_regression import (
    regression_start,
    regression_weights,
    unknown_scale_start,
    unknown_scale_weights,
)
from robula.selectors.excess.starting_point import RobustStart
from robula.selectors.sample_mean import SampleMean
from robula.selectors.selection import ContaminationEstimate, Part, Selection, Selector
from robula.selectors.spectral_filter import SpectralFilter

#: The parts of the rule that ``without`` can switch off.
PARTS = ("start", "flags", "direction", "likeness", "lean", "confirmation", "repeats", "windows")


@dataclass(frozen=True)
class ExcessSelector(Selector):
    """Remove only the rows that the model cannot account for.

    Given its features, a clean row's residual has a known law. In groups of rows that are formed by their features,
    the number of rows in each bin of the residual is compared with the number that the model predicts. Where there
    are more than chance allows, each row of the bin counts expected / observed; all other rows count 1. Weighting and
    fitting alternate from a robust start until they agree, and the weights are then kept for the whole run: what is
    sampled is the exact posterior of the weighted rows. docs/method.md explains it with a picture.

    Knows ``LinearModel``, ``PoissonModel``, ``LogisticModel`` and ``MeanModel``. For other models it falls back to
    :class:`SpectralFilter` on their gradients.

    Parameters
    ----------
    without : tuple of str, optional
        Parts to leave out of the rule for linear and Poisson regression, for the ablation table (docs/ablation.md):
        "start", "flags", "direction", "likeness", "lean", "confirmation", "repeats", "windows".
    """

    citations: ClassVar[tuple[str, ...]] = ()

    without: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        unknown = set(self.without) - set(PARTS)
        if unknown:
            raise InputError(f"without={show(self.without)}: the parts are {', '.join(PARTS)}.")

    def prepared(self, model: Model, contamination: float) -> Selector:
        """Find the row weights of this model, once."""
        return prepare(model, contamination, self)

    def select_rows(self, model: Model, theta: FloatArray, contamination: float) -> Selection:
        """Return the selection for this model; it is found anew at each call, so prepare the selector for a run."""
        return self.prepared(model, contamination).select_rows(model, theta, contamination)


@dataclass(frozen=True, eq=False)
class PreparedExcess(Selector):
    """Row weights found once for one model; the same selection at every theta.

    Attributes
    ----------
    selection : Selection
    start : RobustStart
        The robust start.
    mode : ndarray, shape (d,)
        Mode of the posterior of the weighted rows.
    contamination : ContaminationEstimate
    """

    translation_equivariant: ClassVar[bool] = True
    depends_on_theta: ClassVar[bool] = False

    selection: Selection
    start: RobustStart
    mode: FloatArray
    contamination: ContaminationEstimate
    made_by: ExcessSelector = field(default_factory=ExcessSelector)

    @property
    def centre(self) -> FloatArray:
        """The mode, shape (d,)."""
        return self.mode

    @property
    def estimated_contamination(self) -> ContaminationEstimate:
        """Share of bad rows that were found."""
        return self.contamination

    def select_rows(self, model: Model, theta: FloatArray, contamination: float) -> Selection:
        """Return the one selection; the model must be the one it was prepared for."""
        return self.selection

    def __repr__(self) -> str:
        return repr(self.made_by)


def prepare(model: Model, contamination: float, selector: ExcessSelector) -> Selector:
    """Return the selector for this model: its weights, or the spectral filter where there is no rule for it."""
    contamination = check_contamination(contamination)
    without = frozenset(selector.without)
    if contamination == 0.0:
        return SampleMean()
    start = excess_start(model, contamination, without)
    if start is None:
        return SpectralFilter()
    estimate: ContaminationEstimate | None = None
    if isinstance(model, LinearModel | PoissonModel):
        weights, theta = regression_weights(model, start, without)
    elif isinstance(model, UnknownScaleLinearModel):
        weights, theta = unknown_scale_weights(model, start, without)
    elif isinstance(model, MeanModel):
        weights, theta = mean_weights(model, start, without)
    else:
        assert isinstance(model, LogisticModel)
        weights, theta, estimate = logistic_weights(model, start, contamination)
    if not weights.any():
        warnings.warn(
            "No row is likely under the model at any parameter that was tried, so none is trusted more than another "
            "and all are kept. Check the noise scale and the units of the response.",
            BreakdownWarning,
            stacklevel=2,
        )
        weights = np.ones(model.n_rows)
        theta = weighted_mode(model, weights, theta)
    # Full trust is 1, not the largest weight: a logistic row is never fully trusted while labels may be flipped.
    selection = Selection((Part(weights),), model.dim, scales=(1.0,))
    return PreparedExcess(selection, start, theta, estimate or _counted(weights), selector)


def _counted(weights: FloatArray) -> ContaminationEstimate:
    """Weight that was removed, as a share of all rows; the counts in the bins it came from vary like Poisson counts."""
    rows = len(weights)
    touched = int((weights < 1.0).sum())
    return ContaminationEstimate(float(1.0 - weights.mean()), float(np.sqrt(touched + 1.0) / rows))


def excess_start(model: Model, contamination: float, without: frozenset[str]) -> RobustStart | None:
    """Robust start of a model the rule knows, else None."""
    if isinstance(model, LinearModel | PoissonModel):
        return regression_start(model, contamination, without)
    if isinstance(model, UnknownScaleLinearModel):
        return unknown_scale_start(model, contamination, without)
    if isinstance(model, MeanModel):
        return mean_start(model, contamination, without)
    if isinstance(model, LogisticModel):
        return logistic_start(model, contamination)
    return None


def robust_start(model: Model, contamination: float | Literal["estimate"]) -> RobustStart:
    """Where to start a robust fit: several candidates, and the one that the most rows can agree with.

    Parameters
    ----------
    model : LinearModel, PoissonModel, LogisticModel or MeanModel
    contamination : float or "estimate"
        Upper bound on the share of bad rows, in [0, 0.5); "estimate" where it is not known.

    Returns
    -------
    RobustStart
        ``theta``, the ``name`` of the chosen candidate, all ``candidates`` with the criterion they were compared by,
        the rows ``flagged`` by their features, and the ``seconds`` it took.

    Examples
    --------
    >>> import robula
    >>> problem = robula.simulate.linear_regression(n_clean=400, dim=3, contamination=0.2, seed=1)
    >>> start = robula.selectors.robust_start(problem.model, contamination=0.2)
    >>> bool(abs(start.theta - problem.truth).max() < 0.3)
    True
    """
    budget = check_contamination(DEFAULT_BUDGET if contamination == "estimate" else contamination)
    start = excess_start(model, budget, frozenset())
    if start is None:
        raise InputError(
            f"robust_start knows LinearModel, PoissonModel, LogisticModel and MeanModel, not {type(model).__name__}."
        )
    return start
