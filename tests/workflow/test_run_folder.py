"""A run on disk: what is refused on reading, and what faults while writing cannot do."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import robula
from robula import _files
from robula.result import arviz_conversion
from robula.workflow import fit_table, run_folder
from tests.workflow.test_fit_table import QUICK, invoke, people

pytestmark = pytest.mark.filterwarnings("ignore::robula.exceptions.RobulaWarning")


@pytest.fixture(scope="module")
def first(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("first")
    people(100)[0].to_csv(folder / "people.csv", index=False)
    invoke("fit", folder / "people.csv", "--target", "mass", "--out", folder / "run", *QUICK)
    return folder


@pytest.fixture
def copy(first, tmp_path) -> Path:
    shutil.copytree(first, tmp_path / "copy")
    return tmp_path / "copy"


def predicted(folder: Path, code: int = 0) -> str:
    return invoke("predict", folder / "run", folder / "people.csv", code=code)


def edit(folder: Path, seal: bool, **changes: object) -> None:
    """Change the manifest, with its hash made right or left as it was."""
    path = folder / "run" / "run.json"
    manifest = {**json.loads(path.read_text()), **changes}
    content = {name: value for name, value in manifest.items() if name != "sha256"}
    path.write_text(json.dumps(_files.sealed(content) if seal else manifest))


def manifest_of(folder: Path) -> dict:
    return json.loads((folder / "run" / "run.json").read_text())


def test_the_manifest_has_the_hash_of_every_file(first):
    files = manifest_of(first)["files"]
    there = {path.name for path in (first / "run").iterdir()} - {"run.json"}
    assert set(files) == there
    for name, facts in files.items():
        data = (first / "run" / name).read_bytes()
        assert (len(data), _files.digest(data)) == (facts["bytes"], facts["sha256"])


def test_the_posterior_is_one_that_load_reads(first):
    posterior = robula.load(first / "run" / "posterior.npz")
    summary = pd.read_csv(first / "run" / "summary.csv")
    # The noise scale is summarised itself, and drawn as its logarithm.
    assert list(summary["parameter"])[:-1] == list(posterior.parameter_names)[:-1]
    np.testing.assert_allclose(summary["mean"][:-1], posterior.mean[:-1])


def test_a_changed_manifest_is_refused(copy):
    facts = manifest_of(copy)["facts"]
    edit(copy, False, facts={**facts, "noise_scale": 2.0})
    assert "changed after it was written" in predicted(copy, code=2)


@pytest.mark.parametrize("seal", [True, False])
def test_a_negative_noise_scale_and_swapped_columns_are_refused(copy, seal):
    facts, encoding = manifest_of(copy)["facts"], manifest_of(copy)["encoding"]
    edit(copy, seal, facts={**facts, "noise_scale": -1.0})
    assert ("noise_scale=-1.0" if seal else "changed") in predicted(copy, code=2)
    edit(copy, seal, facts=facts, encoding={**encoding, "numbers": encoding["numbers"][::-1]})
    assert ("draws are of other columns" if seal else "changed") in predicted(copy, code=2)


def test_other_versions_and_other_files_are_refused(copy, first):
    assert "no run.json" in invoke("predict", copy, copy / "people.csv", code=2)
    edit(copy, True, format_version=99)
    assert "newer robula" in predicted(copy, code=2)
    edit(copy, True, format_version=1)
    assert "older robula" in predicted(copy, code=2)
    (copy / "run" / "run.json").write_text('{"format": "robula-run"')
    assert "damaged" in predicted(copy, code=2)


def test_draws_of_another_fit_are_refused(copy, tmp_path):
    """What a fit killed between two files used to leave: this run's manifest with that run's draws."""
    words = ["fit", copy / "people.csv", "--target", "mass", "--out", tmp_path / "other", *QUICK, "--seed", 5]
    invoke(*words)
    shutil.copy(tmp_path / "other" / "posterior.npz", copy / "run")
    assert "another" in predicted(copy, code=2)
    (copy / "run" / "posterior.npz").unlink()
    assert "damaged" in predicted(copy, code=2)


def test_any_damaged_byte_of_the_draws_is_noticed(copy):
    path = copy / "run" / "posterior.npz"
    whole = path.read_bytes()
    for place in np.random.default_rng(0).integers(len(whole), size=20):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(robula.exceptions.InputError, match="another hash"):
            run_folder.read_run(copy / "run")


@pytest.mark.parametrize("broken", ["summary_table", "rows_table", "report", "write_text", "digest", "write_netcdf"])
def test_a_fault_while_writing_costs_no_earlier_run(copy, monkeypatch, broken):
    before = predicted(copy)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "run")

    monkeypatch.setattr(run_folder, broken, full)
    words = ["fit", copy / "people.csv", "--target", "mass", "--out", copy / "run", *QUICK, "--seed", 9]
    assert "No space left" in invoke(*words, code=2)
    monkeypatch.undo()
    assert predicted(copy) == before
    assert {path.name for path in copy.iterdir()} == {"people.csv", "run"}


def test_a_full_or_read_only_place_is_found_before_sampling(copy, monkeypatch):
    monkeypatch.setattr(fit_table, "_fit_regression", lambda *_: pytest.fail("sampled first"))
    words = ["fit", copy / "people.csv", "--target", "mass", *QUICK, "--out"]
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 10, 0))
        assert "has 0 bytes left" in invoke(*words, copy / "run", code=2)
    assert "inside one" in invoke(*words, copy / "people.csv" / "run", code=2)
    real = os.mkdir

    def read_only(path: str, *rest: object) -> None:
        if "partial" in str(path):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        real(path, *rest)

    monkeypatch.setattr(os, "mkdir", read_only)
    assert "Permission denied" in invoke(*words, copy / "run", code=2)
    assert (copy / "run" / "run.json").is_file()


def test_a_strangers_run_json_is_no_earlier_run(copy, tmp_path):
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    (stranger / "run.json").write_text('{"name": "mine"}')
    (stranger / "report.html").write_text("mine")
    words = ["fit", copy / "people.csv", "--target", "mass", *QUICK, "--out"]
    assert "holds other files" in invoke(*words, stranger, code=2)
    assert (stranger / "report.html").read_text() == "mine"
    (copy / "run" / "notes.txt").write_text("mine, too")
    assert "holds other files" in invoke(*words, copy / "run", code=2)
    assert (copy / "run" / "notes.txt").exists()


def test_without_a_netcdf_backend_the_fit_is_whole_and_says_so(copy, monkeypatch):
    monkeypatch.setattr(arviz_conversion, "find_spec", lambda name: None)
    words = ["fit", copy / "people.csv", "--target", "mass", *QUICK, "--out", copy / "bare"]
    assert "robula[netcdf]" in invoke(*words)
    assert not (copy / "bare" / "draws.nc").exists()
    assert invoke("predict", copy / "bare", copy / "people.csv") == predicted(copy)


def test_formulas_are_harmless_in_what_is_written(tmp_path):
    table = people(60)[0]
    table["site"] = np.where(np.arange(60) % 2, "=cmd|' /C calc'!A0", "-north")
    table = table.rename(columns={"score": "@score"})
    table.to_csv(tmp_path / "t.csv", index=False)
    invoke("fit", tmp_path / "t.csv", "--target", "mass", "--out", tmp_path / "o", *QUICK)
    rows = (tmp_path / "o" / "rows.csv").read_text()
    assert "'=cmd" in rows
    assert "'-north" in rows
    assert ",'@score," in rows.splitlines()[0]
    for line in rows.splitlines() + (tmp_path / "o" / "summary.csv").read_text().splitlines():
        assert not any(cell.startswith(("=", "@")) for cell in line.split(","))
    # Numbers keep their sign.
    assert (pd.read_csv(tmp_path / "o" / "rows.csv")["mass"] == table["mass"]).all()


@pytest.mark.parametrize(
    ("option", "value"), [("--draws", 10**9), ("--burn-in", 10**12), ("--chains", 10**8), ("--draws", 9 * 10**6)]
)
def test_absurd_numbers_are_refused(first, tmp_path, option, value):
    words = ["fit", first / "people.csv", "--target", "mass", "--out", tmp_path / "o", "--chains", 50, option, value]
    output = invoke(*words, code=2)
    assert option in output
    assert not (tmp_path / "o").exists()


def test_ctrl_c_exits_130_and_leaves_nothing(copy):
    words = [sys.executable, "-m", "robula", "fit", str(copy / "people.csv"), "--target", "mass"]
    words += ["--out", str(copy / "late"), "--burn-in", "5000000"]
    # A run in the background of a shell ignores Ctrl-C, and so would the child.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        wait_for(copy / ".late.robula-partial")
        time.sleep(2.0)  # inside the chains
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in told
    assert {path.name for path in copy.iterdir()} == {"people.csv", "run"}


@pytest.mark.slow
def test_a_fit_killed_over_an_earlier_run_never_makes_a_wrong_prediction(copy):
    before = predicted(copy)
    words = ["fit", str(copy / "people.csv"), "--target", "mass", "--out", str(copy / "run"), *QUICK, "--seed", "9"]
    invoke("fit", *words[1:5], copy / "second", *QUICK, "--seed", 9)
    after = invoke("predict", copy / "second", copy / "people.csv")
    rng = np.random.default_rng(0)
    for _ in range(4):
        with subprocess.Popen([sys.executable, "-m", "robula", *words], stdout=subprocess.DEVNULL) as process:
            wait_for(copy / ".run.robula-partial")
            time.sleep(rng.uniform(0.0, 2.5))
            process.send_signal(signal.SIGKILL)
        assert predicted(copy) in (before, after)


def wait_for(path: Path, seconds: float = 60.0) -> None:
    began = time.monotonic()
    while not path.exists():
        assert time.monotonic() - began < seconds
        time.sleep(0.02)
