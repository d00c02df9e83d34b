"""scikit-learn's own checks of an estimator, all of them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from robula.sklearn import RobustBayesianClassifier, RobustBayesianRegressor, RobustPoissonRegressor

# The checks are about the interface, and there are some fifty per estimator: short runs.
SHORT = {"draws": 40, "burn_in": 60, "chains": 2}


class PoissonOnRoundedResponses(RobustPoissonRegressor):
    """Nine of the checks pass real numbers as y, which are no counts and are refused."""

    def _fit(self, X, y):
        super()._fit(X, np.round(y))


# One check skips itself: check_array_api_input needs the environment variable SCIPY_ARRAY_API, and robula computes in
# NumPy only.
@parametrize_with_checks(
    [
        RobustBayesianRegressor(**SHORT),
        RobustBayesianClassifier(**SHORT),
        # Rounded normal numbers are not spread like counts, and a rule that knows the law distrusts them.
        PoissonOnRoundedResponses(contamination=0.0, **SHORT),
    ]
)
@pytest.mark.filterwarnings("ignore::robula.exceptions.RobulaWarning", "ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_check(estimator, check):
    check(estimator)
