"""Checks of scalar arguments and names, and warnings; arrays are checked by :mod:`robula.tables.arrays`.

Every message says what came, what is allowed and what to do.
"""

from __future__ import annotations

import difflib
import math
import numbers
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from robula.exceptions import InputError

#: Scales beyond these make squares overflow or vanish; data in such units are to be rescaled.
SMALLEST_SCALE, LARGEST_SCALE = 1e-20, 1e20
_PACKAGE = str(Path(__file__).parent)


def show(value: object, limit: int = 60) -> str:
    """Return a short representation of a received value for an error message."""
    try:
        text = repr(value)
    except Exception:  # a broken __repr__ must not hide the real message
        text = f"<{type(value).__name__}>"
    return text if len(text) <= limit else text[: limit - 3] + "..."


def check_contamination(contamination: object) -> float:
    """Return the paper's epsilon as a float in [0, 0.5)."""
    value = _as_float(contamination)
    if value is None or not 0.0 <= value < 0.5:
        raise InputError(
            f"contamination={show(contamination)} is not a number in [0, 0.5). It is an upper bound on the share of "
            "bad rows among all rows (0.1 means at most one row in ten); with half of the rows bad "
            "no method can tell which half to believe. Where you do not know it, sample, trust and the estimators take "
            '"estimate".'
        )
    return value


def budget_of(contamination: object, default: float) -> tuple[float, bool]:
    """Return the limit on the share of bad rows, and whether that share is to be estimated below the default limit."""
    estimate = isinstance(contamination, str) and contamination == "estimate"
    return check_contamination(default if estimate else contamination), estimate


def check_count(value: object, name: str, minimum: int, maximum: int | None = 10**12) -> int:
    """Return an integer argument between ``minimum`` and ``maximum``; None is no upper limit (seeds)."""
    if (
        isinstance(value, bool | np.bool_)
        or not isinstance(value, numbers.Integral)
        or int(value) < minimum
        or (maximum is not None and int(value) > maximum)
    ):
        limit = "" if maximum is None else f" and at most {maximum:g}"
        raise InputError(f"{name}={show(value)} is not allowed: pass an int of at least {minimum}{limit}.")
    return int(value)


def check_positive(value: object, name: str, what: str) -> float:
    """Return a finite, strictly positive float argument."""
    number = _as_float(value)
    if number is None or not (math.isfinite(number) and number > 0):
        raise InputError(f"{name}={show(value)} is not allowed: {what} must be a finite number above 0.")
    return number


def check_share(value: object, name: str, what: str) -> float:
    """Return a float argument strictly between 0 and 1."""
    number = _as_float(value)
    if number is None or not 0.0 < number < 1.0:
        raise InputError(f"{name}={show(value)} is not allowed: {what} is a number between 0 and 1.")
    return number


def check_scale(value: object, name: str, what: str) -> float:
    """Return a positive scale whose square and inverse square are harmless."""
    number = check_positive(value, name, what)
    if not SMALLEST_SCALE <= number <= LARGEST_SCALE:
        raise InputError(
            f"{name}={show(value)} is outside [{SMALLEST_SCALE:g}, {LARGEST_SCALE:g}]; rescale the data to units of "
            "ordinary size."
        )
    return number


def check_name(value: object, name: str, allowed: Iterable[str]) -> str:
    """Return ``value`` if it is one of the allowed names, else name the nearest one."""
    allowed = sorted(allowed)
    if isinstance(value, str) and value in allowed:
        return value
    close = difflib.get_close_matches(value, allowed, n=1) if isinstance(value, str) else []
    hint = f" Did you mean {close[0]!r}?" if close else ""
    options = ", ".join(repr(option) for option in allowed)
    raise InputError(f"{name}={show(value)} is not known; allowed are {options}.{hint}")


def _as_float(value: Any) -> float | None:
    if isinstance(value, bool | np.bool_ | str | bytes | complex):
        return None
    try:
        if isinstance(value, np.ndarray) and value.ndim:
            return None
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning at the innermost caller outside the package."""
    frame = sys._getframe(1)
    level = 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
