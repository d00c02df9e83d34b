"""Rows that are read in blocks, wherever they are: in memory, mapped from a file, in Parquet files, or in Dask.

Whoever computes on them asks for passes and nothing else: a function of one block, and the sum of what it returns. A
block is made anew in every pass by whoever holds the file, so a worker that dies loses nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from robula._files import matching_files
from robula._imports import import_extra
from robula._types import ArrayInput, FloatArray
from robula._validation import show
from robula.exceptions import InputError
from robula.tables.arrays import LARGEST, as_matrix, as_vector, column_names

#: Numbers in one block of an array, 16 MiB; and rows in one batch of a Parquet file.
_BLOCK = 2**21
# Sums that one task of a cluster adds up.
_BRANCHES = 16
_RESPONSE = "robula response"  # inside a frame of Dask

Sums = tuple[Any, ...]
Result = TypeVar("Result")


class Block(NamedTuple):
    """Some rows: features (b, p), responses (b,) or None, and the number of the first row."""

    X: FloatArray
    y: np.ndarray | None
    first: int


class Facts(NamedTuple):
    """What one pass tells of a block before anything is fitted."""

    rows: int
    columns: int
    largest: float
    labels: tuple[Any, ...]


class RowSource(ABC):
    """Rows in blocks.

    Attributes
    ----------
    names : tuple of str or None
        Of the columns.
    rows, columns : int
        Known after :meth:`look`.
    labels : tuple
        Different responses, the first few.
    """

    names: tuple[str, ...] | None = None

    def __init__(self) -> None:
        self._read = [0]  # shared with the same rows in other units
        self.rows = self.columns = 0
        self.labels: tuple[Any, ...] = ()
        self._firsts: list[int] = []
        self._shape: Callable[[Block], Block] | None = None

    @property
    def passes(self) -> int:
        """How many times all rows have been read."""
        return self._read[0]

    @abstractmethod
    def _map(self, function: Callable[[Block], Result], firsts: Sequence[int]) -> Iterator[Result]:
        """Apply a function to each block, and return the results in order; ``firsts`` are their first rows."""

    def _sum(self, function: Callable[[Block], Sums], firsts: Sequence[int]) -> Sums:
        return add(self._map(function, firsts))

    def look(self) -> RowSource:
        """Count and check the rows, in one pass; returns itself."""
        if not self._firsts:
            self._read[0] += 1
            found = list(self._map(facts, ()))
            for index, block in enumerate(found):
                if not block.largest <= LARGEST:
                    raise InputError(
                        f"block {index} of the rows has missing, infinite or absurdly large values; drop or fill them."
                    )
            if len({block.columns for block in found if block.rows}) != 1:
                raise InputError("the blocks of the rows have different numbers of columns.")
            counts = [block.rows for block in found]
            self.rows, self.columns = sum(counts), max(block.columns for block in found)
            self._firsts = [0, *np.cumsum(counts)[:-1].tolist()]
            self.labels = tuple(sorted({label for block in found for label in block.labels}))
        return self

    def map(self, function: Callable[[Block], Result]) -> Iterator[Result]:
        """One pass: apply a function to each block; results in the order of the rows."""
        self.look()
        self._read[0] += 1
        return self._map(_composed(function, self._shape), self._firsts)

    def sum(self, function: Callable[[Block], Sums]) -> Sums:
        """One pass: the sum over the blocks of what a function returns, a tuple of arrays or numbers."""
        self.look()
        self._read[0] += 1
        return self._sum(_composed(function, self._shape), self._firsts)

    def take(self, places: np.ndarray) -> Block:
        """Read the rows at these sorted places into memory, in one pass."""
        found = [block for block in self.map(partial(_some_rows, places)) if len(block.X)]
        responses = [block.y for block in found if block.y is not None]
        X = np.concatenate([block.X for block in found])
        return Block(X, np.concatenate(responses) if responses else None, 0)

    def shaped(self, shape: Callable[[Block], Block]) -> RowSource:
        """Return the same rows, each block changed by a function (other units, other labels)."""
        other = copy(self.look())
        other._shape = shape if self._shape is None else partial(_then, self._shape, shape)
        return other


def _then(first: Callable[[Block], Block], second: Callable[[Block], Block], block: Block) -> Block:
    return second(first(block))


def _composed(function: Callable[[Block], Result], shape: Callable[[Block], Block] | None) -> Callable[[Block], Result]:
    return function if shape is None else partial(_shaped_call, function, shape)


def _shaped_call(function: Callable[[Block], Result], shape: Callable[[Block], Block], block: Block) -> Result:
    return function(shape(block))


def rows_at_a_time(columns: int) -> int:
    """Rows of a block of an array."""
    return max(1, _BLOCK // max(columns, 1))


def facts(block: Block) -> Facts:
    """Return what :meth:`RowSource.look` wants to know."""
    rows, columns = block.X.shape
    labels: tuple[Any, ...] = ()
    with np.errstate(invalid="ignore"):
        largest = float(np.abs(block.X).max()) if rows else 0.0
        if block.y is not None:
            # Three are enough to know that they are not two.
            few = block.y.dtype.kind != "f" or len(np.unique(block.y[:1000])) <= 2
            labels = tuple(np.unique(block.y)[:3].tolist()) if few else ()
            if block.y.dtype.kind == "f" and rows:
                largest = float(np.maximum(largest, np.abs(block.y).max()))
    return Facts(rows, columns, largest, labels)


def _some_rows(places: np.ndarray, block: Block) -> Block:
    inside = places[(places >= block.first) & (places < block.first + len(block.X))] - block.first
    return Block(block.X[inside], None if block.y is None else block.y[inside], block.first)


def add(results: Iterator[Sums] | Sequence[Sums]) -> Sums:
    """Add up tuples of arrays or numbers, in order; an empty block has an empty tuple."""
    total: Sums = ()
    for result in results:
        total = result if not total else tuple(a + b for a, b in zip(total, result, strict=True)) if result else total
    return total


class ArraySource(RowSource):
    """Rows of arrays in memory or of memory maps, which are read in blocks and never copied whole."""

    def __init__(self, X: ArrayInput, y: ArrayInput = None) -> None:
        super().__init__()
        self.names = column_names(X)
        large = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf" and X.size
        # Arrays are checked block by block when they are looked at, and mapped ones are never held.
        self._X: np.ndarray = X.view(np.ndarray) if large else as_matrix(X, "X")
        self._y = None if y is None else _responses(y, len(self._X))

    def _map(self, function: Callable[[Block], Result], firsts: Sequence[int]) -> Iterator[Result]:
        step = rows_at_a_time(self._X.shape[1])
        for first in range(0, len(self._X), step):
            part = slice(first, first + step)
            X = np.asarray(self._X[part], dtype=np.float64)
            yield function(Block(X, None if self._y is None else np.asarray(self._y[part]), first))


def _responses(y: ArrayInput, rows: int) -> np.ndarray:
    """Responses (n,) as they are: numbers, or labels of any kind."""
    if isinstance(y, np.memmap) and y.shape == (rows,) and y.dtype.kind in "biuf":
        return y.view(np.ndarray)
    try:
        array = np.asarray(y)
    except ValueError:
        raise InputError(f"y={show(y)} is no column: its entries have different lengths.") from None
    if array.dtype.kind in "biuf":
        return as_vector(array, "y", rows)
    if array.shape != (rows,):
        raise InputError(f"y has shape {array.shape}, but there are {rows} rows.")
    return array.astype(str)


class ParquetSource(RowSource):
    """Rows of Parquet files, one row group at a time.

    Parameters
    ----------
    files : str or sequence of str
        Paths, or a pattern such as ``"data/*.parquet"``; sorted by name.
    target : str, optional
        The response.
    features : sequence of str, optional
        All other columns if left out.
    """

    def __init__(
        self, files: str | Sequence[str], target: str | None = None, features: Sequence[str] | None = None
    ) -> None:
        super().__init__()
        parquet = import_extra("pyarrow.parquet", "parquet", "reading Parquet files")
        self._files = matching_files(files)
        self._target = target
        try:
            opened = [parquet.ParquetFile(path) for path in self._files]
        except Exception as error:  # a damaged file can fail anywhere inside Arrow
            raise InputError(f"{show(self._files)} cannot be read as Parquet ({show(str(error), 160)}).") from error
        known = [str(name) for name in opened[0].schema_arrow.names]
        wanted = list(features) if features is not None else [name for name in known if name != target]
        for name in [*wanted, *([] if target is None else [target])]:
            if name not in known:
                raise InputError(f"there is no column {name!r}; the files have {show(known, 200)}.")
        self.names = tuple(wanted)
        self._groups = [
            (path, group)
            for path, file in zip(self._files, opened, strict=True)
            for group in range(file.num_row_groups)
        ]

    def _map(self, function: Callable[[Block], Result], firsts: Sequence[int]) -> Iterator[Result]:
        for index, (path, group) in enumerate(self._groups):
            block = read_row_group(path, group, self.names or (), self._target)
            yield function(block._replace(first=firsts[index] if firsts else 0))


def read_row_group(path: str, group: int, names: Sequence[str], target: str | None) -> Block:
    """Read one row group of one Parquet file."""
    parquet = import_extra("pyarrow.parquet", "parquet", "reading Parquet files")
    columns = [*names, *([] if target is None else [target])]
    table = parquet.ParquetFile(path).read_row_group(group, columns=columns)
    return frame_block(table.to_pandas(), names, target)


def frame_block(frame: Any, names: Sequence[str], target: str | None) -> Block:
    """Return columns of a frame as a block; its first row is not known yet."""
    wrong = [name for name in names if frame[name].dtype.kind not in "biuf"]
    if wrong:
        raise InputError(
            f"column {wrong[0]!r} holds {frame[wrong[0]].dtype}, and rows that are read in blocks must be numbers; "
            "leave it out, or turn it into numbers."
        )
    X = np.ascontiguousarray(frame[list(names)].to_numpy(dtype=np.float64, na_value=np.nan))
    return Block(X, None if target is None else _plain(frame[target].to_numpy()), 0)


def _plain(y: np.ndarray) -> np.ndarray:
    return y if y.dtype.kind in "biuf" else y.astype(str)


class DaskSource(RowSource):
    """Blocks of Dask arrays, or partitions of a Dask frame: tasks that the scheduler in use runs where the data are.

    Nothing is scattered and nothing is held: a lost block is read again from where it came.

    Parameters
    ----------
    X, y : Dask arrays, or a Dask frame and a column of it
    """

    def __init__(self, X: Any, y: Any = None) -> None:
        super().__init__()
        self._dask: Any = import_extra("dask", "dask", "rows in Dask")
        self._tasks = _dask_blocks(X, y)
        self.names = column_names(X)

    def _map(self, function: Callable[[Block], Result], firsts: Sequence[int]) -> Iterator[Result]:
        return iter(self._dask.compute(*self._lazily(function, firsts)))

    def _lazily(self, function: Callable[[Block], Result], firsts: Sequence[int]) -> list[Any]:
        call = self._dask.delayed(_call, pure=False)
        starts = firsts or [0] * len(self._tasks)
        return [call(function, X, y, first) for (X, y), first in zip(self._tasks, starts, strict=True)]

    def _sum(self, function: Callable[[Block], Sums], firsts: Sequence[int]) -> Sums:
        # A tree of fixed shape: the same bits whichever worker does what, and little for the client to receive.
        level, plus = self._lazily(function, firsts), self._dask.delayed(add, pure=False)
        while len(level) > 1:
            level = [plus(level[first : first + _BRANCHES]) for first in range(0, len(level), _BRANCHES)]
        total: Sums = self._dask.compute(level[0])[0]
        return total


def _call(function: Callable[[Block], Result], X: Any, y: Any, first: int) -> Result:
    """Run in a worker: make a block of what Dask has computed."""
    if hasattr(X, "columns"):
        names = [name for name in X.columns if name != _RESPONSE]
        return function(frame_block(X, names, _RESPONSE if _RESPONSE in X.columns else None)._replace(first=first))
    block = Block(np.ascontiguousarray(X, dtype=np.float64), None, 0)
    responses = None if y is None else _plain(np.asarray(y).reshape(-1))
    if responses is not None and len(responses) != len(block.X):
        raise InputError("X and y have blocks of different lengths; give y the chunks (partitions) of X.")
    return function(Block(block.X, responses, first))


def _dask_blocks(X: Any, y: Any) -> list[tuple[Any, Any]]:
    """Delayed blocks of X with those of y."""
    if hasattr(X, "chunks"):
        if X.ndim != 2:
            raise InputError(f"X is a Dask array of shape {X.shape}; it must be two-dimensional, (rows, columns).")
        X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
        if hasattr(y, "chunks") and y.ndim == 1 and y.chunks[0] != X.chunks[0] and not np.isnan(y.chunks[0]).any():
            y = y.rechunk((X.chunks[0],))
    if y is not None and (not is_dask(y) or hasattr(X, "columns") != (not hasattr(y, "chunks"))):
        raise InputError("X and y must both be Dask arrays, or a Dask frame and a column.")
    if y is not None and hasattr(X, "columns"):
        # In one frame: Dask may read fewer columns in fewer partitions.
        X, y = X.assign(**{_RESPONSE: y}), None
    blocks = list(np.asarray(X.to_delayed()).ravel())
    if y is None:
        return [(block, None) for block in blocks]
    others = list(np.asarray(y.to_delayed()).ravel())
    if len(others) != len(blocks):
        raise InputError(f"X has {len(blocks)} blocks and y {len(others)}; give y the chunks (partitions) of X.")
    return list(zip(blocks, others, strict=True))


def is_dask(value: Any) -> bool:
    """Whether a value is a Dask collection; Dask is not imported to find out."""
    return hasattr(value, "__dask_graph__") and hasattr(value, "to_delayed")


def source_of(X: Any, y: Any = None) -> RowSource:
    """Return the source that these rows are: a source itself, Dask collections, memory maps or arrays."""
    if isinstance(X, RowSource):
        return X
    return DaskSource(X, y) if is_dask(X) else ArraySource(X, y)
