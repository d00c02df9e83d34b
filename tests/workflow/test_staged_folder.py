"""A folder takes its place as a whole: faults at every step, kills at any moment, two writers, bad places."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import robula
from robula.exceptions import InputError
from robula.workflow import staged_folder as module
from robula.workflow.staged_folder import settled, staged_folder

FILES = ("one", "two", "three")


def write(folder: Path, version: str, **options: object) -> None:
    with staged_folder(folder, **{"replaceable": lambda _: True, "needed": 0, **options}) as staging:
        for name in FILES:
            (staging / name).write_text(version)


def read(folder: Path) -> set[str]:
    place = settled(folder)
    assert {path.name for path in place.iterdir()} == set(FILES)
    return {(place / name).read_text() for name in FILES}


def test_a_folder_appears_and_is_replaced_and_nothing_is_left_beside(tmp_path):
    folder = tmp_path / "deep" / "run"
    write(folder, "a")
    write(folder, "b")
    assert read(folder) == {"b"}
    assert [path.name for path in folder.parent.iterdir()] == ["run"]


@pytest.mark.parametrize("call", ["fsync", "rename", "mkdir"])
@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left"), PermissionError(13, "no"), KeyboardInterrupt()]
)
def test_a_fault_at_any_call_leaves_the_earlier_folder(tmp_path, monkeypatch, call, error):
    folder = tmp_path / "run"
    write(folder, "a")
    real = getattr(os, call)
    for failing in range(1, 10):
        calls = 0

        def faulty(*args: object, failing: int = failing, **kwargs: object) -> object:
            nonlocal calls
            calls += 1
            if calls == failing:
                raise error
            return real(*args, **kwargs)

        with monkeypatch.context() as patch:
            patch.setattr(os, call, faulty)
            try:
                write(folder, "b")
            except type(error):
                # After the swap the new one is in place, and only the flush of its parent failed.
                assert read(folder) in ({"a"}, {"b"})
                assert len(read(folder)) == 1
            else:
                if calls < failing:
                    break
            shutil.rmtree(folder)
            write(folder, "a")
    assert failing > 1
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


# Without the package's own imports: a writer must be at work at once.
WRITER = """
import sys, types
from pathlib import Path
sys.modules["robula"] = types.ModuleType("robula")
sys.modules["robula"].__path__ = [sys.argv[2]]
from robula.workflow.staged_folder import staged_folder
print("ready", flush=True)
version = 0
while True:
    version += 1
    with staged_folder(Path(sys.argv[1]), replaceable=lambda _: True, needed=0) as staging:
        for name in ("one", "two", "three"):
            (staging / name).write_text(str(version) * 1000)
"""


def test_killed_at_any_moment_the_folder_is_one_version(tmp_path):
    folder, rng = tmp_path / "run", np.random.default_rng(0)
    write(folder, "0" * 1000)
    for _ in range(10):
        command = [sys.executable, "-c", WRITER, str(folder), str(Path(robula.__file__).parent)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
            time.sleep(rng.uniform(0.005, 0.15))
            writer.send_signal(signal.SIGKILL)
        assert len(read(folder)) == 1
    write(folder, "last")
    assert read(folder) == {"last"}
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_killed_between_the_two_renames(tmp_path):
    """The one moment without a folder in its place: readers use the previous one, the next writer puts it back."""
    folder = tmp_path / "run"
    write(folder, "a")
    os.rename(folder, tmp_path / ".run.robula-previous")
    assert read(folder) == {"a"}
    with pytest.raises(RuntimeError), staged_folder(folder, replaceable=lambda _: True, needed=0):
        raise RuntimeError
    assert folder.is_dir()
    assert read(folder) == {"a"}


def test_the_second_writer_is_told(tmp_path):
    folder = tmp_path / "run"
    with staged_folder(folder, replaceable=lambda _: True, needed=0) as staging:
        for name in FILES:
            (staging / name).write_text("first")
        with pytest.raises(InputError, match="another robula fit is writing"):
            write(folder, "second")
    assert read(folder) == {"first"}


def test_bad_places_are_refused_at_once_and_leave_nothing(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="is a file"):
        write(tmp_path / "file", "a")
    with pytest.raises(InputError, match="inside one"):
        write(tmp_path / "file" / "run", "a")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="current folder"):
        write(Path(), "a")
    with pytest.raises(InputError, match="bytes left; about"):
        write(tmp_path / "x" / "run", "a", needed=2**60)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("keep")
    with pytest.raises(InputError, match="holds other files"):
        write(tmp_path / "other", "a", replaceable=lambda _: False)
    monkeypatch.setattr(module.os.path, "ismount", lambda path: True)
    with pytest.raises(InputError, match="a disk of its own"):
        write(tmp_path / "run", "a")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "other"]
