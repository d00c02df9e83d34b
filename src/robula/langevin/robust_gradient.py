"""Robust mean gradients of a batch of chains, with a selection that is made afresh, kept for a while, or made once."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from robula._types import FloatArray
from robula.models.base import Model
from robula.selectors.base import Selector
from robula.selectors.selection import Selection


class RobustGradient(ABC):
    """Maps positions (c, d) to robust means (c, d) of the rows' log-likelihood gradients.

    Attributes
    ----------
    selections : tuple of Selection
        The selections last used: one per chain, or a single one that all chains share. The same tuple object stays
        until a new selection is made.
    """

    selections: tuple[Selection, ...]

    @abstractmethod
    def __call__(self, theta: FloatArray) -> FloatArray:
        """Return the robust means at theta."""


class TranslatedGradient(RobustGradient):
    """For gradients that are translated data and an equivariant selector: one selection is exact for ever."""

    def __init__(self, model: Model, selector: Selector, contamination: float) -> None:
        origin = np.zeros(model.dim)
        selection = selector.select_rows(model, origin, contamination)
        self.selections = (selection,)
        self._model = model
        self._mean_at_origin = frozen_mean(model, selection, origin)

    def __call__(self, theta: FloatArray) -> FloatArray:
        """Return the robust means at theta, at the cost of one shift."""
        return self._mean_at_origin + self._model.gradient_shift(theta)


class RefreshedGradient(RobustGradient):
    """A new selection for every chain at each ``refresh_every``-th call; 1 is the paper's Algorithm 1."""

    def __init__(self, model: Model, selector: Selector, contamination: float, refresh_every: int) -> None:
        self._model = model
        self._selector = selector
        self._contamination = contamination
        self._refresh_every = refresh_every
        self._calls = 0

    def __call__(self, theta: FloatArray) -> FloatArray:
        """Return the robust means at theta, with new selections when they are due."""
        due = self._calls % self._refresh_every == 0
        self._calls += 1
        if due:
            self.selections = tuple(
                self._selector.select_rows(self._model, chain, self._contamination) for chain in theta
            )
            return np.stack([self._fresh_mean(*pair) for pair in zip(self.selections, theta, strict=True)])
        return np.stack([frozen_mean(self._model, *pair) for pair in zip(self.selections, theta, strict=True)])

    def _fresh_mean(self, selection: Selection, theta: FloatArray) -> FloatArray:
        if selection.estimate is not None:
            return selection.estimate
        return frozen_mean(self._model, selection, theta)


def robust_gradient(model: Model, selector: Selector, contamination: float, refresh_every: int) -> RobustGradient:
    """Return the cheapest exact way to the robust gradient of this model and selector."""
    if model.gradients_translate and selector.translation_equivariant:
        return TranslatedGradient(model, selector, contamination)
    return RefreshedGradient(model, selector, contamination, refresh_every)


def frozen_mean(model: Model, selection: Selection, theta: FloatArray) -> FloatArray:
    """Mean gradient (..., d) under a selection made elsewhere, without forming the (n, d) matrix."""
    return selection.combine(model.weighted_gradient(theta[..., None, :], selection.part_weights))
