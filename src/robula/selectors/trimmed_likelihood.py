"""Trimmed likelihood: the rows that the model explains worst do not count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from robula._types import FloatArray
from robula.models.model import Model
from robula.selectors.selection import Part, Selection, Selector


@dataclass(frozen=True)
class TrimmedLikelihood(Selector):
    """The epsilon share of rows with the smallest log-likelihood gets weight 0, all others 1.

    It never looks at a gradient, so a selection costs one forward pass and no (n, d) matrix, however many parameters
    there are. It trims as many rows where all are clean, and bad rows that the model fits well stay. For regressions
    with skewed scores (logistic, Poisson) trimming makes coefficients too large, as it does for gradients.
    """

    citations: ClassVar[tuple[str, ...]] = ("hadi1997",)
    truncates: ClassVar[bool] = True

    def select_rows(self, model: Model, theta: FloatArray, contamination: float) -> Selection:
        """Return the selection at one theta of shape (d,); rows tied at the edge stay."""
        values = model.log_likelihood(theta)
        trimmed = int(np.floor(contamination * model.n_rows + 1e-9))
        if not np.isfinite(values).all():
            raise np.linalg.LinAlgError("the log-likelihood of some row is not finite")
        edge = np.partition(values, trimmed)[trimmed]
        return Selection((Part((values >= edge).astype(np.float64)),), model.dim)
