"""What the certificate measures, it measures on the trusted rows."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

import robula
from robula.diagnosis.certification import _gradient_covariance, certificate


def test_the_gradients_covariance_is_that_of_the_trusted_rows():
    z = np.random.default_rng(3).normal(size=(200, 3)) * [1.0, 2.0, 0.5]
    z[:20] += 1000.0
    model = robula.MeanModel(z, prior=robula.NormalPrior(0.0, 10.0))
    weights = np.ones(200)
    weights[:20] = 0.0
    mean = z[20:].mean(axis=0)
    posterior = SimpleNamespace(row_weights=weights, mean=mean, flat_draws=mean + np.zeros((5, 3)))
    first, second = _gradient_covariance(model, posterior)
    assert first == 0.0
    assert second == pytest.approx(np.linalg.eigvalsh(np.cov(z[20:].T, bias=True))[-1])


def test_the_error_budget_is_the_gradients_error_over_the_curvature():
    problem = robula.simulate.mean_estimation(n_clean=200, dim=3, contamination=0.1, seed=1)
    posterior = robula.rob_ula(problem.model, contamination=0.1, draws=50, burn_in=50, seed=1)
    found = certificate(problem.model, posterior, C_R=2.0, step_halving=False)
    second = _gradient_covariance(problem.model, posterior)[1]
    m = posterior.settings["strong_convexity"] / problem.model.n_rows
    assert m != 1.0
    assert found.mean_shift == pytest.approx(math.sqrt(0.1 * 2.0 * (1.0 + math.log(3)) * second) / m)
