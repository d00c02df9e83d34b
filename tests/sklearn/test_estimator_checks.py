"""scikit-learn's own checks of an estimator, all of them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from robula.sklearn import (
    RobustBayesianClassifier,
    RobustBayesianRegressor,
    RobustGammaRegressor,
    RobustNegativeBinomialRegressor,
    RobustPoissonRegressor,
    RobustStudentTRegressor,
)

# The checks are about the interface, and there are some fifty per estimator: short runs.
SHORT = {"draws": 40, "burn_in": 60, "chains": 2}
# A row is judged once however often it counts, the columns are scaled by the rows that are there, and the chains are as
# random as their seed; tests/models/test_regression.py has what holds.
NOT_REPETITION = "a weight is no repetition: rows are judged and standardised once each"
EXPECTED_TO_FAIL = {
    "check_sample_weight_equivalence_on_dense_data": NOT_REPETITION,
    "check_sample_weights_invariance": NOT_REPETITION,
}


class PoissonOnRoundedResponses(RobustPoissonRegressor):
    """Nine of the checks pass real numbers as y, which are no counts and are refused."""

    def _fit(self, X, y, **of_rows):
        super()._fit(X, np.round(y), **of_rows)


class NegativeBinomialOnRoundedResponses(RobustNegativeBinomialRegressor):
    """The same."""

    def _fit(self, X, y, **of_rows):
        super()._fit(X, np.round(y), **of_rows)


class GammaOnPositiveResponses(RobustGammaRegressor):
    """And some pass zeros, which are no Gamma responses."""

    def _fit(self, X, y, **of_rows):
        super()._fit(X, np.maximum(y, 0.5), **of_rows)


# One check skips itself: check_array_api_input needs the environment variable SCIPY_ARRAY_API, and robula computes in
# NumPy only.
@parametrize_with_checks(
    [
        RobustBayesianRegressor(**SHORT),
        RobustBayesianClassifier(**SHORT),
        # Rounded normal numbers are not spread like counts, and a rule that knows the law distrusts them.
        PoissonOnRoundedResponses(contamination=0.0, **SHORT),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_TO_FAIL,
)
@pytest.mark.filterwarnings("ignore::robula.exceptions.RobulaWarning", "ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        RobustStudentTRegressor(contamination=0.0, **SHORT),
        NegativeBinomialOnRoundedResponses(contamination=0.0, **SHORT),
        GammaOnPositiveResponses(contamination=0.0, **SHORT),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_TO_FAIL,
)
@pytest.mark.filterwarnings("ignore::robula.exceptions.RobulaWarning", "ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_check_of_a_class_that_shares_its_interface(estimator, check):
    check(estimator)
