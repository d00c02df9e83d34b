"""Encode two-class labels as 0 and 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from robula._types import ArrayInput, BoolArray, FloatArray
from robula._validation import show
from robula.exceptions import InputError


def encode_labels(y: ArrayInput, length: int) -> tuple[FloatArray, tuple[Any, Any]]:
    """Return labels as 0.0/1.0 with the pair of classes (negative, positive).

    Numbers in {0, 1} and {-1, 1} keep that meaning even when only one class is present; any other two classes are
    sorted, and the second is the positive one.
    """
    if y is None:
        raise InputError("y is None; pass one label per row.")
    try:
        array = np.asarray(y)
    except Exception as error:
        raise InputError(f"y={show(y)} cannot be read as an array ({error}); pass one label per row.") from error
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.shape != (length,):
        raise InputError(
            f"y has shape {array.shape}, but X has {length} rows: pass one label per row, shape ({length},)."
        )
    if array.dtype.kind not in "biufUSO":
        raise InputError(f"y has dtype {array.dtype}; labels must be numbers, booleans or text of two classes.")
    missing = _missing(array)
    if missing.any():
        rows = np.flatnonzero(missing)[:5].tolist()
        raise InputError(f"y has missing or infinite labels in rows {rows}; drop these rows before fitting.")
    classes = _two_classes(array)
    return (array == classes[1]).astype(np.float64), classes


def _missing(array: np.ndarray) -> BoolArray:
    if array.dtype.kind == "f":
        return np.asarray(~np.isfinite(array))
    if array.dtype.kind == "O":
        from pandas import isna

        return np.asarray(isna(array))
    return np.zeros(array.shape, dtype=bool)


def _two_classes(array: np.ndarray) -> tuple[Any, Any]:
    try:
        found = sorted(set(array.tolist()))
    except TypeError as error:
        raise InputError(f"y mixes labels that cannot be compared ({error}); use one type, such as 0 and 1.") from error
    for known in ((0, 1), (-1, 1)):
        if set(found) <= set(known) and array.dtype.kind in "biuf":
            return known
    if len(found) != 2:
        raise InputError(
            f"y has {len(found)} distinct labels ({show(found)}); exactly two are needed, such as 0 and 1, -1 and 1, "
            "or two names. For more classes fit one model per class."
        )
    return (found[0], found[1])
