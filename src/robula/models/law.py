"""The law of a row: what a model says its rows look like.

With it a rule can count rows where the law expects fewer, simulate clean data and measure a response in normal scores,
for any model and without asking for its class.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np

from robula._types import BoolArray, FloatArray
from robula.models.model import Model
from robula.models.tail_scores import FARTHEST, normal_scores
from robula.tables.missing_codes import codes_of_columns
from robula.tables.odd_cells import odd_cells

#: Who says how far rows spread around their mean: the user, a parameter in theta, or the mean itself.
Noise = Literal["declared", "estimated", "implied"]
#: What a row's response is.
ResponseKind = Literal["number", "label", "vector"]


class Tails(NamedTuple):
    """Logarithms of a response's four tail probabilities, each of shape (n,)."""

    below: FloatArray  #: log P(Y < y)
    up_to: FloatArray  #: log P(Y <= y)
    from_here: FloatArray  #: log P(Y >= y)
    above: FloatArray  #: log P(Y > y)

    @property
    def scores(self) -> tuple[FloatArray, FloatArray]:
        """Normal scores of both ends; never both infinite on one side."""
        lower, upper = normal_scores(self.below, self.from_here), normal_scores(self.up_to, self.above)
        return np.where(lower == np.inf, FARTHEST, np.where(upper == -np.inf, -FARTHEST, lower)), np.where(
            upper == -np.inf, -FARTHEST, np.where(lower == np.inf, FARTHEST, upper)
        )


class ModelWithLaw(Model):
    """A model that can say how its rows are distributed at one theta of shape (d,).

    Attributes
    ----------
    noise : "declared", "estimated" or "implied"
        Whether the spread of a row is given by the user, is a parameter, or follows from the mean.
    response_kind : "number", "label" or "vector"
        A label can be wrong; a number or vector can be anywhere.
    response : ndarray, shape (n,), or None
        What the law is of; None where a row is a vector.
    """

    noise: Noise
    response_kind: ResponseKind = "number"
    #: Where the law comes from, in words; None where the model itself has it.
    law_source: str | None = None
    _cell_odds: FloatArray | None = None
    #: What is computed once and kept, and is no part of what the model is.
    _caches: ClassVar[frozenset[str]] = frozenset({"_cell_odds"})

    def __copy__(self) -> Self:
        """Return a copy, made to be given other rows or responses: what its cells say is looked at anew."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, _cell_odds=None)
        return other

    @property
    @abstractmethod
    def response(self) -> FloatArray | None:
        """The responses, shape (n,); None where a row is a vector."""

    @property
    def hidden(self) -> BoolArray:
        """Rows (n,) that have no response and count nothing, though the data have a place for them; by default none."""
        return np.zeros(self.n_rows, dtype=np.bool_)

    @abstractmethod
    def pit(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P(Y < y) and P(Y <= y) of each row, shapes (n,): equal where the response is continuous.

        At the true theta a uniform draw between the two is uniform on (0, 1).
        """

    @abstractmethod
    def features(self, theta: FloatArray) -> FloatArray:
        """What each row can tell about theta whatever its response: d mean / d theta over its sd, shape (n, d).

        A parameter of the spread has the square root of its own Fisher information, sqrt(2) for a log scale. Where a
        row is a vector of k numbers, shape (n, k, d).
        """

    @property
    def of_the_mean(self) -> BoolArray:
        """Parameters (d,) that the rows' means depend on; the others say how rows spread. By default all."""
        return np.ones(self.dim, dtype=np.bool_)

    @property
    def covariates(self) -> FloatArray:
        """What else is known of each row, shape (n, p): where rows are alike; by default the features at the start."""
        return self.features(self.initial)

    @property
    def cells(self) -> FloatArray | None:
        """The columns as they were recorded, where a slip of the pen would show, (n, q); None: the covariates are."""
        return None

    @cached_property
    def codes(self) -> tuple[tuple[float, ...], ...]:
        """Values that stand for "missing" in each column of the covariates."""
        return codes_of_columns(self.covariates)

    def cell_odds(self) -> FloatArray:
        """Log odds that a cell of each row is a mistake, whatever the model makes of its response, shape (n,).

        A code for "missing", a slipped decimal point, another unit, a value that belongs to another column.
        """
        if self._cell_odds is None:
            cells = self.covariates if self.cells is None else self.cells
            names = [str(place) for place in range(cells.shape[1])]
            self._cell_odds = odd_cells(cells, names, self.response, sure=True).row_log_odds
        return self._cell_odds

    @cached_property
    def response_codes(self) -> tuple[float, ...]:
        """Values that stand for "missing" among the responses."""
        return self.codes_among(self.response)

    def codes_among(self, responses: FloatArray | None) -> tuple[float, ...]:
        """Values that stand for "missing" among responses (n,) in the units they were recorded in.

        None among counts and labels: 99 visits are 99 visits.
        """
        if responses is None or self.response_kind != "number" or self.noise == "implied":
            return ()
        return codes_of_columns(np.asarray(responses)[:, None])[0]

    @abstractmethod
    def simulate(self, theta: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw a response for every row, shape (n,), or (n, k) where a row is a vector of k numbers."""

    @abstractmethod
    def with_response(self, response: FloatArray) -> Self:
        """Return the same model with other responses, of the shape that :meth:`simulate` returns."""

    def information(self, theta: FloatArray, weights: FloatArray | None = None) -> FloatArray:
        """Fisher information of the rows, each times its weight: the Gram matrix of the features, shape (d, d).

        It is the expected curvature, and unlike the curvature never negative.
        """
        features = self.features(theta)
        counted = self.counted(np.ones(self.n_rows) if weights is None else weights)
        features = features * np.sqrt(counted).reshape(-1, *[1] * (features.ndim - 1))
        flat = features.reshape(-1, self.dim)
        gram: FloatArray = flat.T @ flat
        return gram

    def gradient_products(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Sum of the rows' gradients times themselves, each times its weight (at least 0), shape (d, d)."""
        scaled = self.gradients(theta) * np.sqrt(self.counted(weights))[:, None]
        products: FloatArray = scaled.T @ scaled
        return products

    def log_tails(self, theta: FloatArray) -> Tails:
        """Log of the response's tail probabilities; a model that knows its upper tail better than 1 - P says so."""
        below, up_to = self.pit(theta)
        with np.errstate(divide="ignore"):
            return Tails(np.log(below), np.log(up_to), np.log1p(-below), np.log1p(-up_to))

    def scores(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Normal scores Phi^-1 of the two ends of :meth:`pit`, shapes (n,), precise in both tails.

        An end is infinite only where the support ends there and the other end is not (a count of 0 reaches down to
        -inf). A response that the law cannot tell from impossible has both ends at 38 or -38.
        """
        return self.log_tails(theta).scores

    def whitened(self, theta: FloatArray) -> FloatArray:
        """Residuals of vector rows in units of their covariance, shape (n, k); for ``response_kind = "vector"``."""
        raise NotImplementedError(f"a row of {type(self).__name__} is not a vector")

    def fitted(self, theta: FloatArray) -> FloatArray:
        """The linear predictor of each row, shape (n,); by default the features times theta, in units of the noise."""
        predictor: FloatArray = self.features(theta) @ theta
        return predictor
