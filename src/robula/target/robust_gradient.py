"""Robust mean gradients of a batch of chains, with a selection that is made afresh, kept for a while, or made once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

import numpy as np

from robula._types import FloatArray
from robula.models.model import Model
from robula.selectors.selection import Selection, Selector
from robula.target.frozen_gradient import FrozenGradient, frozen_mean

#: A selection holds for chains within this many posterior widths of where it was made: further than two draws are from
#: each other (1.4, and about 3 with the paper's estimator, whose posterior is twice too wide): it acts on chains that
#: are still on their way. A reach within the posterior makes it narrower (docs/speed.md).
REACH = 4.0
#: ``refresh_every="auto"`` keeps a selection for at most this many steps.
MOST_STEPS = 50
#: The share of burn-in in which ``"auto"`` makes a new selection at every step.
EARLY = 0.1


class Refresh(ABC):
    """Decides, call by call, whether the selections are due."""

    @abstractmethod
    def due(self, theta: FloatArray) -> bool:
        """Tell whether new selections are to be made at theta (c, d); called once a step."""


class RefreshEvery(Refresh):
    """A new selection at each K-th call; 1 is the paper's Algorithm 1."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._calls = 0

    def due(self, theta: FloatArray) -> bool:
        """True at calls 1, 1 + K, 1 + 2 K, ..."""
        self._calls += 1
        return (self._calls - 1) % self._steps == 0


class RefreshWhenMoved(Refresh):
    """A new selection when a chain has moved away from the last one's place, or after a while (docs/speed.md)."""

    def __init__(self, width: float, burn_in: int) -> None:
        self._reach = REACH * width
        self._early = EARLY * burn_in
        self._calls = 0
        self._since = 0
        self._anchor: FloatArray | None = None

    def due(self, theta: FloatArray) -> bool:
        """True early in burn-in, after MOST_STEPS steps, and when a chain is REACH widths away."""
        self._calls += 1
        self._since += 1
        if self._anchor is not None and self._calls > self._early and self._since < MOST_STEPS:
            moved = float(np.linalg.norm(theta - self._anchor, axis=1).max())
            if moved <= self._reach:
                return False
        self._anchor, self._since = theta.copy(), 0
        return True


class Sharing:
    """After burn-in, two groups of chains share a selection each: fewer to make, and R-hat still compares two.

    The selection is made at one chain of the group, each in turn. A chain too far from it keeps its own.

    Parameters
    ----------
    width : float
        Posterior width.
    burn_in : int
        Number of calls before which every chain has its own selection.
    """

    def __init__(self, width: float, burn_in: int) -> None:
        self._reach = REACH * width
        self._burn_in = burn_in
        self._turn = 0

    def anchors(self, theta: FloatArray, calls: int) -> list[int]:
        """Return, for each chain at theta (c, d), the chain at whose place its selection is made."""
        chains = len(theta)
        if calls <= self._burn_in or chains < 3:
            return list(range(chains))
        self._turn += 1
        anchors = []
        for chain in range(chains):
            group = range(chain % 2, chains, 2)
            leader = group[self._turn % len(group)]
            near = float(np.linalg.norm(theta[chain] - theta[leader])) <= self._reach
            anchors.append(leader if near else chain)
        return anchors


RefreshRule = int | Literal["auto"]


class RobustGradient(ABC):
    """Maps positions (c, d) to robust means (c, d) of the rows' log-likelihood gradients.

    Attributes
    ----------
    selections : tuple of Selection
        The selections last used: one per chain, or a single one that all chains share. The same tuple object stays
        until a new selection is made.
    made : int
        How many selections were made so far.
    """

    selections: tuple[Selection, ...]
    made: int

    @abstractmethod
    def __call__(self, theta: FloatArray) -> FloatArray:
        """Return the robust means at theta."""


class TranslatedGradient(RobustGradient):
    """For gradients that are translated data and an equivariant selector: one selection is exact for ever."""

    def __init__(self, model: Model, selector: Selector, contamination: float) -> None:
        origin = np.zeros(model.dim)
        selection = selector.select_rows(model, origin, contamination)
        self.selections = (selection,)
        self.made = 1
        self._model = model
        self._mean_at_origin = frozen_mean(model, selection, origin)

    def __call__(self, theta: FloatArray) -> FloatArray:
        """Return the robust means at theta, at the cost of one shift."""
        return self._mean_at_origin + self._model.gradient_shift(theta)


class RefreshedGradient(RobustGradient):
    """New selections when they are due, frozen ones in between.

    Parameters
    ----------
    model, selector, contamination
    refresh : Refresh
        When new selections are due.
    sharing : Sharing or None
        Which chains share one; None gives every chain its own.
    """

    def __init__(
        self, model: Model, selector: Selector, contamination: float, refresh: Refresh, sharing: Sharing | None
    ) -> None:
        self._model = model
        self._selector = selector
        self._contamination = contamination
        self._refresh = refresh
        self._sharing = sharing
        self._calls = 0
        self.made = 0

    def __call__(self, theta: FloatArray) -> FloatArray:
        """Return the robust means at theta, with new selections when they are due."""
        self._calls += 1
        if self._refresh.due(theta):
            self._select(theta)
            estimates = [selection.estimate for selection in self.selections]
            if self._own and all(estimate is not None for estimate in estimates):
                return np.array(estimates)
        return self._frozen(theta)

    def _select(self, theta: FloatArray) -> None:
        chains = list(range(len(theta)))
        anchors = chains if self._sharing is None else self._sharing.anchors(theta, self._calls)
        made = {
            anchor: self._selector.select_rows(self._model, theta[anchor], self._contamination)
            for anchor in sorted(set(anchors))
        }
        self.made += len(made)
        self._own = anchors == chains
        self.selections = tuple(made[anchor] for anchor in anchors)
        self._frozen = FrozenGradient(self._model, self.selections)


class FixedGradient(RobustGradient):
    """One selection for all chains and all time, for selectors that do not look at theta: plain Langevin."""

    def __init__(self, model: Model, selector: Selector, contamination: float) -> None:
        self._model = model
        self.selections = (selector.select_rows(model, model.initial, contamination),)
        self.made = 1
        self._frozen: FrozenGradient | None = None

    def __call__(self, theta: FloatArray) -> FloatArray:
        """Return the means at theta."""
        if self._frozen is None:
            self._frozen = FrozenGradient(self._model, self.selections * len(theta))
        return self._frozen(theta)


def robust_gradient(
    model: Model,
    selector: Selector,
    contamination: float,
    refresh_every: RefreshRule,
    width: float,
    burn_in: int,
) -> RobustGradient:
    """Return the cheapest exact way to the robust gradient of this model, selector and refresh rule.

    Parameters
    ----------
    refresh_every : int or "auto"
    width : float
        Posterior width, the unit in which "auto" measures how far a chain has moved.
    burn_in : int
        Number of steps before which chains do not share selections.
    """
    if model.gradients_translate and selector.translation_equivariant:
        return TranslatedGradient(model, selector, contamination)
    if not selector.depends_on_theta:
        return FixedGradient(model, selector, contamination)
    if refresh_every == 1:
        return RefreshedGradient(model, selector, contamination, RefreshEvery(1), sharing=None)
    refresh = RefreshWhenMoved(width, burn_in) if refresh_every == "auto" else RefreshEvery(refresh_every)
    return RefreshedGradient(model, selector, contamination, refresh, Sharing(width, burn_in))
