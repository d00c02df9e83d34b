"""The paper's data sets: loading, traps, refusals."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import robula
from robula import datasets
from robula.cli.main import app

LOCAL = os.environ.get("ROBULA_DATA_DIR")
needs_files = pytest.mark.skipif(
    not LOCAL, reason="set ROBULA_DATA_DIR to a folder with the LIBSVM files (robula datasets lists them) to run this"
)


@needs_files
@pytest.mark.parametrize("name", list(datasets.ENTRIES))
def test_every_data_set_loads_as_registered(name):
    entry, data = datasets.ENTRIES[name], datasets.load(name)
    assert data.X.shape == (entry.rows, entry.features)
    assert np.isfinite(data.X).all()
    assert set(np.unique(data.y)) == {0.0, 1.0}


@needs_files
def test_known_traps():
    cancer = datasets.load("breast-cancer")
    assert cancer.X.max() == 10.0  # the sample's identification number, up to 13454352, is not a feature
    assert cancer.y.sum() == 239  # malignant
    assert datasets.load("diabetes").y.sum() == 268  # diabetic, which the file codes as -1
    assert datasets.load("german").y.sum() == 300
    assert datasets.load("astro").y.sum() == 4000


@needs_files
def test_a_damaged_file_is_not_used(tmp_path, monkeypatch):
    text = (Path(LOCAL) / "diabetes").read_bytes()
    (tmp_path / "diabetes").write_bytes(text.replace(b"-1", b"+1", 1))
    monkeypatch.setenv("ROBULA_DATA_DIR", str(tmp_path))
    with pytest.raises(robula.exceptions.DatasetUnavailableError, match="checksum"):
        datasets.load("diabetes")


def test_built_in_set_needs_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("ROBULA_DATA_DIR", str(tmp_path))
    data = datasets.load("wisconsin")
    assert data.X.shape == (569, 30)
    assert data.y.sum() == 212


def test_an_incomplete_folder_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("ROBULA_DATA_DIR", str(tmp_path))
    with pytest.raises(
        robula.exceptions.DatasetUnavailableError, match=r"has no file 'svmguide1'.*unset ROBULA_DATA_DIR"
    ):
        datasets.load("astro")


def test_no_network_has_both_remedies(monkeypatch, tmp_path):
    def refuse(*arguments, **options):
        raise ConnectionError("no route")

    monkeypatch.delenv("ROBULA_DATA_DIR", raising=False)
    monkeypatch.setattr("pooch.retrieve", refuse)
    with pytest.raises(
        robula.exceptions.DatasetUnavailableError, match="connect to the network, or put the file"
    ) as caught:
        datasets.load("phishing")
    assert "ROBULA_DATA_DIR" in str(caught.value)


def test_downloads_are_checked_and_cached(monkeypatch, tmp_path):
    """The real download code against a file:// stand-in is not possible with pooch; check what it is asked for."""
    asked = {}

    def remember(url, known_hash, fname, path, progressbar):
        asked.update(url=url, known_hash=known_hash, fname=fname, path=path)
        raise ConnectionError("stop here")

    monkeypatch.delenv("ROBULA_DATA_DIR", raising=False)
    monkeypatch.setattr("pooch.retrieve", remember)
    with pytest.raises(robula.exceptions.DatasetUnavailableError):
        datasets.load("german")
    assert asked["url"].endswith("/german.numer")
    assert asked["known_hash"] == "sha256:" + datasets.ENTRIES["german"].files[0][1]


def test_unknown_names_suggest_the_nearest():
    with pytest.raises(robula.exceptions.InputError, match="Did you mean 'german'"):
        datasets.load("germany")


def test_command_lists_them(monkeypatch, tmp_path):
    monkeypatch.setenv("ROBULA_DATA_DIR", str(tmp_path))
    output = CliRunner().invoke(app, ["datasets"]).output
    for name in datasets.names():
        assert name in output
