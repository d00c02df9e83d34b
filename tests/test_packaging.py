"""What is declared is what is checked: lower bounds, the files of the source archive, the jobs of CI."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_oldest_versions_are_the_declared_lower_bounds():
    declared = [*PROJECT["project"]["dependencies"]]
    for extra, requirements in PROJECT["project"]["optional-dependencies"].items():
        if extra not in ("bench", "dev", "docs"):
            declared += [line for line in requirements if not line.startswith("robula[")]
    bounds = dict(re.match(r"([\w-]+)>=([\d.]+)", line).groups() for line in declared)
    lines = (ROOT / "scripts" / "oldest.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    assert pinned == bounds


def test_the_source_archive_has_everything_that_make_needs():
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert all((ROOT / name).exists() for name in included)
    ours = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")}
    kept = {
        "src",
        "tests",
        "docs",
        "examples",
        "benchmarks",
        "scripts",
        "Makefile",
        "README.md",
        "CHANGELOG.md",
        "LICENSE",
    }
    assert kept <= set(included)
    assert {name for name in ours if name.endswith(".md") or name in kept} <= set(included)


def test_ci_runs_every_python_that_is_declared_and_every_script():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]
    declared = {
        line.rsplit(" ", 1)[1] for line in PROJECT["project"]["classifiers"] if re.search(r"Python :: 3\.\d+$", line)
    }
    for job in ("test", "wheel"):
        assert set(jobs[job]["strategy"]["matrix"]["python-version"]) == declared
    commands = " ".join(step.get("run", "") for job in jobs.values() for step in job["steps"])
    for script in (ROOT / "scripts").glob("*.sh"):
        assert f"scripts/{script.name}" in commands
        assert script.stat().st_mode & 0o111, f"{script.name} cannot be run"
