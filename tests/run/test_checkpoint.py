"""A killed run goes on from its checkpoint and draws the same bits; a file is whole or not there."""

from __future__ import annotations

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
from robula.run import checkpoint as checkpoints
from robula.run.checkpoint import read_checkpoint, seconds_of

PROBLEM = robula.simulate.linear_regression(n_clean=150, dim=3, contamination=0.1, seed=3)
MODEL = PROBLEM.model
rng = np.random.default_rng(0)
COUNTS = robula.PoissonModel(
    MODEL.design, rng.poisson(np.exp(0.3 * MODEL.design[:, 0])), prior=robula.NormalPrior(0.0, 1.0)
)
SHORT = {"contamination": 0.1, "draws": 40, "burn_in": 30, "chains": 4, "seed": 5, "progress": False}
RUNS = {
    "exact": (MODEL, {}),
    "hmc": (COUNTS, {"selector": "mean"}),
    "paper": (MODEL, {"selector": "recursive", "kernel": "ula", "likelihood_rows": "n", "refresh_every": 1}),
    "auto refresh": (MODEL, {"selector": "recursive", "kernel": "preconditioned_lm"}),
    "fixed refresh": (MODEL, {"selector": "geometric_median", "kernel": "baoab", "refresh_every": 13, "thin": 2}),
    "affine": (MODEL, {"selector": "mean", "kernel": "lm"}),
}


class Killed(BaseException):
    """Stands in for SIGKILL where a test cannot use one: nothing of the run is left but the file."""


def killed_run(path: Path, model, options, monkeypatch, at: int, copies: dict[int, Path] | None = None) -> None:
    """Run with a checkpoint after every step, and stop after so many; copies are taken on the way."""
    write, count = checkpoints.write_checkpoint, 0

    def counting(*args):
        nonlocal count
        write(*args)
        count += 1
        if count in (copies or {}):
            shutil.copy(path, copies[count])
        if count == at:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "write_checkpoint", counting)
        with pytest.raises(Killed):
            robula.sample(model, **{**SHORT, **options}, checkpoint=path, checkpoint_every=1e-9)


@pytest.mark.filterwarnings("ignore::robula.exceptions.TruncationBiasWarning")
@pytest.mark.parametrize("name", RUNS)
def test_a_resumed_run_has_the_same_bits(name, tmp_path, monkeypatch):
    """From what a kill leaves after the first step, in the burn-in, at its end, after it and among the draws."""
    model, options = RUNS[name]
    whole = robula.sample(model, **{**SHORT, **options})
    left = {number: tmp_path / f"{number}.ckpt" for number in (1, 17, 30, 31, 52)}
    killed_run(tmp_path / "run.ckpt", model, options, monkeypatch, 52, left)
    for number, path in left.items():
        assert read_checkpoint(path).number == number
        resumed = robula.resume(path, model, progress=False)
        np.testing.assert_array_equal(resumed.draws, whole.draws)
        np.testing.assert_array_equal(resumed.row_weights, whole.row_weights)
        np.testing.assert_array_equal(resumed.half_row_weights, whole.half_row_weights)
        assert resumed.stats.keys() == whole.stats.keys()
        for key, values in whole.stats.items():
            np.testing.assert_array_equal(resumed.stats[key], values)
        assert {**resumed.settings, "seconds": 0} == {**whole.settings, "seconds": 0}


def test_a_run_can_be_killed_again_and_a_finished_one_is_at_hand(tmp_path, monkeypatch):
    path = tmp_path / "run.ckpt"
    whole = robula.sample(MODEL, **SHORT, checkpoint=path)
    assert read_checkpoint(path).number == 70
    np.testing.assert_array_equal(robula.resume(path, MODEL).draws, whole.draws)
    assert sorted(os.listdir(tmp_path)) == ["run.ckpt"]


@pytest.mark.parametrize("fault", ["fsync", "replace", "write"])
def test_a_fault_while_writing_leaves_the_last_checkpoint_whole(fault, tmp_path, monkeypatch):
    path = tmp_path / "run.ckpt"
    killed_run(path, MODEL, {}, monkeypatch, 20)
    before = path.read_bytes()

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        if fault == "write":
            patch.setattr(checkpoints.os, "fdopen", full)
        else:
            patch.setattr(checkpoints.os, fault, full)
        with pytest.raises(OSError, match="No space"):
            robula.resume(path, MODEL)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["run.ckpt"]
    whole = robula.sample(MODEL, **SHORT)
    np.testing.assert_array_equal(robula.resume(path, MODEL).draws, whole.draws)


