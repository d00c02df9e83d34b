"""A prediction error is the same number wherever it is shown."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import robula
from robula.diagnosis.prediction_errors import prediction_errors
from robula.reporting.report_page import _prediction_errors
from robula.workflow.fit_table import fit_table
from robula.workflow.table_fit import Options

PRIOR = robula.NormalPrior(0.0, 10.0)


def test_it_is_the_normal_score_of_the_end_nearer_to_0():
    counts = np.array([0.0, 3.0, 40.0])
    errors = prediction_errors(robula.PoissonModel(np.ones((3, 1)), counts, prior=PRIOR), np.log([3.0]))
    law = stats.poisson(3.0)
    # At 3 the two ends are on either side of 0; at 40 only the upper tail has the digits.
    expected = [stats.norm.ppf(law.cdf(0)), stats.norm.ppf(law.cdf(2)), stats.norm.isf(law.sf(39))]
    if abs(stats.norm.ppf(law.cdf(3))) < abs(expected[1]):
        expected[1] = stats.norm.ppf(law.cdf(3))
    np.testing.assert_allclose(errors, expected, rtol=1e-6)


def test_labels_have_none():
    model = robula.LogisticModel(np.eye(2), [0.0, 1.0], prior=PRIOR)
    assert prediction_errors(model, np.zeros(2)) is None


@pytest.mark.filterwarnings("ignore::robula.exceptions.RobulaWarning")
def test_the_command_and_the_report_say_the_same():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=150)})
    table["y"] = rng.poisson(np.exp(1.0 + 0.5 * table["x"])).astype(float)
    table.loc[0, "y"] = 60.0
    fit = fit_table(table, model="poisson", target="y", options=Options(draws=100, chains=2, sensitivity=False))
    ((name, errors),) = fit.residuals.items()
    assert name == "prediction error of y"
    assert errors[0] > 4.0
    np.testing.assert_array_equal(errors, _prediction_errors(fit.posterior, fit.fitted, "y")[name])
