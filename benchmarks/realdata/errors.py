"""Errors that real tables have, injected into rows that were right."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from benchmarks.realdata.reference import plain_fit
from benchmarks.realdata.sets import DataSet, stable_seed

#: A column needs more different values than this to have its unit or its decimal point wrong.
_FEWEST_VALUES = 10
_SENTINEL = -999.0
_REGRESSION, _COUNT, _BINARY = "regression", "count", "binary"


class Problem(NamedTuple):
    """A set with errors in some of its rows: ``bad`` (n,) marks those that were changed, None if nothing is known."""

    data: DataSet
    kind: str
    rate: float
    X: np.ndarray
    y: np.ndarray
    bad: np.ndarray | None


class Table(NamedTuple):
    """What an error may use: the right rows, the rows to spoil, and the columns it is to spoil them in."""

    X: np.ndarray
    y: np.ndarray
    rows: np.ndarray
    column: int
    other: int
    fitted: np.ndarray
    sigma: float
    rng: np.random.Generator


Change = tuple[np.ndarray, np.ndarray]


def _response(change: Callable[[Table], np.ndarray]) -> Callable[[Table], Change]:
    """An error in y: ``change`` gives the wrong values of the rows to spoil."""

    def apply(table: Table) -> Change:
        y = table.y.copy()
        y[table.rows] = change(table)
        return table.X, y

    return apply


def _feature(change: Callable[[np.ndarray, np.random.Generator], np.ndarray]) -> Callable[[Table], Change]:
    """An error in one column: ``change`` maps its right values to wrong ones."""

    def apply(table: Table) -> Change:
        X = table.X.copy()
        X[table.rows, table.column] = change(X[table.rows, table.column], table.rng)
        return X, table.y

    return apply


def _swapped_columns(table: Table) -> Change:
    X = table.X.copy()
    X[np.ix_(table.rows, [table.column, table.other])] = table.X[np.ix_(table.rows, [table.other, table.column])]
    return X, table.y


def _copies(table: Table) -> Change:
    X, y = table.X.copy(), table.y.copy()
    X[table.rows], y[table.rows] = X[table.rows[0]], y[table.rows[0]]
    return X, y


def _other_population(table: Table) -> np.ndarray:
    """Every slope has the other sign; the noise is that of other rows."""
    noise = table.rng.choice(table.y - table.fitted, len(table.rows))
    return 2.0 * table.y.mean() - table.fitted[table.rows] + noise


_flips = _response(lambda t: 1.0 - t.y[t.rows])


def _targeted_flips(table: Table) -> Change:
    """The labels that were surest are the wrong ones."""
    surest = np.argsort(-np.abs(table.fitted - 0.5))[: len(table.rows)]
    return _flips(table._replace(rows=surest))


class Kind(NamedTuple):
    """A kind of error: whether it is gross, the families it is tried on, what it needs, and how it is made."""

    gross: bool
    families: tuple[str, ...]
    columns_needed: int
    apply: Callable[[Table], Change]


_BOTH = (_REGRESSION, _COUNT)
_ALL = (*_BOTH, _BINARY)

#: Declared beforehand: a gross error alone is far outside what the rows around it allow, a subtle one is not.
KINDS: dict[str, Kind] = {
    "y*10": Kind(True, _BOTH, 0, _response(lambda t: 10.0 * t.y[t.rows])),
    "y*1000": Kind(True, _BOTH, 0, _response(lambda t: 1000.0 * t.y[t.rows])),
    "y=-999": Kind(True, (_REGRESSION,), 0, _response(lambda t: np.full(len(t.rows), _SENTINEL))),
    "x*10": Kind(True, _ALL, 1, _feature(lambda x, _: 10.0 * x)),
    "x*1000": Kind(True, _ALL, 1, _feature(lambda x, _: 1000.0 * x)),
    "x=-999": Kind(True, _ALL, 1, _feature(lambda x, _: np.full_like(x, _SENTINEL))),
    "copies": Kind(True, _BOTH, 0, _copies),
    "y/10": Kind(False, (_REGRESSION,), 0, _response(lambda t: t.y[t.rows] / 10.0)),
    "x/10": Kind(False, (_REGRESSION,), 1, _feature(lambda x, _: x / 10.0)),
    "-y": Kind(False, (_REGRESSION,), 0, _response(lambda t: -t.y[t.rows])),
    "y+4s": Kind(False, (_REGRESSION,), 0, _response(lambda t: t.y[t.rows] + 4.0 * t.sigma)),
    "shuffled y": Kind(False, _BOTH, 0, _response(lambda t: t.rng.permutation(t.y[t.rows]))),
    "shuffled x": Kind(False, _ALL, 1, _feature(lambda x, rng: rng.permutation(x))),
    "swapped columns": Kind(False, (_REGRESSION,), 2, _swapped_columns),
    "other population": Kind(False, (_REGRESSION,), 0, _response(_other_population)),
    "false zeros": Kind(False, (_COUNT,), 0, _response(lambda t: np.zeros(len(t.rows)))),
    "random flips": Kind(False, (_BINARY,), 0, _flips),
    "targeted flips": Kind(True, (_BINARY,), 0, _targeted_flips),
}
#: The data with nothing injected.
AS_THEY_COME = "as they come"


def inject(data: DataSet, kind: str, rate: float) -> Problem | None:
    """Spoil a share of the rows, the same ones in every run; None where the set lacks the columns that are needed."""
    if kind == AS_THEY_COME:
        return Problem(data, kind, 0.0, data.X, data.y, data.bad)
    error = KINDS[kind]
    reference = plain_fit(data.X, data.y, data.family)
    columns = _columns(data.X, reference.coef / reference.standard_errors[1:])
    if len(columns) < error.columns_needed:
        return None
    rng = np.random.default_rng(stable_seed(data.name, kind, rate))
    rows = rng.choice(len(data.y), max(1, round(rate * len(data.y))), replace=False)
    first, second = (*columns, -1, -1)[:2]
    fitted = reference.mean(data.X)
    sigma = float(np.sqrt(np.mean((data.y - fitted) ** 2)))
    X, y = error.apply(Table(data.X, data.y, rows, first, second, fitted, sigma, rng))
    bad = (data.X != X).any(axis=1) | (data.y != y)
    return Problem(data, kind, rate, X, y, bad)


def _columns(X: np.ndarray, z: np.ndarray) -> list[int]:
    """Columns with many values, the one that matters most first."""
    return [j for j in np.argsort(-np.abs(z)) if len(np.unique(X[:, j])) > _FEWEST_VALUES]
