"""The files of a pattern."""

from __future__ import annotations

import glob
from collections.abc import Sequence

from robula._validation import show
from robula.exceptions import InputError


def matching_files(files: str | Sequence[str]) -> list[str]:
    """Return the files of a pattern or list, sorted; refuse none."""
    patterns = [files] if isinstance(files, str) else list(files)
    found = sorted({path for pattern in patterns for path in glob.glob(str(pattern))})
    if not found:
        raise InputError(f"no file matches {show(files)}.")
    return found
