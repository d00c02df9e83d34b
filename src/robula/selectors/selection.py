"""A robust mean is a selection of rows (and subspaces), a selection is linear, and a selector makes one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from robula._types import ArrayInput, FloatArray
from robula.exceptions import InputError
from robula.models.model import Model


@dataclass(frozen=True)
class Part:
    """Rows that count, in one subspace.

    Attributes
    ----------
    weights : ndarray, shape (n,)
        At least 0, not all 0; the estimate does not depend on their scale.
    basis : ndarray, shape (d, r), or None
        Orthonormal columns that span the subspace; None is the whole space.
    """

    weights: FloatArray
    basis: FloatArray | None = None


@dataclass(frozen=True)
class Selection:
    """What a selector chose: for any points, the estimate is sum over parts of B B' (sum_i w_i g_i / sum_i w_i).

    Attributes
    ----------
    parts : tuple of Part
        Their subspaces are orthogonal and together span the whole space.
    dim : int
        Dimension d of the points.
    estimate : ndarray, shape (d,), or None
        Mean of the very points the selection was made from, where the selector had it at hand.
    rule : callable or None
        Maps new points (m, d) to one weight vector (m,) per part.
    scales : tuple of float or None
        What weight counts as full trust in each part; None is the part's largest.
    """

    parts: tuple[Part, ...]
    dim: int
    estimate: FloatArray | None = None
    rule: Callable[[FloatArray], Sequence[FloatArray]] | None = None
    scales: tuple[float, ...] | None = None

    @cached_property
    def weights(self) -> FloatArray:
        """How much each row counted, shape (n,), in [0, 1].

        The parts' weights, each divided by that of a row that is fully trusted, averaged by the rank of their subspace.
        """
        total = np.zeros(len(self.parts[0].weights))
        for part, scale in zip(self.parts, self.full_trust, strict=True):
            rank = self.dim if part.basis is None else part.basis.shape[1]
            total += (rank / self.dim / scale) * part.weights
        return np.minimum(total, 1.0)

    @property
    def full_trust(self) -> tuple[float, ...]:
        """What weight counts as full trust in each part."""
        return self.scales or tuple(float(part.weights.max()) for part in self.parts)

    @cached_property
    def mean_weight(self) -> float:
        """Average row weight: the share of the rows that counted."""
        return float(self.weights.mean())

    @cached_property
    def part_weights(self) -> FloatArray:
        """Weights of all parts, one row a part, shape (p, n)."""
        return np.stack([part.weights for part in self.parts])

    @cached_property
    def part_totals(self) -> FloatArray:
        """Sum of each part's weights, shape (p,)."""
        totals: FloatArray = self.part_weights.sum(axis=1)
        return totals

    def mean(self, points: ArrayInput) -> FloatArray:
        """Apply the selection to points (n, d), one row for each row it was made from; shape (d,)."""
        points = self._check_points(points, len(self.parts[0].weights))
        if not self.part_totals.all():
            raise InputError("no row is inside a part of this selection, so it has no mean; apply it to more rows.")
        return self.combine(self.part_weights @ points)

    def combine(self, weighted_sums: FloatArray) -> FloatArray:
        """Turn the parts' weighted sums (..., p, d) into estimates (..., d)."""
        if len(self.parts) == 1 and self.parts[0].basis is None:
            single: FloatArray = weighted_sums[..., 0, :] / self.part_totals[0]
            return single
        estimate = np.zeros((*weighted_sums.shape[:-2], self.dim))
        for index, part in enumerate(self.parts):
            mean = weighted_sums[..., index, :] / self.part_totals[index]
            estimate += mean if part.basis is None else (mean @ part.basis) @ part.basis.T
        return estimate

    def weights_for(self, new_points: ArrayInput) -> FloatArray:
        """Apply the same rule to rows that the selector never saw, points (m, d); shape (m,)."""
        return self.apply(new_points).weights

    def apply(self, new_points: ArrayInput) -> Selection:
        """Return the selection that the same rule makes of new points (m, d)."""
        if self.rule is None:
            raise InputError("this selection carries no rule for new rows; its selector does not offer one.")
        points = self._check_points(new_points, None)
        weights = self.rule(points)
        parts = tuple(Part(w, part.basis) for w, part in zip(weights, self.parts, strict=True))
        return Selection(parts, self.dim, rule=self.rule, scales=self.full_trust)

    def check(self, rows: int, dim: int) -> None:
        """Refuse a selection that does not fit a model of ``rows`` rows and ``dim`` parameters."""
        for part in self.parts:
            weights, basis = part.weights, part.basis
            sound = weights.shape == (rows,) and np.isfinite(weights).all() and weights.min() >= 0 and weights.any()
            if not sound or not (basis is None or (basis.ndim == 2 and basis.shape[0] == dim)):
                raise InputError(
                    f"the selector returned a part that does not fit: weights must be {rows} finite numbers of at "
                    f"least 0, not all 0, and a basis must have {dim} rows."
                )

    def _check_points(self, points: ArrayInput, rows: int | None) -> FloatArray:
        array = np.asarray(points, dtype=np.float64)
        if array.ndim != 2 or array.shape[1] != self.dim or rows not in (None, array.shape[0]):
            wanted = f"({'m' if rows is None else rows}, {self.dim})"
            raise InputError(f"points have shape {array.shape}; this selection takes {wanted}.")
        return array


class ContaminationEstimate(NamedTuple):
    """Share of bad rows, as far as they can be told from clean ones, and the standard error of that count."""

    share: float
    standard_error: float


class Selector(ABC):
    """Chooses rows at a parameter value; subclass it to plug in a rule that may look at the model.

    Attributes
    ----------
    name : str or None
        What ``selector=`` calls it; None for one that is only passed as an object.
    citations : tuple of str
        BibTeX keys (docs/refs.bib) of the papers the selector comes from.
    translation_equivariant : bool
        Whether shifting all gradients by one vector leaves the selection as it is.
    truncates : bool
        Whether clean rows at the edge of the cloud are cut as a matter of course.
    depends_on_theta : bool
        Whether the selection can change as theta moves.
    """

    name: ClassVar[str | None] = None
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
    def widening(self) -> FloatArray | None:
        """Linear map (d, d) that puts the doubt about which rows are bad into draws around the centre, or None."""
        return None

    @property
    def shift(self) -> FloatArray | None:
        """What the same doubt adds to draws, shape (d,), because explanations lie elsewhere in the mean; or None."""
        return None

    @property
    def estimated_contamination(self) -> ContaminationEstimate | None:
        """Share of bad rows that a prepared selector found; None if it cannot tell."""
        return None

    @property
    def record(self) -> dict[str, Any]:
        """What a prepared selector found besides weights, as JSON data: explanations, what is off in the law."""
        return {}

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
