"""Which methods are run on which cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from benchmarks.realdata import glm_rivals, nuts_rivals, regression_rivals
from benchmarks.realdata.catalogue import APART, TUNED
from benchmarks.realdata.errors import AS_THEY_COME, KINDS
from benchmarks.realdata.fit import Fit
from benchmarks.realdata.sets import names

RATES = (0.02, 0.05, 0.1, 0.2)
#: The kinds that robula is also tried on at the smallest and the largest rate.
ALL_RATES = ("y*10", "x=-999", "y+4s", "shuffled y", "false zeros", "random flips", "targeted flips")
#: The kinds that are also cross-validated, at FOLDED_RATE.
FOLDED = ("y*10", "x*10", "y+4s", "false zeros", "random flips")
FOLDED_RATE = 0.05
#: Rivals by NUTS run at this rate only, counts (ten times slower) with these kinds: short chains are long all the same.
NUTS_RATE = 0.1
NUTS_COUNT_KINDS = ("y*10", "x=-999", "false zeros")
#: Air Quality has up to 26 % of bad rows.
AIR_CONTAMINATIONS = ("0.1", "0.2", "0.3", "estimate")
AIR = "-200 codes"

OURS = "robula"
RIVALS: dict[str, dict[str, Callable[[np.ndarray, np.ndarray], Fit]]] = {
    "regression": {
        "least_squares": regression_rivals.least_squares,
        "huber": regression_rivals.huber,
        "theil_sen": regression_rivals.theil_sen,
        "rlm": regression_rivals.rlm,
        "mm": regression_rivals.mm,
        "isolation_forest": regression_rivals.isolation_forest,
        "cleanlab": regression_rivals.cleanlab,
        "student_t_nuts": nuts_rivals.student_t_nuts,
    },
    "count": {
        "poisson_glm": glm_rivals.poisson_glm,
        "negative_binomial": glm_rivals.negative_binomial,
        "negative_binomial_nuts": nuts_rivals.negative_binomial_nuts,
    },
    "binary": {"logistic": glm_rivals.logistic, "cleanlab_labels": glm_rivals.cleanlab_labels},
}
METHODS = (OURS, *(name for methods in RIVALS.values() for name in methods))
#: Smaller sets are looked at as they come only: a twentieth of them is not a row or two.
FEWEST_ROWS = 100
_QUICK = {
    "sets": ("diabetes", "iris_petal", "breast_cancer"),
    "kinds": ("y*10", "x*10", "random flips"),
    "rates": (0.1,),
}


class Cell(NamedTuple):
    """A set, a kind of error, its rate, a method, and the contamination it is told (robula only)."""

    set: str
    kind: str
    rate: float
    method: str
    contamination: str = ""


def cells(quick: bool = False) -> list[Cell]:
    """Every cell of the board, those of one problem together."""
    found = [cell for name, family in _sets() for cell in _cells_of(name, family)]
    if not quick:
        return found
    return [
        cell
        for cell in found
        if cell.set in _QUICK["sets"]
        and ((cell.kind in _QUICK["kinds"] and cell.rate in _QUICK["rates"]) or cell.kind == AS_THEY_COME)
        and not cell.method.endswith("_nuts")
    ]


def folded(cell: Cell) -> bool:
    """Whether a cell is cross-validated too."""
    if cell.kind == AS_THEY_COME:
        return True
    heavy = cell.method.endswith("_nuts") or cell.contamination not in ("", "0.2")
    return cell.kind in FOLDED and cell.rate == FOLDED_RATE and not heavy


def _sets() -> list[tuple[str, str]]:
    families = [(name, family) for family in RIVALS for group in (TUNED, APART) for name in group[family]]
    return families + [(name, "air") for name in names("air")]


def _cells_of(name: str, family: str) -> list[Cell]:
    if family == "air":
        ours = [Cell(name, AIR, 0.0, OURS, told) for told in AIR_CONTAMINATIONS]
        return ours + [Cell(name, AIR, 0.0, method) for method in RIVALS["regression"]]
    problems = [(AS_THEY_COME, 0.0)]
    problems += [(kind, rate) for kind, error in KINDS.items() if family in error.families for rate in RATES]
    return [
        cell
        for kind, rate in problems
        for cell in (
            *(Cell(name, kind, rate, OURS, told) for told in _contaminations(kind, rate)),
            *(Cell(name, kind, rate, method) for method in RIVALS[family] if _tries(method, kind, rate)),
        )
    ]


def _contaminations(kind: str, rate: float) -> tuple[str, ...]:
    """What robula is told: the limit 0.2 everywhere it runs, 0.1 and "estimate" as data come and at one rate each."""
    if kind == AS_THEY_COME:
        return ("0.1", "0.2", "estimate")
    return {0.05: ("0.1", "0.2"), 0.1: ("0.2", "estimate")}.get(rate, ("0.2",) if kind in ALL_RATES else ())


def _tries(method: str, kind: str, rate: float) -> bool:
    if not method.endswith("_nuts") or kind == AS_THEY_COME:
        return True
    return rate == NUTS_RATE and (method != "negative_binomial_nuts" or kind in NUTS_COUNT_KINDS)
