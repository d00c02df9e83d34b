"""The one-way flow, read from the imports.

    tables -> models -> selectors -> target -> kernels -> run -> result -> diagnosis -> reporting

A room may import itself, the shared modules, and what its line in MAY_IMPORT names: earlier rooms of the flow. The one
arrow against the reading order is run -> result: a run ends by making its result, and the result knows nothing of
runs. ``theory`` is a leaf: only NumPy and SciPy. Everything else (integrations, sklearn, simulate, datasets,
experiments, workflow, cli, metrics) imports the core, and the core never imports it.
"""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "robula"
#: Modules any room may use; among themselves they use only each other.
SHARED = {
    "_files",
    "_imports",
    "_intervals",
    "_option_words",
    "_threads",
    "_types",
    "_validation",
    "_version",
    "exceptions",
}
#: The core: what each room may import besides itself and the shared modules.
MAY_IMPORT = {
    "theory": set(),
    "tables": set(),
    "models": {"tables"},
    "selectors": {"tables", "models", "theory"},  # the recursive mean's own limits
    "target": {"models", "selectors"},
    "kernels": {"target"},  # its types only, see below
    "result": {"models"},
    "run": {"tables", "models", "selectors", "target", "kernels", "result"},
    "diagnosis": {"tables", "models", "selectors", "target", "kernels", "run", "result", "theory"},
    "reporting": {"tables", "models", "result", "diagnosis"},
    # Side rooms: whatever of the core they need, and the side rooms named here.
    "metrics": {"tables", "models", "result"},
    "simulate": {"tables", "models"},
    "datasets": set(),
    "integrations": {"tables", "models", "selectors", "target", "kernels", "run"},
    "sklearn": {"tables", "models", "selectors", "kernels", "run", "result"},
    "workflow": {
        "tables",
        "models",
        "selectors",
        "target",
        "run",
        "result",
        "diagnosis",
        "reporting",
        "theory",
        "sklearn",
    },
    "experiments": {"models", "selectors", "target", "run", "result", "metrics", "simulate", "datasets"},
    "cli": {"tables", "result", "theory", "workflow", "experiments", "datasets"},
    "__main__": {"cli"},
}
CORE = ["tables", "models", "selectors", "target", "kernels", "run", "result", "diagnosis", "reporting", "theory"]
OPTIONAL = {"jax", "numpyro", "pymc", "dask", "blackjax"}
FILES = sorted(SOURCE.rglob("*.py"))
every_file = pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))


def modules(nodes: list[ast.stmt] | list[ast.AST], path: Path) -> set[str]:
    """Modules that these nodes import."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add(node.module or "")
    return found


def imports(path: Path) -> set[str]:
    return modules(list(ast.walk(ast.parse(path.read_text()))), path)


def imports_on_loading(path: Path) -> set[str]:
    """Imports at the top of the file, without those inside functions and for the type checker only."""
    return modules(ast.parse(path.read_text()).body, path)


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def rooms_used(names: set[str]) -> set[str]:
    return {name.split(".")[1] for name in names if name.startswith("robula.")}


@every_file
def test_imports_follow_the_flow(path):
    room, names = room_of(path), imports(path)
    if path == SOURCE / "__init__.py":
        return
    assert "robula" not in names, f"{path}: import from the module itself, not from the package"
    used = rooms_used(names) - {room}
    if room in SHARED:
        assert used <= SHARED, f"{path} is shared by all rooms and may not depend on one"
        return
    assert room in MAY_IMPORT, f"{room} is neither shared nor in MAY_IMPORT: say there what it may import"
    assert used <= MAY_IMPORT[room] | SHARED, f"{path} imports {used - MAY_IMPORT[room] - SHARED}"


def test_the_table_has_no_circles_and_no_idle_lines():
    """Whoever follows the arrows ends at a leaf, the core never reaches a side room, and every arrow is in use."""
    left = dict(MAY_IMPORT)
    while left:
        leaves = {room for room, used in left.items() if not used & set(left)}
        assert leaves, f"circle among {set(left)}"
        left = {room: used for room, used in left.items() if room not in leaves}
    assert all(MAY_IMPORT[room] <= set(CORE) for room in CORE)
    used = {room: set() for room in MAY_IMPORT}
    for path in FILES:
        used.setdefault(room_of(path), set()).update(rooms_used(imports(path)))
    idle = {room: allowed - used[room] for room, allowed in MAY_IMPORT.items() if allowed - used[room]}
    assert idle == {}


@pytest.mark.parametrize("path", sorted((SOURCE / "kernels").glob("*.py")), ids=lambda path: path.name)
def test_kernels_know_the_target_only_by_its_types(path):
    assert "target" not in rooms_used(imports_on_loading(path))


def test_file_names_need_no_folder_to_be_understood():
    names = Counter(path.name for path in FILES if path.name != "__init__.py" and room_of(path) != "experiments")
    assert {name for name, count in names.items() if count > 1} == set()


def test_no_public_function_shadows_a_module():
    """``import robula.a.b`` must give the module b, whatever the packages above it bind."""
    for init in SOURCE.rglob("__init__.py"):
        folder = init.parent
        package = ".".join(folder.relative_to(SOURCE.parent).parts)
        beside = {path.stem for path in folder.glob("*.py")} | {
            path.parent.name for path in folder.glob("*/__init__.py")
        }
        for node in ast.parse(init.read_text()).body:
            bound = set()
            if isinstance(node, ast.ImportFrom) and node.module != package:
                bound = {alias.asname or alias.name for alias in node.names}
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                bound = {node.name}
            assert not bound & beside, f"{init} binds {bound & beside} over a module of that name"


@every_file
def test_optional_dependencies_are_imported_inside_functions(path):
    assert not {name.split(".")[0] for name in imports_on_loading(path)} & OPTIONAL


@every_file
def test_randomness_and_pickle(path):
    text = path.read_text()
    assert "np.random.seed" not in text
    assert "np.random.rand" not in text
    assert "import pickle" not in text
    assert "allow_pickle=True" not in text


def test_files_stay_small():
    lines = {str(path.relative_to(SOURCE)): len(path.read_text().splitlines()) for path in FILES}
    assert {name: count for name, count in lines.items() if count > 350} == {}
