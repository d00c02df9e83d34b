"""Selectors and kernels as data that JSON can hold, their class and their parameters, and made again from that."""

from __future__ import annotations

import dataclasses
import json
import sys
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from robula.exceptions import InputError
from robula.kernels.kernel import Kernel
from robula.selectors.selection import Selector

Described = TypeVar("Described", Selector, Kernel)


class Undescribable(Exception):
    """An object is more than its class and parameters; the message says why."""


def describe(value: Any) -> Any:
    """Return a selector or kernel as JSON data: its class and its parameters, each described likewise.

    A dataclass has its fields as parameters, any other class must take none. An object that cannot be made again from
    that is described by its ``repr`` and the reason; :func:`build` refuses it.
    """
    try:
        found = _describe(value)
        if json.dumps(_state(_build(found))) != json.dumps(_state(value)):
            raise Undescribable("it holds more than its parameters say")
    except Undescribable as reason:
        return {"repr": repr(value), "not_repeatable": str(reason)}
    return found


def build(description: Any, kind: type[Described], name: str) -> Described:
    """Return the object that was described, or refuse."""
    if isinstance(description, dict) and "not_repeatable" in description:
        raise InputError(
            f"the run used {description['repr']}, which cannot be made again ({description['not_repeatable']}): "
            f"pass it as {name}= to repeat the run."
        )
    try:
        made = _build(description)
    except Undescribable as reason:
        raise InputError(f"the {name} of the run cannot be made again: {reason}.") from None
    if not isinstance(made, kind):
        raise InputError(f"the stored {name} is a {type(made).__name__}, not a {kind.__name__.lower()}.")
    return made


def _describe(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple | list):
        return [_describe(item) for item in value]
    if not isinstance(value, Selector | Kernel):
        raise Undescribable(f"a {type(value).__name__} is among its parameters")
    kind = type(value)
    path = class_path(kind)
    if "<locals>" in path or _find(path) is not kind:
        raise Undescribable(f"its class {kind.__qualname__} is not found by its name")
    return {"class": path, "parameters": {name: _describe(getattr(value, name)) for name in _parameters(kind)}}


def class_path(kind: type) -> str:
    """Return the name of a class with that of its module, by which runs record it."""
    return f"{kind.__module__}:{kind.__qualname__}"


def _parameters(kind: type) -> list[str]:
    return [field.name for field in dataclasses.fields(kind) if field.init] if dataclasses.is_dataclass(kind) else []


def _state(value: Any) -> Any:
    """Everything an object holds, as far as it can be told."""
    if isinstance(value, Selector | Kernel):
        return {name: _state(item) for name, item in sorted(vars(value).items())}
    if isinstance(value, tuple | list):
        return [_state(item) for item in value]
    return repr(value)


def _build(description: Any) -> Any:
    if isinstance(description, list):
        return tuple(_build(item) for item in description)
    if not isinstance(description, dict):
        return description
    if set(description) != {"class", "parameters"}:
        raise Undescribable(f"{sorted(description)} is not a description")
    kind = _find(description["class"])
    if not (isinstance(kind, type) and issubclass(kind, Selector | Kernel)):
        raise Undescribable(f"{description['class']} is neither a selector nor a kernel")
    try:
        return kind(**{name: _build(value) for name, value in description["parameters"].items()})
    except (TypeError, ValueError) as error:
        raise Undescribable(f"{kind.__name__} refused its own parameters ({error})") from error


def _find(path: str) -> Any:
    """Return the class at "module:Class"; a description may not make Python import what it has not imported."""
    module, _, qualname = str(path).partition(":")
    if module.split(".")[0] == "robula":
        try:
            import_module(module)
        except ImportError:
            raise Undescribable(f"this robula has no {module}") from None
    if module not in sys.modules:
        raise Undescribable(f"import {module} first: it defines {qualname}")
    found: Any = sys.modules[module]
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found
