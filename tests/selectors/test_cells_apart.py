"""Codes for "missing" and cells a thousand times too large: against their rows, whatever the fit."""

from __future__ import annotations

import numpy as np
import pytest

import robula
from robula.exceptions import BreakdownWarning
from robula.models.posterior_mode import weighted_mode
from robula.sklearn import RobustBayesianRegressor
from tests.helpers import unknown_scale


def linear_rows(seed=4, rows=600):
    rng = np.random.default_rng(seed)
    X = rng.gamma(4.0, 50.0, (rows, 4))
    return X, X @ [0.02, -0.01, 0.0, 0.01] + rng.standard_normal(rows)


def test_a_code_in_a_column_is_against_its_row_whatever_the_unit():
    """-200 among 50 to 500 is not far out, and nothing hangs on the column; that 100 rows share it tells."""
    X, y = linear_rows()
    right = robula.trust(unknown_scale(X[100:], y[100:]), 0.0001).theta
    X[:100, 2] = -200.0
    for model in (unknown_scale(X, y), RobustBayesianRegressor()):
        if isinstance(model, RobustBayesianRegressor):
            weights = model.set_params(contamination=0.25, draws=50, burn_in=10, chains=2).fit(X, y).row_weights_
        else:
            found = robula.trust(model, 0.25)
            weights = found.weights
            width = 0.05 * np.abs(right[1:5]).max()
            np.testing.assert_allclose(found.theta[1:5], right[1:5], atol=width)
        assert weights[:100].max() < 0.01
        assert weights[100:].mean() > 0.99


def test_codes_go_beyond_the_limit_with_a_warning():
    X, y = linear_rows()
    X[:120, 1] = -999.0
    with pytest.warns(BreakdownWarning, match="unmistakably bad"):
        found = robula.trust(unknown_scale(X, y), 0.1)
    assert found.weights[:120].max() < 0.01
    assert found.weights[120:].mean() > 0.99


@pytest.mark.parametrize("seed", [1, 2])
def test_a_cell_a_thousand_times_too_large_does_not_hold_the_fit_by_a_hundredth_of_its_weight(seed):
    """With a slope of 0 such rows are only a little off, and a hundredth of them is enough to hold it there."""
    rng = np.random.default_rng([seed, 400])
    Z = rng.standard_normal((400, 4))
    first = 0.9 * Z[:, 1] + np.sqrt(1.0 - 0.9**2) * Z[:, 0]
    X, y = np.column_stack([10.0 + 0.6 * first, Z[:, 1:]]), 0.5 * first + Z[:, 1] + rng.standard_normal(400)
    clean = unknown_scale(X[40:], y[40:])
    right = weighted_mode(clean, np.ones(360), clean.initial)
    X[:40, 0] *= 1000.0
    found = robula.trust(unknown_scale(X, y), 0.2)
    assert found.theta[1] == pytest.approx(right[1], rel=0.1)
    assert found.weights[:40].max() < 1e-3


def test_a_code_among_the_responses_need_not_be_far_out():
    X, y = linear_rows()
    y = 400.0 * y + 2000.0
    y[:60] = -999.0
    found = robula.trust(unknown_scale(X, y), 0.2)
    assert found.weights[:60].max() < 0.01
    assert found.weights[60:].mean() > 0.98
    estimator = RobustBayesianRegressor(contamination=0.2, draws=50, burn_in=10, chains=2).fit(X, y)
    assert estimator.row_weights_[:60].max() < 0.01
    # Negative control: the same rows at a value among the others are ordinary.
    y[:60] = 1000.0
    assert robula.trust(unknown_scale(X, y), 0.2).weights[:60].mean() > 0.9


def test_codes_are_known_in_passes_too(monkeypatch):
    monkeypatch.setattr("robula.models.large_model._JUDGED_AT_ONCE", 500)
    monkeypatch.setattr("robula.models.large_model._FEWEST", 1500)
    X, y = linear_rows(rows=2000)
    y = 400.0 * y + 2000.0
    X[:200, 2], y[200:400] = -200.0, -999.0
    posterior = robula.sample(unknown_scale(X, y), contamination=0.3, draws=50, burn_in=10, chains=2, progress=False)
    assert posterior.row_weights[:400].max() < 0.01
    assert posterior.row_weights[400:].mean() > 0.99


def measured(rows=400, seed=5):
    """Lengths, widths and a weight that hangs on both, as a table of animals has them."""
    rng = np.random.default_rng(seed)
    length = rng.normal(200.0, 14.0, rows)
    width = 0.2 * length + rng.normal(0.0, 2.0, rows)
    X = np.column_stack([length, width, rng.integers(0, 2, rows)])
    return X, 20.0 * length + 30.0 * width + rng.normal(0.0, 300.0, rows)


@pytest.mark.parametrize("share", [0.02, 0.05, 0.1, 0.15])
@pytest.mark.parametrize("slip", ["tenth", "tenfold", "exchanged"])
def test_a_slip_in_a_column_is_found_also_where_the_response_does_not_tell(share, slip):
    """Rows with a length in centimetres hold its slope at 0, and then all rows fit: only the cells tell."""
    X, y = measured()
    right = RobustBayesianRegressor(contamination=0, draws=50, burn_in=10, chains=2).fit(X, y).coef_
    bad = np.arange(round(share * len(y)))
    if slip == "exchanged":
        X[bad, :2] = X[bad][:, [1, 0]]
    else:
        X[bad, 0] *= 0.1 if slip == "tenth" else 10.0
    fit = RobustBayesianRegressor(contamination=0.2, draws=50, burn_in=10, chains=2).fit(X, y)
    assert fit.row_weights_[bad].max() < 0.05
    assert np.delete(fit.row_weights_, bad).mean() > 0.99
    assert fit.coef_[0] == pytest.approx(right[0], rel=0.15)


def test_without_a_slip_no_row_is_lost():
    X, y = measured()
    assert robula.trust(unknown_scale(X, y), 0.2).weights.min() > 0.9
