"""Each experiment at tiny settings, and a run that is killed and resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import robula
from robula.cli.main import app
from robula.datasets.dataset_loaders import Dataset
from robula.experiments.choices import READINGS
from robula.experiments.logistic import calibration_error, log_likelihoods, make_split
from robula.experiments.page import write_page
from robula.experiments.registry import FULL, QUICK, Plan, jobs_for
from robula.experiments.reproduce import reproduce
from robula.experiments.runner import Job, run_jobs

pytestmark = pytest.mark.filterwarnings("ignore::robula.exceptions.TruncationBiasWarning")

TINY = Plan(
    default={"n_clean": 80, "dim": 4, "contamination": 0.1},
    sweeps={"n_clean": (60, 80), "dim": (2, 4), "contamination": (0.1, 0.2)},
    regression_sweeps={"n_clean": (60, 80), "dim": (2, 4), "contamination": (0.1, 0.49)},
    runs=1,
    mean_steps=(20, 50),
    regression_steps=(20, 30),
    uncorrupted={"wisconsin": 1},
    flips={"wisconsin": 0.1},
    flip_levels=(0.2,),
    flip_runs=1,
    other_flip_runs=1,
    chains=2,
    segment={"default": 40},
    budget={"default": {"Rob-ULA": 80, "ULA": 80}},
    rows={"wisconsin": 120},
    reading_runs=1,
    reading_sizes=(100, 200),
)
FIGURES = ("figure1", "figure2", "figure3", "figure4", "figure5")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> tuple[Path, list]:
    out = tmp_path_factory.mktemp("tiny")
    return out, reproduce(FIGURES, out, plan=TINY, workers=2, progress=False)


@pytest.mark.parametrize("figure", FIGURES)
def test_every_figure_leaves_what_it_promises(tiny, figure):
    out, claims = tiny
    folder = out / figure
    table = pd.read_csv(folder / f"{figure}.csv")
    assert set(table["algorithm"]) == {"Rob-ULA", "ULA"}
    assert len(table) == 2 * len(jobs_for(figure, TINY, 0))
    assert (folder / f"{figure}.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (folder / f"{figure}.svg").read_text()[:1000]
    settings = json.loads((folder / "settings.json").read_text())
    assert settings["choices where the paper is silent"]
    assert settings["step sizes"]
    assert settings["seed"] == 0
    written = json.loads((folder / "claims.json").read_text())
    assert written == [claim.as_dict() for claim in claims if claim.figure == figure]
    assert {claim["verdict"] for claim in written} <= {
        "holds",
        "holds partly",
        "does not hold",
        "not run",
        "not judged",
    }


def test_other_readings_are_beside_what_does_not_hold(tiny):
    out, claims = tiny
    shown = [claim for claim in claims if claim.readings]
    for claim in shown:
        assert claim.verdict != "holds" or all(verdict != "holds" for _, verdict, _ in claim.readings)
    labels = {label for claim in shown if claim.figure == "figure3" for label, _, _ in claim.readings}
    assert labels == {
        "(1 - epsilon) share kept",
        "recursion on all rows",
        "lai2016 (all rows, medians)",
        "prior N(0, 100 I)",
        "4 times the steps",
    }
    text = (out / "figure3" / "claims.json").read_text()
    assert "lai2016" in text


def test_a_single_share_keeps_one_minus_epsilon():
    reading = READINGS["single-share"]
    assert (1.0 - reading.told(0.2)) ** 2 == pytest.approx(0.8)
    assert READINGS["letter"].told(0.2) == 0.2


def test_figures_1_and_2_share_their_runs(tiny):
    out, _ = tiny
    np.testing.assert_array_equal(
        pd.read_csv(out / "figure1/figure1.csv")["error"], pd.read_csv(out / "figure2/figure2.csv")["error"]
    )


def test_numbers_do_not_depend_on_the_number_of_workers(tiny, tmp_path):
    """Two worked for the figures, one for these: every fourth job of both kinds."""
    out, _ = tiny
    jobs = [job for figure in ("figure1", "figure3") for job in jobs_for(figure, TINY, 0)[::4]]
    run_jobs(jobs, tmp_path, 1, resume=False, progress=False)
    for job in jobs:
        assert without_times(tmp_path / f"{job.key}.json") == without_times(out / "jobs" / f"{job.key}.json")


def without_times(path: Path) -> list[dict]:
    rows = json.loads(path.read_text())["rows"]
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def test_the_documentation_page_is_written_from_the_output(tiny, tmp_path):
    out, claims = tiny
    write_page(out, tmp_path / "page.md", "abc1234", "On a test machine.", "Remarks.\n\n")
    text = (tmp_path / "page.md").read_text()
    assert "abc1234" in text
    assert "Remarks." in text
    for claim in claims:
        assert claim.finding.replace("|", "\\|") in text
    for figure in FIGURES:
        assert (tmp_path / "images" / "reproduction" / f"{figure}.png").exists()


def test_a_job_agrees_with_the_library():
    (row, _) = jobs_for("figure3", TINY, 3)[0].run({"regression": _regression()})["rows"]
    problem = robula.simulate.linear_regression(80, 4, 0.1, seed=3000)
    posterior = robula.rob_ula(problem.model, contamination=0.1, burn_in=20, draws=30, chains=1, seed=3000)
    assert row["error"] == np.linalg.norm(posterior.mean - problem.truth)


def _regression():
    from robula.experiments.synthetic import regression_job

    return regression_job


def test_resume_computes_nothing_twice(tmp_path):
    jobs = jobs_for("figure1", TINY, 0)[:4]
    run_jobs(jobs, tmp_path, 1, resume=False, progress=False)
    files = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(files) == 4
    next(iter(files)).unlink()
    (tmp_path / "half.part").write_text("{")
    run_jobs(jobs, tmp_path, 1, resume=True, progress=False)
    again = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert sum(again[path] != before for path, before in files.items()) == 1
    assert not (tmp_path / "half.part").exists()
    run_jobs(jobs[:1], tmp_path, 1, resume=False, progress=False)
    assert sum(path.stat().st_mtime_ns != again[path] for path in again) == 1


def test_unreadable_job_files_count_as_missing(tmp_path):
    jobs = jobs_for("figure1", TINY, 0)[:5]
    outcomes = run_jobs(jobs, tmp_path, 1, resume=False, progress=False)
    for job, content in zip(jobs, ["", '{"rows": [', "[]", '{"other": 1}'], strict=False):
        (tmp_path / f"{job.key}.json").write_text(content)
    again = run_jobs(jobs, tmp_path, 1, resume=True, progress=False)
    assert [outcome["rows"][0]["error"] for outcome in again] == [outcome["rows"][0]["error"] for outcome in outcomes]


def test_a_worker_whose_parent_is_gone_before_it_starts_leaves_at_once():
    """The parent's number is passed to it: asking the system would name whoever took the orphan over."""
    start = (
        "from robula.experiments.runner import leave_with_parent; import time; leave_with_parent({}); time.sleep(60)"
    )
    orphan = subprocess.run([sys.executable, "-c", start.format(2**22 + 1)], check=False, timeout=50)
    assert orphan.returncode == 1
    held = subprocess.Popen([sys.executable, "-c", start.format(os.getpid()).replace("sleep(60)", "sleep(3)")])
    assert held.wait(timeout=60) == 0


