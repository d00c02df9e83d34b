"""Data with known bad rows and an exactly known clean posterior: the paper's two settings and a zoo of attacks."""

from robula.simulate import attacks
from robula.simulate.attacks import confident_flips, contaminated_regression, random_flips
from robula.simulate.paper_settings import hidden_cluster, linear_regression, mean_estimation
from robula.simulate.problem import Problem

__all__ = [
    "Problem",
    "attacks",
    "confident_flips",
    "contaminated_regression",
    "hidden_cluster",
    "linear_regression",
    "mean_estimation",
    "random_flips",
]
