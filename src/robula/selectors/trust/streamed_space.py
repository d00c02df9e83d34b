"""Where rows are that had no part in the fit: the coordinates of a feature map, in few operations a row."""

from __future__ import annotations

import math

import numpy as np

from robula._types import FloatArray
from robula.selectors.trust import trust_constants as constants
from robula.selectors.trust.feature_space import _BOUND, _CLIP, Codes, FeatureMap, FeatureSpace, _Cells


class BlockMap:
    """What a :class:`FeatureMap` of some rows says of others, the same to rounding.

    Every pass asks it of all rows. So axes and scales are one matrix, the directions that only a search looks at are
    left out, and how far a cell stands apart is asked of the rows that have one.

    Parameters
    ----------
    features : ndarray, shape (n, d)
        Of the rows that define the coordinates.
    codes : tuple of tuple of float, d of them
        Values of each column that stand for "missing".
    """

    def __init__(self, features: FloatArray, codes: Codes) -> None:
        own = FeatureMap(features, codes)
        self._codes = {place: of_column for place, of_column in enumerate(codes) if of_column}
        self._map, self.rank = own, own.rank
        limits = np.array([_limit(cells) for cells in own._cells])
        medians = np.array([cells._median for cells in own._cells])
        self._lowest, self._highest = medians - limits, medians + limits
        if not self.rank:
            return
        whitening = own._whitening / own._spread[:, None]
        to_axes = whitening @ own._axes / own._deviation
        self._both = np.hstack([whitening, to_axes])
        self._shift = own._middle / own._deviation
        self._columns = slice(None) if own._kept.all() else np.flatnonzero(own._kept)
        self._centre = own._centre @ own._factor

    def __call__(self, features: FloatArray) -> FeatureSpace:
        """Coordinates of rows with these features (m, d); their directions are left out, (m, 0)."""
        rows = len(features)
        none, apart = np.zeros((rows, 0)), self._apart(features)
        if not self.rank:
            return FeatureSpace(none, none, np.zeros(rows), none, apart)
        own = self._map
        both = (features - own._mean)[:, self._columns] @ self._both
        whitened, along = both[:, : self.rank], both[:, self.rank :] - self._shift
        along /= np.sqrt(1.0 + (along / _BOUND) ** 2)
        inner = along @ own._factor - self._centre
        squared = np.einsum("ij,ij->i", inner, inner) / self.rank
        distance = (np.log1p(squared) - own._usual_distance) / own._distance_unit
        return FeatureSpace(whitened, np.clip(inner, -_CLIP, _CLIP, out=inner), distance, none, apart)

    def _apart(self, features: FloatArray) -> FloatArray:
        """Log odds (m,) that a cell which stands apart gives for a row to be bad."""
        odds = np.zeros(len(features))
        rows = np.zeros(len(features), dtype=np.bool_)
        if (features.max(axis=0) > self._highest).any() or (features.min(axis=0) < self._lowest).any():
            rows = ((features > self._highest) | (features < self._lowest)).any(axis=1)
        for place, codes in self._codes.items():
            rows |= np.isin(features[:, place], codes)
        if rows.any():
            far = self._map.cells_apart(features[rows])
            odds[rows] = np.clip(far - constants.APART, 0.0, constants.MOST_FOR_APART)
        return odds


def _limit(cells: _Cells) -> float:
    """How far a cell may be from its column's median before it stands apart."""
    if not cells._varies:
        return float("inf")
    with np.errstate(over="ignore"):
        return float(cells._unit * np.expm1(cells._middle + constants.APART * cells._spread))


class GateScales:
    """Gate features of any rows, on the scales that the fit's own rows had."""

    def __init__(self, space: FeatureSpace, strength: FloatArray, members: FloatArray) -> None:
        self._centre = members @ space.inner / max(float(members.sum()), 1e-9)
        vote = space.inner @ self._centre
        self._size = math.sqrt(float(vote @ vote) / len(vote)) + 1e-12
        self._middle = float(np.median(strength))
        self._unit = max(1.4826 * float(np.median(np.abs(strength - self._middle))), 0.2)

    def columns(self, space: FeatureSpace, strength: FloatArray) -> FloatArray:
        """1, where the bad rows are, how strong the disagreement or certainty is, the distance, shape (b, 4)."""
        vote = np.clip(space.inner @ self._centre / self._size, -6.0, 6.0)
        strong = np.clip((strength - self._middle) / self._unit, -4.0, 4.0)
        return np.column_stack([np.ones(len(vote)), vote, strong, space.distance])
