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

from robula._types import BoolArray, FloatArray
from robula.exceptions import InputError
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
        self._look_behind_masks()
        self.response_kind = laws[0].kind if len(laws) == 1 else "vector"
        if self._seen.shape[1] > 1 and self.response_kind in ("number", "vector"):
            # Of times that are seen and times that are censored, each behind a mask, every row has one.
            alone = self._seen.sum(axis=1).max() <= 1 and all(law.classes == 2 for law in laws)
            self.response_kind = "number" if alone else "vector"
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

    def _look_behind_masks(self) -> None:
        """Note which numbers (n, k) of the rows that are computed no mask hides."""
        self._seen = np.concatenate([law.seen(self._init, *self._point) for law in self._laws], axis=1)

    @property
    def hidden(self) -> BoolArray:
        """Rows (n,) of which a mask hides everything."""
        if self._seen.all():
            return super().hidden
        return np.asarray(~self._taken(self._seen).any(axis=1))

    def _shown(self, columns: FloatArray) -> FloatArray:
        """The one number of each row that no mask hides, (n,) of (n, k)."""
        return self._taken(columns[np.arange(len(columns)), self._seen.argmax(axis=1)])

    @property
    def response(self) -> FloatArray | None:
        """The responses (n,); None where a row is a vector, or has its number at one of several sites."""
        if self.response_kind == "vector" or self._seen.shape[1] > 1:
            return None
        (values,) = self.observed_data.values()
        return np.asarray(values, dtype=np.float64)

    def log_tails(self, theta: FloatArray) -> Tails:
        """Log of the tail probabilities; of the squared length of the scores where a row is a vector."""
        if self.response_kind == "vector":
            half = (self.whitened(theta) ** 2).sum(axis=1) / 2.0
            shape = np.maximum(self._taken(self._seen).sum(axis=1), 1) / 2.0
            below, above = log_gamma_cdf(shape, half), log_gamma_sf(shape, half)
            return Tails(below, below, above, above)
        flat = self.check_theta(theta)
        found = [law.tails(flat, *self._point) for law in self._laws]
        return Tails(*(self._shown(np.concatenate(ends, axis=1)) for ends in zip(*found, strict=True)))

    def pit(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P(Y < y) and P(Y <= y) of each row, shapes (n,)."""
        tails = self.log_tails(theta)
        return np.exp(tails.below), np.exp(tails.up_to)

    def scores(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Normal scores of the two ends, shapes (n,)."""
        if self.response_kind == "vector":
            return super().scores(theta)
        flat = self.check_theta(theta)
        lower, upper = zip(*(law.scores(flat, *self._point) for law in self._laws), strict=True)
        return self._shown(np.concatenate(lower, axis=1)), self._shown(np.concatenate(upper, axis=1))

    def whitened(self, theta: FloatArray) -> FloatArray:
        """Normal scores of vector rows, shape (n, k); Rosenblatt's where the numbers depend on each other.

        Anywhere in the interval of a count, as chance would have it: the middles of intervals are no normal cloud, and
        the clumps in which they lie pass for groups.
        """
        counts = self._taken(self._seen).sum(axis=1)
        if ((counts > 0) & (counts < self._seen.shape[1])).any():
            raise InputError(
                "a mask hides some numbers of a row and leaves others, and a vector can only be judged whole. "
                "Mask whole rows, or write each number as a row of its own."
            )
        flat = self.check_theta(theta)
        ends = [law.scores(flat, *self._point) for law in self._laws]
        lower, upper = (np.concatenate(columns, axis=1) for columns in zip(*ends, strict=True))
        return self._taken(np.where(self._seen, scores_within(lower, upper, self._drawn()), 0.0))

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
        if self.response_kind == "number":
            alone: FloatArray = features.sum(axis=1)  # what is hidden tells nothing
            return alone
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
    def of_the_mean(self) -> BoolArray:
        """Parameters (d,) with a derivative of a linear predictor at the start."""
        slopes = self._telling(self.initial).predictor_slopes
        return np.asarray(np.abs(slopes).reshape(-1, self.dim).max(axis=0) > 0.0)

    @property
    def covariates(self) -> FloatArray:
        """Derivatives of the linear predictors at the start, shape (n, p): the design of a linear model."""
        slopes = self._taken(self._telling(self.initial).predictor_slopes)
        if self.response_kind == "number":
            slopes = slopes[:, :1]  # of the first site, if there are several: which of them shows is no covariate
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
        columns = np.concatenate([_flat(drawn[name]) for name in self.observed_data], axis=1)
        return self._taken(columns) if self.response_kind == "vector" else self._shown(columns)

    def with_response(self, response: FloatArray) -> Self:
        """Return the same model with other responses, of the shape that :meth:`simulate` returns."""
        observed, offset = {}, 0
        for name, values in self.observed_data.items():
            size = math.prod(values.shape[1:])
            block = np.reshape(response, (len(response), -1))[:, offset : offset + size]
            observed[name] = block.reshape(values.shape)
            # Of several sites behind masks each gets the row's one number, and shows it or not.
            offset += size if self.response_kind == "vector" else 0
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
