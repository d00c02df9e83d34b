"""The paper's bounds as functions: what a run can promise before it starts. A leaf: NumPy and SciPy only."""

from robula.theory.bounds import Bound, Condition, initial_kl, second_moment_bound, wasserstein_bound
from robula.theory.concentration import (
    C_Z4,
    fourth_moment_tail,
    gaussian_excess,
    gaussian_fourth_moment,
    gaussian_fourth_norm,
)
from robula.theory.constants import (
    Constants,
    ContaminationLevel,
    contamination_level,
    fourth_moment_constant,
    mean_constants,
    regression_constants,
)
from robula.theory.corrected import corrected_wasserstein_bound
from robula.theory.gradient_error import (
    all_rows_constant,
    all_rows_error_bound,
    ball_radius,
    gradient_error_bound,
    last_level_share,
    low_variance_error,
    measure_gradient_constant,
    one_dimensional_error,
    recursion_levels,
    truncation_shift,
)
from robula.theory.planning import Plan, plan
from robula.theory.population import population_mean_constants, population_regression_constants

__all__ = [
    "C_Z4",
    "Bound",
    "Condition",
    "Constants",
    "ContaminationLevel",
    "Plan",
    "all_rows_constant",
    "all_rows_error_bound",
    "ball_radius",
    "contamination_level",
    "corrected_wasserstein_bound",
    "fourth_moment_constant",
    "fourth_moment_tail",
    "gaussian_excess",
    "gaussian_fourth_moment",
    "gaussian_fourth_norm",
    "gradient_error_bound",
    "initial_kl",
    "last_level_share",
    "low_variance_error",
    "mean_constants",
    "measure_gradient_constant",
    "one_dimensional_error",
    "plan",
    "population_mean_constants",
    "population_regression_constants",
    "recursion_levels",
    "regression_constants",
    "second_moment_bound",
    "truncation_shift",
    "wasserstein_bound",
]
