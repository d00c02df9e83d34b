"""The median of values of which some count more than others."""

from __future__ import annotations

import numpy as np

from robula._types import FloatArray


def weighted_median(values: FloatArray, weights: FloatArray) -> float:
    """Return the smallest of values (n,) up to which half of the weights (n,) is reached."""
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    return float(values[order[min(int(np.searchsorted(reached, 0.5 * reached[-1])), len(values) - 1)]])
