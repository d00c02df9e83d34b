"""Refuse constants that cannot be: what came, what is allowed, what to do."""

from __future__ import annotations

import math

from robula._validation import check_contamination, check_count, check_positive, show
from robula.exceptions import InputError


def check_curvatures(smoothness: float, strong_convexity: float) -> tuple[float, float]:
    """Return L-bar and m-bar, both positive and m-bar at most L-bar."""
    largest = check_positive(smoothness, "smoothness", "L-bar")
    smallest = check_positive(strong_convexity, "strong_convexity", "m-bar")
    if smallest > largest * (1.0 + 1e-12):
        raise InputError(
            f"strong_convexity={smallest:g} is above smoothness={largest:g}: the smallest curvature cannot exceed the "
            "largest. Are they swapped, or one of them not divided by n?"
        )
    return largest, min(smallest, largest)


def check_non_negative(value: object, name: str) -> float:
    """Return a finite float of at least 0."""
    if isinstance(value, bool) or (not isinstance(value, int | float) and not hasattr(value, "__float__")):
        raise InputError(f"{name}={show(value)} is not a number.")
    number = float(value)
    if not (math.isfinite(number) and number >= 0):
        raise InputError(f"{name}={show(value)} is not allowed: pass a finite number of at least 0.")
    return number


__all__ = ["check_contamination", "check_count", "check_curvatures", "check_non_negative", "check_positive"]
