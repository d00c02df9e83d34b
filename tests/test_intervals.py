"""Every interval that is shown is a 95 % one, and every column of summary.csv holds what it says."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import robula
from robula._intervals import HALF_WIDTH, LEVEL, TAILS
from robula.diagnosis.sensitivity import ContaminationPath
from robula.metrics import interval_coverage
from robula.models.gaussian_posterior import GaussianPosterior
from robula.reporting.quantities import Quantities, lines
from robula.result.convergence import effective_sample_sizes, r_hats
from robula.sklearn import RobustBayesianRegressor
from robula.workflow.run_folder import summary_table

#: Half of a normal's central 95 %, from tables.
NORMAL = 1.959964
DRAWS = np.random.default_rng(5).normal([1.0, -2.0], [0.5, 3.0], size=(4, 500, 2)).cumsum(axis=1) / 20.0
PLAIN = GaussianPosterior(np.array([2.0, 7.0]), np.array([[0.25, 0.1], [0.1, 4.0]]))


def test_the_level():
    assert LEVEL == 0.95
    assert pytest.approx((0.025, 0.975)) == TAILS
    assert pytest.approx(NORMAL, abs=1e-6) == HALF_WIDTH


def test_a_reports_lines():
    shown = lines(Quantities(["a", "b"], DRAWS, 2), PLAIN)
    for line in shown:
        flat, sd = DRAWS[..., line.place].ravel(), np.sqrt(PLAIN.covariance[line.place, line.place])
        assert (line.low, line.high) == pytest.approx(np.quantile(flat, [0.025, 0.975]))
        assert line.plain_mean == PLAIN.mean[line.place]
        assert line.plain_low == pytest.approx(line.plain_mean - NORMAL * sd, rel=1e-6)
        assert line.plain_high == pytest.approx(line.plain_mean + NORMAL * sd, rel=1e-6)
        assert line.moved == pytest.approx(abs(flat.mean() - line.plain_mean) / flat.std())
    assert shown[0].moved >= shown[1].moved


def test_the_columns_of_summary_csv():
    posterior = SimpleNamespace(draws=DRAWS, variables={}, parameter_names=("a", "b"))
    table = summary_table(SimpleNamespace(posterior=posterior, plain=PLAIN))
    flat = DRAWS.reshape(-1, 2)
    expected = {
        "mean": flat.mean(axis=0),
        "sd": flat.std(axis=0),
        "low": np.quantile(flat, 0.025, axis=0),
        "high": np.quantile(flat, 0.975, axis=0),
        "ess": effective_sample_sizes(DRAWS),
        "r_hat": r_hats(DRAWS),
        "plain_mean": PLAIN.mean,
        "plain_low": PLAIN.mean - NORMAL * np.sqrt(np.diag(PLAIN.covariance)),
        "plain_high": PLAIN.mean + NORMAL * np.sqrt(np.diag(PLAIN.covariance)),
        "moved_by_sd": np.abs(flat.mean(axis=0) - PLAIN.mean) / flat.std(axis=0),
    }
    assert list(table.columns) == ["parameter", *expected]
    assert list(table["parameter"]) == ["a", "b"]
    for name, values in expected.items():
        np.testing.assert_allclose(table[name], values, rtol=1e-6, err_msg=name)


def test_a_contamination_path():
    means, sds = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0.1, 0.2], [0.3, 0.4]])
    frame = ContaminationPath(np.array([0.0, 0.1]), means, sds, np.ones((2, 5)), ("a", "b")).to_frame()
    np.testing.assert_allclose(frame["low"], (means - NORMAL * sds).ravel(), rtol=1e-6)
    np.testing.assert_allclose(frame["high"], (means + NORMAL * sds).ravel(), rtol=1e-6)


def test_a_linear_prediction():
    """The noise and the draws' own spread, and 1.96 of their deviation to both sides."""
    estimator = RobustBayesianRegressor()
    estimator.model_ = robula.LinearModel(np.ones((2, 1)), [0.0, 1.0], noise_scale=2.0)
    eta = np.random.default_rng(1).normal(size=(3, 200))
    found = estimator._predictive(eta, np.empty((200, 0)), np.random.default_rng(0))
    deviation = np.sqrt(4.0 + eta.var(axis=1))
    np.testing.assert_allclose(found.low, eta.mean(axis=1) - NORMAL * deviation, rtol=1e-6)
    np.testing.assert_allclose(found.high, eta.mean(axis=1) + NORMAL * deviation, rtol=1e-6)


def test_coverage_cuts_half_of_the_rest_at_each_end():
    """Of 0, 1, ..., 100 the central 80 % are 10 to 90."""
    posterior = SimpleNamespace(flat_draws=np.tile(np.arange(101.0)[:, None], 4), mean=np.full(4, 50.0))
    assert interval_coverage(posterior, [9.0, 11.0, 89.0, 91.0], level=0.8) == 0.5
