"""Modules that are imported by name: what an extra brings, and the members of a room."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from robula.exceptions import MissingExtraError


def import_extra(module: str, extra: str, needed_for: str) -> ModuleType:
    """Import ``module``; if it is missing, name the extra that brings it.

    An import error raised inside an installed module is passed on unchanged: it is a real fault.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.split(".")[0]:
            raise
        raise MissingExtraError(
            f"{needed_for} needs {module}, which is not installed. Install it with: pip install 'robula[{extra}]'"
        ) from error


def named_members(package: str, folders: Iterable[str], kind: type) -> dict[str, Any]:
    """Import every module of a package and return its classes of this kind by their own ``name``, sorted.

    A name is not inherited: a subclass that says none is not a member.
    """
    found: dict[str, type] = {}
    for module in sorted(f"{package}.{info.name}" for info in pkgutil.iter_modules(folders)):
        for value in vars(importlib.import_module(module)).values():
            if not (isinstance(value, type) and issubclass(value, kind)):
                continue
            name = vars(value).get("name")
            if isinstance(name, str) and found.setdefault(name, value) is not value:
                raise TypeError(f"{value.__module__} and {found[name].__module__} both call a class {name!r}.")
    return dict(sorted(found.items()))
