"""Robust Bayesian logistic regression as a scikit-learn classifier."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d, validate_data

from robula._types import ArrayInput, FloatArray
from robula.kernels.kernel import Kernel
from robula.models.logistic_model import LogisticModel
from robula.models.priors import NormalPrior
from robula.selectors.selection import Selector
from robula.sklearn.coordinates import Coordinates
from robula.sklearn.robust_glm import RobustBayesianGLM


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
        The model that was sampled, in standardised columns.
    n_features_in_, feature_names_in_
    """

    def __init__(
        self,
        *,
        contamination: float | str = 0.1,
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

    def fit(self, X: ArrayInput, y: ArrayInput) -> Self:
        """Sample the posterior of the coefficients given X (n, p) and labels y (n,)."""
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
        # One line per decision, as scikit-learn's linear classifiers have it.
        self.coef_: FloatArray = self.coef_[None, :]
        self.intercept_: Any = np.array([self.intercept_])
        return self

    def predict_proba(self, X: ArrayInput) -> FloatArray:
        """Return the probability of each class (m, 2), averaged over the draws."""
        (positive,) = self._over_draws(X, lambda eta: (expit(eta).mean(axis=1),))
        return np.column_stack([1.0 - positive, positive])

    def predict(self, X: ArrayInput) -> np.ndarray:
        """Return the more probable class of each row (m,)."""
        positive = self.predict_proba(X)[:, 1] > 0.5
        labels: np.ndarray = self.classes_[positive.astype(int)]
        return labels

    def _build_model(self, columns: FloatArray, y: FloatArray, coordinates: Coordinates) -> LogisticModel:
        return LogisticModel(columns, y, prior=self._prior(coordinates), intercept=coordinates.intercept)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
