"""Estimators for scikit-learn's pipelines, grids and cross-validation."""

from robula.sklearn.linear_regressor import RobustBayesianRegressor
from robula.sklearn.logistic_classifier import RobustBayesianClassifier
from robula.sklearn.poisson_regressor import RobustPoissonRegressor

__all__ = ["RobustBayesianClassifier", "RobustBayesianRegressor", "RobustPoissonRegressor"]
