"""What every regression shares: a design, responses, offsets, and rows that count more than once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from copy import copy
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from robula._types import ArrayInput, BoolArray, FloatArray
from robula.exceptions import InputError
from robula.models.law import ModelWithLaw
from robula.models.model import default_names
from robula.tables.arrays import as_vector, column_names, read_only, row_labels
from robula.tables.design import Design
from robula.tables.wrong_values import refuse_values

if TYPE_CHECKING:
    import pandas as pd

ALL_ROWS = slice(None)
# Columns from which on half of the products of a Gram matrix take less time than all of them without roots (measured,
# 500 to 100 000 rows).
_HALVED_FROM = 50
# Beyond it an exposure overflows.
_MOST_LOG_EXPOSURE = 700.0


class Regression(ModelWithLaw):
    """A response and a row of features: theta begins with coefficients that make linear predictors of the features.

    Parameters
    ----------
    X : array-like, shape (n, p)
        A ``numpy.memmap`` is read in blocks and never copied whole.
    intercept : bool
        Add a column of ones, in front.
    offset : array-like, shape (n,), optional
        What is added to the linear predictor of each row.
    exposure : array-like, shape (n,), optional
        For a log link: what each row's mean is in proportion to. Its logarithm is part of the offset.
    row_weights : array-like, shape (n,), optional
        How often each row counts (frequencies, survey weights): it multiplies the row's log-likelihood in every sum
        over rows. How far a row is trusted multiplies it once more, and is found as if every row were there once.

    Attributes
    ----------
    design : ndarray, shape (n, c)
        The design matrix with the intercept column.
    y : ndarray, shape (n,)
    """

    #: Whether theta acts on a row through one linear predictor alone.
    by_predictor: ClassVar[bool] = False

    y: FloatArray
    offset: FloatArray | None = None
    #: The columns (n, q) in the units they were recorded in, where the design has them in others.
    recorded: FloatArray | None = None
    #: Where the intercept begins: the linear predictor of a middling row.
    level: float = 0.0

    def __init__(
        self,
        X: ArrayInput,
        intercept: bool,
        *,
        offset: ArrayInput = None,
        exposure: ArrayInput = None,
        row_weights: ArrayInput = None,
    ) -> None:
        if not isinstance(intercept, bool | np.bool_):
            raise InputError(f"intercept={intercept!r} must be True or False.")
        self._design = Design(X, bool(intercept))
        names = default_names(column_names(X), self._design.columns - bool(intercept))
        if intercept:
            names = default_names(("intercept", *names), self._design.columns)
        self.intercept = bool(intercept)
        self.parameter_names = names
        self.n_rows, self.dim = self._design.rows, self._design.columns
        if offset is not None or exposure is not None:
            self.offset = read_only(_total_offset(offset, exposure, self.n_rows))
        if row_weights is not None:
            self.row_weights = read_only(np.array(_checked_weights(row_weights, self.n_rows)))

    @property
    def design(self) -> FloatArray:
        """The design matrix with the intercept column, shape (n, c); a copy if X is a memory map."""
        return self._design.matrix

    @property
    def rows_as_given(self) -> np.ndarray:
        """The features without the intercept column, shape (n, p); a memory map as it is."""
        return self._design.as_given

    @property
    def columns(self) -> int:
        """How many columns the design has, the intercept's included."""
        count: int = self._design.columns
        return count

    @property
    def of_the_mean(self) -> BoolArray:
        """The coefficients, (d,)."""
        mean: BoolArray = np.arange(self.dim) < self.columns
        return mean

    @property
    def covariates(self) -> FloatArray:
        """The design matrix, shape (n, c)."""
        return self.design

    @property
    def cells(self) -> FloatArray | None:
        """The columns as they were recorded, (n, q), where the design has them in other units; exposures with them."""
        if self.offset is None:
            return self.recorded
        columns = self.covariates if self.recorded is None else self.recorded
        return np.column_stack([columns, np.exp(np.minimum(self.offset, _MOST_LOG_EXPOSURE))])

    @property
    def in_memory(self) -> bool:
        """Whether the design is held in memory rather than read from a file."""
        return self._design.in_memory

    def label_contrasts(self, rows: BoolArray) -> FloatArray | None:
        """For labels of linear predictors: vectors (m, d) whose products with theta grow as these rows' labels do.

        One for each row and each label that it does not have; None for other models.
        """
        return None

    @property
    def response(self) -> FloatArray:
        """The responses, shape (n,)."""
        return self.y

    @property
    def observed_data(self) -> dict[str, np.ndarray]:
        """The response, shape (n,)."""
        return {"y": self.y}

    @property
    def initial(self) -> FloatArray:
        """Coefficients 0 and the intercept at the level, shape (d,)."""
        start = np.zeros(self.dim)
        if self.intercept:
            start[0] = self.level
        return start

    @classmethod
    def refuse_responses(cls, y: FloatArray, labels: pd.Index | None = None) -> None:
        """Refuse responses (n,) that the model cannot have, by the labels of their rows; a subclass says which."""

    def _set_response(self, y: FloatArray) -> None:
        """Take responses (n,) that have been checked; a subclass adds what it computes from them once."""
        self.y = read_only(np.array(y))

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """Yield the design in blocks of rows: their places, and the block transposed, shape (c, b)."""
        return self._design.blocks()

    def take(self, rows: np.ndarray) -> Self:
        """Return the model of these rows only, in memory."""
        part = copy(self)
        part._design = self._design.take(rows)
        part.n_rows = len(rows)
        if self.offset is not None:
            part.offset = read_only(self.offset[rows])
        if self.row_weights is not None:
            part.row_weights = read_only(self.row_weights[rows])
        if self.recorded is not None:
            part.recorded = self.recorded[rows]
        part._set_response(self.y[rows])
        return part

    def with_rows(self, X: FloatArray, y: FloatArray) -> Self:
        """Return the same model of other rows: features (m, p), or a whole design (m, c), and responses (m,).

        What the old rows had besides (offsets, prior weights, cells as recorded) does not go with them.
        """
        other = copy(self)
        other._design = Design(X, self._design.intercept and X.shape[1] < self.columns, min_rows=1)
        other.n_rows = len(X)
        other.offset = other.row_weights = other.recorded = None
        other._set_response(y)
        return other

    def with_response(self, response: FloatArray) -> Self:
        """Return the same model with other responses (n,)."""
        other = copy(self)
        other._set_response(response)
        return other

    def predictor(self, theta: FloatArray) -> FloatArray:
        """Linear predictor of each row, shape (..., n)."""
        coefficients = self.check_theta(theta)[..., : self.columns]
        if coefficients.ndim == 1:
            return self._moved(self._design.times(coefficients), ALL_ROWS)
        return joined([self._moved(coefficients @ block, rows) for rows, block in self.blocks()])

    def fitted(self, theta: FloatArray) -> FloatArray:
        """Linear predictor of each row, shape (n,)."""
        return self.predictor(theta)

    def _moved(self, eta: FloatArray, rows: slice) -> FloatArray:
        """Linear predictors (..., b) of some rows with their offsets."""
        return eta if self.offset is None else eta + self.offset[rows]

    def _weighted_gram(self, weights: FloatArray) -> FloatArray:
        """Sum of w_i x_i x_i' (c, c), for weights (n,) of any sign."""
        gram = np.zeros((self.columns, self.columns))
        # A matrix times its own transpose is half the work: roots of the weights on both sides.
        halved = self.columns >= _HALVED_FROM and bool((weights >= 0.0).all())
        factors = np.sqrt(weights) if halved else weights
        for rows, block in self.blocks():
            weighted = block * factors[rows]
            gram += weighted @ (weighted if halved else block).T
        return gram

    @abstractmethod
    def responses(self, eta: FloatArray, rest: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw new responses for linear predictors (..., k), given the parameters behind the coefficients (k, r)."""

    def moments(self, eta: FloatArray, rest: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Mean and variance of such responses, shapes (..., k); None where they are no formulas."""
        return None


def joined(blocks: list[FloatArray]) -> FloatArray:
    """Blocks (..., b) one after the other, without a copy where there is one."""
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=-1)


