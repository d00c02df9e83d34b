"""The identity of a model: class, shapes, names, and a hash of its data and prior."""

from __future__ import annotations

import dis
import functools
import hashlib
import sys
import sysconfig
import weakref
from collections.abc import Callable, Iterator
from types import CodeType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from robula.models.model import Model

# Bytes hashed at a time: a memory map is never read whole.
_BLOCK = 2**26
# How models are told apart: raised where the same model gets another hash, so that old ones are known as such.
_SCHEME = "2:"
# Where installed packages and Python itself are: their functions count by name, a user's by what they do.
_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})
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
        Of everything that the model holds: data, prior, constants, behind the number of the scheme. Functions count by
        byte code, constants and what they capture (closures, globals and defaults), a user's objects by what they and
        their classes hold.
        Other packages' objects that are no arrays, numbers or functions count by type only.
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
        if not found and self.sha256.partition(":")[0] != other.sha256.partition(":")[0]:
            found.append("a hash of another version of robula, which cannot be compared (sample again with this one)")
        if not found and self.sha256 != other.sha256:
            found.append("the data, the prior or a constant of the model")
        return found


def identity(model: Model) -> ModelIdentity:
    """Return the model's identity; the data are read once for each model object."""
    if model not in _KNOWN:
        reader = _Reader()
        reader.add(model, depth=0)
        names = tuple(model.parameter_names)
        sha256 = _SCHEME + reader.digest.hexdigest()
        _KNOWN[model] = ModelIdentity(type(model).__name__, model.n_rows, model.dim, names, sha256)
    return _KNOWN[model]


def hash_of_function(function: Callable[..., Any]) -> str | None:
    """Hash what a user's function does: its code and all that it captures; None where it captures what cannot be read.

    What was compiled of a function is good as long as this stays the same.
    """
    reader = _Reader()
    reader.add(function, depth=0)
    return reader.digest.hexdigest() if reader.complete else None


class _Reader:
    """Feeds values to a hash, each with its type, so that no two unlike values look the same.

    Attributes
    ----------
    digest : hash
    complete : bool
        Whether everything was read; False once an object counted by its type only.
    """

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.complete = True
        # Objects that are being read: what refers back to one of them says nothing new.
        self._open: set[int] = set()
        # Functions that were read, with their hashes: many compiled functions share few of a user's.
        self._functions: dict[int, tuple[Any, bytes]] = {}

    def add(self, value: Any, depth: int) -> None:
        """Feed a value."""
        self.digest.update(f"{depth}:{type(value).__qualname__};".encode())
        if value is None or isinstance(value, bool | int | float | complex | str | bytes | range | slice | np.generic):
            self.digest.update(repr(value).encode())
        elif isinstance(value, type | ModuleType):
            self.digest.update(f"{getattr(value, '__module__', '')}.{value.__name__}".encode())
            # A user's class or module may do something else the next time.
            self.complete &= _is_installed(value.__module__ if isinstance(value, type) else value.__name__)
        elif id(value) in self._open:
            self.digest.update(b"again")
        else:
            self._open.add(id(value))
            self._add_parts(value, depth + 1)
            self._open.remove(id(value))

    def _add_parts(self, value: Any, depth: int) -> None:
        if isinstance(value, dict):
            for key in sorted(value, key=repr):
                self.add(key, depth)
                self.add(value[key], depth)
        elif isinstance(value, list | tuple):
            for item in value:
                self.add(item, depth)
        elif isinstance(value, set | frozenset):
            for item in sorted(value, key=repr):
                self.add(item, depth)
        elif hasattr(value, "dtype") and hasattr(value, "shape"):
            _add_array(self.digest, value)
        elif hasattr(value, "columns") and hasattr(value, "to_numpy"):
            self.add([*value.columns], depth)
            _add_array(self.digest, value.to_numpy())
        elif isinstance(value, functools.partial):
            self.add((value.func, value.args, value.keywords), depth)
        elif hasattr(value, "__self__") and hasattr(value, "__func__"):
            self.add((value.__func__, value.__self__), depth)
        elif hasattr(value, "__code__"):
            self.digest.update(self._hash_of_function(value))
        elif hasattr(value, "__wrapped__"):  # a compiled or remembering function
            self.add(value.__wrapped__, depth)
        elif isinstance(value, Model) or not _of_a_library(type(value)):
            self.add(_held(value), depth)
            if not isinstance(value, Model):
                self.add(_class_of_a_user(type(value)), depth)
        elif callable(value) and hasattr(value, "__name__"):
            self.digest.update(value.__name__.encode())
        else:
            self.complete = False

    def _hash_of_function(self, function: Any) -> bytes:
        if id(function) not in self._functions:
            outer, self.digest = self.digest, hashlib.sha256()
            self._add_function(function)
            outer, self.digest = self.digest, outer
            self._functions[id(function)] = function, outer.digest()
        return self._functions[id(function)][1]

    def _add_function(self, function: Any) -> None:
        self.digest.update(f"{function.__module__}.{function.__qualname__}".encode())
        library = function.__code__.co_filename.startswith(_LIBRARIES)
        if library and "<locals>" not in function.__qualname__:
            return  # its name says it all
        cells = [_content(cell) for cell in function.__closure__ or ()]
        self.add((cells, function.__defaults__, function.__kwdefaults__), depth=0)
        if library or _is_ours(function):
            return
        for code in _codes(function.__code__):
            self.digest.update(code.co_code + repr(code.co_names).encode())
            self.add([constant for constant in code.co_consts if not isinstance(constant, CodeType)], depth=0)
        read = {
            step.argval
            for code in _codes(function.__code__)
            for step in dis.get_instructions(code)
            if step.opname == "LOAD_GLOBAL"
        }
        self.add({name: function.__globals__[name] for name in read if name in function.__globals__}, depth=0)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function and of the functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a name that has no value yet
        return None


def _is_ours(value: Any) -> bool:
    return str(value.__module__).split(".")[0] == "robula"


def _of_a_library(kind: type) -> bool:
    """Whether a class is of an installed package or of Python itself, and not of robula."""
    return _is_installed(kind.__module__) and not _is_ours(kind)


def _is_installed(module: str) -> bool:
    """Whether a module is of Python itself or of an installed package, robula among them."""
    file = getattr(sys.modules.get(module), "__file__", None)
    found = file is None or file.startswith(_LIBRARIES) or module.split(".")[0] == "robula"
    return module != "__main__" and found


def _held(value: Any) -> dict[str, Any]:
    """What an object holds, but for what it computed once and kept."""
    kept = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                kept[name] = getattr(value, name)
    caches = getattr(type(value), "_caches", ())
    return {
        name: item
        for name, item in kept.items()
        if name not in caches and not isinstance(getattr(type(value), name, None), functools.cached_property)
    }


def _class_of_a_user(kind: type) -> dict[str, Any]:
    """What a user's class gives to all its objects: methods, which may read globals, and values."""
    found = {}
    for base in reversed([base for base in kind.__mro__ if not _is_installed(base.__module__)]):
        for name, item in vars(base).items():
            if name == "__call__" or not name.startswith(("__", "_abc_")):
                # Decorators keep the function under one of these names.
                found[name] = getattr(item, "__func__", getattr(item, "fget", getattr(item, "func", item)))
    return found


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
