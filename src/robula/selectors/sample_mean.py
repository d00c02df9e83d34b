"""The plain mean: every row counts once, which makes the sampler plain ULA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from robula._types import FloatArray
from robula.models.model import Model
from robula.selectors.selection import Part, RobustMean, Selection, as_points


@dataclass(frozen=True)
class SampleMean(RobustMean):
    """Every row with weight 1, whatever the contamination."""

    translation_equivariant: ClassVar[bool] = True
    depends_on_theta: ClassVar[bool] = False

    def select(self, points: FloatArray, contamination: float) -> Selection:
        """Return the selection of all rows of points (n, d)."""
        return _all_rows(*as_points(points).shape)

    def select_rows(self, model: Model, theta: FloatArray, contamination: float) -> Selection:
        """Return the selection of all rows, without computing a gradient."""
        return _all_rows(model.n_rows, model.dim)


def _all_rows(rows: int, dim: int) -> Selection:
    return Selection((Part(np.ones(rows)),), dim, rule=lambda new: (np.ones(len(new)),))
