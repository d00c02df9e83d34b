"""The command line, as a user calls it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import robula
from robula.cli.main import app

RUNNER = CliRunner()


def test_version_and_help():
    assert RUNNER.invoke(app, ["--version"]).output.strip() == f"robula {robula.__version__}"
    assert "demo" in RUNNER.invoke(app, ["--help"]).output


def test_demo_writes_what_it_says(tmp_path):
    result = RUNNER.invoke(app, ["demo", "--out", str(tmp_path / "out"), "--seed", "1"])
    assert result.exit_code == 0, result.output
    picture = tmp_path / "out" / "demo.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 50_000
    posterior = robula.load(tmp_path / "out" / "posterior.npz")
    assert posterior.draws.shape == (4, 1000, 2)
    for word in ("plain Langevin", "Rob-ULA", "robula on all rows", "bias", "45 of the 45 bad rows"):
        assert word in " ".join(result.output.split())


def test_importing_robula_imports_nothing_optional_or_slow():
    """ArviZ, JAX and matplotlib load when they are used."""
    check = (
        "import sys, robula; print([m for m in ('jax', 'arviz', 'matplotlib', 'numpyro', 'pymc') if m in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"


def test_benchmark_prints_its_ratios():
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "benchmarks.speed", "--quick", "--sections", "1"]
    output = subprocess.run(command, capture_output=True, text=True, cwd=root, check=True).stdout
    assert "exact / primitives" in output


def test_progress_bar_shows_on_a_terminal(monkeypatch, capsys):
    import numpy as np

    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    model = robula.MeanModel(np.random.default_rng(0).standard_normal((20, 2)))
    robula.sample(model, contamination=0.0, draws=50, progress=True)
    assert "sampling" in capsys.readouterr().err
    monkeypatch.undo()
    robula.sample(model, contamination=0.0, draws=50, progress=False)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("arguments", [["demo", "--seed", "-1"], ["unknown"]])
def test_wrong_use_exits_with_a_message(arguments):
    result = RUNNER.invoke(app, arguments)
    assert result.exit_code == 2
