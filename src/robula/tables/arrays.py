"""Turn user input into finite float64 arrays, and labels into 0 and 1, or refuse it with the offending rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from robula._types import ArrayInput, BoolArray, FloatArray
from robula._validation import show
from robula.exceptions import InputError

if TYPE_CHECKING:
    import pandas as pd

#: Gradients are products of entries over a variance, and their squares must stay finite; anything larger than this is a
#: sentinel, not a measurement.
LARGEST = 1e30
#: Numbers of a memory map that are checked at a time, 32 MiB.
_CHECKED_AT_ONCE = 2**22


def as_matrix(value: ArrayInput, name: str, *, min_rows: int = 2) -> FloatArray:
    """Return a finite (n, d) matrix with n >= ``min_rows`` and d >= 1.

    A one-dimensional input is refused rather than guessed at: it may mean one column or one row.
    """
    array = as_numbers(value, name)
    if array.ndim != 2:
        hint = f" Use {name}.reshape(-1, 1) for a single column." if array.ndim == 1 else ""
        raise InputError(f"{name} has shape {array.shape}; it must be two-dimensional, (rows, columns).{hint}")
    rows, columns = array.shape
    if columns == 0:
        raise InputError(f"{name} has shape {array.shape}: there is no column. Pass at least one.")
    if rows < min_rows:
        raise InputError(f"{name} has shape {array.shape}: {min_rows} rows or more are needed, {rows} came.")
    _refuse_non_finite(array, name, column_names(value), labels=row_labels(value))
    return array


def mapped_matrix(value: ArrayInput, name: str, *, min_rows: int = 2) -> np.ndarray | None:
    """Return a ``numpy.memmap`` of real numbers (n, d) as it is, checked block by block; None for anything else."""
    if not isinstance(value, np.memmap):
        return None
    if value.ndim != 2 or value.dtype.kind not in "biuf" or value.shape[0] < min_rows or not value.shape[1]:
        raise InputError(
            f"{name} is a memory map of shape {value.shape} and dtype {value.dtype}; it must hold real numbers, "
            f"(rows, columns), {min_rows} rows and one column at least."
        )
    plain: np.ndarray = value.view(np.ndarray)
    size = max(1, _CHECKED_AT_ONCE // plain.shape[1])
    for start in range(0, len(plain), size):
        _refuse_non_finite(np.asarray(plain[start : start + size], dtype=np.float64), name, None, start)
    return plain


def as_vector(value: ArrayInput, name: str, length: int) -> FloatArray:
    """Return a finite vector of the given length; a single column is accepted."""
    array = as_numbers(value, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.shape != (length,):
        raise InputError(
            f"{name} has shape {array.shape}, but there are {length} rows: pass one value per row, shape ({length},)."
        )
    _refuse_non_finite(array, name, None, labels=row_labels(value))
    return array


def refuse_misaligned(X: ArrayInput, y: ArrayInput) -> None:
    """Refuse a DataFrame and a Series whose row labels differ: matching them by position would pair the wrong rows."""
    labels: Any = row_labels(X)
    other: Any = row_labels(y)
    if labels is not None and other is not None and not labels.equals(other):
        raise InputError(
            "X and y have different row labels (index). Align them first, y.loc[X.index], or pass y.to_numpy() if "
            "their order is right as it is."
        )


def read_only(array: FloatArray) -> FloatArray:
    """Lock an array that a model owns: changing it behind the model's back would make its parts disagree."""
    array.flags.writeable = False
    return array


def column_names(value: ArrayInput) -> tuple[str, ...] | None:
    """Return a DataFrame's column names as strings, or None for anything without names."""
    columns = getattr(value, "columns", None)
    if columns is None or callable(columns):
        return None
    return tuple(str(column) for column in columns)


def row_labels(*values: ArrayInput) -> pd.Index | None:
    """Return what the first DataFrame or Series calls its rows, or None if none of the values has an index."""
    indices: list[Any] = [getattr(value, "index", None) for value in values]
    return next((labels for labels in indices if hasattr(labels, "equals")), None)


#: What to do about a table that is not all numbers.
_ENCODE = "Encode categories as numbers (one column per category) and convert dates and text such as '1.5' first."


def as_option(value: ArrayInput, name: str) -> FloatArray:
    """Return an argument that is no data, such as a start, as numbers of any shape; the advice is not about tables."""
    return as_numbers(value, name, "Pass a number, or an array of numbers.")


