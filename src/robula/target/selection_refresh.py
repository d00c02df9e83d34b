"""When the selections of a run are made anew, and which chains share one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Literal

import numpy as np

from robula._types import FloatArray

RefreshRule = int | Literal["auto"]

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

    @abstractmethod
    def state(self) -> dict[str, np.ndarray]:
        """Return all that changes from call to call."""

    @abstractmethod
    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from there."""


class RefreshEvery(Refresh):
    """A new selection at each K-th call; 1 is the paper's Algorithm 1."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._calls = 0

    def due(self, theta: FloatArray) -> bool:
        """True at calls 1, 1 + K, 1 + 2 K, ..."""
        self._calls += 1
        return (self._calls - 1) % self._steps == 0

    def state(self) -> dict[str, np.ndarray]:
        """Return the number of calls."""
        return {"refresh": np.array([self._calls])}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from there."""
        (self._calls,) = state["refresh"].tolist()


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

    def state(self) -> dict[str, np.ndarray]:
        """Return the calls, those since the last selection, and where it was made."""
        anchor = np.zeros((0, 0)) if self._anchor is None else self._anchor
        return {"refresh": np.array([self._calls, self._since]), "anchor": anchor}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from there."""
        self._calls, self._since = state["refresh"].tolist()
        self._anchor = state["anchor"] if state["anchor"].size else None


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
        self.turn = 0

    def anchors(self, theta: FloatArray, calls: int) -> list[int]:
        """Return, for each chain at theta (c, d), the chain at whose place its selection is made."""
        chains = len(theta)
        if calls <= self._burn_in or chains < 3:
            return list(range(chains))
        self.turn += 1
        anchors = []
        for chain in range(chains):
            group = range(chain % 2, chains, 2)
            leader = group[self.turn % len(group)]
            near = float(np.linalg.norm(theta[chain] - theta[leader])) <= self._reach
            anchors.append(leader if near else chain)
        return anchors


class Schedule:
    """Counts the calls of a run and says, at each, where new selections are to be made.

    Parameters
    ----------
    rule : int or "auto"
        1 is the paper: every chain its own selection at every call, none shared.
    width : float
        Posterior width, the unit in which "auto" measures how far a chain has moved.
    burn_in : int
        Number of calls before which chains do not share selections.
    """

    def __init__(self, rule: RefreshRule, width: float, burn_in: int) -> None:
        self._refresh = RefreshWhenMoved(width, burn_in) if rule == "auto" else RefreshEvery(rule)
        self._sharing = None if rule == 1 else Sharing(width, burn_in)
        self._calls = 0

    def anchors(self, theta: FloatArray) -> list[int] | None:
        """Return, for each chain at theta (c, d), the chain at whose place its selection is made; None if not due."""
        self._calls += 1
        if not self._refresh.due(theta):
            return None
        return list(range(len(theta))) if self._sharing is None else self._sharing.anchors(theta, self._calls)

    def state(self) -> dict[str, np.ndarray]:
        """Return all that changes from call to call."""
        turn = 0 if self._sharing is None else self._sharing.turn
        return {"schedule": np.array([self._calls, turn]), **self._refresh.state()}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from there."""
        self._calls, turn = state["schedule"].tolist()
        if self._sharing is not None:
            self._sharing.turn = turn
        self._refresh.restore(state)
