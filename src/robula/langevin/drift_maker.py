"""The drift of a run, and of a second run that follows its selections."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from robula._types import FloatArray
from robula.langevin.base import Adapted
from robula.langevin.centre import RobustCentre
from robula.langevin.drift import RobustDrift
from robula.langevin.guard import drift_limit
from robula.langevin.robust_gradient import RobustGradient, frozen_mean, robust_gradient
from robula.models.base import Model
from robula.selectors.base import Selector

#: Makes a new drift; given another drift, one that follows its selections.
DriftMaker = Callable[[RobustDrift | None], RobustDrift]


class FollowingGradient(RobustGradient):
    """Robust means under the selections that another drift, of as many chains, used last."""

    def __init__(self, model: Model, leader: RobustDrift) -> None:
        self._model, self._leader = model, leader

    def __call__(self, theta: FloatArray) -> FloatArray:
        """Return the robust means at theta (c, d)."""
        self.selections = self._leader.selections
        if len(self.selections) == 1:
            return frozen_mean(self._model, self.selections[0], theta)
        return np.stack([frozen_mean(self._model, *pair) for pair in zip(self.selections, theta, strict=True)])


def drift_maker(
    model: Model,
    selector: Selector,
    contamination: float,
    likelihood_rows: str,
    refresh_every: int,
    centre: RobustCentre,
    adapted: Adapted,
) -> DriftMaker:
    """Return a function that makes the drift of a run with these settings."""

    def drift_for(leader: RobustDrift | None) -> RobustDrift:
        return RobustDrift(
            model,
            robust_gradient(model, selector, contamination, refresh_every)
            if leader is None
            else FollowingGradient(model, leader),
            likelihood_rows,
            contamination,
            limit=None if centre.bounded else drift_limit(adapted.smoothness, model.dim),
            scaling=adapted.scaling,
        )

    return drift_for
