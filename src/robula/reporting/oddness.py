"""Why a row is odd: the columns in which it is far from the rows that are trusted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from robula._types import BoolArray, FloatArray

if TYPE_CHECKING:
    import pandas as pd

#: Beyond this many robust standard deviations a value is called odd.
ODD = 4.0
_MOST_REASONS = 3


class Reason(NamedTuple):
    """One column that makes a row odd: its value there, and how many usual spreads it is away."""

    column: str
    value: Any
    distance: float


def odd_columns(
    data: pd.DataFrame | None, residuals: Mapping[str, FloatArray], trusted: BoolArray, rows: np.ndarray
) -> dict[int, list[Reason]]:
    """Return, for each of ``rows``, the columns that make it odd, the oddest first.

    Distances are from the median of the trusted rows, in units of their own spread (1.4826 times the median absolute
    deviation). ``residuals`` are distances already, such as prediction errors over the noise scale.
    """
    candidates: list[tuple[str, np.ndarray, FloatArray]] = []
    if data is not None:
        for position, column in enumerate(data.columns):
            series = data.iloc[:, position]
            if series.dtype.kind not in "iuf":
                continue
            values = series.to_numpy(dtype=np.float64)
            distances = _distances(values, trusted)
            if distances is not None:
                candidates.append((str(column), series.to_numpy(), distances))
    for name, values in residuals.items():
        candidates.append((name, np.asarray(values), np.asarray(values, dtype=np.float64)))
    found = {}
    for row in rows:
        reasons = [
            Reason(column, values[row], float(distances[row]))
            for column, values, distances in candidates
            if abs(distances[row]) > ODD
        ]
        found[int(row)] = sorted(reasons, key=lambda reason: -abs(reason.distance))[:_MOST_REASONS]
    return found


def _distances(values: FloatArray, trusted: BoolArray) -> FloatArray | None:
    usual = values[trusted & np.isfinite(values)]
    if len(usual) < 3:
        return None
    middle = np.median(usual)
    spread = 1.4826 * np.median(np.abs(usual - middle))
    if spread <= 0:
        spread = usual.std()
    if spread <= 0:
        return None
    distances: FloatArray = np.nan_to_num((values - middle) / spread)
    return distances
