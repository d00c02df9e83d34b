"""Docs cannot drift: examples run, names exist, versions agree, links lead somewhere."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import yaml

import robula
from robula.kernels import KERNELS
from robula.selectors import SELECTORS

ROOT = Path(__file__).parents[1]
SITE = [page for page in sorted((ROOT / "docs").rglob("*.md")) if "_build" not in page.parts]
PAGES = [*sorted(ROOT.glob("*.md")), *SITE]


# Each compiles a sampler anew, as the tutorial does for the same calls.
LONG_EXAMPLES = ("index.md-2", "integrations.md-1", "integrations.md-2")


def code_blocks() -> list[tuple[str, str]]:
    """Every example that is to be run as it stands; whole files (CONTRIBUTING) have a test of their own.

    The cells of a page that is executed when the site is built are one example.
    """
    blocks = []
    for page in PAGES:
        text, name = page.read_text(), page.relative_to(ROOT).as_posix().removeprefix("docs/")
        for index, block in enumerate(re.findall(r"```python\n(?!# src/)(.*?)```", text, flags=re.S)):
            blocks.append((f"{name}-{index}", block))
        cells = re.findall(r"```\{code-cell\}\n((?:^:.*\n)*)(.*?)```", text, flags=re.S | re.M)
        if cells:
            blocks.append((f"{name}-cells", "\n".join(code for _, code in cells)))
    return blocks


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("name", "block"),
    [
        pytest.param(name, block, id=name, marks=pytest.mark.slow if name in LONG_EXAMPLES else ())
        for name, block in code_blocks()
    ],
)
def test_examples_run(name, block, capsys, monkeypatch):
    for package in re.findall(r"^(?:import|from) (jax|numpyro|pymc|bambi|blackjax|dask|pyarrow)", block, flags=re.M):
        pytest.importorskip(package)
    monkeypatch.setenv("MPLBACKEND", "agg")
    exec(compile(block, name, "exec"), {})
    plt.close("all")
    assert capsys.readouterr().out or name.endswith("idea.md-cells")  # which shows pictures only


def test_the_first_pages_example_is_short():
    block = dict(code_blocks())["index.md-0"]
    assert len(block.splitlines()) <= 25


def test_the_readmes_five_lines_find_the_truth_and_the_bad_rows():
    block = dict(code_blocks())["README.md-0"]
    names: dict = {}
    exec(compile(block, "README", "exec"), names)
    posterior = names["posterior"]
    assert abs(posterior.mean[1:4] - [1, 2, 3]).max() < 0.3
    assert posterior.row_weights[::10].max() < 0.05


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_local_links_exist(page):
    for target in re.findall(r"\]\((?!https?://)([^)#\s]+)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_page_is_in_one_table_of_contents():
    listed = []
    for page in SITE:
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(), flags=re.S):
            names = [line.strip() for line in tree.splitlines() if line.strip() and not line.startswith(":")]
            listed += [(page.parent / f"{name}.md").resolve() for name in names]
    assert len(listed) == len(set(listed))
    assert set(listed) | {ROOT / "docs" / "index.md"} == set(SITE)


def test_the_reference_has_every_public_name():
    text = "\n".join(page.read_text() for page in (ROOT / "docs" / "reference").glob("*.md"))
    rooms = set(re.findall(r"automodule:: (\S+)", text))
    described = set(re.findall(r"auto(?:function|class):: (\w+)", text))
    for room in rooms:
        module = importlib.import_module(room)
        described |= set(getattr(module, "__all__", ()))
    for name in robula.__all__:
        known = name in described or f"robula.{name}" in rooms or name == "__version__"
        assert known, f"{name} is not in docs/reference"


def test_every_environment_variable_is_documented():
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
    read = {name for path in sources for name in re.findall(r"\bROBULA_[A-Z_]+", path.read_text())}
    assert read == set(re.findall(r"\bROBULA_[A-Z_]+", (ROOT / "docs/reference/environment.md").read_text()))


def test_import_is_light_and_fast():
    """Little beside what it stands on (0.5 s of processor time on a quiet machine), and nothing optional.

    The same process imports NumPy and SciPy's parts first, so that a busy machine slows both; the best of three.
    """
    code = (
        "import sys, time; begun = time.process_time(); import numpy, scipy.linalg, scipy.optimize, scipy.special;"
        "below = time.process_time(); import robula; print((time.process_time() - below) / (below - begun));"
        "print(*(name for name in ('jax', 'arviz', 'matplotlib', 'pandas', 'sklearn') if name in sys.modules))"
    )
    said = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    ratios, extras = zip(*(run.stdout.split("\n")[:2] for run in said), strict=True)
    assert min(map(float, ratios)) < 1.0
    assert set(extras) == {""}


def modules() -> list[str]:
    return sorted(info.name for info in pkgutil.walk_packages(robula.__path__, "robula."))


@pytest.mark.parametrize("name", modules())
def test_docstring_examples(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


def test_every_public_name_is_documented():
    for name in robula.__all__:
        value = getattr(robula, name)
        if inspect.isclass(value) or inspect.isfunction(value) or inspect.ismodule(value):
            assert inspect.getdoc(value), f"{name} has no docstring"
    assert len(set(robula.__all__)) == len(robula.__all__)


def test_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    newest = re.search(r"^## \[(\d[^\]]*)\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text(), flags=re.M)
    assert newest is not None
    assert project == robula.__version__ == str(citation["version"]) == newest.group(1)
    assert str(citation["date-released"]) == newest.group(2)
    assert citation["preferred-citation"]["title"].startswith("Bayesian Robustness")


def test_every_citation_has_an_entry():
    entries = set(re.findall(r"@\w+\{(\w+),", (ROOT / "docs" / "refs.bib").read_text()))
    for part in [*SELECTORS.values(), *KERNELS.values(), robula.selectors.TrimmedLikelihood()]:
        assert set(part.citations) <= entries


def test_errata_name_tests_that_exist():
    tests = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    named = re.findall(r"\b(test_\w+)\b(?!\.py)", (ROOT / "docs" / "errata.md").read_text())
    assert named
    for name in named:
        assert f"def {name}(" in tests, name


def test_workflows_and_hooks_parse():
    files = [*(ROOT / ".github").rglob("*.yml"), ROOT / ".pre-commit-config.yaml"]
    assert len(files) > 4
    for path in files:
        assert yaml.safe_load(path.read_text())
