"""Other answers from the rows of a fitted estimator: plain, and at other contaminations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from robula._threads import threads_for
from robula._types import ArrayInput
from robula.models.gaussian_posterior import GaussianPosterior
from robula.models.posterior_mode import laplace
from robula.result.posterior import Posterior
from robula.sklearn.robust_glm import RobustBayesianGLM


class Refits:
    """Answers from the same rows, in the units of X and y; coordinates and model are made once for all of them.

    Parameters
    ----------
    fitted : RobustBayesianGLM
    X : array-like, shape (n, p)
        The rows that it was fitted to.
    of_rows : mapping of str to array-like (n,), optional
        And what it was told of each of them: ``sample_weight``, ``exposure``.
    """

    def __init__(
        self, fitted: RobustBayesianGLM, X: ArrayInput, of_rows: Mapping[str, ArrayInput] | None = None
    ) -> None:
        rows = np.asarray(X, dtype=np.float64)
        self._fitted, self._size = fitted, rows.size
        with threads_for(rows.size):
            self._coordinates, self._sampled = fitted._to_sample(rows, fitted.model_.y, of_rows or {})

    def plain(self) -> GaussianPosterior | None:
        """Return the answer that trusts every row, None if there is none.

        A noise scale is as it is, not its logarithm.
        """
        posterior = self._fitted.posterior_
        with threads_for(self._size):
            found, robust = laplace(self._sampled), laplace(self._sampled, posterior.row_weights)
        if found is None or robust is None:
            return None
        draws, count = posterior.flat_draws - posterior.row_shift, self._coordinates.coefficients
        draws[:, count:] = np.exp(draws[:, count:])
        deviations = draws.std(axis=0) * (1.0 - posterior.row_doubt)
        plain, robust = (self._coordinates.posterior_to_user(each) for each in (found, robust))
        return plain.seen_as(robust, draws.mean(axis=0), deviations)

    def at(self, levels: Sequence[float], **settings: Any) -> Iterator[Posterior]:
        """Yield the posterior at each contamination, with other parameters of the estimator, such as ``draws``."""
        for level in levels:
            other = copy(self._fitted).set_params(contamination=level, **settings)
            other._checkpoint = None
            with threads_for(self._size):
                posterior = other._sampled(self._sampled)
            other._finish(posterior, self._coordinates, self._sampled.parameter_names)
            yield other.posterior_
