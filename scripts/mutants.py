"""Change the source in ways that matter, one at a time, and see whether the tests notice.

    python scripts/mutants.py [--only NAME] [--jobs 2] [--results FILE]

scripts/mutants.toml has the list. Each mutation is made in a temporary copy of src, never in the tree, and only the
tests that should notice are run. Those tests must pass on the source as it is, which is looked at first. With
--results, what was found is kept in a file, and mutants in it are not run again. Exit code 1: under 95 % were caught.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
WANTED = 0.95
# Seconds that the tests of one mutant may take; a mutant that never ends has been noticed.
PATIENCE = 300.0
# pytest's exit codes: all passed, some failed. Any other means that the tests were not run.
PASSED, FAILED = 0, 1


@dataclass(frozen=True)
class Mutant:
    """One change: ``old`` stands once in ``src/robula/<file>`` and becomes ``new``; ``tests`` should notice."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    reason: str

    @property
    def path(self) -> Path:
        """The file, from the folder src."""
        return Path("robula") / self.file


def mutants() -> list[Mutant]:
    """Return the committed list."""
    entries = tomllib.loads((ROOT / "scripts" / "mutants.toml").read_text(encoding="utf-8"))["mutant"]
    return [Mutant(**{**entry, "tests": tuple(entry["tests"])}) for entry in entries]


def exit_code(tests: tuple[str, ...], mutant: Mutant | None = None) -> int:
    """Run tests on a copy of the source, changed or as it is, and return pytest's exit code."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "src"
        shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        if mutant is not None:
            changed = copy / mutant.path
            changed.write_text(changed.read_text(encoding="utf-8").replace(mutant.old, mutant.new, 1), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-cov", *tests]
        environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            ran = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, timeout=PATIENCE if mutant else None
            )
        except subprocess.TimeoutExpired:
            return FAILED
        if mutant is None and ran.returncode != PASSED:
            print(ran.stdout.decode(errors="replace")[-4000:], file=sys.stderr)
        return ran.returncode


def look_at(mutant: Mutant) -> str:
    """Return "caught" or "survived"; tests that could not be run have caught nothing."""
    code = exit_code(mutant.tests, mutant)
    return {PASSED: "survived", FAILED: "caught"}.get(code, f"not run, pytest exit code {code}")


def main() -> int:
    """Look at every mutant that was asked for, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="mutants whose name holds this")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", type=Path, help="JSON file to keep what was found, and to go on from")
    options = parser.parse_args()
    known = json.loads(options.results.read_text()) if options.results and options.results.exists() else {}
    chosen = [mutant for mutant in mutants() if options.only in mutant.name]
    found = {mutant.name: known[mutant.name] for mutant in chosen if mutant.name in known}
    left = [mutant for mutant in chosen if mutant.name not in known]
    tests = tuple(sorted({test for mutant in left for test in mutant.tests}))
    if tests and exit_code(tests) != PASSED:
        print("the tests do not pass on the source as it is: mend that first.", file=sys.stderr)
        return 2
    with ThreadPoolExecutor(options.jobs) as pool:
        for mutant, outcome in zip(left, pool.map(look_at, left), strict=True):
            print(f"{outcome:9} {mutant.name}: {mutant.reason}", flush=True)
            found[mutant.name] = outcome
            if options.results:
                options.results.write_text(json.dumps({**known, **found}, indent=1))
    caught = sum(outcome == "caught" for outcome in found.values())
    print(f"{caught} of {len(found)} caught ({caught / max(len(found), 1):.1%})")
    print(*(f"  {name}: {outcome}" for name, outcome in found.items() if outcome != "caught"), sep="\n")
    return 0 if caught >= WANTED * len(found) else 1


if __name__ == "__main__":
    sys.exit(main())