def as_numbers(value: ArrayInput, name: str, advice: str = _ENCODE) -> FloatArray:
    """Return an array of real numbers of any shape, missing values as NaN; refuse anything else, with advice."""
    if value is None:
        raise InputError(f"{name} is None; pass an array of numbers.")
    if hasattr(value, "todense") or hasattr(value, "tocsr"):
        raise InputError(f"{name} is a sparse matrix, which is not supported; pass {name}.toarray().")
    if hasattr(value, "__dask_graph__"):
        raise InputError(
            f"{name} is in Dask, and would be read into memory whole: make a robula.LargeModel(kind, X, y, ...) of it, "
            f"or pass {name}.compute()."
        )
    try:
        array = np.asarray(value) if not np.ma.isMaskedArray(value) else np.ma.filled(value.astype(np.float64), np.nan)
    except Exception as error:
        raise InputError(
            f"{name}={show(value)} cannot be read as an array ({error}); pass rows of equal length."
        ) from error
    if array.dtype == object:
        array = _numbers_in_objects(array, name, advice)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} has dtype {array.dtype}; only real numbers are allowed. {advice}")
    return np.ascontiguousarray(array, dtype=np.float64) if array.ndim else array.astype(np.float64)


def _numbers_in_objects(array: np.ndarray, name: str, advice: str) -> np.ndarray:
    if any(isinstance(item, str | bytes | complex) for item in array.ravel()):
        raise InputError(f"{name} holds text or complex numbers; only real numbers are allowed. {advice}")
    from pandas import isna

    try:
        # None, NaN and pandas.NA become NaN here and are then reported with their row and column.
        return np.where(isna(array), np.nan, array).astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{name} holds values that are not real numbers ({error}); pass a numeric array with rows of equal length."
        ) from error


def _refuse_non_finite(
    array: FloatArray,
    name: str,
    names: tuple[str, ...] | None,
    first_row: int = 0,
    labels: pd.Index | None = None,
) -> None:
    with np.errstate(invalid="ignore"):
        # NaN fails both comparisons: two cheap passes in the usual case, no temporary.
        if array.max() <= LARGEST and array.min() >= -LARGEST:
            return
        bad = np.argwhere(~(np.abs(array) <= LARGEST))
    places = []
    for place in bad[:5]:
        row = f"row {place[0] + first_row if labels is None else labels[place[0]]}"
        if array.ndim == 2:
            column = names[place[1]] if names is not None else str(place[1])
            places.append(f"{row}, column {column}")
        else:
            places.append(row)
    more = f" and {len(bad) - 5} more" if len(bad) > 5 else ""
    raise InputError(
        f"{name} has {len(bad)} value(s) missing, infinite or beyond {LARGEST:g}, at {'; '.join(places)}{more}. "
        "Drop or impute these rows before fitting: they are not outliers to robula, they are unreadable."
    )


def encode_labels(y: ArrayInput, length: int) -> tuple[FloatArray, tuple[Any, Any]]:
    """Return labels as 0.0/1.0 with the pair of classes (negative, positive).

    Numbers in {0, 1} and {-1, 1} keep that meaning even when only one class is present; any other two classes are
    sorted, and the second is the positive one.
    """
    array = _as_labels(y, length)
    classes = _two_classes(array)
    return (array == classes[1]).astype(np.float64), classes


def encode_classes(y: ArrayInput, length: int) -> tuple[FloatArray, tuple[Any, ...]]:
    """Return labels as places 0.0, 1.0, ... among their sorted classes, of which there are two or more."""
    array = _as_labels(y, length)
    classes = _distinct(array)
    if len(classes) < 2:
        raise InputError(f"y has one label only ({show(classes)}); two classes or more are needed.")
    places = {label: place for place, label in enumerate(classes)}
    return np.array([places[label] for label in array.tolist()], dtype=np.float64), tuple(classes)


def _as_labels(y: ArrayInput, length: int) -> np.ndarray:
    """Return labels as an array (n,) without missing values."""
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
        raise InputError(f"y has dtype {array.dtype}; labels must be numbers, booleans or text.")
    missing = _missing(array)
    if missing.any():
        rows = np.flatnonzero(missing)[:5].tolist()
        raise InputError(f"y has missing or infinite labels in rows {rows}; drop these rows before fitting.")
    return array


def _distinct(array: np.ndarray) -> list[Any]:
    try:
        return sorted(set(array.tolist()))
    except TypeError as error:
        raise InputError(f"y mixes labels that cannot be compared ({error}); use one type, such as 0 and 1.") from error


def _missing(array: np.ndarray) -> BoolArray:
    if array.dtype.kind == "f":
        return np.asarray(~np.isfinite(array))
    if array.dtype.kind == "O":
        from pandas import isna

        return np.asarray(isna(array))
    return np.zeros(array.shape, dtype=bool)


def _two_classes(array: np.ndarray) -> tuple[Any, Any]:
    found = _distinct(array)
    for known in ((0, 1), (-1, 1)):
        if set(found) <= set(known) and array.dtype.kind in "biuf":
            return known
    if len(found) != 2:
        raise InputError(
            f"y has {len(found)} distinct labels ({show(found)}); exactly two are needed, such as 0 and 1, -1 and 1, "
            "or two names. For more classes use MultinomialModel."
        )
    return (found[0], found[1])
