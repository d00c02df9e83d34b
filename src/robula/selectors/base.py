"""What a selector is, and the robust means among them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from robula._types import ArrayInput, FloatArray
from robula.exceptions import InputError
from robula.models.base import Model
from robula.selectors.selection import Selection


class ContaminationEstimate(NamedTuple):
    """Share of bad rows, as far as they can be told from clean ones, and the standard error of that count."""

    share: float
    standard_error: float


class Selector(ABC):
    """Chooses rows at a parameter value; subclass it to plug in a rule that may look at the model.

    Attributes
    ----------
    citations : tuple of str
        BibTeX keys (docs/refs.bib) of the papers the selector comes from.
    translation_equivariant : bool
        Whether shifting all gradients by one vector leaves the selection as it is.
    truncates : bool
        Whether clean rows at the edge of the cloud are cut as a matter of course.
    depends_on_theta : bool
        Whether the selection can change as theta moves.
    """

    citations: ClassVar[tuple[str, ...]] = ()
    translation_equivariant: ClassVar[bool] = False
    truncates: ClassVar[bool] = False
    depends_on_theta: ClassVar[bool] = True

    def prepared(self, model: Model, contamination: float) -> Selector:
        """Return the selector to use for this model, made once before a run; by default the selector itself.

        A rule that needs work up front (a robust start, flags on the features) does it here. It must be
        deterministic.
        """
        return self

    @property
    def centre(self) -> FloatArray | None:
        """Where a prepared selector found the posterior to be, shape (d,); None if it did not look."""
        return None

    @property
    def estimated_contamination(self) -> ContaminationEstimate | None:
        """Share of bad rows that a prepared selector found; None if it cannot tell."""
        return None

    def last_level_share(self, contamination: float, dim: int) -> float:
        """Largest share of bad rows that any stage of the rule can meet in ``dim`` dimensions.

        ``contamination`` itself, unless the rule works on rows that it has already thinned out; from one half on it can
        be carried away, and no bound holds.
        """
        return contamination

    @abstractmethod
    def select_rows(self, model: Model, theta: FloatArray, contamination: float) -> Selection:
        """Return the selection at one theta of shape (d,)."""


class RobustMean(Selector):
    """A selector that looks at the gradient points only; subclass it and write :meth:`select`.

    Set ``translation_equivariant = True`` only if shifting all points by one vector cannot change the selection: a
    model whose gradients are translated data then keeps the first selection for ever.
    """

    @abstractmethod
    def select(self, points: FloatArray, contamination: float) -> Selection:
        """Return the selection for points of shape (n, d)."""

    def select_rows(self, model: Model, theta: FloatArray, contamination: float) -> Selection:
        """Return the selection for the model's gradients at one theta of shape (d,)."""
        return self.select(model.gradients(theta), contamination)


def as_points(points: ArrayInput) -> FloatArray:
    """Return points as a float64 matrix (n, d) of at least one row and column; costs nothing where they are one."""
    array = np.asarray(points, dtype=np.float64)
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(f"points have shape {array.shape}; pass (rows, columns), at least one of each.")
    return array
