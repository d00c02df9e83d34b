"""A folder that is written beside its place and takes it as a whole, whatever happens on the way.

Beside ``run`` may stand ``.run.robula-lock`` (held by the writer, let go by the system when the writer dies),
``.run.robula-partial`` (what is being written) and, for the instant between two renames, ``.run.robula-previous``.
Whoever is killed leaves the earlier folder: in its place, or as the previous one, which readers use and the next writer
puts back.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from robula._files import flush_folder
from robula.exceptions import InputError


@contextmanager
def staged_folder(folder: Path, *, replaceable: Callable[[Path], bool], needed: int) -> Iterator[Path]:
    """Yield an empty folder that takes the place of ``folder`` when the block ends, or vanishes with an error.

    Parameters
    ----------
    folder : Path
    replaceable : function of a Path
        Whether a folder that is there already, and not empty, may be replaced.
    needed : int
        Bytes that will be written, roughly; refused at once where the disk has fewer.
    """
    target = Path(os.path.realpath(folder))
    _refuse_place(target, folder)
    missing = [parent for parent in target.parents if not parent.exists()]
    partial, previous = _beside(target, "partial"), _beside(target, "previous")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _lock(_beside(target, "lock"), folder):
            _settle(target, previous, partial)
            if target.is_dir() and any(target.iterdir()) and not replaceable(target):
                raise InputError(
                    f"--out {str(folder)!r} holds other files than those of an earlier run; name a new folder."
                )
            free = shutil.disk_usage(target.parent).free
            if free < needed:
                raise InputError(f"the disk of {str(folder)!r} has {free:,} bytes left; about {needed:,} are needed.")
            partial.mkdir()
            try:
                yield partial
                _flush(partial)
                _swap(partial, target, previous)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
    except BaseException:
        for parent in missing:
            with suppress(OSError):
                parent.rmdir()
        raise


def settled(folder: Path) -> Path:
    """Return where the folder's content is: in its place, or set aside by a writer that was killed."""
    target = Path(os.path.realpath(folder))
    previous = _beside(target, "previous")
    return previous if not target.exists() and previous.is_dir() else folder


def _beside(target: Path, what: str) -> Path:
    return target.with_name(f".{target.name}.robula-{what}")


def _refuse_place(target: Path, folder: Path) -> None:
    if any(place.exists() and not place.is_dir() for place in (target, *target.parents)):
        raise InputError(f"--out {str(folder)!r} is a file, or inside one; name a folder.")
    if target in (Path.cwd(), *Path.cwd().parents) or os.path.ismount(target):
        raise InputError(
            f"--out {str(folder)!r} is the current folder, one above it or a disk of its own, and cannot be replaced "
            "as a whole; name a folder inside it."
        )


def _settle(target: Path, previous: Path, partial: Path) -> None:
    """Undo what a killed writer left."""
    shutil.rmtree(partial, ignore_errors=True)
    if previous.is_dir():
        if target.exists():
            shutil.rmtree(previous)
        else:
            os.rename(previous, target)


def _swap(partial: Path, target: Path, previous: Path) -> None:
    if not target.exists():
        os.rename(partial, target)
    else:
        os.rename(target, previous)
        try:
            os.rename(partial, target)
        except BaseException:
            os.rename(previous, target)
            raise
    flush_folder(target.parent)
    shutil.rmtree(previous, ignore_errors=True)


def _flush(folder: Path) -> None:
    """Flush what was written: a rename may otherwise reach the disk before the content."""
    for path in folder.iterdir():
        with open(path, "rb+") as file:
            os.fsync(file.fileno())
    flush_folder(folder)


@contextmanager
def _lock(path: Path, folder: Path) -> Iterator[None]:
    handle = _acquire(path)
    if handle is None:
        raise InputError(f"another robula fit is writing to {str(folder)!r}; wait for it, or name another folder.")
    try:
        yield
    finally:
        # Gone before it is let go: who waits with the old file sees that it is not the one of this name any more.
        with suppress(OSError):
            path.unlink()
        os.close(handle)


def _acquire(path: Path) -> int | None:
    """Open and lock a file that is still the one of its name; None if someone else holds it."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock_now(handle)
        except OSError:
            os.close(handle)
            return None
        try:
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                return handle
        except FileNotFoundError:
            pass
        os.close(handle)


def _lock_now(handle: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
