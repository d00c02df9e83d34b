"""Laws of rows whose distribution is of no known family: by simulation, and by its own cdf where it has one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtri

from robula._types import FloatArray
from robula.integrations.site_laws import SiteLaw, Telling
from robula.models.law import Noise, Tails

#: Simulated responses of each row where a distribution has no cdf.
SIMULATIONS = 400


class EmpiricalLaw(SiteLaw):
    """A site whose family is not known here: tails from its cdf or from simulated responses; the rest from those.

    With q the normal score of a response and s the gradient of its log-likelihood, E[q s] is d mean / d theta over the
    sd, and E[(q^2 - 1) s] / sqrt(2) what the spread tells: exactly so for a normal response.

    Parameters
    ----------
    values : callable
        ``observed -> ndarray (n, ...)``: this site's responses.
    draws : callable
        ``(theta, data, observed) -> ndarray (m, n, ...)``: responses simulated at theta, always by the same seeds.
    slopes : callable
        ``(theta, data, observed, responses (n, ...)) -> ndarray (n, d)``: gradients of the rows' log-likelihoods.
    cdf : callable, optional
        ``(theta, data, observed) -> (ndarray (n,), ndarray (n,))``: P(Y < y) and P(Y <= y).
    discrete : bool
    name : str
        Of the distribution.
    """

    kind = "number"

    def __init__(
        self,
        values: Callable[[Any], FloatArray],
        draws: Callable[..., FloatArray],
        slopes: Callable[..., FloatArray],
        cdf: Callable[..., tuple[FloatArray, FloatArray]] | None,
        discrete: bool,
        name: str,
    ) -> None:
        self._values, self._draws, self._gradients, self._cdf, self._discrete = values, draws, slopes, cdf, discrete
        self.source = f"{name}, its own cdf" if cdf is not None else f"{name}, {SIMULATIONS} simulated responses a row"

    def tails(self, *point: Any) -> Tails:
        """From the cdf, or by the place among the simulated responses; ties make an interval."""
        if self._cdf is not None:
            below, up_to = (np.clip(end, 0.0, 1.0) for end in self._cdf(*point))
        else:
            y, draws = self._values(point[-1]), self._draws(*point)
            count = len(draws) + 1.0
            below, up_to = (draws < y).sum(axis=0) / count, ((draws <= y).sum(axis=0) + 1.0) / count
        rows = len(below)
        with np.errstate(divide="ignore"):
            return Tails(*(np.log(end).reshape(rows, -1) for end in (below, up_to, 1.0 - below, 1.0 - up_to)))

    def telling(self, *point: Any) -> Telling:
        """Covariances of normal scores and gradients over the simulated responses."""
        draws = self._draws(*point)
        m, n = draws.shape[:2]
        from scipy.stats import rankdata  # a third of a second, for laws without a cdf only

        q = ndtri((rankdata(draws, axis=0) - 0.5) / m).reshape(m, n, -1)
        mean = spread = np.zeros((n, q.shape[2], 0))
        for scores, responses in zip(q, draws, strict=True):
            slopes = self._gradients(*point, responses)
            slopes = np.where(np.isfinite(slopes), slopes, 0.0)[:, None, :] / m
            if not mean.shape[2]:
                mean = spread = np.zeros((n, q.shape[2], slopes.shape[2]))
            mean = mean + scores[:, :, None] * slopes
            spread = spread + (scores[:, :, None] ** 2 - 1.0) / np.sqrt(2.0) * slopes
        return Telling(mean, spread, np.median(draws, axis=0).reshape(n, -1), mean)

    def noise(self, told: Telling) -> Noise:
        """Discrete: implied; else estimated, as nothing says that it is known."""
        return "implied" if self._discrete else "estimated"
