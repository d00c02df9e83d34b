"""ARCHITECTURE.md shows the house as it is: its drawing, its rooms, and files that exist."""

from __future__ import annotations

import re

from scripts.draw_house import PAGE, ROOT, drawing, page_with

from tests.test_architecture import MAY_IMPORT, SOURCE

TEXT = PAGE.read_text(encoding="utf-8")


def test_the_drawing_is_that_of_the_imports():
    assert page_with(drawing(), TEXT) == TEXT, "run python scripts/draw_house.py"


def test_an_import_more_would_be_noticed():
    """Negative control: another drawing is another page."""
    assert page_with(drawing().replace("tables --> models", "models --> tables"), TEXT) != TEXT


def test_every_room_has_a_line():
    named = set(re.findall(r"^\| `(\w+)", TEXT, flags=re.M))
    assert set(MAY_IMPORT) - {"__main__"} - named == set()


def test_the_files_it_names_exist():
    named = re.findall(r"`((?:src|tests|scripts|docs|benchmarks)/[\w./]+)`", TEXT)
    assert len(named) > 10
    examples = {"src/robula/models/weibull_model.py", "src/robula/kernels/mala.py", "src/robula/selectors/my_mean.py"}
    assert [name for name in named if not (ROOT / name).exists() and name not in examples] == []
    assert not any((SOURCE.parents[1] / name).exists() for name in examples)
