"""Numbers that stand for "missing": -200, -999, 9999, repeated at an end of their column and apart from all others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robula._types import FloatArray, IntArray

#: A column of fewer different values has no tails to stand apart from.
FEW_VALUES = 20
# Gaps, in ranges of the middle nine tenths, behind which a repeated value is a code: if it looks like one; if it is the
# only one below 0. Behind the last any other may be one: 646 is how many restaurants a chain has.
_CODE_GAPS = (0.25, 1.0, 2.0)
# Of a column of few values, where a step is a large part of the range.
_GAP_OF_FEW_VALUES = 2.0
_FEWEST_CODES, _CODES_A_COLUMN, _TIMES_AS_OFTEN = 3, 4, 5.0
_KNOWN_CODES = (-77.0, -88.0, -100.0, -200.0, -500.0, -777.0, -888.0)
#: A value that more of the rows have than this, at an end of the column, is a state of its own (no income).
STATE = 0.1


class Repeated(NamedTuple):
    """Repeated values of a column that are apart from all others: those that are codes, and those that may be."""

    codes: tuple[float, ...]
    doubtful: tuple[float, ...]


def repeated_apart(different: FloatArray, counts: IntArray, *, sure: bool = False) -> Repeated:
    """Return the codes of a column, and what may be one: a number that looks like none, or 0.

    Parameters
    ----------
    different : ndarray, shape (u,)
        The column's different values, in order.
    counts : ndarray of int, shape (u,)
        How often each is there.
    sure : bool
        Leave out nines inside the column's range: a report may point to them, but many things cost 999.
    """
    codes: list[float] = []
    doubtful: list[float] = []
    first, last = 0, len(different)
    gaps = _CODE_GAPS if len(different) > FEW_VALUES else (_GAP_OF_FEW_VALUES, np.inf, np.inf)
    total = counts.sum()
    while last - first > 2 and len(codes) + len(doubtful) < _CODES_A_COLUMN:
        for end, neighbour, rest in (
            (first, first + 1, slice(first + 1, last)),
            (last - 1, last - 2, slice(first, last - 1)),
        ):
            value, count = float(different[end]), int(counts[end])
            cumulative = np.cumsum(counts[rest]) / counts[rest].sum()
            inside = different[rest]
            middle = inside[np.searchsorted(cumulative, 0.95)] - inside[np.searchsorted(cumulative, 0.05)]
            below = value < 0 <= inside[0]
            looks = looks_like_a_code(value) or (value == -1.0 and below)
            # Zeros are written for "missing" too; mostly they are numbers, or a state of many rows.
            like_one = looks or (value == 0.0 and count <= STATE * total)
            needed = gaps[0] if like_one else gaps[1] if below else gaps[2]
            if (
                count >= (2 if like_one else _FEWEST_CODES)
                and count < 0.5 * total
                and middle > 0
                and abs(value - different[neighbour]) >= needed * middle
            ):
                (codes if looks or below else doubtful).append(value)
                first, last = rest.start, rest.stop
                break
        else:
            break
    if len(different) > FEW_VALUES:
        # Also inside the column's range, where hardly another value is there as often.
        often = max(_FEWEST_CODES, _TIMES_AS_OFTEN * float(np.quantile(counts, 0.9)))
        inside = different[first:last]
        far = inside <= -99 if sure else np.abs(inside) >= 99
        codes += filter(looks_like_a_code, inside[far & (counts[first:last] >= often)].tolist())
    return Repeated(tuple(codes), tuple(doubtful))


def looks_like_a_code(value: float) -> bool:
    """-200, nines, and the like."""
    if value in _KNOWN_CODES:
        return True
    digits = f"{abs(value):.10g}"
    return set(digits) == {"9"} and (value < 0 or len(digits) > 1)


def codes_of_columns(table: FloatArray) -> tuple[tuple[float, ...], ...]:
    """Return the codes of each column of a table (n, p) that are so for sure."""
    found = []
    for column in table.T:
        different, counts = np.unique(column, return_counts=True)
        found.append(repeated_apart(different, counts, sure=True).codes if len(different) > 2 else ())
    return tuple(found)
