"""What a mask hides of an observed site: it can be anything, tells nothing, and is judged by nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from robula._types import BoolArray, FloatArray
from robula.integrations.jax_support import x64
from robula.integrations.site_laws import SiteLaw, Telling
from robula.models.law import Noise, Tails

_WRAPPERS = ("MaskedDistribution", "ExpandedDistribution", "Independent")


class MaskedLaw(SiteLaw):
    """The law at a site of which only some numbers count.

    Parameters
    ----------
    law : SiteLaw
        Of the site without its mask.
    seen : callable
        ``(flat, data, observed) -> bool (n, ...)``: which numbers count, traceable by JAX.
    """

    def __init__(self, jax: Any, law: SiteLaw, seen: Callable[..., Any]) -> None:
        self._jax, self._law, self._of = jax, law, jax.jit(seen)
        self.source, self.kind, self.classes = law.source, law.kind, law.classes

    def seen(self, *point: Any) -> BoolArray:
        """Which numbers count, shape (n, k)."""
        with x64(self._jax):
            seen = np.asarray(self._of(*point), dtype=np.bool_)
        return seen.reshape(len(seen), -1)

    def tails(self, *point: Any) -> Tails:
        """Those of the law; a hidden number can be anywhere."""
        seen, open_ends = self.seen(*point), (-np.inf, 0.0, 0.0, -np.inf)
        found = self._law.tails(*point)
        return Tails(*(np.where(seen, own, other) for own, other in zip(found, open_ends, strict=True)))

    def scores(self, *point: Any) -> tuple[FloatArray, FloatArray]:
        """Those of the law; a hidden number has none."""
        seen, (lower, upper) = self.seen(*point), self._law.scores(*point)
        return np.where(seen, lower, -np.inf), np.where(seen, upper, np.inf)

    def telling(self, *point: Any) -> Telling:
        """What the seen numbers tell."""
        told = self._law.telling(*point)
        seen = self.seen(*point)
        # A label tells by each of its classes.
        counted = np.repeat(seen, told.by_mean.shape[1] // seen.shape[1], axis=1)[:, :, None]
        return told._replace(
            by_mean=np.where(counted, told.by_mean, 0.0), by_spread=np.where(counted, told.by_spread, 0.0)
        )

    def noise(self, told: Telling) -> Noise:
        """Who says how far rows spread: as without the mask."""
        return self._law.noise(told)


def has_mask(distribution: Any) -> bool:
    """Whether a NumPyro distribution is masked, under other wrappers or above them."""
    while type(distribution).__name__ in _WRAPPERS:
        if type(distribution).__name__ == "MaskedDistribution":
            return True
        distribution = distribution.base_dist
    return False


def mask_of(jnp: Any, distribution: Any, shape: tuple[int, ...]) -> Any:
    """Which numbers of a response of this shape count, by all masks among the distribution's wrappers."""
    seen = jnp.ones(shape, dtype=bool)
    while type(distribution).__name__ in _WRAPPERS:
        if type(distribution).__name__ == "MaskedDistribution":
            # A mask has the axes of the batch; those of the event are behind.
            mask = jnp.asarray(distribution._mask)
            seen = seen & mask.reshape(mask.shape + (1,) * len(distribution.event_shape))
        distribution = distribution.base_dist
    return seen


def without_mask(distribution: Any) -> Any:
    """The distribution without its masks outside, which samples like it and has a cdf."""
    while type(distribution).__name__ == "MaskedDistribution":
        distribution = distribution.base_dist
    return distribution
