"""A new model, robust mean and kernel are one file each: those of CONTRIBUTING.md, in a copy of the package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = dict(
    re.findall(r"```python\n# src/(robula/\S+)\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
)
#: The file, the name it registers, and the tests that must take it up by themselves.
MEMBERS = {
    "robula/models/exponential_model.py": (
        "exponential",
        ["contract/test_models.py", "contract/test_laws.py", "models/test_posterior_mode.py"],
    ),
    "robula/selectors/trimmed_mean.py": ("trimmed_mean", ["contract/test_selectors.py"]),
    "robula/kernels/midpoint.py": ("midpoint", ["contract/test_kernels.py"]),
}


def run_contract(folder: Path, file: str, code: str) -> subprocess.CompletedProcess[str]:
    """Copy the package and its tests, add one file and run the contract tests of the new name in a new process."""
    name, tests = MEMBERS[file]
    # With what is compiled already: the copies keep their times, so Python takes it.
    shutil.copytree(ROOT / "src", folder / "src")
    shutil.copytree(ROOT / "tests", folder / "tests")
    shutil.copy(ROOT / "pyproject.toml", folder)
    (folder / "src" / file).write_text(code)
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-k",
            name,
            *(f"tests/{test}" for test in tests),
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_page_has_all_three():
    assert set(EXAMPLES) == set(MEMBERS)
    assert all(len(code.splitlines()) < 60 for code in EXAMPLES.values())


@pytest.mark.parametrize("file", MEMBERS)
def test_the_example_passes_the_contract(file, tmp_path):
    done = run_contract(tmp_path, file, EXAMPLES[file])
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    passed = int(re.search(r"(\d+) passed", done.stdout).group(1))
    assert passed >= 5, done.stdout


def test_a_wrong_model_is_caught(tmp_path):
    """Negative control: a score of the wrong sign."""
    file = "robula/models/exponential_model.py"
    wrong = EXAMPLES[file].replace("np.exp(-eta) - 1.0", "np.exp(-eta) + 1.0")
    assert wrong != EXAMPLES[file]
    assert run_contract(tmp_path, file, wrong).returncode == 1
