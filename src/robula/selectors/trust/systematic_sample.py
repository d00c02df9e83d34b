"""Some of many rows that stand for all of them, whatever their order."""

from __future__ import annotations

import numpy as np

from robula._types import FloatArray, IntArray


def systematic_places(first: FloatArray, then: FloatArray, count: int) -> IntArray:
    """Places of ``count`` rows, ascending: every k-th by ``first`` (n,), and by ``then`` (n,) among equals."""
    order = np.lexsort((then, first))
    return np.sort(order[np.linspace(0, len(order) - 1, count).round().astype(int)])
