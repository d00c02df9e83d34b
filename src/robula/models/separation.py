"""Whether a plane separates labels, so that the rows give no largest size of its slope (Albert and Anderson 1984)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from robula._types import BoolArray, FloatArray
from robula.models.regression import Regression

# Numbers in the linear programme from which on it takes seconds; then only a fit that is always right is noticed.
_MOST_NUMBERS = 10**6
# A side of the plane, of the largest distance that there can be: far above what the programme rounds to.
_ON_A_SIDE = 1e-3
# A margin that is rounding.
_NO_MARGIN = 1e-6


class Separation(NamedTuple):
    """The parameter with most to do with it, and whether every row is on its side, or the others on the plane."""

    parameter: str
    complete: bool


def separating_parameter(model: Regression, theta: FloatArray, rows: BoolArray) -> Separation | None:
    """Look for a direction in which no row (of those chosen) gets less likely and some get ever more likely."""
    contrasts = model.label_contrasts(rows)
    if contrasts is None or not len(contrasts):
        return None
    size = np.abs(contrasts).max(axis=0)
    contrasts, along = contrasts / np.where(size > 0.0, size, 1.0), theta * size
    complete = bool((contrasts @ along > 0.0).all())
    if not complete:
        if contrasts.size > _MOST_NUMBERS:
            return None
        found = linprog(-contrasts.mean(axis=0), A_ub=-contrasts, b_ub=np.zeros(len(contrasts)), bounds=(-1.0, 1.0))
        if found.x is None or (contrasts @ found.x).max() < _ON_A_SIDE:
            return None
        along = found.x
        # The farthest from the plane that all rows can be.
        widest = linprog(
            np.append(np.zeros(len(along)), -1.0),
            A_ub=np.column_stack([-contrasts, np.ones(len(contrasts))]),
            b_ub=np.zeros(len(contrasts)),
            bounds=(-1.0, 1.0),
        )
        complete = widest.x is not None and bool(widest.x[-1] > _NO_MARGIN)
    # What varies separates: an intercept only goes with it.
    weight = np.abs(along) / np.where(size > 0.0, size, 1.0) * np.resize(model.design[rows].std(axis=0), len(along))
    names = np.array(model.parameter_names)
    return Separation(str(names[weight.argmax()]), complete)
