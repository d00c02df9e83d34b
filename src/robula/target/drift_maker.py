"""The drift of a run, and of a second run that follows its selections."""

from __future__ import annotations

from collections.abc import Callable

from robula._types import FloatArray
from robula.kernels.kernel import Adapted
from robula.models.model import Model
from robula.selectors.selector import Selector
from robula.target.centre_search import RobustCentre
from robula.target.drift import RobustDrift
from robula.target.frozen_gradient import FrozenGradient
from robula.target.guard import drift_limit
from robula.target.robust_gradient import RefreshRule, RobustGradient, robust_gradient

#: Makes a new drift; given another drift, one that follows its selections.
DriftMaker = Callable[[RobustDrift | None], RobustDrift]


class FollowingGradient(RobustGradient):
    """Robust means under the selections that another drift, of as many chains, used last."""

    def __init__(self, model: Model, leader: RobustDrift) -> None:
        self._model, self._leader = model, leader
        self.selections = ()
        self.made = 0

    def __call__(self, theta: FloatArray) -> FloatArray:
        """Return the robust means at theta (c, d)."""
        if self.selections is not self._leader.selections:
            self.selections = self._leader.selections
            each = self.selections if len(self.selections) > 1 else self.selections * len(theta)
            self._frozen = FrozenGradient(self._model, each)
        return self._frozen(theta)


def drift_maker(
    model: Model,
    selector: Selector,
    contamination: float,
    likelihood_rows: str,
    refresh_every: RefreshRule,
    burn_in: int,
    centre: RobustCentre,
    adapted: Adapted,
) -> DriftMaker:
    """Return a function that makes the drift of a run with these settings."""

    def drift_for(leader: RobustDrift | None) -> RobustDrift:
        return RobustDrift(
            model,
            robust_gradient(model, selector, contamination, refresh_every, centre.width, burn_in)
            if leader is None
            else FollowingGradient(model, leader),
            likelihood_rows,
            contamination,
            limit=None if centre.bounded else drift_limit(adapted.smoothness, model.dim),
            scaling=adapted.scaling,
        )

    return drift_for