def test_a_failing_job_says_which():
    with pytest.raises(KeyError, match="unknown"):
        Job("unknown", {}).run({})


KILLED = """
import sys
from pathlib import Path
from robula.experiments.reproduce import reproduce
from tests.experiments.test_reproduce import TINY
if __name__ == "__main__":
    reproduce(("figure1",), Path(sys.argv[1]), plan=TINY, workers=2, resume=True, progress=False)
"""


@pytest.mark.slow
def test_killed_twice_and_resumed_the_table_is_the_same(tiny, tmp_path):
    """SIGKILL whenever a few more jobs are done; no worker stays behind, nothing is half-written."""
    root = Path(__file__).parents[2]
    (tmp_path / "run.py").write_text(KILLED)
    out = tmp_path / "out"
    command = [sys.executable, str(tmp_path / "run.py"), str(out)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(root / "src")])}
    rng = np.random.default_rng(0)
    for _ in range(2):
        before = len(list((out / "jobs").glob("*.json"))) if out.exists() else 0
        process = subprocess.Popen(command, cwd=root, env=environment)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            if out.exists() and len(list((out / "jobs").glob("*.json"))) > before + rng.integers(0, 2):
                break
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        for path in (out / "jobs").glob("*.json"):
            json.loads(path.read_text())
    subprocess.run(command, cwd=root, env=environment, check=True)
    whole, _ = tiny
    assert (out / "figure1/figure1.csv").read_bytes() == (whole / "figure1/figure1.csv").read_bytes()


