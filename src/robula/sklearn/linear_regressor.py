"""Robust Bayesian linear regression as scikit-learn regressors: normal noise, and Student-t noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from robula._intervals import HALF_WIDTH
from robula._types import FloatArray
from robula._validation import check_scale
from robula.kernels.kernel import Kernel
from robula.models.linear_model import LinearModel
from robula.models.priors import NormalPrior
from robula.models.regression import Regression
from robula.result.posterior import Posterior
from robula.selectors.selection import Selector
from robula.sklearn.coordinates import Coordinates, with_response
from robula.sklearn.glm_regressor import RobustGLMRegressor
from robula.sklearn.robust_glm import Predictive


class RobustBayesianRegressor(RobustGLMRegressor):
    """Linear regression whose posterior is that of the good rows.

    Parameters
    ----------
    contamination : float or "estimate", default=0.1
        Upper bound on the share of bad rows, in [0, 0.5), as in :func:`robula.sample`.
    noise_scale : float or "estimate", optional
        Standard deviation of the noise, in units of y. None and "estimate" sample it with the coefficients; the last
        parameter then is its logarithm.
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
    distrusted_ : Series
        Weights of these rows, the least first, by their labels in X (or y): ``table.loc[fit.distrusted_.index]``.
    noise_scale_ : float
        As given, or the posterior mean.
    model_ : LinearModel
        The model in the units of X and y: ``posterior_`` is its posterior.
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

    model_name = "linear"

    def __init__(
        self,
        *,
        contamination: float | Literal["estimate"] = 0.1,
        noise_scale: float | Literal["estimate"] | None = None,
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
        super().__init__(
            contamination=contamination,
            fit_intercept=fit_intercept,
            prior_scale=prior_scale,
            prior=prior,
            standardize=standardize,
            selector=selector,
            kernel=kernel,
            draws=draws,
            burn_in=burn_in,
            chains=chains,
            random_state=random_state,
        )
        self.noise_scale = noise_scale

    def _with_response(self, coordinates: Coordinates, y: FloatArray) -> Coordinates:
        return with_response(coordinates, y)

    def _model(
        self, X: FloatArray, y: FloatArray, prior: NormalPrior, coordinates: Coordinates, **options: Any
    ) -> LinearModel:
        asked = "estimate" if self.noise_scale is None else self.noise_scale
        if not isinstance(asked, str):
            asked = check_scale(asked, "noise_scale", "the noise's standard deviation (or 'estimate')")
        noise = asked if isinstance(asked, str) else asked / coordinates.response_scale
        return LinearModel(X, y, noise_scale=noise, prior=prior, intercept=coordinates.intercept, **options)

    def _set_posterior(self, posterior: Posterior) -> None:
        super()._set_posterior(posterior)
        scales = posterior.variables.get("noise_scale", np.array(getattr(self.model_, "noise_scale", np.nan)))
        self.noise_scale_ = float(scales.mean())

    def facts(self) -> dict[str, Any]:
        """And the noise scale; None where it was sampled."""
        return {**super().facts(), "noise_scale": None if self.noise_scale == "estimate" else self.noise_scale}

    def _take_facts(self, facts: Mapping[str, Any]) -> None:
        self.noise_scale = facts["noise_scale"]

    def _predictive(self, eta: FloatArray, rest: FloatArray, rng: np.random.Generator) -> Predictive:
        mean, deviation = self._mean_and_deviation(eta, rest, rng)
        return Predictive(mean, deviation, mean - HALF_WIDTH * deviation, mean + HALF_WIDTH * deviation)


class RobustStudentTRegressor(RobustGLMRegressor):
    """Linear regression with Student-t noise whose posterior is that of the good rows.

    For noise with heavy tails in every row; :class:`RobustBayesianRegressor` is for normal noise and some bad rows.

    Parameters
    ----------
    degrees_of_freedom : float, default=4.0
        Of the noise, as in :class:`robula.models.StudentTModel`.
    contamination, fit_intercept, prior_scale, prior, standardize, selector, kernel
        As for :class:`RobustBayesianRegressor`.
    draws, burn_in, chains, random_state
        As for :class:`RobustBayesianRegressor`.

    Attributes
    ----------
    scale_ : float
        Posterior mean of the noise's scale.
    coef_, intercept_, posterior_, row_weights_, outlier_mask_, distrusted_, model_, n_features_in_, feature_names_in_
        As for :class:`RobustBayesianRegressor`; the last parameter is the log of the scale.
    """

    model_name = "student_t"

    def __init__(
        self,
        *,
        contamination: float | Literal["estimate"] = 0.1,
        degrees_of_freedom: float = 4.0,
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
        super().__init__(
            contamination=contamination,
            fit_intercept=fit_intercept,
            prior_scale=prior_scale,
            prior=prior,
            standardize=standardize,
            selector=selector,
            kernel=kernel,
            draws=draws,
            burn_in=burn_in,
            chains=chains,
            random_state=random_state,
        )
        self.degrees_of_freedom = degrees_of_freedom

    def _with_response(self, coordinates: Coordinates, y: FloatArray) -> Coordinates:
        return with_response(coordinates, y)

    def _model(
        self, X: FloatArray, y: FloatArray, prior: NormalPrior, coordinates: Coordinates, **options: Any
    ) -> Regression:
        return super()._model(X, y, prior, coordinates, degrees_of_freedom=self.degrees_of_freedom, **options)

    def _set_posterior(self, posterior: Posterior) -> None:
        super()._set_posterior(posterior)
        self.scale_ = float(posterior.variables["scale"].mean())

    def facts(self) -> dict[str, Any]:
        """And the degrees of freedom."""
        return {**super().facts(), "degrees_of_freedom": self.degrees_of_freedom}

    def _take_facts(self, facts: Mapping[str, Any]) -> None:
        self.degrees_of_freedom = facts["degrees_of_freedom"]
