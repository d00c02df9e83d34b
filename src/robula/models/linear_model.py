"""Linear regression with known noise scale (the paper's section 5.2)."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from robula._types import ArrayInput, FloatArray
from robula._validation import check_scale
from robula.exceptions import InputError
from robula.models.gaussian_posterior import GaussianPosterior, gaussian_posterior
from robula.models.generalized_linear_model import ALL_ROWS, GeneralizedLinearModel
from robula.models.priors import Prior
from robula.tables.arrays import as_vector, read_only, refuse_misaligned


class LinearModel(GeneralizedLinearModel):
    """Rows y_i ~ N(x_i' theta, noise_scale^2).

    Parameters
    ----------
    X : array-like, shape (n, p)
    y : array-like, shape (n,)
    noise_scale : float or "estimate"
        Standard deviation of the noise. "estimate" makes its logarithm the last parameter, with the weakly informative
        prior of :class:`UnknownScaleLinearModel`; the draws of the scale are in ``posterior.variables["noise_scale"]``.
    prior : NormalPrior, optional
        None is flat, and then the columns must be linearly independent.
    intercept : bool, optional
        Add a column of ones in front.
    """

    def __new__(
        cls,
        X: ArrayInput,
        y: ArrayInput,
        *,
        noise_scale: float | Literal["estimate"],
        prior: Prior | None = None,
        intercept: bool = False,
    ) -> Any:
        """Return a model whose noise scale is a parameter where it is to be estimated."""
        if isinstance(noise_scale, str) and noise_scale == "estimate":
            from robula.models.unknown_scale import UnknownScaleLinearModel  # it builds on this class

            return UnknownScaleLinearModel(X, y, prior=prior, intercept=intercept)
        return super().__new__(cls)

    def __getnewargs_ex__(self) -> tuple[tuple[None, None], dict[str, float]]:
        """What copying and pickling pass to ``__new__``, before they restore the attributes."""
        return (None, None), {"noise_scale": self.noise_scale}

    def __init__(
        self,
        X: ArrayInput,
        y: ArrayInput,
        *,
        noise_scale: float | Literal["estimate"],
        prior: Prior | None = None,
        intercept: bool = False,
    ) -> None:
        self.noise_scale = check_scale(noise_scale, "noise_scale", "the noise's standard deviation (or 'estimate')")
        super().__init__(X, prior, intercept)
        refuse_misaligned(X, y)
        self.y = read_only(np.array(as_vector(y, "y", self.n_rows)))
        self._row_curvature_bound = self.noise_scale**-2
        if not self.prior.proper:
            _require_independent_columns(self._weighted_gram(np.ones(self.n_rows)), self.parameter_names)

    def _score(self, eta: FloatArray, rows: slice = ALL_ROWS) -> FloatArray:
        return (self.y[rows] - eta) / self.noise_scale**2

    def _row_curvature(self, eta: FloatArray) -> FloatArray:
        # Carries 1/noise_scale^2; the constants of the paper's cor:rbls leave it out (docs/errata.md).
        return np.full_like(eta, self.noise_scale**-2)

    def _row_log_likelihood(self, eta: FloatArray) -> FloatArray:
        standardized = (self.y - eta) / self.noise_scale
        return -0.5 * standardized**2 - math.log(self.noise_scale) - 0.5 * math.log(2 * math.pi)

    def gaussian_posterior(self, weights: FloatArray | None = None) -> GaussianPosterior:
        """Exact posterior when row i counts ``weights[i]`` times."""
        return gaussian_posterior(self, weights)


def _require_independent_columns(gram: FloatArray, names: tuple[str, ...]) -> None:
    """Refuse a Gram matrix (d, d) of dependent columns: with a flat prior the posterior is improper."""
    lengths = np.sqrt(np.diag(gram))
    if not lengths.all():
        zero = [names[index] for index in np.flatnonzero(lengths == 0)[:5]]
        raise InputError(
            f"column(s) {', '.join(zero)} of X are all zero and the prior is flat, so their coefficients are "
            "undetermined. Drop them, or pass prior=robula.NormalPrior(0.0, 1.0)."
        )
    values, vectors = np.linalg.eigh(gram / np.outer(lengths, lengths))
    # The Gram matrix squares the condition number: eigenvalues below d * 1e-14 are rounding.
    if values[0] > 1e-14 * len(values):
        return
    order = np.argsort(-np.abs(vectors[:, 0]))
    involved = [names[index] for index in order[:5] if abs(vectors[index, 0]) > 1e-3]
    raise InputError(
        f"the columns of X are linearly dependent (involved: {', '.join(involved)}) and the prior is flat, so the "
        "posterior is improper. Drop one of them, or pass prior=robula.NormalPrior(0.0, 1.0)."
    )
