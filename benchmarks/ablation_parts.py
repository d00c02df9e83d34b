"""The parts of the trust rule, and how each is switched off from outside; the library has no option for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from robula.models.law import ModelWithLaw
from robula.selectors.trust import (
    bad_group,
    beginnings,
    leaders,
    scored_rows,
    trust_constants,
    trust_search,
)
from robula.selectors.trust.bad_population import BadPopulation
from robula.selectors.trust.chance_of_mistake import Places
from robula.selectors.trust.scored_rows import ScoredRows


def _attribute(owner: object, name: str, value: object) -> Callable[[ExitStack], None]:
    return lambda stack: stack.enter_context(patch.object(owner, name, value))


def _freedoms(*freedoms: int) -> Callable[[ExitStack], None]:
    return _attribute(scored_rows, "FREEDOMS", freedoms)


def _suspects(keep: Callable[[str], bool]) -> Callable[[ExitStack], None]:
    def off(stack: ExitStack) -> None:
        for name in ("suspects_by_place", "suspects_by_score"):
            whole = getattr(trust_search, name)

            def some(*arguments: Any, whole: Any = whole, **options: Any) -> dict[str, Any]:
                return {who: rows for who, rows in whole(*arguments, **options).items() if keep(who)}

            stack.enter_context(patch.object(trust_search, name, some))

    return off


def _without_beginning(place: int) -> Callable[[ExitStack], None]:
    whole = beginnings.beginning_parameters

    def fewer(rows: ScoredRows, budget: float) -> list[np.ndarray]:
        found = whole(rows, budget)
        return [theta for index, theta in enumerate(found) if index != place]

    return _attribute(trust_search, "beginning_parameters", fewer)


def _without_shifted_rows(stack: ExitStack) -> None:
    stack.enter_context(patch.object(trust_search, "_shifts", lambda explanation: []))
    PARTS["shifted rows that need not pay"](stack)


def _without_histogram(stack: ExitStack) -> None:
    begun = BadPopulation.__init__

    def plain(self: BadPopulation, *arguments: Any, **options: Any) -> None:
        begun(self, *arguments, **options)
        self.histogram_share = 1e-12

    stack.enter_context(patch.object(BadPopulation, "__init__", plain))


def _gate_without(place: int) -> Callable[[ExitStack], None]:
    from robula.selectors.trust import bad_population

    whole = bad_population.gate_columns

    def fewer(*arguments: Any) -> np.ndarray:
        columns = whole(*arguments)
        columns[:, place] = 0.0
        return columns

    return _attribute(bad_population, "gate_columns", fewer)


def _as_it_is(stack: ExitStack) -> None:
    """Change nothing."""


#: What is left out, and how.
PARTS: dict[str, Callable[[ExitStack], None]] = {
    "(the rule)": _as_it_is,
    "law free from place to place": _freedoms(1, 0),
    "any freedom of the law": _freedoms(0),
    "shifted rows": _without_shifted_rows,
    "shifted rows that need not pay": _attribute(bad_group, "_is_anywhere", lambda group: False),
    "populations": _suspects(lambda who: who in ("high", "low")),
    "histogram of a population": _without_histogram,
    "gate: place": _gate_without(1),
    "gate: disagreement": _gate_without(2),
    "gate: distance": _gate_without(3),
    "price of a row": _attribute(trust_constants, "KEEPING", 0.0),
    "price of rows that are not odd": _attribute(trust_constants, "SEEN", 0.0),
    "coarsening": _attribute(trust_constants, "ROWS_OF_A_NEAR_LAW", 1e9),
    "wrong cells": _attribute(ModelWithLaw, "cell_odds", lambda self: np.full(self.n_rows, -np.inf)),
    "places of mistakes": _attribute(Places, "excuse", lambda self, weights, decisive: (weights, None)),
    "beginning: best half": _without_beginning(1),
    "beginning: near rows": _without_beginning(2),
    "suspects: directions": _suspects(lambda who: not who.startswith("direction")),
    "suspects: one response": _suspects(lambda who: who != "one response"),
    "suspects: large": _suspects(lambda who: who != "large"),
    "all leaders but one": _attribute(leaders, "LOOKS", ((3, 2), (8, 1))),
    "a search without limit": _attribute(trust_search, "_asked_without_limit", lambda found: found),
    "leverage in scores": _attribute(ScoredRows, "leverage", lambda self, weights, theta: np.zeros(self.count)),
}


@contextmanager
def without(part: str) -> Iterator[None]:
    """Run with one part of the rule switched off."""
    with ExitStack() as stack:
        PARTS[part](stack)
        yield
