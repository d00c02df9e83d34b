"""Robust Bayesian logistic regression as a scikit-learn classifier, for two classes and for more."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from robula._intervals import TAILS
from robula._types import ArrayInput, FloatArray
from robula.exceptions import InputError
from robula.models.large_model import read_in_blocks, with_coded_labels
from robula.models.logistic_model import LogisticModel
from robula.models.model import unique_names
from robula.models.multinomial_model import MultinomialModel, log_softmax
from robula.models.priors import NormalPrior
from robula.models.regression import Regression
from robula.result.posterior import Posterior
from robula.sklearn.coordinates import Coordinates
from robula.sklearn.robust_glm import Predictive, RobustBayesianGLM
from robula.tables.arrays import row_labels
from robula.tables.row_source import source_of


class RobustBayesianClassifier(ClassifierMixin, RobustBayesianGLM):
    """Logistic regression whose posterior is that of the good rows; multinomial where there are more than two classes.

    Parameters
    ----------
    contamination : float or "estimate", default=0.1
        Upper bound on the share of bad rows, in [0, 0.5), as in :func:`robula.sample`.
    fit_intercept : bool, default=True
    prior_scale : float, default=2.5
        Prior standard deviation of every coefficient, in log-odds per robust standard deviation of the column; with
        more than two classes, of the log-odds of any two.
    prior : NormalPrior, optional
        Instead of ``prior_scale``: a prior in the units of X, intercept first; with K > 2 classes of the coefficients
        of the second class against the first, then of the third, and so on.
    standardize : bool, default=True
        Sample in robustly standardised columns. Results are in the units of X in any case.
    selector, kernel : str or object, optional
        As in :func:`robula.sample`; None is its default.
    draws, burn_in, chains : int
        As in :func:`robula.sample`.
    random_state : int, RandomState or None, default=0

    Attributes
    ----------
    classes_ : ndarray, shape (K,)
    coef_ : ndarray, shape (1, p), or (K, p) for K > 2
        With more than two classes they add up to 0 over the classes, as scikit-learn's do.
    intercept_ : ndarray, shape (1,) or (K,)
    posterior_ : Posterior
        Draws in the units of X, intercept first; with K > 2 classes of each class against the first, as in
        :class:`robula.models.MultinomialModel`.
    row_weights_, outlier_mask_ : ndarray, shape (n,)
        How much each training row counted; rows with a weight below one half.
    distrusted_ : Series
        Weights of these rows, the least first, by their labels in X (or y): ``table.loc[fit.distrusted_.index]``.
    model_ : LogisticModel or MultinomialModel
        The model in the units of X: ``posterior_`` is its posterior.
    n_features_in_, feature_names_in_
    """

    model_name = "logistic"
    spread_name = "probability"

    def fit(self, X: ArrayInput, y: ArrayInput, sample_weight: ArrayInput = None) -> Self:
        """Sample the posterior of the coefficients given X (n, p) and labels y (n,).

        ``sample_weight`` (n,) says how often each row counts; how far its label is trusted multiplies it. Rows in
        Dask and large memory maps are read in passes.
        """
        if read_in_blocks(X):
            source = source_of(X, y).look()
            if len(source.labels) != 2:
                raise InputError(f"rows in blocks need two classes, and y has {source.labels} and perhaps others.")
            self.classes_ = np.array(source.labels)
            self._fit_by_passes(source.shaped(partial(with_coded_labels, source.labels)), sample_weight=sample_weight)
            return self
        labels = row_labels(X, y)
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_, encoded = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(f"two classes are needed, but y has only one class: {self.classes_.tolist()[0]!r}.")
        self._fit(X, encoded.astype(np.float64), labels=labels, sample_weight=sample_weight)
        return self

    @property
    def _lines(self) -> int:
        return len(self.classes_) - 1

    def _model(
        self, X: FloatArray, y: FloatArray, prior: NormalPrior, coordinates: Coordinates, **options: Any
    ) -> Regression:
        kind = LogisticModel if self._lines == 1 else MultinomialModel
        return kind(X, y, prior=prior, intercept=coordinates.intercept, **options)

    def _names(self, columns: int, sampled: Regression) -> tuple[str, ...]:
        names = super()._names(columns, sampled)[: sampled.columns]
        if self._lines == 1:
            return names
        return unique_names([f"{label}:{name}" for label in self.classes_[1:] for name in names])

    def _set_posterior(self, posterior: Posterior) -> None:
        super()._set_posterior(posterior)
        lines = posterior.mean.reshape(self._lines, -1)
        if self._lines > 1:
            lines = np.vstack([np.zeros(lines.shape[1]), lines])
            lines = lines - lines.mean(axis=0)
        intercept = bool(self.fit_intercept)
        # One line per decision, as scikit-learn's linear classifiers have it.
        self.coef_: FloatArray = lines[:, 1:] if intercept else lines
        self.intercept_: Any = lines[:, 0] if intercept else np.zeros(len(lines))

    def predict_proba(self, X: ArrayInput) -> FloatArray:
        """Return the probability of each class (m, K), averaged over the draws."""
        (mean,) = self._over_draws(X, lambda eta, rest, rng: (self._probabilities(eta).mean(axis=-1),))
        return mean

    def _probabilities(self, eta: FloatArray) -> FloatArray:
        """Of each class, shape (rows, K, draws)."""
        if self._lines == 1:
            return np.stack([expit(-eta), expit(eta)], axis=1)
        return np.exp(log_softmax(eta))

    def predict(self, X: ArrayInput) -> np.ndarray:
        """Return the most probable class of each row (m,)."""
        return self.predictive(X).prediction

    def facts(self) -> dict[str, Any]:
        """The names of the classes, and one response of each."""
        return {"responses": list(range(len(self.classes_))), "classes": [str(name) for name in self.classes_]}

    def _take_facts(self, facts: Mapping[str, Any]) -> None:
        self.classes_ = np.array([str(name) for name in facts["classes"]], dtype=object)

    def _predictive(self, eta: FloatArray, rest: FloatArray, rng: np.random.Generator) -> Predictive:
        """The likeliest class, and the probability of the second class of two, or of that class, with its interval."""
        probabilities = self._probabilities(eta)
        means = probabilities.mean(axis=-1)
        # At a tie of two classes the first, as one half is not more than one half.
        likeliest = means.argmax(axis=1)
        shown = np.ones_like(likeliest) if self._lines == 1 else likeliest
        rows = np.arange(len(eta))
        low, high = np.quantile(probabilities[rows, shown], TAILS, axis=1)
        return Predictive(self.classes_[likeliest], means[rows, shown], low, high)