def _checked_weights(row_weights: ArrayInput, length: int) -> FloatArray:
    weights = as_vector(row_weights, "row_weights", length)
    if not weights.any():
        raise InputError("row_weights has only zeros; some row must count.")
    advice = "weights must be >= 0."
    refuse_values(weights, weights < 0, "row_weights", what="below 0", advice=advice, labels=row_labels(row_weights))
    return weights


def _total_offset(offset: ArrayInput, exposure: ArrayInput, length: int) -> FloatArray:
    total = np.zeros(length) if offset is None else np.array(as_vector(offset, "offset", length))
    if exposure is None:
        return total
    exposed = as_vector(exposure, "exposure", length)
    refuse_values(
        exposed,
        ~(exposed > 0),
        "exposure",
        what="of 0 or less",
        advice="it is the time, area or number at risk that a count was made in. Drop rows that were not exposed.",
        labels=row_labels(exposure),
    )
    summed: FloatArray = total + np.log(exposed)
    return summed


def require_independent_columns(model: Regression) -> None:
    """Refuse dependent columns where the prior is flat: the posterior is improper."""
    gram, names = model._weighted_gram(model.counted(np.ones(model.n_rows))), model.parameter_names
    lengths = np.sqrt(np.diag(gram))
    if not lengths.all():
        zero = [names[index] for index in np.flatnonzero(lengths == 0)[:5]]
        raise InputError(
            f"column(s) {', '.join(zero)} of X are all zero and the prior is flat, so their coefficients are "
            "undetermined. Drop them, or pass prior=robula.NormalPrior(0.0, 1.0)."
        )
    values, vectors = np.linalg.eigh(gram / np.outer(lengths, lengths))
    # The Gram matrix squares the condition number: eigenvalues below d * 1e-14 are rounding.
    if values[0] > 1e-14 * len(values):
        return
    order = np.argsort(-np.abs(vectors[:, 0]))
    involved = [names[index] for index in order[:5] if abs(vectors[index, 0]) > 1e-3]
    raise InputError(
        f"the columns of X are linearly dependent (involved: {', '.join(involved)}) and the prior is flat, so the "
        "posterior is improper. Drop one of them, or pass prior=robula.NormalPrior(0.0, 1.0)."
    )
