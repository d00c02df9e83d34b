"""Robust Bayesian logistic regression as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d, validate_data

from robula._intervals import TAILS
from robula._types import ArrayInput, FloatArray
from robula.models.large_model import with_coded_labels
from robula.result.posterior import Posterior
from robula.sklearn.robust_glm import Predictive, RobustBayesianGLM, read_in_blocks
from robula.tables.row_source import source_of


class RobustBayesianClassifier(ClassifierMixin, RobustBayesianGLM):
    """Logistic regression for two classes whose posterior is that of the good rows.

    For more classes wrap it in scikit-learn's ``OneVsRestClassifier``.

    Parameters
    ----------
    contamination : float or "estimate", default=0.1
        Upper bound on the share of bad rows, in [0, 0.5), as in :func:`robula.sample`.
    fit_intercept : bool, default=True
    prior_scale : float, default=2.5
        Prior standard deviation of every coefficient, in log-odds per robust standard deviation of the column.
    prior : NormalPrior, optional
        Instead of ``prior_scale``: a prior in the units of X, intercept first.
    standardize : bool, default=True
        Sample in robustly standardised columns. Results are in the units of X in any case.
    selector, kernel : str or object, optional
        As in :func:`robula.sample`; None is its default.
    draws, burn_in, chains : int
        As in :func:`robula.sample`.
    random_state : int, RandomState or None, default=0

    Attributes
    ----------
    classes_ : ndarray, shape (2,)
    coef_ : ndarray, shape (1, p)
    intercept_ : ndarray, shape (1,)
    posterior_ : Posterior
        Draws in the units of X, intercept first.
    row_weights_, outlier_mask_ : ndarray, shape (n,)
        How much each training row counted; rows with a weight below one half.
    model_ : LogisticModel
        The model in the units of X: ``posterior_`` is its posterior.
    n_features_in_, feature_names_in_
    """

    model_name = "logistic"
    spread_name = "probability"

    def fit(self, X: ArrayInput, y: ArrayInput) -> Self:
        """Sample the posterior of the coefficients given X (n, p) and labels y (n,); in passes if they are in Dask."""
        if read_in_blocks(X):
            source = source_of(X, y).look()
            if len(source.labels) != 2:
                raise ValueError(f"two classes are needed, but y has {source.labels} and perhaps others.")
            self.classes_ = np.array(source.labels)
            self._fit_by_passes(source.shaped(partial(with_coded_labels, source.labels)))
            return self
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}. For more classes wrap "
                "this estimator in sklearn.multiclass.OneVsRestClassifier."
            )
        self.classes_, encoded = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"two classes are needed, but y has only one class: {self.classes_[0]!r}.")
        self._fit(X, encoded.astype(np.float64))
        return self

    def _set_posterior(self, posterior: Posterior) -> None:
        super()._set_posterior(posterior)
        # One line per decision, as scikit-learn's linear classifiers have it.
        self.coef_: FloatArray = self.coef_[None, :]
        self.intercept_: Any = np.array([self.intercept_])

    def predict_proba(self, X: ArrayInput) -> FloatArray:
        """Return the probability of each class (m, 2), averaged over the draws."""
        positive = self.predictive(X).spread
        return np.column_stack([1.0 - positive, positive])

    def predict(self, X: ArrayInput) -> np.ndarray:
        """Return the more probable class of each row (m,)."""
        return self.predictive(X).prediction

    def facts(self) -> dict[str, Any]:
        """And the names of the classes."""
        return {**super().facts(), "classes": [str(name) for name in self.classes_]}

    def _take_facts(self, facts: Mapping[str, Any]) -> None:
        self.classes_ = np.array([str(name) for name in facts["classes"]], dtype=object)

    def moments(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Of a label that is 1 or 0."""
        probability: FloatArray = expit(eta)
        return probability, probability * (1.0 - probability)

    def _predictive(self, eta: FloatArray, rng: np.random.Generator) -> Predictive:
        """The likelier class, the probability of the second class, and that probability's interval."""
        probability = expit(eta)
        low, high = np.quantile(probability, TAILS, axis=1)
        mean = probability.mean(axis=1)
        return Predictive(self.classes_[(mean > 0.5).astype(int)], mean, low, high)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
