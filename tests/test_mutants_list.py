"""The list of mutations fits the source: none has rotted, and each names tests that are there."""

from __future__ import annotations

import ast
from collections import Counter

import pytest
from scripts.mutants import ROOT, SOURCE, mutants

MUTANTS = mutants()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutation_can_be_made(mutant):
    text = (SOURCE / mutant.path).read_text(encoding="utf-8")
    assert text.count(mutant.old) == 1, "old must stand exactly once in the file"
    changed = text.replace(mutant.old, mutant.new)
    assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text)), "the change must be one of meaning, and Python"


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_its_tests_exist(mutant):
    assert mutant.tests
    for test in mutant.tests:
        path, *names = test.split("[")[0].split("::")
        text = (ROOT / path).read_text(encoding="utf-8")
        assert all(f"def {name}(" in text or f"class {name}" in text for name in names)


def test_there_are_enough_and_each_has_a_name_of_its_own():
    assert len(MUTANTS) >= 60
    assert [name for name, count in Counter(mutant.name for mutant in MUTANTS).items() if count > 1] == []
