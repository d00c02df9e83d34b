"""Linear regression with normal noise of known or unknown scale (the paper's section 5.2)."""

from __future__ import annotations

import inspect
import math
from typing import Literal, Self, cast

import numpy as np
from scipy.special import ndtr

from robula._types import ArrayInput, FloatArray
from robula._validation import check_scale
from robula.exceptions import InputError
from robula.models.gaussian_posterior import GaussianPosterior, gaussian_posterior
from robula.models.generalized_linear_model import ALL_ROWS, GeneralizedLinearModel
from robula.models.law import Noise
from robula.models.model import COEFFICIENTS, Model, unique_names
from robula.models.priors import LOG_SCALE_SD, CoefficientsAndLogScale, NormalPrior, Prior
from robula.models.regression import require_independent_columns
from robula.tables.arrays import as_vector, refuse_misaligned


class LinearModel(GeneralizedLinearModel):
    """Rows y_i ~ N(x_i' theta, noise_scale^2).

    There is no offset: subtract it from y.

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
    row_weights : array-like, shape (n,), optional
        How often each row counts, as for :class:`Regression`.
    """

    name = "linear"
    noise: Noise = "declared"
    quadratic = True

    def __new__(cls, *data: ArrayInput, noise_scale: object = None, **options: object) -> Self:
        """Make the kind of linear model that the noise scale asks for; its own ``__init__`` does the rest."""
        if "offset" in options:
            raise InputError(
                "a linear model has no offset=: subtract it from y, which is the same, and add it to what is predicted."
            )
        estimated = isinstance(noise_scale, str) and noise_scale == "estimate"
        kind = UnknownScaleLinearModel if estimated and cls is LinearModel else cls
        return cast(Self, object.__new__(kind))

    def __init__(
        self,
        X: ArrayInput,
        y: ArrayInput,
        *,
        noise_scale: float | Literal["estimate"],
        prior: Prior | None = None,
        intercept: bool = False,
        row_weights: ArrayInput = None,
    ) -> None:
        self.noise_scale = check_scale(noise_scale, "noise_scale", "the noise's standard deviation (or 'estimate')")
        super().__init__(X, prior, intercept, row_weights=row_weights)
        refuse_misaligned(X, y)
        self._set_response(as_vector(y, "y", self.n_rows))
        self._row_curvature_bound = self.noise_scale**-2
        if not self.prior.proper:
            require_independent_columns(self)

    def _score(self, eta: FloatArray, rows: slice = ALL_ROWS) -> FloatArray:
        return (self.y[rows] - eta) / self.noise_scale**2

    def _row_curvature(self, eta: FloatArray) -> FloatArray:
        # Carries 1/noise_scale^2; the constants of the paper's cor:rbls leave it out (docs/errata.md).
        return np.full_like(eta, self.noise_scale**-2)

    def _row_log_likelihood(self, eta: FloatArray) -> FloatArray:
        standardized = (self.y - eta) / self.noise_scale
        return -0.5 * standardized**2 - math.log(self.noise_scale) - 0.5 * math.log(2 * math.pi)

    def _standardized(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Residuals over sigma (..., n), and sigma (..., 1)."""
        theta = self.check_theta(theta)
        return (self.y - self.predictor(theta)) / self.noise_scale, np.full((*theta.shape[:-1], 1), self.noise_scale)

    def pit(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Phi of the residual in units of the noise, twice, shape (n,)."""
        probability: FloatArray = ndtr(self._standardized(theta)[0])
        return probability, probability

    def scores(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The residual in units of the noise, twice, shape (n,); exact however far out."""
        z = self._standardized(theta)[0]
        return z, z

    def _row_pit(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        probability: FloatArray = ndtr((self.y - eta) / self.noise_scale)
        return probability, probability

    def _row_simulation(self, eta: FloatArray, rng: np.random.Generator) -> FloatArray:
        return eta + self.noise_scale * rng.standard_normal(len(eta))

    def moments(self, eta: FloatArray, rest: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and noise variance of new responses, shapes (..., k)."""
        return eta, np.full_like(eta, self.noise_scale**2)

    def compressed(self, weights: FloatArray) -> tuple[Model, FloatArray] | None:
        """Rows of R with R'R = Z'WZ, Z = (X, y): c + 1 of them, whatever n."""
        counted = self.counted(weights)
        if not self.in_memory or self.n_rows <= self.columns + 1 or not counted.any():
            return None
        both = np.column_stack([self.design, self.y]) * np.sqrt(counted)[:, None]
        return self.of_root(np.asarray(np.linalg.qr(both, mode="r")), float(counted.sum()))

    def of_root(self, root: FloatArray, total: float) -> tuple[Self, FloatArray]:
        """Return the model of rows Z (n, c + 1) with Z'WZ = R'R, of which the weights have this sum, and its weights.

        Its rows are those of R (m, c + 1), scaled so that the sum of squares and the number of rows are both right.
        """
        rows = len(root)
        root = root * math.sqrt(rows / total)
        compact = self.with_rows(root[:, :-1], root[:, -1])
        return compact, np.full(rows, total / rows)

    def gaussian_posterior(self, weights: FloatArray | None = None) -> GaussianPosterior:
        """Exact posterior when row i counts ``weights[i]`` times."""
        return gaussian_posterior(self, weights)


class UnknownScaleLinearModel(LinearModel):
    """Rows y_i ~ N(x_i' beta, sigma^2); theta = (beta, log sigma).

    The prior of log sigma is N(log m, 2^2), independent of beta's, with m the median absolute deviation of y in units
    of a normal's standard deviation. It says little: the noise is within a factor of 50 of the spread of y.

    Parameters
    ----------
    X, y, prior, intercept, row_weights
        As for :class:`LinearModel`; the prior is the coefficients'.
    noise_scale : "estimate"
    """

    noise = "estimated"
    variable_dims = COEFFICIENTS
    by_predictor = False
    quadratic = False

    def __init__(
        self,
        X: ArrayInput,
        y: ArrayInput,
        *,
        noise_scale: Literal["estimate"] = "estimate",
        prior: Prior | None = None,
        intercept: bool = False,
        row_weights: ArrayInput = None,
    ) -> None:
        super().__init__(X, y, noise_scale=1.0, prior=prior, intercept=intercept, row_weights=row_weights)
        del self.noise_scale
        self._coefficients_prior = self.prior
        name = unique_names(["log_noise_scale"], self.parameter_names)
        self.dim, self.parameter_names = self.dim + 1, (*self.parameter_names, *name)
        self._log_reference = log_spread(self.y)
        self.prior = CoefficientsAndLogScale(
            self._coefficients_prior, NormalPrior(self._log_reference, LOG_SCALE_SD**2)
        )

    @property
    def initial(self) -> FloatArray:
        """Coefficients 0 and the spread of y."""
        return np.append(np.zeros(self.dim - 1), self._log_reference)

    def predictor(self, theta: FloatArray) -> FloatArray:
        """Linear predictor of each row, shape (..., n)."""
        predictor: FloatArray = self.check_theta(theta)[..., :-1] @ self.design.T
        return predictor

    def _standardized(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Residuals over sigma (..., n), and sigma (..., 1)."""
        theta = self.check_theta(theta)
        # Beyond e^30 of y's spread either way the scale is held: a chain that far out has left the posterior.
        scale = np.exp(np.clip(theta[..., -1:], self._log_reference - 30.0, self._log_reference + 30.0))
        return (self.y - self.predictor(theta)) / scale, scale

    def log_likelihood(self, theta: FloatArray) -> FloatArray:
        """Log-likelihood of each row, shape (..., n)."""
        z, scale = self._standardized(theta)
        value: FloatArray = -0.5 * z**2 - np.log(scale) - 0.5 * math.log(2 * math.pi)
        return value

    def gradients(self, theta: FloatArray) -> FloatArray:
        """Gradient of each row's log-likelihood, shape (..., n, d)."""
        z, scale = self._standardized(theta)
        coefficients = (z / scale)[..., None] * self.design
        return np.concatenate([coefficients, (z**2 - 1.0)[..., None]], axis=-1)

    def weighted_gradient(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Weighted sum of the rows' gradients, shape (..., d)."""
        (z, scale), weights = self._standardized(theta), self.counted(weights)
        coefficients = (weights * z / scale) @ self.design
        return np.concatenate([coefficients, (weights * (z**2 - 1.0)).sum(axis=-1, keepdims=True)], axis=-1)

    def weighted_log_likelihood_and_gradient(
        self, theta: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Both, shapes (...) and (..., d), for weights (n,); theta does not act through the predictor alone."""
        return Model.weighted_log_likelihood_and_gradient(self, theta, weights)

    def curvature(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Negative Hessian of the weighted log-likelihood at one theta, shape (d, d); positive near the mode."""
        (z, scale), weights = self._standardized(theta), self.counted(weights)
        result = np.empty((self.dim, self.dim))
        result[:-1, :-1] = (self.design.T * weights) @ self.design / scale**2
        result[:-1, -1] = result[-1, :-1] = 2.0 * (weights * z) @ self.design / scale
        result[-1, -1] = 2.0 * float(weights @ z**2)
        return result

    def curvature_bound(self, weights: FloatArray) -> None:
        """None: the curvature grows without limit as the scale shrinks."""
        return None

    def features(self, theta: FloatArray) -> FloatArray:
        """Rows of the design over sigma, and sqrt(2) for log sigma, shape (n, d).

        A response tells about its mean by its sign and about the scale by its size: the two do not mix, and the Fisher
        information (:meth:`information`) has no terms between them, though the Gram matrix of these features has.
        """
        _, scale = self._standardized(theta)
        return np.column_stack([self.design / scale, np.full(self.n_rows, math.sqrt(2.0))])

    def information(self, theta: FloatArray, weights: FloatArray | None = None) -> FloatArray:
        """Fisher information of the rows, each times its weight, shape (d, d)."""
        gram = super(GeneralizedLinearModel, self).information(theta, weights)
        gram[:-1, -1] = gram[-1, :-1] = 0.0
        return gram

    def simulate(self, theta: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw a response for every row, shape (n,)."""
        _, scale = self._standardized(theta)
        response: FloatArray = self.predictor(theta) + scale * rng.standard_normal(self.n_rows)
        return response

    def responses(self, eta: FloatArray, rest: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw new responses for linear predictors (..., k) and log noise scales (k, 1)."""
        drawn: FloatArray = eta + np.exp(rest[..., 0]) * rng.standard_normal(eta.shape)
        return drawn

    def moments(self, eta: FloatArray, rest: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and noise variance of new responses, shapes (..., k)."""
        return eta, np.broadcast_to(np.exp(2.0 * rest[..., 0]), eta.shape)

    def gaussian_posterior(self, weights: FloatArray | None = None) -> GaussianPosterior:
        """Refuse: with an unknown scale the posterior is not normal."""
        raise InputError(
            "with an unknown noise scale the posterior is not normal; sample it, or pass a known noise_scale."
        )

    def variables(self, draws: FloatArray) -> dict[str, FloatArray]:
        """Coefficients and the positive noise scale."""
        return {"coefficients": draws[..., :-1], "noise_scale": np.exp(draws[..., -1])}


# Python shows the signature of __new__, which says nothing, for that of __init__.
for _kind in (LinearModel, UnknownScaleLinearModel):
    _own = inspect.signature(_kind.__init__)
    setattr(_kind, "__signature__", _own.replace(parameters=list(_own.parameters.values())[1:]))  # noqa: B010


def log_spread(y: FloatArray) -> float:
    """Log of the median absolute deviation of y (n,), in units of a normal's standard deviation."""
    deviations = np.abs(y - np.median(y))
    return math.log(1.4826 * float(np.median(deviations)) or float(deviations.mean()) or 1.0)
