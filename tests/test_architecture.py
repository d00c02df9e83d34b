"""The one-way flow, read from the imports: data -> models -> selectors -> langevin -> chain -> result -> report."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "robula"
STAGES = ["data", "models", "selectors", "langevin", "chain", "result", "report"]
#: Modules any stage may use.
SHARED = {"_threads", "_warn", "_types", "_validation", "_optional", "_version", "exceptions", "theory"}
#: Side packages: they import the core, the core never imports them.
SIDE = {
    "__main__",
    "certification",
    "planning",
    "restarts",
    "step_halving",
    "sensitivity",
    "adapters",
    "simulate",
    "metrics",
    "experiments",
    "cli",
    "datasets",
    "sklearn",
    "tabular",
    "distributed",
}
OPTIONAL = {"jax", "numpyro", "pymc", "dask", "blackjax"}
FILES = sorted(SOURCE.rglob("*.py"))


def imports(path: Path, top_level_only: bool = False) -> set[str]:
    tree = ast.parse(path.read_text())
    nodes = tree.body if top_level_only else ast.walk(tree)
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add(node.module or "")
    return found


def part_of(path: Path) -> str:
    relative = path.relative_to(SOURCE)
    return relative.parts[0].removesuffix(".py")


def robula_parts(path: Path) -> set[str]:
    names = imports(path)
    if path != SOURCE / "__init__.py":
        assert "robula" not in names, f"{path}: import from the module itself, not from the package"
    return {name.split(".")[1] for name in names if name.startswith("robula.")}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_follow_the_flow(path):
    part, used = part_of(path), robula_parts(path)
    if part in STAGES:
        earlier = set(STAGES[: STAGES.index(part) + 1])
        assert used <= earlier | SHARED, f"{path} imports a later stage or a side package: {used - earlier - SHARED}"
    elif part == "sampler":
        assert used <= set(STAGES) | SHARED
    elif part in SHARED:
        assert used <= SHARED, f"{path} is shared by all stages and may not depend on one"
    else:
        assert part in SIDE | {"__init__"}, (
            f"{part} is neither a stage, shared, nor a side package: say which it is here"
        )


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_optional_dependencies_are_imported_inside_functions(path):
    assert not {name.split(".")[0] for name in imports(path, top_level_only=True)} & OPTIONAL


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_randomness_and_pickle(path):
    text = path.read_text()
    assert "np.random.seed" not in text
    assert "np.random.rand" not in text
    assert "import pickle" not in text
    assert "allow_pickle=True" not in text


def test_files_stay_small():
    long = {str(path): len(path.read_text().splitlines()) for path in FILES}
    assert {path: lines for path, lines in long.items() if lines > 350} == {}