def test_other_data_versions_and_settings_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "run.ckpt"
    killed_run(path, MODEL, {}, monkeypatch, 5)
    y = MODEL.y.copy()
    y[3] += 1e-12
    other = robula.LinearModel(MODEL.design, y, noise_scale=1.0, prior=MODEL.prior)
    with pytest.raises(robula.exceptions.InputError, match="the data, the prior or a constant"):
        robula.resume(path, other)
    with pytest.raises(robula.exceptions.InputError, match="class 'LinearModel' against 'PoissonModel'"):
        robula.resume(path, COUNTS)
    with pytest.raises(robula.exceptions.InputError, match="of this very run"):
        robula.sample(MODEL, **SHORT, checkpoint=path)
    with pytest.raises(robula.exceptions.InputError, match=r"another run \(draws 40 against 41\)"):
        robula.sample(MODEL, **{**SHORT, "draws": 41}, checkpoint=path)
    monkeypatch.setattr(checkpoints, "__version__", "99.0")
    with pytest.raises(robula.exceptions.InputError, match=r"this is 99\.0"):
        robula.resume(path, MODEL)


def test_damage_is_found(tmp_path, monkeypatch):
    path = tmp_path / "run.ckpt"
    killed_run(path, MODEL, {}, monkeypatch, 5)
    whole = path.read_bytes()
    middle = len(whole) // 2
    for damaged, words in [
        (whole[:middle], "damaged"),
        (whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :], "damaged"),
        (b"", "not a checkpoint"),
        (b"PK\x03\x04", "not a checkpoint"),
        (whole.replace(b"checkpoint 1", b"checkpoint 2", 1), "has format 2"),
    ]:
        path.write_bytes(damaged)
        with pytest.raises(robula.exceptions.InputError, match=words):
            robula.resume(path, MODEL)
    with pytest.raises(robula.exceptions.InputError, match="there is no checkpoint"):
        robula.resume(tmp_path / "no.ckpt", MODEL)
    with pytest.raises(robula.exceptions.InputError, match="does not exist"):
        robula.sample(MODEL, **SHORT, checkpoint=tmp_path / "no" / "run.ckpt")


@pytest.mark.parametrize(("every", "seconds"), [("60s", 60), ("1.5m", 90), ("2 min", 120), ("1h", 3600), (2.5, 2.5)])
def test_intervals(every, seconds):
    assert seconds_of(every) == seconds


@pytest.mark.parametrize("every", ["", "60", "s", "1.2.3s", "5d", 0, -1, None, "."])
def test_other_intervals_are_refused(every):
    with pytest.raises(robula.exceptions.InputError, match="checkpoint_every"):
        seconds_of(every)


PROGRAM = """
import sys, robula
model = robula.simulate.linear_regression(n_clean=150, dim=3, contamination=0.1, seed=3).model
if len(sys.argv) == 3:
    print("going", flush=True)
    robula.resume(sys.argv[1], model)
else:
    print("going", flush=True)
    robula.sample(model, contamination=0.1, selector="recursive", kernel="preconditioned_lm", draws=3000, burn_in=30,
                  seed=5, checkpoint=sys.argv[1], checkpoint_every=0.001)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_sigkill_at_random_moments(tmp_path):
    """Killed four times on its way, each time resumed by a new process; the last resume is made here."""
    path, moments = tmp_path / "run.ckpt", np.random.default_rng(1)
    kills = 0
    for attempt in range(4):
        command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(path), *(["resume"] if path.exists() else [])]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout.readline() == b"going\n"
            while attempt == 0 and not path.exists() and process.poll() is None:
                time.sleep(0.01)
            time.sleep(float(moments.uniform(0.0, 0.6)))
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                kills += 1
    assert kills > 0
    left = read_checkpoint(path).number
    resumed = robula.resume(path, MODEL, progress=False)
    whole = robula.sample(
        MODEL, contamination=0.1, selector="recursive", kernel="preconditioned_lm", draws=3000, burn_in=30, seed=5
    )
    np.testing.assert_array_equal(resumed.draws, whole.draws)
    np.testing.assert_array_equal(resumed.row_weights, whole.row_weights)
    assert 0 < left <= 3030
