"""Median of means: the geometric median of the means of random buckets of rows."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from robula._types import FloatArray, IntArray
from robula._validation import check_contamination, check_count
from robula.selectors.geometric_median import weiszfeld
from robula.selectors.principal_direction import refuse_non_finite
from robula.selectors.selection import Part, RobustMean, Selection, as_points


@dataclass(frozen=True)
class MedianOfMeans(RobustMean):
    """The gradient estimator of Prasad, Suggala, Balakrishnan and Ravikumar (2020) for heavy tails.

    Buckets average the noise of ordinary rows away, and the geometric median outvotes the buckets that bad rows are in.
    More than half of the buckets must be free of bad rows, so with a share epsilon of them a bucket can hold few: the
    default size is the largest b with (1 - epsilon)^b above one half. The error grows with sqrt(d).

    Parameters
    ----------
    bucket_size : int, optional
        Rows in a bucket; None is the default above.
    splits : int, optional
        Sample splitting, which the theory of the paper asks for: the rows are divided into this many parts, and a
        gradient is estimated from one of them, which one depends on the gradients' bits. 1 uses all rows every time.
    seed : int, optional
        Of the buckets.
    """

    name: ClassVar[str | None] = "median_of_means"
    citations: ClassVar[tuple[str, ...]] = ("prasad2020",)
    translation_equivariant: ClassVar[bool] = True

    bucket_size: int | None = None
    splits: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if self.bucket_size is not None:
            check_count(self.bucket_size, "bucket_size", 1)
        check_count(self.splits, "splits", 1)
        check_count(self.seed, "seed", 0, maximum=None)
        # Another part of the rows for every theta: no selection is good for ever.
        object.__setattr__(self, "translation_equivariant", self.splits == 1)

    def select(self, points: FloatArray, contamination: float) -> Selection:
        """Return the selection for finite points (n, d): one part; a row counts as much as its bucket's mean."""
        contamination = check_contamination(contamination)
        points = as_points(points)
        refuse_non_finite(points)
        rows, dim = points.shape
        weights = np.zeros(rows)
        if contamination == 0.0 and self.splits == 1:
            return Selection((Part(np.ones(rows)),), dim)
        used = self._shuffled(points)
        size = min(self._size(contamination), len(used))
        buckets = np.array_split(used, max(1, len(used) // size))
        means = np.stack([points[bucket].mean(axis=0) for bucket in buckets])
        _, votes, _ = weiszfeld(means)
        for bucket, vote in zip(buckets, votes, strict=True):
            weights[bucket] = vote / len(bucket)
        weights /= weights.max()
        return Selection((Part(weights),), dim, scales=(float(np.median(weights[used])),))

    def _size(self, contamination: float) -> int:
        if self.bucket_size is not None:
            return self.bucket_size
        if contamination == 0.0:
            return 2**31
        return max(1, math.floor(-math.log(2.0) / math.log1p(-contamination) - 1e-9))

    def _shuffled(self, points: FloatArray) -> IntArray:
        """Rows to use in random order. They are ranked first, so that the order in which they come does not matter."""
        rng = np.random.default_rng(self.seed)
        ranked = np.argsort(points.sum(axis=1), kind="stable")
        order: IntArray = ranked[rng.permutation(len(points))]
        if self.splits == 1:
            return order
        part = zlib.crc32(np.ascontiguousarray(points[ranked]).tobytes()) % self.splits
        return np.asarray(np.array_split(order, self.splits)[part])
