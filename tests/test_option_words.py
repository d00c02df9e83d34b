"""Sentences for users of Python, said to users of the command line."""

from __future__ import annotations

import ast
import inspect

import pytest

from robula import _option_words
from robula._option_words import SHARED_NAMES, as_options
from robula.cli.commands import fit
from robula.models import MODELS
from tests.test_architecture import FILES, SOURCE

SAID = {
    "The whole of contamination=0.1 is used up": "The whole of --contamination 0.1 is used up",
    "declare it as contamination=.": "declare it as --contamination.",
    "Pass noise_scale= as a number, or use contamination=0.": (
        "Pass --noise-scale as a number, or use --contamination 0."
    ),
    'run longer, or use kernel="auto".': "run longer, or use --kernel auto.",
    "contamination='two rows' is not a number": "--contamination 'two rows' is not a number",
    "y has 2 value(s) that are not counts": "the column of --target has 2 value(s) that are not counts",
    "-99, once, looks like a code for missing: take -99 for missing and drop these rows.": (
        "-99, once, looks like a code for missing: leave these rows out with --missing -99 --drop-missing."
    ),
    "try NegativeBinomialModel": "try --model negative-binomial",
    "--draws=0 is not allowed": "--draws=0 is not allowed",
    "posterior.draws=3, withdraws=3": "posterior.draws=3, withdraws=3",
}


@pytest.mark.parametrize(("python", "typed"), SAID.items())
def test_arguments_are_said_as_options(python, typed):
    assert as_options(python) == typed


def test_every_name_is_an_option_and_every_model_is_known():
    assert set(SHARED_NAMES) <= set(inspect.signature(fit).parameters)
    assert {_option_words._dashed(name).replace("-", "_") for name in _option_words._MODELS} <= set(MODELS)


def test_every_phrase_is_said_somewhere():
    """A sentence that was reworded would reach the command line in the words of Python."""
    said = "\n".join(
        node.value
        for path in FILES
        if path != SOURCE / "_option_words.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    assert [phrase for phrase in _option_words._PHRASES if phrase not in said] == []
