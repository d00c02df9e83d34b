"""Standardised residuals of the models with one response per row, and their shares in the bins."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, pdtr, pdtrc

from robula._types import FloatArray
from robula.models.linear_model import LinearModel
from robula.models.poisson_model import PoissonModel
from robula.selectors.excess.excess_counts import BINS, EDGES, FAR, poisson_limit

ResponseModel = LinearModel | PoissonModel

_FEWEST_REPEATS = 5
_REPEAT_GATE = 4.0


def residuals(model: ResponseModel, theta: FloatArray) -> FloatArray:
    """Residuals (n,) that are roughly N(0, 1) under the model; finite everywhere."""
    eta = model.predictor(theta)
    if isinstance(model, LinearModel):
        return (model.y - eta) / model.noise_scale
    # Anscombe's square root: stable variance for counts, small and large.
    rate = np.exp(np.clip(eta, -50.0, 50.0))
    return 2.0 * (np.sqrt(model.y + 0.375) - np.sqrt(rate + 0.125))


def bin_shares(model: ResponseModel, theta: FloatArray, scale: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Share of each row in each bin, and 0 for the rows that are too far out, else 1.

    A continuous response lies in one bin. A count y covers the interval from F(y - 1) to F(y) of the probability
    scale, and is shared among the bins in proportion: the expected total of each bin is then exact under the model
    [czado2009, sec. 2.1].

    Parameters
    ----------
    scale : ndarray, shape (n,)
        Standard deviation of the normal score: the parameter's own uncertainty makes it larger for rows that had no
        part in the fit and smaller for rows that had.

    Returns
    -------
    ndarray, shape (n, BINS), and ndarray, shape (n,)
    """
    if isinstance(model, LinearModel):
        z = residuals(model, theta) / scale
        shares = np.zeros((model.n_rows, BINS))
        shares[np.arange(model.n_rows), np.digitize(z, EDGES[1:-1])] = 1.0
        return shares, np.where(np.abs(z) > FAR, 0.0, 1.0)
    rate = np.exp(np.clip(model.predictor(theta), -50.0, 50.0))
    high = pdtr(model.y, rate)
    low = np.where(model.y > 0, pdtr(np.maximum(model.y - 1.0, 0.0), rate), 0.0)
    edges = ndtr(EDGES * scale[:, None])
    overlap = np.minimum(high[:, None], edges[:, 1:]) - np.maximum(low[:, None], edges[:, :-1])
    shares = np.maximum(overlap, 0.0)
    total = shares.sum(axis=1, keepdims=True)
    # In the far tail the interval is too short for double precision: it lies in one of the two tail bins.
    tail = np.zeros((model.n_rows, BINS))
    tail[np.arange(model.n_rows), np.where(model.y > rate, BINS - 1, 0)] = 1.0
    shares = np.where(total > 0, shares / np.maximum(total, 1e-300), tail)
    upper = np.where(model.y > 0, pdtrc(np.maximum(model.y - 1.0, 0.0), rate), 1.0)  # P(Y >= y)
    beyond = (high < ndtr(-FAR * scale)) | (upper < ndtr(-FAR * scale))
    return shares, np.where(beyond, 0.0, 1.0)


def repeat_weights(model: ResponseModel, theta: FloatArray) -> FloatArray:
    """Weights (n,) that remove the excess of repeated values of a continuous response.

    A code for "missing" is one value many times. The model predicts how many rows fall halfway to the neighbouring
    values; where the data are rounded that is as many as there are, and nothing is removed.
    """
    weights = np.ones(model.n_rows)
    if not isinstance(model, LinearModel):
        return weights
    values, which, repeats = np.unique(model.y, return_inverse=True, return_counts=True)
    if len(values) < 3 or repeats.max() < _FEWEST_REPEATS:
        return weights
    gaps = np.diff(values) / 2.0
    below, above = np.concatenate([gaps[:1], gaps]), np.concatenate([gaps, gaps[-1:]])
    eta = model.predictor(theta)
    for index in np.flatnonzero(repeats >= _FEWEST_REPEATS):
        top = ndtr((values[index] + above[index] - eta) / model.noise_scale)
        bottom = ndtr((values[index] - below[index] - eta) / model.noise_scale)
        expected = np.asarray((top - bottom).sum())
        if repeats[index] > poisson_limit(expected, _REPEAT_GATE):
            weights[which == index] = float(expected) / repeats[index]
    return weights
