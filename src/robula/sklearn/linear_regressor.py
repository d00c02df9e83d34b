"""Robust Bayesian linear regression as a scikit-learn regressor."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import validate_data

from robula._types import ArrayInput, FloatArray
from robula.kernels.kernel import Kernel
from robula.models.linear_model import LinearModel
from robula.models.priors import NormalPrior
from robula.selectors.selection import Selector
from robula.sklearn.coordinates import Coordinates, robust_coordinates
from robula.sklearn.noise_scale import robust_noise_scale
from robula.sklearn.robust_glm import RobustBayesianGLM

# A perfect fit has no noise; the sampler needs some. Relative to the scale of y.
_LEAST_NOISE = 1e-4
# What the noise scale is protected against where no level is given.
_GUARDED_SHARE = 0.25


class RobustBayesianRegressor(RegressorMixin, RobustBayesianGLM):
    """Linear regression whose posterior is that of the good rows.

    Parameters
    ----------
    contamination : float or "estimate", default=0.1
        Upper bound on the share of bad rows, in [0, 0.5), as in :func:`robula.sample`.
    noise_scale : float, optional
        Standard deviation of the noise, in units of y. None estimates it robustly (``noise_scale_``).
    fit_intercept : bool, default=True
    prior_scale : float, default=2.5
        Prior standard deviation of every coefficient, in robust standard deviations of y per robust standard deviation
        of the column.
    prior : NormalPrior, optional
        Instead of ``prior_scale``: a prior in the units of X and y, intercept first.
    standardize : bool, default=True
        Sample in robustly standardised columns. Results are in the units of X and y in any case.
    selector, kernel : str or object, optional
        As in :func:`robula.sample`; None is its default.
    draws, burn_in, chains : int
        As in :func:`robula.sample`.
    random_state : int, RandomState or None, default=0

    Attributes
    ----------
    coef_ : ndarray, shape (p,)
    intercept_ : float
    posterior_ : Posterior
        Draws in the units of X and y, intercept first.
    row_weights_ : ndarray, shape (n,)
        How much each training row counted, in [0, 1].
    outlier_mask_ : ndarray of bool, shape (n,)
        Rows with a weight below one half.
    noise_scale_ : float
    model_ : LinearModel
        The model that was sampled, in standardised columns.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had column names.

    Examples
    --------
    >>> import numpy as np
    >>> from robula.sklearn import RobustBayesianRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 1))
    >>> y = 3.0 * X[:, 0] + rng.normal(size=200)
    >>> y[:10] = -50.0
    >>> model = RobustBayesianRegressor(contamination=0.1, draws=200).fit(X, y)
    >>> bool(abs(model.coef_[0] - 3.0) < 0.5), bool(model.outlier_mask_[:10].all())
    (True, True)
    """

    def __init__(
        self,
        *,
        contamination: float | str = 0.1,
        noise_scale: float | None = None,
        fit_intercept: bool = True,
        prior_scale: float = 2.5,
        prior: NormalPrior | None = None,
        standardize: bool = True,
        selector: str | Selector | None = None,
        kernel: str | Kernel | None = None,
        draws: int = 1000,
        burn_in: int = 300,
        chains: int = 4,
        random_state: Any = 0,
    ) -> None:
        self.contamination = contamination
        self.noise_scale = noise_scale
        self.fit_intercept = fit_intercept
        self.prior_scale = prior_scale
        self.prior = prior
        self.standardize = standardize
        self.selector = selector
        self.kernel = kernel
        self.draws = draws
        self.burn_in = burn_in
        self.chains = chains
        self.random_state = random_state

    def fit(self, X: ArrayInput, y: ArrayInput) -> Self:
        """Sample the posterior of the coefficients given X (n, p) and y (n,)."""
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        self._fit(X, np.asarray(y, dtype=np.float64))
        return self

    def predict(self, X: ArrayInput, return_std: bool = False) -> Any:
        """Return the predictive mean (m,), and its standard deviation with the noise in it if asked for."""
        design = self._design(X)
        mean = design @ self.posterior_.mean
        if not return_std:
            return mean
        variance = np.einsum("ij,jk,ik->i", design, self.posterior_.covariance, design) + self.noise_scale_**2
        return mean, np.sqrt(variance)

    def _with_response(self, coordinates: Coordinates, y: FloatArray) -> Coordinates:
        response = robust_coordinates(y[:, None], intercept=coordinates.intercept)
        return coordinates._replace(response_centre=float(response.centre[0]), response_scale=float(response.scale[0]))

    def _build_model(self, columns: FloatArray, y: FloatArray, coordinates: Coordinates) -> LinearModel:
        response = (y - coordinates.response_centre) / coordinates.response_scale
        if self.noise_scale is None:
            design = np.column_stack([np.ones(len(columns)), columns]) if coordinates.intercept else columns
            guarded = self.contamination if isinstance(self.contamination, float) else _GUARDED_SHARE
            noise = robust_noise_scale(design, response, guarded)
            noise = max(noise, _LEAST_NOISE * float(robust_coordinates(response[:, None], intercept=True).scale[0]))
        else:
            noise = self.noise_scale / coordinates.response_scale
        model = LinearModel(
            columns, response, noise_scale=noise, prior=self._prior(coordinates), intercept=coordinates.intercept
        )
        self.noise_scale_ = float(model.noise_scale * coordinates.response_scale)
        return model
