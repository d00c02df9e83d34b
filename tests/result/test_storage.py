"""What ``robula.load`` refuses: changed, damaged, oversized and impossible files."""

from __future__ import annotations

import errno
import json
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

import robula
from robula import _files
from robula.exceptions import InputError
from robula.result import storage


def posterior(**changes: object) -> robula.Posterior:
    parts = {
        "draws": np.random.default_rng(0).normal(size=(2, 5, 3)),
        "row_weights": np.linspace(0, 1, 7),
        "parameter_names": ("a", "b", "c"),
        "stats": {"step_size": np.ones((2, 5))},
        "settings": {"seed": 3, "nothing": float("nan"), "pair": (1, 2)},
        "variables": {"scale": np.ones((2, 5, 2))},
        "half_row_weights": np.ones((1, 2, 7)),
    }
    return robula.Posterior(**{**parts, **changes})


def rewritten(path: Path, compression: int = zipfile.ZIP_STORED, **arrays: np.ndarray) -> Path:
    """The same archive with some arrays replaced, its manifest untouched unless given."""
    with np.load(path) as archive:
        parts = {**dict(archive), **arrays}
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, values in parts.items():
            with archive.open(f"{name}.npy", "w") as file:
                np.lib.format.write_array(file, values)
    return path


@pytest.fixture
def path(tmp_path) -> Path:
    posterior().save(tmp_path / "p.npz")
    return tmp_path / "p.npz"


def manifest_of(path: Path) -> dict:
    with np.load(path) as archive:
        return json.loads(str(archive["manifest"]))


def test_everything_comes_back(path):
    again = robula.load(path)
    np.testing.assert_array_equal(again.variables["scale"], np.ones((2, 5, 2)))
    np.testing.assert_array_equal(again.half_row_weights, np.ones((1, 2, 7)))
    assert again.settings["pair"] == [1, 2]


def test_a_changed_array_or_manifest_is_refused(path):
    other = np.array(robula.load(path).draws)
    other[0, 0, 0] += 1e-9
    with pytest.raises(InputError, match="'draws' is not the one that was saved"):
        robula.load(rewritten(path, draws=other))
    posterior().save(path)
    changed = {**manifest_of(path), "parameter_names": ["b", "a", "c"]}
    with pytest.raises(InputError, match="manifest has changed after it was written"):
        robula.load(rewritten(path, manifest=np.array(json.dumps(changed))))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"draws": np.full((2, 5, 3), np.nan)}, "not all finite"),
        ({"draws": np.ones((2, 5, 2))}, "for 3 parameters"),
        ({"draws": np.ones((10, 3))}, "for 3 parameters"),
        ({"row_weights": np.full(7, 1.5)}, "between 0 and 1"),
        ({"row_weights": np.full(7, np.nan)}, "between 0 and 1"),
        ({"half_row_weights": np.ones((1, 2, 6))}, "by halves"),
        ({"stats": {"step_size": np.ones((2, 4))}}, "'step_size' has shape"),
    ],
)
def test_impossible_content_is_refused_though_its_hashes_are_right(tmp_path, changes, words):
    posterior(**changes).save(tmp_path / "p.npz")
    with pytest.raises(InputError, match=words):
        robula.load(tmp_path / "p.npz")


def test_a_file_cannot_unfold_into_more_than_its_size(path, tmp_path):
    """A megabyte of zeros stands for the two gigabytes of a real bomb: what is refused is the claim."""
    with pytest.raises(InputError, match="claims to hold"):
        robula.load(rewritten(path, zipfile.ZIP_DEFLATED, bomb=np.zeros(2**17)))
    posterior().save(path)
    facts = manifest_of(path)
    with zipfile.ZipFile(path, "w") as archive:
        with archive.open("manifest.npy", "w") as file:
            np.lib.format.write_array(file, np.array(json.dumps(facts)))
        with archive.open("draws.npy", "w") as file:
            np.lib.format.write_array_header_1_0(
                file, {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**6, 3)}
            )
    with pytest.raises(InputError, match="promises an array of shape"):
        robula.load(path)


def test_the_first_format_is_still_read_up_to_a_limit(path, monkeypatch):
    first = {name: value for name, value in manifest_of(path).items() if name not in ("arrays", "sha256")}
    first["format_version"] = 1
    rewritten(path, zipfile.ZIP_DEFLATED, manifest=np.array(json.dumps(first)))
    assert robula.load(path).parameter_names == ("a", "b", "c")
    monkeypatch.setattr(storage, "_LARGEST_COMPRESSED", 1000)
    with pytest.raises(InputError, match="claims to hold"):
        robula.load(path)


@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_a_full_disk_costs_neither_the_earlier_file_nor_leaves_a_part(path, monkeypatch, broken):
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(_files.os, broken, full)
    with pytest.raises(OSError, match="No space left"):
        posterior(draws=np.zeros((2, 5, 3))).save(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
