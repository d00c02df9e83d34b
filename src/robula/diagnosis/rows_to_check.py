"""Rows to look at: distrusted ones, and odd ones that were kept, with why and how much they matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from robula._threads import few_threads_for_small_data
from robula._types import BoolArray, FloatArray, IntArray
from robula._validation import check_count, check_name, show
from robula.diagnosis.row_influence import Influence
from robula.exceptions import InputError
from robula.result.posterior import Posterior
from robula.result.thresholds import DISTRUSTED
from robula.tables.odd_cells import OddCells, Why, odd_cells

if TYPE_CHECKING:
    import pandas as pd

# Log odds beyond which a weight says no more: one in a million.
_SURE = 1e-6
#: Kept odd rows matter where an expectation moves by more than this many standard deviations without them.
MATTERS = 1.0
#: And from here on they decide the answer: no interval of it holds what it would be without them.
DECIDES = 3.0


class Matter(NamedTuple):
    """What the odd rows that were kept do together: the expectation that moves most without them."""

    name: str
    mean: float
    without: float
    in_sds: float


@dataclass(frozen=True, eq=False)
class OddRows:
    """All rows, the most suspicious first.

    Attributes
    ----------
    order : ndarray of int, shape (n,)
    suspicion : ndarray, shape (n,)
        Above 0 where a row is distrusted or has an odd cell.
    weights : ndarray, shape (n,)
    cells : OddCells
    influence : Influence or None
    labels : Index of length n
        What the data call the rows; their places where the data had no index.
    """

    order: IntArray
    suspicion: FloatArray
    weights: FloatArray
    cells: OddCells
    influence: Influence | None
    labels: pd.Index

    @property
    def odd(self) -> BoolArray:
        """Which rows have an odd cell, shape (n,)."""
        return self.cells.row_log_odds >= 0.0

    @property
    def kept(self) -> IntArray:
        """Odd rows that count more than half, the most suspicious first."""
        mask = self.odd & (self.weights >= DISTRUSTED)
        return self.order[mask[self.order]]

    @property
    def matter(self) -> Matter | None:
        """What the odd rows that were kept do together; None if there are none, or no influence was passed."""
        if self.influence is None or not len(self.kept):
            return None
        change = self.influence.change(self.kept)
        in_sds = np.abs(change) / np.where(self.influence.sd > 0, self.influence.sd, np.inf)
        most = int(np.nan_to_num(in_sds).argmax())
        mean = float(self.influence.mean[most])
        return Matter(self.influence.names[most], mean, mean + float(change[most]), float(in_sds[most]))

    def to_frame(self, count: int | None = None) -> pd.DataFrame:
        """The list, or its first rows: weight, the oddest cell's score and why, and influence where it is known.

        The index has the labels of the data, ``row`` the places of the rows in it.
        """
        import pandas as pd

        rows = self.order if count is None else self.order[: check_count(count, "count", 0)]
        columns: dict[str, Any] = {
            "row": rows,
            "weight": self.weights[rows],
            "score": self.cells.row_scores[rows],
            "why": [self.cells.reason(int(row)) for row in rows],
        }
        if self.influence is not None:
            columns["influence"] = self.influence.strength[rows]
            columns["moves"] = [self.influence.names[place] for place in self.influence.moved_most[rows]]
        return pd.DataFrame(columns, index=self.labels[rows])

    @property
    def text(self) -> str:
        """In a few sentences."""
        distrusted, kept = int((self.weights < DISTRUSTED).sum()), self.kept
        told = [f"{distrusted:,} of {len(self.weights):,} rows are distrusted."]
        told += code_words(self)
        if not self.cells.names:
            return " ".join([*told, "There is no column of numbers, so no cell was judged."])
        if not len(kept):
            return " ".join([*told, "No row that was kept is odd."])
        first = int(kept[0])
        told.append(
            f"{len(kept):,} row{'s that were kept are' if len(kept) > 1 else ' that was kept is'} odd"
            f"{', first' if len(kept) > 1 else ':'} row {self.labels[first]}: {self.cells.reason(first)}."
        )
        matter = self.matter
        if matter is not None:
            told.append(matter_words(matter, len(kept)))
        return " ".join(told)

    def __repr__(self) -> str:
        return f"OddRows: {self.text}"


def code_words(odd: OddRows) -> list[str]:
    """Which columns hold what may be a code, and codes, and whether their rows count all the same; a sentence each."""
    cells = odd.cells
    told = []
    for by_column, verb, why in ((cells.doubtful, "may be", Why.REPEATED), (cells.codes, "is", Why.CODE)):
        columns: dict[float, list[str]] = {}
        for name, values in by_column.items():
            for value in values:
                columns.setdefault(value, []).append(name)
        for value, names in columns.items():
            found = (cells.values == value) & (cells.why == why)
            rows = found.any(axis=1)
            counting = int((odd.weights[rows] >= DISTRUSTED).sum())
            then = f"; {counting:,} of their {rows.sum():,} rows count, as if it were a number" if counting else ""
            told.append(
                f"{value:g} {verb} a code for missing in {', '.join(names)}: {found.sum():,} cells"
                f"{then or ', whose rows hardly count'}."
            )
    return told


def matter_words(matter: Matter, count: int) -> str:
    """Whether the odd rows that were kept matter, in words."""
    they, them = ("They", "them") if count > 1 else ("It", "it")
    matters = "matter" if count > 1 else "matters"
    if not matter.in_sds > MATTERS:
        return f"{they} hardly {matters}: without {them} no quantity moves by more than one standard deviation."
    far = f"{matter.in_sds:.2g}" if matter.in_sds < 100 else f"{matter.in_sds:,.0f}"
    return (
        f"{they} {matters}: without {them} {matter.name} would be about {matter.without:.4g} instead of "
        f"{matter.mean:.4g}, {far} standard deviations away."
    )


def require_odd_rows(odd: object, posterior: Posterior) -> None:
    """Refuse what robula.odd_rows did not return, or returned for other rows."""
    if not isinstance(odd, OddRows):
        raise InputError(f"odd={show(odd)} is not what robula.odd_rows returns.")
    _require_as_many(len(odd.weights), "odd", posterior)


def _require_as_many(rows: int, name: str, posterior: Posterior) -> None:
    if rows != len(posterior.row_weights):
        raise InputError(
            f"{name} is of {rows} rows, but the posterior is of {len(posterior.row_weights)}; pass that of its rows."
        )


@few_threads_for_small_data
def odd_rows(
    posterior: Posterior,
    data: Any,
    *,
    response: str | Sequence[float] | FloatArray | None = None,
    influence: Influence | None = None,
) -> OddRows:
    """List the rows to look at: those that were distrusted, and those that were kept although they are odd.

    A row can be far out in its features, alone or together, have a cell that does not fit the others of its row, or a
    code for "missing" such as -999, and still fit the model; then it has full weight, and often much influence.

    Parameters
    ----------
    posterior : Posterior
    data : DataFrame or array-like, shape (n, p)
        The rows, in the order the model had them; columns that are not numbers are left out.
    response : str or array-like, optional
        The response, or the name of its column in ``data``: the model judges it, so it is not judged here.
    influence : Influence, optional
        From ``robula.influence(model, posterior)``: adds how much the rows matter.

    Returns
    -------
    OddRows
        Print it, or its ``to_frame()``.

    Examples
    --------
    >>> import numpy as np, robula
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(80.0, 10.0, size=(300, 2)).round()
    >>> y = X @ [1.0, 0.5] + rng.normal(size=300)
    >>> X[:3, 1] = -999.0
    >>> model = robula.LinearModel(X, y, noise_scale=30.0, intercept=True)
    >>> posterior = robula.sample(model, contamination=0.0, progress=False)
    >>> robula.odd_rows(posterior, X, response=y).cells.codes
    {'1': (-999.0,)}
    """
    import pandas as pd

    if not isinstance(posterior, Posterior):
        raise InputError(f"posterior={show(posterior)} is not a robula posterior; pass the result of robula.sample.")
    if influence is not None:
        if not isinstance(influence, Influence):
            raise InputError(f"influence={show(influence)} is not what robula.influence returns.")
        _require_as_many(len(influence.row_weights), "influence", posterior)
    table = data if isinstance(data, pd.DataFrame) else pd.DataFrame(_array(data, "data", 2))
    if len(table) != len(posterior.row_weights):
        raise InputError(
            f"data has {len(table)} rows, but the posterior is of {len(posterior.row_weights)}; pass the same rows."
        )
    names = [str(name) for name in table.columns]
    known: FloatArray | None = None
    if isinstance(response, str):
        column = table.iloc[:, names.index(check_name(response, "response", names))]
        known = _numbers(column) if column.dtype.kind in "iufb" else _array(_coded(column), "response", 1)
        table = table.loc[:, [name != response for name in names]]
    elif response is not None:
        known = _array(_coded(response), "response", 1)
        if known.shape != (len(table),):
            raise InputError(f"response has shape {known.shape}; pass one number for each of the {len(table)} rows.")
    numeric = table.loc[:, [kind.kind in "iufb" for kind in table.dtypes]]
    values = np.empty(numeric.shape)
    for place in range(numeric.shape[1]):
        values[:, place] = _numbers(numeric.iloc[:, place])
    cells = odd_cells(values, [str(name) for name in numeric.columns], known)
    weights = posterior.row_weights
    distrust = np.log((1.0 - weights + _SURE) / (weights + _SURE))
    suspicion = np.maximum(distrust, cells.row_log_odds)
    strength = np.zeros(len(weights)) if influence is None else influence.strength
    order = np.lexsort((-strength, -suspicion))
    return OddRows(order, suspicion, weights, cells, influence, table.index)


def _coded(response: Any) -> Any:
    """Labels that are texts as their places among all labels; a response of numbers, or of nothing usable, as it is."""
    import pandas as pd

    listed = isinstance(response, list | tuple | pd.Series) or (isinstance(response, np.ndarray) and response.ndim == 1)
    if not listed or pd.api.types.infer_dtype(response, skipna=True) not in ("string", "categorical"):
        return response
    return pd.factorize(np.asarray(response, dtype=object))[0]


def _array(given: Any, name: str, axes: int) -> FloatArray:
    """What was given as numbers with one axis or two."""
    try:
        array = np.asarray(given)
        array = array if array.dtype.kind in "biuf" else array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        array = np.zeros(())
    if array.ndim != axes:
        raise InputError(f"{name}={show(given)} is no {'table' if axes == 2 else 'column'} of numbers.")
    return array


def _numbers(column: pd.Series) -> FloatArray:
    return column.to_numpy(dtype=np.float64, na_value=np.nan)
