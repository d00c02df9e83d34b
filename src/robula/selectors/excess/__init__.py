"""The excess rule: one file for each part of it and for each family of models."""

from robula.selectors.excess.excess_constants import DEFAULT_BUDGET
from robula.selectors.excess.excess_selector import ExcessSelector, PreparedExcess, robust_start
from robula.selectors.excess.starting_point import RobustStart

__all__ = ["DEFAULT_BUDGET", "ExcessSelector", "PreparedExcess", "RobustStart", "robust_start"]
