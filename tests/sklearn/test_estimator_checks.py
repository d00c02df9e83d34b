"""scikit-learn's own checks of an estimator, all of them."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from robula.sklearn import RobustBayesianClassifier, RobustBayesianRegressor, RobustPoissonRegressor

# The checks are about the interface, and there are some fifty per estimator: short runs.
SHORT = {"draws": 40, "burn_in": 60, "chains": 2}


# One check skips itself: check_array_api_input needs the environment variable SCIPY_ARRAY_API, and robula computes in
# NumPy only.
@parametrize_with_checks(
    [RobustBayesianRegressor(**SHORT), RobustBayesianClassifier(**SHORT), RobustPoissonRegressor(**SHORT)]
)
@pytest.mark.filterwarnings("ignore::robula.exceptions.RobulaWarning", "ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_check(estimator, check):
    check(estimator)
