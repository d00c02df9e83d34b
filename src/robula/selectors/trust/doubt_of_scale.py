"""Few rows with an estimated noise scale: the others' doubt about it is in every score."""

from __future__ import annotations

import numpy as np

from robula._types import FloatArray

# Degrees of freedom from which on Student's t is normal to rounding.
_AS_GOOD_AS_KNOWN = 1e6


class DoubtOfScale:
    """Scores in units of an estimated noise scale: Student's t for a row that had no say in it.

    Of m rows with p parameters nu = m - p know the scale. A row that counts is among them, and its score cannot be
    beyond sqrt(nu): as far as it has pulled the scale up, their doubt about it does not add. So nu / (1 - w). It is a
    doubt of few rows: the more there are, the more the law that is only nearly right is in doubt instead, and it has
    tails of its own.

    Parameters
    ----------
    counted, leverage : ndarray, shape (n,)
        What each row counts, and its leverage.
    few : float
        How few the rows are: 1 for none, 0 from FEW_ROWS on.
    """

    def __init__(self, counted: FloatArray, leverage: FloatArray, few: float) -> None:
        known = max(float(counted.sum() - counted @ leverage), 1.0)
        self._freedom = known / np.maximum(few * (1.0 - counted), known / _AS_GOOD_AS_KNOWN)
        # Of Wallace's approximation to the normal score of t [wallace1959].
        self._factor = (8.0 * self._freedom + 1.0) / (8.0 * self._freedom + 3.0)

    def shrinks(self, z: FloatArray) -> FloatArray:
        """By how much scores z (n,) are larger than their normal scores."""
        squared = z**2 / self._freedom
        # log(1 + s) / s, which is 1 at 0.
        ratio = np.where(squared > 0.0, np.log1p(squared) / np.maximum(squared, 1e-300), 1.0)
        larger: FloatArray = 1.0 / (self._factor * np.sqrt(ratio))
        return larger

    def normal_scores(self, z: FloatArray) -> FloatArray:
        """Normal scores (n,) of t; what is infinite stays so."""
        with np.errstate(invalid="ignore"):
            return np.where(np.isfinite(z), z / self.shrinks(z), z)

    def log_slope(self, z: FloatArray) -> FloatArray:
        """Log (n,) of the slope of the normal score in z, which turns a density of the one into that of the other."""
        slope: FloatArray = 2.0 * np.log(self._factor) + np.log(self.shrinks(z)) - np.log1p(z**2 / self._freedom)
        return slope
