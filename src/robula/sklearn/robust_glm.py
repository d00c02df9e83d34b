"""What the estimators share: standardised sampling, results in the user's units."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from robula._types import ArrayInput, FloatArray
from robula._validation import check_positive, show
from robula.exceptions import InputError
from robula.models.generalized_linear_model import GeneralizedLinearModel
from robula.models.model import unique_names
from robula.models.priors import NormalPrior
from robula.run.sampler import sample
from robula.sklearn.coordinates import Coordinates, identity_coordinates, robust_coordinates
from robula.tables.arrays import as_matrix

#: Rows that count less than this are outliers in ``outlier_mask_``.
OUTLIER_WEIGHT = 0.5
# Linear predictors of new rows for all draws take at most about this many numbers at a time.
_CHUNK = 2**22


class RobustBayesianGLM(BaseEstimator):
    """Base of the three estimators; a subclass builds the model and turns linear predictors into predictions.

    The columns are standardised robustly inside (``standardize=False`` leaves them), the model is sampled there, and
    the draws are mapped back: ``posterior_``, ``coef_`` and ``intercept_`` are in the units of X and y.
    """

    def _fit(self, X: FloatArray, y: FloatArray) -> None:
        """Sample the posterior of checked X (n, p) and y (n,)."""
        if not isinstance(self.fit_intercept, bool | np.bool_):
            raise InputError(f"fit_intercept={show(self.fit_intercept)} must be True or False.")
        as_matrix(X, "X")  # refuses numbers so large that their squares overflow
        intercept = bool(self.fit_intercept)
        if self.standardize:
            coordinates = self._with_response(robust_coordinates(X, intercept=intercept), y)
        else:
            coordinates = identity_coordinates(X.shape[1], intercept=intercept)
        self.coordinates_ = coordinates
        self.model_ = self._build_model(coordinates.columns(X), y, coordinates)
        options = {name: getattr(self, name) for name in ("selector", "kernel") if getattr(self, name) is not None}
        posterior = sample(
            self.model_,
            contamination=self.contamination,
            draws=self.draws,
            burn_in=self.burn_in,
            chains=self.chains,
            seed=_seed(self.random_state),
            progress=False,
            **options,
        )
        features = tuple(getattr(self, "feature_names_in_", [f"x{index}" for index in range(X.shape[1])]))
        names = unique_names(("intercept", *features) if intercept else features)
        self.posterior_ = replace(
            posterior,
            draws=coordinates.to_user(posterior.draws),
            parameter_names=names,
            settings={**posterior.settings, "standardized": bool(self.standardize)},
        )
        mean = self.posterior_.mean
        self.intercept_ = float(mean[0]) if intercept else 0.0
        self.coef_ = mean[1:] if intercept else mean
        self.row_weights_ = posterior.row_weights
        self.outlier_mask_ = posterior.row_weights < OUTLIER_WEIGHT

    @abstractmethod
    def _build_model(self, columns: FloatArray, y: FloatArray, coordinates: Coordinates) -> GeneralizedLinearModel:
        """Return the model of the standardised columns."""

    def _with_response(self, coordinates: Coordinates, y: FloatArray) -> Coordinates:
        """Add the response's own centre and scale, where the model has them."""
        return coordinates

    def _prior(self, coordinates: Coordinates, intercept_mean: float = 0.0) -> NormalPrior:
        """Return the prior in the sampler's coordinates."""
        dim = len(coordinates.scale) + coordinates.intercept
        if self.prior is None:
            scale = check_positive(self.prior_scale, "prior_scale", "the prior's standard deviation")
            mean = np.zeros(dim)
            if coordinates.intercept:
                mean[0] = intercept_mean
            return NormalPrior(mean, scale**2)
        if not isinstance(self.prior, NormalPrior):
            raise InputError(
                f"prior={show(self.prior)} is not allowed: pass robula.NormalPrior(mean, covariance) in the units of X "
                "and y (intercept first), or None for one that is set by prior_scale."
            )
        self.prior.check_dim(dim)
        inverse = np.linalg.inv(coordinates.matrix())
        mean = inverse @ (np.broadcast_to(self.prior.mean, (dim,)) - coordinates.shift())
        covariance = inverse @ np.linalg.inv(self.prior.precision(np.zeros(dim))) @ inverse.T
        return NormalPrior(mean, 0.5 * (covariance + covariance.T))

    def _design(self, X: ArrayInput) -> FloatArray:
        """Return new rows with the intercept's column of ones, shape (m, d)."""
        check_is_fitted(self)
        array: FloatArray = validate_data(self, X, dtype=np.float64, reset=False)
        if self.posterior_.draws.shape[-1] > array.shape[1]:
            array = np.column_stack([np.ones(len(array)), array])
        return array

    def _over_draws(self, X: ArrayInput, summarize: Any) -> list[FloatArray]:
        """Apply ``summarize`` to the linear predictors (rows, draws) of new rows, some rows at a time."""
        design, draws = self._design(X), self.posterior_.flat_draws
        step = max(1, _CHUNK // len(draws))
        parts = [summarize(design[first : first + step] @ draws.T) for first in range(0, len(design), step)]
        return [np.concatenate(values) for values in zip(*parts, strict=True)]


def _seed(random_state: Any) -> int:
    """Return the seed a scikit-learn ``random_state`` stands for."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        if random_state < 0:
            raise InputError(f"random_state={random_state} must be at least 0.")
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
