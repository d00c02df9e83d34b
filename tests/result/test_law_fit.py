"""How trusted rows fit the law: intervals that do not hold what they say enter the verdict, and clean data pass."""

from __future__ import annotations

import numpy as np
import pytest

import robula
from robula.models.posterior_mode import weighted_mode
from robula.result.law_fit import law_doubts, law_fit, law_record

PRIOR = robula.NormalPrior(0.0, 100.0)


def linear(rng, noise, rows=400):
    X = rng.normal(size=(rows, 2))
    return robula.LinearModel(X, X.sum(axis=1) + noise, noise_scale="estimate", prior=PRIOR, intercept=True)


@pytest.mark.parametrize(("scale", "off"), [(1.0, False), (2.0, True)])
def test_predictive_intervals_of_a_right_law_are_right_and_of_a_wrong_one_are_not(scale, off):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((600, 8))
    model = robula.LinearModel(X, X.sum(axis=1) + rng.standard_normal(600), noise_scale=scale)
    posterior = robula.sample(model, contamination=0.0, draws=200, progress=False)
    fit = law_fit(model, posterior.mean, posterior.row_weights)
    assert [each.off for each in fit.coverage] == [off] * 3
    assert fit.scores.std() == pytest.approx(1.0 / scale, rel=0.1)
    assert posterior.settings["coverage"] == [pytest.approx(each) for each in fit.coverage]


def test_residuals_of_two_humps_are_no_usable_run():
    rng = np.random.default_rng(0)
    humps = rng.choice([-1.0, 1.0], 400) + 0.3 * rng.normal(size=400)
    for noise, verdict, said in ((humps, "usable with care", True), (rng.normal(size=400), "usable", False)):
        posterior = robula.sample(linear(rng, noise), contamination=0.1, draws=500, progress=False)
        found = robula.diagnose(posterior)
        assert found.verdict == verdict
        assert ("two groups" in found.text) is said
        assert ("50 % interval holds" in found.text) is said


@pytest.mark.parametrize("rows", [40, 400])
def test_clean_data_are_rarely_said_to_be_off(rows):
    # At one alarm in 100 runs, six or more among 200 happen once in 60 times.
    alarms = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        X = 0.3 * rng.normal(size=(rows, 2))
        counts = robula.PoissonModel(X, rng.poisson(np.exp(1.0 + X.sum(axis=1))), prior=PRIOR, intercept=True)
        for model in (linear(rng, rng.normal(size=rows), rows), counts):
            theta = weighted_mode(model, np.ones(rows), model.initial)
            alarms += bool(law_doubts(law_record(model, theta, np.ones(rows))))
    assert alarms < 6


@pytest.mark.parametrize(
    ("coverage", "words"),
    [
        ([[0.5, 0.33, 0.01], [0.8, 0.8, 0.01], [0.95, 0.99, 0.01]], "two groups"),
        ([[0.5, 0.63, 0.01], [0.8, 0.8, 0.01], [0.95, 0.9, 0.01]], "tails are heavier"),
        ([[0.5, 0.63, 0.01], [0.8, 0.9, 0.01], [0.95, 0.99, 0.01]], "spread less"),
        ([[0.5, 0.4, 0.01], [0.8, 0.7, 0.01], [0.95, 0.9, 0.01]], "spread more"),
        ([[0.5, 0.52, 0.001], [0.8, 0.81, 0.001], [0.95, 0.955, 0.001]], ""),
    ],
)
def test_what_the_intervals_say_is_named(coverage, words):
    found = law_doubts({"coverage": coverage})
    assert (words in found[0]) if words else not found


def test_separated_labels_are_no_usable_run():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    noisy = rng.logistic(size=100) < X[:, 0]
    for y, verdict in ((X[:, 0] > 0, "usable with care"), (noisy, "usable")):
        model = robula.LogisticModel(X, y, prior=robula.NormalPrior(0.0, 6.0), intercept=True)
        found = robula.diagnose(robula.sample(model, contamination=0.1, draws=500, progress=False))
        assert found.verdict == verdict
        assert ("the prior's" in found.text) is (verdict != "usable")
