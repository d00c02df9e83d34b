"""Files that are whole or absent, and JSON that says whether it was changed."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from robula._validation import show
from robula.exceptions import InputError

_SEAL = "sha256"


def file_path(path: object, name: str = "path") -> Path:
    """Return the path of a file that can be there: a name, not a folder's."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"{name}={show(path)} is not a file name; pass a text or a pathlib.Path.")
    target = Path(path)
    if target.is_dir():
        raise InputError(f"{name}={str(target)!r} is a folder; pass the name of a file in it.")
    return target


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its place, flushed to disk, when the block ends without an error."""
    target = Path(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            os.chmod(temporary, 0o666 & ~_umask())  # a temporary file is private; the result is an ordinary file
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    flush_folder(target.parent)


def flush_folder(folder: Path) -> None:
    """Make new names in a folder survive a power cut, where the system can."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file, whole or not at all."""
    with whole_file(path) as file:
        file.write(text.encode("utf-8"))


def digest(data: bytes | memoryview) -> str:
    """SHA-256 as hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content with its own hash, to be stored as JSON."""
    return {**content, _SEAL: _seal(content)}


def unsealed(stored: Any) -> dict[str, Any]:
    """Return the content of what :func:`sealed` made; ValueError where it was changed since."""
    if not isinstance(stored, dict) or _SEAL not in stored:
        raise ValueError("no hash")
    content = {name: value for name, value in stored.items() if name != _SEAL}
    if stored[_SEAL] != _seal(content):
        raise ValueError("changed after it was written")
    return content


def _seal(content: Mapping[str, Any]) -> str:
    return digest(json.dumps(content, sort_keys=True, separators=(",", ":")).encode())


def _umask() -> int:
    """Return the process's file mode mask, which can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def matching_files(files: str | Sequence[str]) -> list[str]:
    """Return the files of a pattern or list, sorted; refuse none."""
    patterns = [files] if isinstance(files, str) else list(files)
    found = sorted({path for pattern in patterns for path in glob.glob(str(pattern))})
    if not found:
        raise InputError(f"no file matches {show(files)}.")
    return found
