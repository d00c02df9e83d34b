"""Docs cannot drift: examples run, names exist, versions agree, links lead somewhere."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
import tomllib
from pathlib import Path

import pytest
import yaml

import robula
from robula.kernels import KERNELS
from robula.selectors import SELECTORS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]


def code_blocks() -> list[tuple[str, str]]:
    blocks = []
    for page in PAGES:
        for index, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.S)):
            blocks.append((f"{page.name}-{index}", block))
    return blocks


@pytest.mark.parametrize(("name", "block"), code_blocks(), ids=lambda value: value if len(value) < 40 else "")
def test_examples_run(name, block, capsys):
    exec(compile(block, name, "exec"), {})
    assert capsys.readouterr().out


def test_the_readmes_five_lines_find_the_truth_and_the_bad_rows():
    block = dict(code_blocks())["README.md-0"]
    names: dict = {}
    exec(compile(block, "README", "exec"), names)
    posterior = names["posterior"]
    assert abs(posterior.mean - [1, 2, 3]).max() < 0.3
    assert posterior.row_weights[::10].max() < 0.05


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_local_links_exist(page):
    for target in re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


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
    newest = re.search(r"^## \[(\d[^\]]*)\]", (ROOT / "CHANGELOG.md").read_text(), flags=re.M)
    assert newest is not None
    assert project == robula.__version__ == str(citation["version"]) == newest.group(1)
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
    for path in (ROOT / ".github/workflows/ci.yml", ROOT / ".pre-commit-config.yaml"):
        assert yaml.safe_load(path.read_text())
