"""Estimators for scikit-learn's pipelines, grids and cross-validation."""

from robula.sklearn.classifier import RobustBayesianClassifier
from robula.sklearn.poisson import RobustPoissonRegressor
from robula.sklearn.regressor import RobustBayesianRegressor

__all__ = ["RobustBayesianClassifier", "RobustBayesianRegressor", "RobustPoissonRegressor"]