def test_the_full_plan_is_the_papers():
    assert FULL.default == {"n_clean": 1000, "dim": 200, "contamination": 0.2}
    assert FULL.runs == 10
    assert (FULL.mean_steps, FULL.regression_steps) == ((300, 1000), (100, 300))
    assert FULL.regression_sweeps["contamination"][-1] == 0.49
    assert FULL.flips == {"breast-cancer": 0.1, "german": 0.1, "diabetes": 0.15}
    assert len(jobs_for("figure1", FULL, 0)) == 16 * 10
    assert len({job.key for job in jobs_for("figure5", FULL, 0)}) == len(jobs_for("figure5", FULL, 0))
    assert len(jobs_for("figure5", QUICK, 0)) < 12


def test_splits_scale_and_flip_as_stated():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(5, 9, 200), np.full(200, 3.0), rng.standard_normal(200)])
    data = Dataset("made up", X, (rng.uniform(size=200) < 0.5).astype(float), "", "", "")
    split = make_split(data, 0.1, np.random.default_rng(1), None)
    assert split.train_X.shape == (140, 3)
    assert split.test_X.shape == (60, 3)
    np.testing.assert_allclose(split.train_X[:, [0, 2]].min(axis=0), -1.0)
    np.testing.assert_allclose(split.train_X[:, [0, 2]].max(axis=0), 1.0)
    assert not split.train_X[:, 1].any()
    assert split.flipped.sum() == 14
    clean = make_split(data, 0.0, np.random.default_rng(1), None)
    np.testing.assert_array_equal(clean.train_y != split.train_y, split.flipped)
    np.testing.assert_array_equal(clean.test_y, split.test_y)


def test_scores():
    y = np.array([0.0, 1.0, 1.0, 1.0])
    assert calibration_error(np.array([0.05, 0.95, 0.95, 0.95]), y) == pytest.approx(0.05)
    assert calibration_error(np.array([0.95, 0.05, 0.05, 0.05]), y) == pytest.approx(0.95)
    assert calibration_error(np.array([1.0, 1.0, 1.0, 1.0]), y) == pytest.approx(0.25)
    values = log_likelihoods(np.array([[2.0], [-2.0]]), np.array([1.0, 1.0]), np.array([0.5, 1.0]))
    np.testing.assert_allclose(values, np.log(1 / (1 + np.exp([-2.5, 1.5]))))


def test_command_line(tmp_path, monkeypatch):
    runner = CliRunner()
    wrong = runner.invoke(app, ["reproduce", "figure9"])
    assert wrong.exit_code == 2
    assert "figure" in wrong.output
    monkeypatch.setattr("robula.experiments.reproduce.QUICK", TINY)
    result = runner.invoke(app, ["reproduce", "figure2", "--quick", "--out", str(tmp_path), "--jobs", "1"])
    assert result.exit_code == 0, result.output
    assert "verdict" in result.output
    assert (tmp_path / "claims.json").exists()


@pytest.mark.slow
def test_missing_data_sets_are_said_and_replaced(tmp_path, monkeypatch):
    monkeypatch.setenv("ROBULA_DATA_DIR", str(tmp_path / "empty"))
    plan = Plan(**{**TINY.__dict__, "flips": {"breast-cancer": 0.1}, "uncorrupted": {"phishing": 1}})
    claims = reproduce(("figure4", "figure5"), tmp_path / "out", plan=plan, workers=1, progress=False)
    not_run = [claim for claim in claims if claim.verdict == "not run"]
    assert {claim.figure for claim in not_run} == {"figure4", "figure5"}
    assert all("ROBULA_DATA_DIR" in claim.finding for claim in not_run)
    assert any("wisconsin" in claim.sentence for claim in claims)
