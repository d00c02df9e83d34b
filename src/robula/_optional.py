"""Import an optional dependency, or say how to install it."""

from __future__ import annotations

import importlib
from types import ModuleType

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
