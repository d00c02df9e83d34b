"""Data with known bad rows and an exactly known clean posterior: the paper's two settings and a zoo of attacks."""

from robula.simulate import attacks
from robula.simulate.contaminated_regression import contaminated_regression
from robula.simulate.hidden_cluster import hidden_cluster
from robula.simulate.label_flips import confident_flips, random_flips
from robula.simulate.linear_regression import linear_regression
from robula.simulate.mean_estimation import mean_estimation
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
