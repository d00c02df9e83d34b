"""The identity of a model: class, shapes, names, and a hash of its data and prior."""

from __future__ import annotations

import functools
import hashlib
import weakref
from typing import Any, NamedTuple

import numpy as np

from robula.models.model import Model

# Bytes hashed at a time: a memory map is never read whole.
_BLOCK = 2**26
_KNOWN: weakref.WeakKeyDictionary[Model, ModelIdentity] = weakref.WeakKeyDictionary()


class ModelIdentity(NamedTuple):
    """What tells one model from another.

    Attributes
    ----------
    kind : str
        Class of the model.
    rows, dim : int
    parameter_names : tuple of str
    sha256 : str
        Of everything that the model holds: data, prior, constants. Functions count by name and byte code.
    """

    kind: str
    rows: int
    dim: int
    parameter_names: tuple[str, ...]
    sha256: str

    def differences(self, other: ModelIdentity) -> list[str]:
        """Say what differs, one short clause each; empty if they are the same model."""
        words = {"kind": "class", "rows": "number of rows", "dim": "number of parameters", "parameter_names": "names"}
        found = [
            f"{word} {getattr(self, name)!r} against {getattr(other, name)!r}"
            for name, word in words.items()
            if getattr(self, name) != getattr(other, name)
        ]
        if not found and self.sha256 != other.sha256:
            found.append("the data, the prior or a constant of the model")
        return found


def identity(model: Model) -> ModelIdentity:
    """Return the model's identity; the data are read once for each model object."""
    if model not in _KNOWN:
        digest = hashlib.sha256()
        _add(digest, model, depth=0)
        names = tuple(model.parameter_names)
        _KNOWN[model] = ModelIdentity(type(model).__name__, model.n_rows, model.dim, names, digest.hexdigest())
    return _KNOWN[model]


def _add(digest: Any, value: Any, depth: int) -> None:
    """Feed a value to the hash, with its type, so that no two unlike values look the same."""
    digest.update(f"{depth}:{type(value).__qualname__};".encode())
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic):
        digest.update(repr(value).encode())
    elif isinstance(value, dict):
        for key in sorted(value, key=repr):
            _add(digest, key, depth + 1)
            _add(digest, value[key], depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            _add(digest, item, depth + 1)
    elif hasattr(value, "dtype") and hasattr(value, "shape"):
        _add_array(digest, value)
    elif hasattr(value, "__code__"):
        digest.update(value.__qualname__.encode() + value.__code__.co_code)
    elif type(value).__module__.split(".")[0] == "robula" or isinstance(value, Model):
        kept = {name: item for name, item in vars(value).items() if not _is_cache(value, name)}
        _add(digest, kept, depth + 1)


def _is_cache(owner: Any, name: str) -> bool:
    return isinstance(getattr(type(owner), name, None), functools.cached_property)


def _add_array(digest: Any, values: Any) -> None:
    """Feed shape, type and numbers, some rows at a time."""
    digest.update(f"{values.dtype}{values.shape}".encode())
    array = np.asarray(values) if not isinstance(values, np.ndarray) else values
    if array.dtype.hasobject:
        digest.update(repr(array.tolist()).encode())
        return
    if array.ndim == 0:
        digest.update(array.tobytes())
        return
    rows = max(1, _BLOCK // max(1, array[:1].nbytes))
    for first in range(0, len(array), rows):
        digest.update(np.ascontiguousarray(array[first : first + rows]).data)
