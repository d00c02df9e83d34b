"""The law of the rows of a model made of JAX functions: one or several observed sites of the same rows."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Self

import numpy as np

from robula._types import FloatArray
from robula.integrations.site_laws import SiteLaw, Telling
from robula.models.law import ModelWithLaw, Noise, ResponseKind, Tails
from robula.models.tail_scores import log_gamma_cdf, log_gamma_sf, scores_within

# Derivatives at the last few theta: a rule asks for features, information and predictor of one theta in turn.
_REMEMBERED = 4


class LawOfRows(ModelWithLaw):
    """A model whose law is that of its observed sites; a subclass says what their functions are called with."""

    noise: Noise
    response_kind: ResponseKind

    def _set_laws(self, laws: Sequence[SiteLaw], simulation: Callable[..., dict[str, FloatArray]]) -> None:
        self._laws, self._simulation = tuple(laws), simulation
        self._forget()
        responses = [_flat(values) for values in self._point[-1].values()]
        self._covariates = [
            not any(_flat(array).shape == own.shape and (_flat(array) == own).all() for own in responses)
            for array in self._recorded
        ]
        told = [law.telling(self._init, *self._point) for law in laws]
        columns = sum(law.scores(self._init, *self._point)[0].shape[1] for law in laws)
        self.response_kind = laws[0].kind if len(laws) == 1 else "vector"
        if columns > 1 and self.response_kind == "number":
            self.response_kind = "vector"
        kinds = [law.noise(one) for law, one in zip(laws, told, strict=True)]
        self.noise = "estimated" if "estimated" in kinds else kinds[0]
        self.law_source = "; ".join(dict.fromkeys(law.source for law in laws))

    _init: FloatArray

    @property
    @abstractmethod
    def _point(self) -> tuple[Any, ...]:
        """What the laws' functions are called with after theta."""

    @property
    @abstractmethod
    def _recorded(self) -> Sequence[Any]:
        """Arrays of real numbers among the data that have one entry a row."""

    @abstractmethod
    def _taken(self, values: FloatArray) -> FloatArray:
        """Rows (n, ...) of this model out of all that the functions compute."""

    @abstractmethod
    def _with_observed(self, observed: Mapping[str, FloatArray]) -> Self:
        """The same model with other responses by the names of their sites."""

    def _tell(self, theta: bytes) -> Telling:
        flat = np.frombuffer(theta)
        parts = [law.telling(flat, *self._point) for law in self._laws]
        return Telling(*(np.concatenate([part[index] for part in parts], axis=1) for index in range(4)))

    def _telling(self, theta: FloatArray) -> Telling:
        return self._told(np.ascontiguousarray(self.check_theta(theta)).tobytes())

    @property
    def response(self) -> FloatArray | None:
        """The responses (n,); None where a row is a vector."""
        if self.response_kind == "vector":
            return None
        (values,) = self.observed_data.values()
        return np.asarray(values, dtype=np.float64)

    def log_tails(self, theta: FloatArray) -> Tails:
        """Log of the tail probabilities; of the squared length of the scores where a row is a vector."""
        if self.response_kind == "vector":
            half = (self.whitened(theta) ** 2).sum(axis=1) / 2.0
            shape = np.full(len(half), self.whitened(theta).shape[1] / 2.0)
            below, above = log_gamma_cdf(shape, half), log_gamma_sf(shape, half)
            return Tails(below, below, above, above)
        tails = self._laws[0].tails(self.check_theta(theta), *self._point)
        return Tails(*(self._taken(values[:, 0]) for values in tails))

    def pit(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P(Y < y) and P(Y <= y) of each row, shapes (n,)."""
        tails = self.log_tails(theta)
        return np.exp(tails.below), np.exp(tails.up_to)

    def scores(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Normal scores of the two ends, shapes (n,)."""
        if self.response_kind == "vector":
            return super().scores(theta)
        lower, upper = self._laws[0].scores(self.check_theta(theta), *self._point)
        return self._taken(lower[:, 0]), self._taken(upper[:, 0])

    def whitened(self, theta: FloatArray) -> FloatArray:
        """Normal scores of vector rows, shape (n, k); Rosenblatt's where the numbers depend on each other.

        Anywhere in the interval of a count, as chance would have it: the middles of intervals are no normal cloud, and
        the clumps in which they lie pass for groups.
        """
        flat = self.check_theta(theta)
        ends = [law.scores(flat, *self._point) for law in self._laws]
        lower, upper = (np.concatenate(columns, axis=1) for columns in zip(*ends, strict=True))
        return self._taken(scores_within(lower, upper, self._drawn()))

    def _draw(self) -> FloatArray:
        """Numbers (n, k) in (0, 1) that look random, and are always the same for a row, wherever it stands.

        Rows that are equal in all numbers are told apart by which of them comes first, which changes nothing.
        """
        arrays = [*self._point[-1].values(), *self._recorded]
        contents = [row.tobytes() for row in np.concatenate([_flat(array) for array in arrays], axis=1) + 0.0]
        seen: Counter[bytes] = Counter()
        columns = sum(law.scores(self._init, *self._point)[0].shape[1] for law in self._laws)
        drawn = np.empty((len(contents), columns))
        for place, content in enumerate(contents):
            seed = blake2b(content + seen[content].to_bytes(8), digest_size=16).digest()
            drawn[place] = np.random.default_rng(int.from_bytes(seed)).uniform(size=columns)
            seen[content] += 1
        return drawn

    def features(self, theta: FloatArray) -> FloatArray:
        """Derivatives of mean over spread, and sqrt(2) times those of log spread: (n, d), or (n, k, d) for vectors."""
        told = self._telling(theta)
        features = self._taken(told.by_mean + told.by_spread)
        return features[:, 0] if features.shape[1] == 1 else features

    def information(self, theta: FloatArray, weights: FloatArray | None = None) -> FloatArray:
        """Fisher information of the rows, each times its weight: means and spreads apart, shape (d, d)."""
        told = self._telling(theta)
        root = np.ones(self.n_rows) if weights is None else np.sqrt(weights)
        total = np.zeros((self.dim, self.dim))
        for part in (told.by_mean, told.by_spread):
            flat = (self._taken(part) * root[:, None, None]).reshape(-1, self.dim)
            total += flat.T @ flat
        return total

    @property
    def covariates(self) -> FloatArray:
        """Derivatives of the linear predictors at the start, shape (n, p): the design of a linear model."""
        slopes = self._taken(self._telling(self.initial).predictor_slopes)
        flat = slopes.reshape(len(slopes), -1)
        moving = np.abs(flat).max(axis=0) > 0.0
        return flat[:, moving] if moving.any() else np.ones((len(flat), 1))

    @property
    def cells(self) -> FloatArray:
        """Real numbers among the data, rows along their first axis and the responses apart, shape (n, q)."""
        found = [_flat(array) for array, known in zip(self._recorded, self._covariates, strict=True) if known]
        return self._taken(np.concatenate(found, axis=1)) if found else np.zeros((self.n_rows, 0))

    def fitted(self, theta: FloatArray) -> FloatArray:
        """The linear predictor of each row, shape (n,): its mean on the scale of its link."""
        return self._taken(self._telling(theta).predictor[:, 0])

    def simulate(self, theta: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw a response for every row, shape (n,), or (n, k) where a row is a vector of k numbers."""
        seed = int(rng.integers(2**31))
        drawn = self._simulation(self.check_theta(theta), *self._point, seed)
        if self.response_kind != "vector":
            (values,) = drawn.values()
            return self._taken(np.asarray(values, dtype=np.float64))
        columns = [np.asarray(drawn[name], dtype=np.float64) for name in self.observed_data]
        return self._taken(np.concatenate([values.reshape(len(values), -1) for values in columns], axis=1))

    def with_response(self, response: FloatArray) -> Self:
        """Return the same model with other responses, of the shape that :meth:`simulate` returns."""
        observed, offset = {}, 0
        for name, values in self.observed_data.items():
            size = math.prod(values.shape[1:])
            block = np.reshape(response, (len(response), -1))[:, offset : offset + size]
            observed[name] = block.reshape(values.shape)
            offset += size
        other = self._with_observed(observed)
        other._forget()
        return other

    def _forget(self) -> None:
        """Forget what was computed from the data: after a copy got others."""
        self._told = lru_cache(_REMEMBERED)(self._tell)
        self._drawn = lru_cache(1)(self._draw)


def _flat(array: Any) -> FloatArray:
    """Rows (n, ...) as a matrix (n, q)."""
    return np.reshape(np.asarray(array, dtype=np.float64), (len(array), -1))
