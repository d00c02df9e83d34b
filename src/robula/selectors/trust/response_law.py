"""The law of the responses whatever the features are: what the response of a row with wrong features looks like."""

from __future__ import annotations

import math

import numpy as np
from scipy.ndimage import gaussian_filter1d

from robula._types import FloatArray

# Cells of the density, and how far out it reaches, in spreads: what is farther out is gross by itself.
_CELLS, _REACH = 512, 8.0
_LEAST = 1e-300


class ResponseLaw:
    """A kernel estimate of the density of responses, with Silverman's bandwidth.

    Parameters
    ----------
    response : ndarray, shape (n,)
    """

    def __init__(self, response: FloatArray) -> None:
        low, middle, high = np.quantile(response, [0.25, 0.5, 0.75])
        spread = (high - low) / 1.349
        self.known = bool(spread > 0.0)
        if not self.known:
            return
        n = len(response)
        edges = middle + spread * np.linspace(-_REACH, _REACH, _CELLS + 1)
        cell = float(edges[1] - edges[0])
        # Counts are whole: what is between them is none of them.
        whole = bool((response == np.round(response)).all())
        bandwidth = max(0.9 * spread * n**-0.2, 0.5 if whole else 0.0)
        counts = np.histogram(response, edges)[0].astype(np.float64)
        self._centres = 0.5 * (edges[1:] + edges[:-1])
        self._density = gaussian_filter1d(counts, bandwidth / cell, mode="constant") / (n * cell)
        self._own = 1.0 / (n * bandwidth * math.sqrt(2.0 * math.pi))

    def log_density(self, response: FloatArray, own: bool) -> FloatArray:
        """Log density (m,) of responses; ``own`` where they are those that it was estimated from, each left out."""
        if not self.known:
            return np.full(len(response), -np.inf)
        density = np.interp(response, self._centres, self._density, left=0.0, right=0.0)
        if own:
            density = density - np.where(density > 0.0, self._own, 0.0)
        return np.where(density > _LEAST, np.log(np.maximum(density, _LEAST)), -np.inf)
