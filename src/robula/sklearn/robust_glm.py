"""What the estimators share: standardised sampling, results and model in the user's units."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from robula._threads import threads_for
from robula._types import ArrayInput, FloatArray
from robula._validation import check_positive, show
from robula.exceptions import InputError
from robula.kernels.kernel import Kernel
from robula.models import MODELS
from robula.models.large_model import LargeModel, sample_places
from robula.models.model import unique_names
from robula.models.priors import NormalPrior
from robula.models.regression import Regression
from robula.result.posterior import Posterior
from robula.result.thresholds import DISTRUSTED
from robula.run.checkpoint import checkpoints_at
from robula.run.sampler import sample
from robula.selectors.selection import Selector
from robula.sklearn.coordinates import Coordinates, identity_coordinates, in_coordinates, robust_coordinates
from robula.sklearn.random_states import seed_of_random_state
from robula.tables.arrays import as_vector
from robula.tables.missing_codes import codes_of_columns
from robula.tables.row_source import RowSource

# Linear predictors of new rows for all draws take at most about this many numbers at a time.
_CHUNK = 2**22
# What is known of each row beside X and y, and what a model calls it.
_OF_ROWS = {"sample_weight": "row_weights", "exposure": "exposure"}


def _as_model_options(of_rows: Mapping[str, Any]) -> dict[str, Any]:
    return {_OF_ROWS[name]: values for name, values in of_rows.items() if values is not None}


class Predictive(NamedTuple):
    """What is known of new responses: mean or class, deviation or probability, and the ends of the 95 % interval."""

    prediction: np.ndarray
    spread: FloatArray
    low: FloatArray
    high: FloatArray


class RobustBayesianGLM(BaseEstimator):
    """Base of the estimators; a subclass turns linear predictors into predictions.

    The columns are standardised robustly inside (``standardize=False`` leaves them), the model is sampled there, and
    the draws are mapped back: ``posterior_``, ``model_``, ``coef_`` and ``intercept_`` are in the units of X and y.
    """

    #: Name of the model in ``robula.models.MODELS``.
    model_name: ClassVar[str]
    #: Where the state of a run is kept, for ``robula fit --checkpoint``.
    _checkpoint: Path | None = None
    #: What :attr:`Predictive.spread` is called in a table of predictions.
    spread_name: ClassVar[str] = "sd"
    #: What the user calls the training rows; None where they came without an index.
    _row_labels: pd.Index | None = None

    def __init__(
        self,
        *,
        contamination: float | Literal["estimate"] = 0.1,
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

    def _fit(self, X: FloatArray, y: FloatArray, *, labels: pd.Index | None = None, **of_rows: Any) -> None:
        """Sample the posterior of checked X (n, p) and y (n,), whose rows the user calls by these labels.

        ``of_rows`` are further arguments of the model with an entry a row, sample_weight and exposure, or None.
        """
        self._row_labels = labels
        with threads_for(X.size):
            model: Any = MODELS[self.model_name]
            model.refuse_responses(y, labels)
            coordinates, sampled = self._to_sample(X, y, of_rows)
            options = _as_model_options(of_rows)
            self.model_ = self._model(
                X,
                y,
                self._users_prior(coordinates, self._level(y, options)),
                identity_coordinates(X.shape[1], coordinates.intercept, coordinates.lines),
                **options,
            )
            posterior = self._sampled(sampled)
        self._finish(posterior, coordinates, sampled.parameter_names)

    def _to_sample(self, X: FloatArray, y: FloatArray, of_rows: Mapping[str, Any]) -> tuple[Coordinates, Regression]:
        """Return the coordinates that the rows are sampled in, and their model there."""
        coordinates = self._coordinates(X, y)
        sampled = self._standardized(X, y, coordinates, _as_model_options(of_rows))
        # Warnings of the run name columns, not their numbers.
        sampled.parameter_names = self._names(X.shape[1], sampled)
        return coordinates, sampled

    def _sampled(self, model: Regression | LargeModel) -> Posterior:
        options = {name: getattr(self, name) for name in ("selector", "kernel") if getattr(self, name) is not None}
        if self._checkpoint is not None:
            options["checkpoint"] = checkpoints_at(self._checkpoint)
        posterior = sample(
            model,
            contamination=self.contamination,
            draws=self.draws,
            burn_in=self.burn_in,
            chains=self.chains,
            seed=seed_of_random_state(self.random_state),
            progress=False,
            **options,
        )
        if posterior.settings.get("interrupted"):
            raise KeyboardInterrupt  # half a fit is no fit
        return posterior

    def _fit_by_passes(self, source: RowSource, **of_rows: Any) -> None:
        """Sample the posterior of rows that are read in blocks; ``model_`` then is of the rows in memory."""
        if any(values is not None for values in of_rows.values()):
            raise InputError(f"{' and '.join(of_rows)} cannot be given for rows that are read in blocks.")
        source.look()
        self._row_labels = None
        self.n_features_in_ = source.columns
        if source.names is not None:
            self.feature_names_in_ = np.array(source.names, dtype=object)
        self.places_ = sample_places(source.rows, 0, self.model_name == "logistic")
        rows = source.take(self.places_)
        if rows.y is None:
            raise InputError("there is no y; pass one response a row.")
        X, y = rows.X, rows.y.astype(np.float64)
        coordinates, sampled = self._to_sample(X, y, {})
        self.model_ = self._model(
            X,
            y,
            self._users_prior(coordinates, self._level(y, {})),
            identity_coordinates(X.shape[1], coordinates.intercept, coordinates.lines),
        )
        large = LargeModel.with_sample(source.shaped(partial(in_coordinates, coordinates)), sampled, self.places_)
        self._finish(self._sampled(large), coordinates, sampled.parameter_names)

    def _finish(self, posterior: Posterior, coordinates: Coordinates, names: tuple[str, ...]) -> None:
        """Take over a posterior in the sampler's coordinates."""
        self.model_.parameter_names = names
        moved = posterior.in_user_units(coordinates.draws_to_user, self.model_, bool(self.standardize))
        self._set_posterior(replace(moved, parameter_names=names, variables=self.model_.variables(moved.draws)))

    def _set_posterior(self, posterior: Posterior) -> None:
        """Take over draws in the user's units, and what follows from them."""
        self.posterior_ = posterior
        intercept = bool(self.fit_intercept)
        mean = posterior.mean[: self.n_features_in_ + intercept]
        self.intercept_ = float(mean[0]) if intercept else 0.0
        self.coef_ = mean[1:] if intercept else mean
        self.row_weights_ = posterior.row_weights
        self.outlier_mask_ = posterior.row_weights < DISTRUSTED

    @property
    def distrusted_(self) -> pd.Series:
        """Weights of the training rows that count less than half, the least first, by their labels in X (or y)."""
        weights = pd.Series(self.row_weights_, index=self._row_labels, name="weight")
        return weights[self.outlier_mask_].sort_values(kind="stable")

    def facts(self) -> dict[str, Any]:
        """Return what a prediction needs beside the posterior, for JSON: two responses, to make a model with."""
        return {"responses": self.model_.y[:2].tolist()}

    @classmethod
    def restored(cls, posterior: Posterior, facts: Mapping[str, Any], columns: int) -> Self:
        """Return an estimator that predicts as the one did whose posterior and :meth:`facts` these are.

        Its ``model_`` has the law of the rows but not the rows.
        """
        estimator = cls()
        estimator.n_features_in_ = columns
        estimator._take_facts(facts)
        prior, units = NormalPrior(0.0, 1.0), identity_coordinates(columns, True, estimator._lines)
        responses = np.array(facts["responses"], dtype=np.float64)
        estimator.model_ = estimator._model(np.zeros((len(responses), columns)), responses, prior, units)
        if estimator.model_.dim != posterior.draws.shape[-1]:
            raise InputError(f"the draws are of {posterior.draws.shape[-1]} parameters, not {estimator.model_.dim}.")
        estimator._set_posterior(posterior)
        return estimator

    def _take_facts(self, facts: Mapping[str, Any]) -> None:
        """Take over what a subclass added to :meth:`facts`."""

    def _names(self, columns: int, sampled: Regression) -> tuple[str, ...]:
        features = tuple(getattr(self, "feature_names_in_", [f"x{index}" for index in range(columns)]))
        names = ("intercept", *features) if self.fit_intercept else features
        return unique_names([*names, *sampled.parameter_names[len(names) :]])

    def _coordinates(self, X: FloatArray, y: FloatArray) -> Coordinates:
        if not isinstance(self.fit_intercept, bool | np.bool_):
            raise InputError(f"fit_intercept={show(self.fit_intercept)} must be True or False.")
        intercept = bool(self.fit_intercept)
        if not self.standardize:
            return identity_coordinates(X.shape[1], intercept, self._lines)
        return self._with_response(robust_coordinates(X, intercept), y)._replace(lines=self._lines)

    @property
    def _lines(self) -> int:
        """How many linear predictors a row has."""
        return 1

    def _with_response(self, coordinates: Coordinates, y: FloatArray) -> Coordinates:
        """Add the response's own centre and scale, where the model has them."""
        return coordinates

    def _standardized(
        self, X: FloatArray, y: FloatArray, coordinates: Coordinates, options: Mapping[str, Any]
    ) -> Regression:
        """Return the model that is sampled."""
        prior = self._prior(coordinates, self._level(y, options))
        made = self._model(coordinates.columns(X), coordinates.responses(y), prior, coordinates, **options)
        # -999 is a code, and a factor of ten a slip, in the user's units.
        made.recorded = X
        made.codes = coordinates.codes(codes_of_columns(X))
        made.response_codes = tuple(coordinates.responses(np.array(made.codes_among(y))).tolist())
        return made

    def _model(
        self, X: FloatArray, y: FloatArray, prior: NormalPrior, coordinates: Coordinates, **options: Any
    ) -> Regression:
        """Return the model of rows in the units of ``coordinates``, those of the user included."""
        model: Any = MODELS[self.model_name]
        made: Regression = model(X, y, prior=prior, intercept=coordinates.intercept, **options)
        return made

    def _level(self, y: FloatArray, options: Mapping[str, Any]) -> float:
        """Linear predictor around which the intercept's default prior is."""
        return 0.0

    def _prior(self, coordinates: Coordinates, level: float) -> NormalPrior:
        """Return the prior in the sampler's coordinates."""
        dim = coordinates.coefficients
        if self.prior is None:
            scale = check_positive(self.prior_scale, "prior_scale", "the prior's standard deviation")
            mean = np.zeros(dim)
            if coordinates.intercept:
                mean[0] = level
            return NormalPrior(mean, scale**2 * coordinates.prior_shape())
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

    def _users_prior(self, coordinates: Coordinates, level: float) -> NormalPrior:
        """Return the same prior in the user's coordinates."""
        if self.prior is not None:
            return self.prior
        prior, matrix = self._prior(coordinates, level), coordinates.matrix()
        covariance = np.linalg.inv(prior.precision(np.zeros(len(matrix))))
        covariance = matrix @ covariance @ matrix.T
        return NormalPrior(coordinates.to_user(prior.mean), 0.5 * (covariance + covariance.T))

    def predictive(self, X: ArrayInput) -> Predictive:
        """Return what is known of the responses of new rows, (m,) each; the same for the same rows."""
        return self._known(X)

    def _known(self, X: ArrayInput, exposure: ArrayInput = None) -> Predictive:
        return Predictive(*self._over_draws(X, self._predictive, exposure))

    def _predictive(self, eta: FloatArray, rest: FloatArray, rng: np.random.Generator) -> Predictive:
        """Summarise linear predictors (rows, draws), or (rows, lines, draws), given the other parameters."""
        raise NotImplementedError

    def _over_draws(
        self,
        X: ArrayInput,
        summarize: Callable[[FloatArray, FloatArray, np.random.Generator], Sequence[np.ndarray]],
        exposure: ArrayInput = None,
    ) -> list[np.ndarray]:
        """Apply ``summarize`` to the linear predictors (rows, draws) of new rows, some rows at a time.

        With several predictors a row they are (rows, lines, draws). The parameters behind the coefficients come
        beside them, (draws, k).
        """
        check_is_fitted(self)
        array: FloatArray = validate_data(self, X, dtype=np.float64, reset=False)
        offset = np.zeros(len(array))
        if exposure is not None:
            exposed = as_vector(exposure, "exposure", len(array))
            if not (exposed > 0).all():
                raise InputError("exposure has values of 0 or less.")
            offset = np.log(exposed)
        if self.fit_intercept:
            array = np.column_stack([np.ones(len(array)), array])
        draws = self.posterior_.flat_draws
        used = self._lines * array.shape[1]
        lines, rest = draws[:, :used].reshape(len(draws), self._lines, -1), draws[:, used:]
        rng = np.random.default_rng(0)
        step = max(1, _CHUNK // (len(draws) * self._lines))
        parts = []
        with threads_for(array.size):
            for first in range(0, len(array), step):
                rows = slice(first, first + step)
                if self._lines == 1:
                    eta = array[rows] @ lines[:, 0].T + offset[rows, None]
                else:
                    eta = np.moveaxis(lines @ array[rows].T, -1, 0).swapaxes(1, 2)
                parts.append(summarize(eta, rest, rng))
        return [np.concatenate(values) for values in zip(*parts, strict=True)]
