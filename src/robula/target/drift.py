"""The drift of Algorithm 1: rows x robust mean gradient + gradient of the log prior."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from robula._types import BoolArray, FloatArray
from robula.models.model import Model
from robula.selectors.selection import Selection, Selector
from robula.target.frozen_gradient import FrozenGradient
from robula.target.robust_centre import RobustCentre
from robula.target.robust_gradient import RefreshRule, RobustGradient, robust_gradient

# How many root-mean-square lengths a drift may have where the curvature has no global bound.
_GUARD = 10.0
LikelihoodRows = Literal["n", "clean", "weights"]
LIKELIHOOD_ROWS: tuple[str, ...] = get_args(LikelihoodRows)


def drift_limit(smoothness: float, dim: int) -> float:
    """Return ten times the largest root-mean-square length that the drift has under the posterior.

    In a posterior with density exp(-f) the mean of |grad f|^2 is the mean trace of the Hessian (integrate by parts),
    at most L d where L is the largest curvature. |grad f|^2 / L is at most a sum of d squared standard normals for a
    Gaussian posterior, so a length of 10 sqrt(L d) is reached with probability below exp(-40 d): the guard is silent
    in the bulk.
    """
    return _GUARD * math.sqrt(smoothness * dim)


def rows_stood_for(selection: Selection, rule: str, contamination: float) -> float:
    """Return how many rows the robust mean stands for.

    "n" is the paper's Algorithm 1; "clean" is (1 - epsilon) n, the size of the clean part if epsilon is exact;
    "weights" is the sum of the row weights, which needs no epsilon.
    """
    rows = len(selection.weights)
    if rule == "n":
        return float(rows)
    if rule == "clean":
        return (1.0 - contamination) * rows
    return float(selection.weights.sum())


class RobustDrift:
    """Gradient of the robust log posterior for a batch of chains, with an optional limit on its length.

    A drift longer than ``limit`` keeps its direction and is cut to that length. The limit is for models whose
    curvature has no global bound: far from the centre their drift can throw a chain to infinity in one step. It is
    set so high (see :func:`drift_limit`) that it never acts in the bulk of the posterior. The length is measured in the
    coordinates phi of theta = scaling @ phi, where a kernel moves in such.

    Attributes
    ----------
    guarded : ndarray of bool, shape (c,)
        Which chains were cut in the last call.
    """

    def __init__(
        self,
        model: Model,
        gradient: RobustGradient,
        likelihood_rows: str,
        contamination: float,
        limit: float | None,
        scaling: FloatArray | None = None,
    ) -> None:
        self._model = model
        self._gradient = gradient
        self._rule = likelihood_rows
        self._contamination = contamination
        self._limit = limit
        self._scaling = scaling
        self._counted: tuple[Selection, ...] | None = None
        self._rows: FloatArray = np.zeros((1, 1))
        self.guarded: BoolArray = np.zeros(1, dtype=bool)

    @property
    def selections(self) -> tuple[Selection, ...]:
        """The selections last used, one per chain or one for all."""
        return self._gradient.selections

    @property
    def selections_made(self) -> int:
        """How many selections were made so far."""
        return self._gradient.made

    def __call__(self, theta: FloatArray) -> FloatArray:
        """Return the drift (c, d) at theta (c, d)."""
        mean = self._gradient(theta)
        if self._counted is not self.selections:
            self._counted = self.selections
            self._rows = np.array(
                [[rows_stood_for(selection, self._rule, self._contamination)] for selection in self.selections]
            )
        # alg:rula: n times the robust mean, plus the prior; signs are of the log posterior.
        drift: FloatArray = self._rows * mean + self._model.prior.gradient(theta)
        if self._limit is None:
            self.guarded = np.zeros(len(theta), dtype=bool)
            return drift
        measured = drift if self._scaling is None else drift @ self._scaling
        length = np.linalg.norm(measured, axis=1, keepdims=True)
        self.guarded = length[:, 0] > self._limit
        cut: FloatArray = drift * np.minimum(1.0, self._limit / np.maximum(length, 1e-300))
        return cut


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
    smoothness: float,
    scaling: FloatArray | None,
    guard: bool = True,
) -> DriftMaker:
    """Return a function that makes the drift of a run with these settings.

    ``smoothness`` and ``scaling`` are the largest curvature in the kernel's coordinates, and what leads back from them;
    ``guard`` limits the drift of models whose curvature has no global bound.
    """

    def drift_for(leader: RobustDrift | None) -> RobustDrift:
        return RobustDrift(
            model,
            robust_gradient(model, selector, contamination, refresh_every, centre.width, burn_in)
            if leader is None
            else FollowingGradient(model, leader),
            likelihood_rows,
            contamination,
            limit=drift_limit(smoothness, model.dim) if guard and not centre.bounded else None,
            scaling=scaling,
        )

    return drift_for
