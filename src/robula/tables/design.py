"""The rows of a regression, in memory or mapped from a file, read in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from robula._types import ArrayInput, FloatArray
from robula.tables.arrays import as_matrix, mapped_matrix, read_only

#: Numbers in one block, 4 MiB: large enough that Python's own cost vanishes, small enough to stay in cache.
BLOCK = 2**19


class Design:
    """A finite design matrix with an optional column of ones in front.

    An ordinary array is copied once, as (d, n) and contiguous: the gradients then come out in the layout selectors
    sort in. A ``numpy.memmap`` is left where it is, and its blocks are turned into float64 one at a time, so that data
    larger than memory can be used.

    Parameters
    ----------
    X : array-like, shape (n, p)
    intercept : bool
    min_rows : int, optional

    Attributes
    ----------
    rows, columns : int
        n and d (p, or p + 1 with the intercept).
    """

    #: What is computed once and kept, and is no part of what the design is.
    _caches: ClassVar[frozenset[str]] = frozenset({"_last"})

    def __init__(self, X: ArrayInput, intercept: bool, min_rows: int = 2) -> None:
        self._mapped: np.ndarray | None = None
        self._transposed: FloatArray | None = None
        self._last: tuple[bytes, FloatArray] | None = None
        self.intercept = intercept
        mapped = mapped_matrix(X, "X", min_rows=min_rows)
        if mapped is not None:
            self._mapped = mapped
            self.rows, self.columns = len(mapped), mapped.shape[1] + intercept
            return
        features = as_matrix(X, "X", min_rows=min_rows)
        if intercept:
            features = np.column_stack([np.ones(len(features)), features])
        self.rows, self.columns = features.shape
        self._transposed = read_only(np.array(features.T, order="C"))

    @property
    def matrix(self) -> FloatArray:
        """The whole matrix (n, d); of mapped data a copy in memory."""
        if self._transposed is not None:
            return self._transposed.T
        return np.concatenate([block.T for _, block in self.blocks()])

    @property
    def as_given(self) -> np.ndarray:
        """The rows without the column of ones, shape (n, p); mapped ones are not read."""
        return self._mapped if self._mapped is not None else self.matrix[:, int(self.intercept) :]

    @property
    def in_memory(self) -> bool:
        """Whether the rows are held in memory rather than in a file."""
        return self._transposed is not None

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """Yield the rows' places and their transposed block (d, b), one after the other."""
        size = max(1, BLOCK // self.columns)
        for start in range(0, self.rows, size):
            rows = slice(start, min(start + size, self.rows))
            yield rows, self.block(rows)

    def block(self, rows: slice | np.ndarray) -> FloatArray:
        """Return some rows, transposed, shape (d, b)."""
        if self._transposed is not None:
            return self._transposed[:, rows]
        assert self._mapped is not None
        part = self._mapped[rows]
        if not self.intercept:
            return np.asarray(part, dtype=np.float64).T
        block = np.ones((self.columns, len(part)))
        block[1:] = part.T
        return block

    def times(self, coefficients: FloatArray) -> FloatArray:
        """Return each row times the coefficients (d,), shape (n,), read-only.

        Of rows in memory the last product is kept: the value, slope and curvature of a model at one theta all need it.
        """
        key = coefficients.tobytes()
        if self._last is None or self._last[0] != key:
            blocks = [coefficients @ block for _, block in self.blocks()]
            product = read_only(blocks[0] if len(blocks) == 1 else np.concatenate(blocks))
            if not self.in_memory:
                return product
            self._last = key, product
        return self._last[1]

    def take(self, rows: np.ndarray) -> Design:
        """Return a design of these rows only, in memory."""
        part = object.__new__(Design)
        part._mapped, part._last, part.intercept = None, None, self.intercept
        part._transposed = read_only(np.ascontiguousarray(self.block(rows)))
        part.rows, part.columns = len(rows), self.columns
        return part
