"""Where rows are that had no part in the fit: the coordinates of a feature map, in few operations a row."""

from __future__ import annotations

import numpy as np

from robula._types import FloatArray
from robula.selectors.trust.feature_space import _BOUND, _CLIP, FeatureMap, FeatureSpace, bounded_odds
from robula.tables.cell_limits import CellLimits, Codes


class BlockMap:
    """What a :class:`FeatureMap` of some rows says of others, the same to rounding.

    Every pass asks it of all rows. So axes and scales are one matrix, the directions that only a search looks at are
    left out, and cells are judged by their own columns.

    Parameters
    ----------
    features : ndarray, shape (n, d)
        Of the rows that define the coordinates.
    codes : tuple of tuple of float, d of them
        Values of each column that stand for "missing".
    """

    def __init__(self, features: FloatArray, codes: Codes) -> None:
        own = FeatureMap(features)
        self.rank, self._limits = own.rank, CellLimits(features, codes)
        if not self.rank:
            return
        whitening = own._whitening / own._spread[:, None]
        to_axes = whitening @ own._axes / own._deviation
        self._both = np.hstack([whitening, to_axes])
        self._shift = own._middle / own._deviation
        self._columns = slice(None) if own._kept.all() else np.flatnonzero(own._kept)
        self._mean, self._factor, self._centre = own._mean, own._factor, own._centre @ own._factor
        self._usual_distance, self._distance_unit = own._usual_distance, own._distance_unit

    def __call__(self, features: FloatArray) -> FeatureSpace:
        """Coordinates of rows with these features (m, d); their directions are left out, (m, 0)."""
        rows = len(features)
        none, apart = np.zeros((rows, 0)), bounded_odds(self._limits(features))
        if not self.rank:
            return FeatureSpace(none, none, np.zeros(rows), none, apart)
        both = (features - self._mean)[:, self._columns] @ self._both
        whitened, along = both[:, : self.rank], both[:, self.rank :] - self._shift
        along /= np.sqrt(1.0 + (along / _BOUND) ** 2)
        inner = along @ self._factor - self._centre
        squared = np.einsum("ij,ij->i", inner, inner) / self.rank
        distance = (np.log1p(squared) - self._usual_distance) / self._distance_unit
        return FeatureSpace(whitened, np.clip(inner, -_CLIP, _CLIP, out=inner), distance, none, apart)
