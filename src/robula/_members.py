"""The members of a room: every class that has a name in one of its files. A new file is enough to add one."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from typing import Any


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
