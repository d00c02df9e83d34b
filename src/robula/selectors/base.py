"""What a selector is, and the robust means among them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from robula._types import FloatArray
from robula.models.base import Model
from robula.selectors.selection import Selection


class Selector(ABC):
    """Chooses rows at a parameter value; subclass it to plug in a rule that may look at the model.

    Attributes
    ----------
    citations : tuple of str
        BibTeX keys (docs/refs.bib) of the papers the selector comes from.
    translation_equivariant : bool
        Whether shifting all gradients by one vector leaves the selection as it is.
    """

    citations: ClassVar[tuple[str, ...]] = ()
    translation_equivariant: ClassVar[bool] = False

    @abstractmethod
    def select_rows(self, model: Model, theta: FloatArray, contamination: float) -> Selection:
        """Return the selection at one theta of shape (d,)."""


class RobustMean(Selector):
    """A selector that looks at the gradient points only; subclass it and write :meth:`select`."""

    translation_equivariant = True

    @abstractmethod
    def select(self, points: FloatArray, contamination: float) -> Selection:
        """Return the selection for points of shape (n, d)."""

    def select_rows(self, model: Model, theta: FloatArray, contamination: float) -> Selection:
        """Return the selection for the model's gradients at one theta of shape (d,)."""
        return self.select(model.gradients(theta), contamination)
