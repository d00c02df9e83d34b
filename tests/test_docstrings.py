"""help() of a public function says what goes in and what comes out."""

from __future__ import annotations

import inspect

import pytest

import robula
from robula import metrics, theory

FUNCTIONS = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (robula, theory, metrics)
    for name in module.__all__
    if inspect.isfunction(getattr(module, name))
}
#: Sections that another function has for it.
ELSEWHERE = {"robula.theory.corrected_wasserstein_bound"}


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - ELSEWHERE))
def test_arguments_and_result_have_their_sections(name):
    function, said = FUNCTIONS[name], inspect.getdoc(FUNCTIONS[name]) or ""
    missing = [words for words in ("Parameters\n---", "Returns\n---") if words not in said]
    if name.startswith("robula.theory"):
        missing = [words for words in missing if words != "Returns\n---"]  # a bound, as the first line says
    assert not (inspect.signature(function).parameters and missing)
