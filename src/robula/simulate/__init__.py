"""Data with known bad rows and an exactly known clean posterior: the paper's two synthetic settings."""

from robula.simulate.linear_regression import linear_regression
from robula.simulate.mean_estimation import mean_estimation
from robula.simulate.problem import Problem

__all__ = ["Problem", "linear_regression", "mean_estimation"]
