"""Select on a random subset of the rows, and apply the rule to all of them in one pass."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from robula._types import FloatArray
from robula._validation import check_count, show
from robula.exceptions import InputError
from robula.models.model import Model
from robula.selectors.recursive import RecursiveMean
from robula.selectors.selection import Part, Selection, Selector

# Numbers in one block of gradients, 32 MiB.
_BLOCK = 2**22


@dataclass(frozen=True)
class SubsetSelector(Selector):
    """Another selector, run on some of the rows, with its rule applied to all rows block by block.

    For data too large to hold all n x d gradients at once, or to sort them at every refresh. The subset is the same at
    every refresh. Against a selection on all rows the estimate moves by about 1 / sqrt(rows) of a gradient's standard
    deviation (docs/speed.md has the measurement).

    Parameters
    ----------
    selector : Selector, optional
        Must offer a rule for new rows (``Selection.weights_for``); ``RecursiveMean()`` by default.
    rows : int, optional
        Size of the subset; data with no more rows are selected from whole.
    seed : int, optional
        Of the subset.
    """

    selector: Selector = field(default_factory=RecursiveMean)
    rows: int = 20_000
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.selector, Selector):
            raise InputError(f"selector={show(self.selector)} is not a selector object, such as RecursiveMean().")
        check_count(self.rows, "rows", 2)
        check_count(self.seed, "seed", 0, maximum=None)
        for name in ("citations", "truncates", "depends_on_theta"):
            object.__setattr__(self, name, getattr(self.selector, name))

    def last_level_share(self, contamination: float, dim: int) -> float:
        """Largest share of bad rows that the other selector can meet."""
        return self.selector.last_level_share(contamination, dim)

    def select_rows(self, model: Model, theta: FloatArray, contamination: float) -> Selection:
        """Return the selection at one theta of shape (d,)."""
        if model.n_rows <= self.rows:
            return self.selector.select_rows(model, theta, contamination)
        chosen = np.random.default_rng(self.seed).choice(model.n_rows, size=self.rows, replace=False)
        chosen.sort()
        selection = self.selector.select_rows(model.take(chosen), theta, contamination)
        if selection.rule is None:
            raise InputError(f"{self.selector!r} offers no rule for rows it has not seen; use it on all rows.")
        weights = np.empty((len(selection.parts), model.n_rows))
        size = max(1, _BLOCK // model.dim)
        for start in range(0, model.n_rows, size):
            places = np.arange(start, min(start + size, model.n_rows))
            weights[:, places] = selection.rule(model.take(places).gradients(theta))
        parts = tuple(Part(row, part.basis) for row, part in zip(weights, selection.parts, strict=True))
        return Selection(parts, model.dim, rule=selection.rule, scales=selection.full_trust)
