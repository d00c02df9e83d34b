"""The leaderboard: a few cells for real, resuming after a kill, and the page's arithmetic on made-up results."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from benchmarks.leaderboard import settings
from benchmarks.leaderboard.__main__ import RESULTS
from benchmarks.leaderboard.checks import all_checks
from benchmarks.leaderboard.page import text, write_all
from benchmarks.leaderboard.registry import jobs, known_methods
from benchmarks.leaderboard.regression import make_problem, pareto_k, starting_points
from benchmarks.leaderboard.restore import restore
from benchmarks.leaderboard.scores import information_bound, posterior_scores
from benchmarks.leaderboard.tables import as_table, cells, usable, winners

ROOT = Path(__file__).parents[2]


def start(folder, methods):
    command = [
        sys.executable,
        "-m",
        "benchmarks.leaderboard",
        "--quick",
        "--jobs",
        "1",
        "--methods",
        methods,
        "--out",
        str(folder),
    ]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def results(folder):
    return {path.name: json.loads(path.read_text())["rows"][0] for path in folder.glob("leaderboard-*.json")}


def test_a_few_cells_for_real(tmp_path):
    pytest.importorskip("numpyro")
    pytest.importorskip("statsmodels", minversion="0.15")
    process = start(tmp_path, "ula,clean_nuts,mm")
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    found = {(row["kind"], row["attack"], row["method"]): row for row in results(tmp_path).values()}
    assert len(found) == 11
    assert not any("error" in row for row in found.values()), output
    for attack in ("none", "paper", "sentinel_response"):
        oracle = found["regression", attack, "clean_nuts"]
        assert oracle["bias"] < 4 * oracle["bias_mcse"]
        assert oracle["spread"] == pytest.approx(1.0, abs=5 * oracle["spread_mcse"])
        assert oracle["effective_draws"] > 3000
    # Negative control: plain ULA follows the sentinel, and MM does not.
    assert found["regression", "sentinel_response", "ula"]["bias"] > 50
    assert found["regression", "sentinel_response", "mm"]["bias"] < 1


@pytest.mark.slow
def test_a_killed_run_goes_on_and_tries_failures_again(tmp_path):
    first = start(tmp_path, "ula")
    deadline = time.monotonic() + 120
    while len(results(tmp_path)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    time.sleep(2.0)  # the worker leaves within a second of its parent
    failed, *kept = sorted(results(tmp_path).items())
    times = {name: (tmp_path / name).stat().st_mtime_ns for name, _ in kept}
    assert times
    (tmp_path / failed[0]).write_text(json.dumps({"rows": [{"error": "out of memory"}]}))
    second = start(tmp_path, "ula")
    output, _ = second.communicate(timeout=300)
    assert second.returncode == 0, output
    assert len(results(tmp_path)) == len(jobs(["ula"], quick=True)) == 5
    assert {name: (tmp_path / name).stat().st_mtime_ns for name, _ in kept} == times
    # The same seed gives the same figures.
    assert {**results(tmp_path)[failed[0]], "seconds": 0} == {**failed[1], "seconds": 0}


def test_every_method_and_cell_is_listed():
    every = jobs()
    assert len({job.key for job in every}) == len(every)
    regression = [
        job.parameters for job in every if job.kind == "leaderboard-regression" and job.parameters["method"] == "nuts"
    ]
    assert len(regression) == len(settings.DIMS) * (11 * 4 * 3 + 5)
    assert {job.parameters["method"] for job in every} == set(known_methods())


def test_sampling_floor_is_what_exact_draws_show():
    problem = make_problem("none", 20, 0.0, 1)
    draws = np.random.default_rng(0).multivariate_normal(*problem.clean_posterior, (4, 500))
    scores = posterior_scores(draws, problem)
    assert scores["w2"] == pytest.approx(scores["w2_floor"], rel=0.15)


def test_starts_and_pareto_k():
    problem = make_problem("sentinel_response", 5, 0.1, 1)
    starts = starting_points(problem.model.design, problem.model.y)
    distances = [np.linalg.norm(start - problem.truth) for start in starts]
    assert min(distances) < 0.2 < distances[0]
    assert pareto_k(problem, 0, draws=200).shape == (problem.model.n_rows,)


def made_up(bias, w2_of_rival, method="robula"):
    rows = []
    for attack in ("none", "paper", "adaptive"):
        for seed in settings.SEEDS:
            base = {
                "kind": "regression",
                "attack": attack,
                "dim": 20,
                "epsilon": 0.0 if attack == "none" else 0.1,
                "seed": seed,
            }
            figures = {"spread": 1.0, "w2_floor": 0.0, "coverage": 0.9, "effective_draws": 5000.0, "seconds": 1.0}
            ours = 0.01 if attack == "none" else bias
            rows.append({**base, **figures, "method": method, "bias": ours, "w2": ours, "auc": 0.9})
            rows.append({**base, **figures, "method": "mixture", "bias": w2_of_rival, "w2": w2_of_rival, "auc": 0.8})
            rows.append({**base, "method": "pareto_k", "auc": 0.6})
    for split in range(3):
        for flips, likelihoods in (("none", (-0.1, -0.1, -0.1)), ("random 0.1", (-0.3, -0.3, -0.18 + bias - 0.2))):
            for name, value in zip(("nuts", "ula", method), likelihoods, strict=True):
                rows.append(
                    {"kind": "logistic", "dataset": "german", "attack": flips, "seed": split, "method": name,
                     "log_likelihood": value, "calibration_error": 0.05}
                )  # fmt: skip
    return rows


def test_checks_pass_and_fail():
    good = all_checks(as_table(made_up(0.2, 2.0)))
    assert {check.item for check in good} == {"1 regression", "3 logistic", "4 rows"}
    assert all(check.passed for check in good), [check for check in good if not check.passed]
    poor = {check.target: check for check in all_checks(as_table(made_up(1.5, 0.5)))}
    missed = [check for check in poor.values() if not check.passed]
    assert {miss.split(":")[0] for check in missed for miss in check.misses} >= {
        "paper d=20 eps=0.1",
        "adaptive d=20 eps=0.1",
    }
    assert len([check for check in missed if check.item == "1 regression"]) == 4
    assert all_checks(as_table([row for row in made_up(0.2, 2.0) if row["method"] != "robula"])) == []


def test_logistic_check_asks_for_half_of_the_gap():
    rows = [
        {**row, "log_likelihood": -0.25} if row["method"] == "robula" and row["attack"] == "random 0.1" else row
        for row in made_up(0.2, 2.0)
    ]
    missed = [check for check in all_checks(as_table(rows)) if not check.passed]
    assert [check.item for check in missed] == ["3 logistic"]
    assert missed[0].misses == ["german random 0.1: 0.250"]


def test_winner_need_not_be_ours():
    table = cells(usable(as_table(made_up(1.5, 0.5)), "regression"))
    assert set(winners(table[table["epsilon"] > 0])["method"]) == {"mixture"}
    assert table["bound"].max() == pytest.approx(information_bound(0.1, 1000, 20)) == pytest.approx(1.23, abs=0.01)


def test_page_figure_and_table(tmp_path):
    (tmp_path / "benchmarks" / "leaderboard").mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    rows = [*made_up(0.2, 2.0), {"kind": "mean", "attack": "mean shift", "dim": 5, "epsilon": 0.1, "seed": 101,
            "method": "robula_estimate", "skipped": "not yet"}]  # fmt: skip
    write_all(rows, tmp_path)
    page = (tmp_path / "docs" / "leaderboard.md").read_text()
    assert "robula (default" in page
    assert "robula_estimate, 1 runs: not yet" in page
    assert (tmp_path / "docs" / "images" / "leaderboard.png").stat().st_size > 10_000
    assert (tmp_path / "benchmarks" / "leaderboard" / "results.csv").read_text().startswith("kind,dataset,attack")
    assert text(as_table(rows)) == page


def test_committed_results_are_taken_as_finished_cells(tmp_path):
    lines = RESULTS.read_text().splitlines()[1:]
    assert restore(RESULTS, tmp_path) == len(lines) == len(list(tmp_path.glob("*.json")))
    assert restore(RESULTS, tmp_path) == 0
