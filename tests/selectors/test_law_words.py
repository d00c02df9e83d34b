"""What is off in the law is said where it is, with advice that fits, and not where it is not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import robula
from robula.models.negative_binomial_model import NegativeBinomialModel
from robula.selectors.trust import conclusion, trust_constants
from tests.selectors.test_contested_rows import gamma_rows

PRIOR = robula.NormalPrior(0.0, 100.0)


def linear(X, y):
    return robula.LinearModel(X, y, noise_scale="estimate", prior=PRIOR, intercept=True)


def said(model, contamination=0.1):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return "; ".join(robula.trust(model, contamination).law)


@pytest.mark.parametrize(("zeros", "named"), [(0.3, True), (0.12, True), (0.05, False)])
def test_a_response_that_is_often_the_same_is_named(zeros, named):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 2))
    y = 3.0 + x @ [1.0, 0.5] + rng.normal(size=400)
    y[rng.uniform(size=400) < zeros] = 0.0
    words = said(linear(x, y))
    assert ("of the responses are one and the same value" in words) is named


def test_rounded_responses_are_not_said_to_be_the_same():
    # At most one table in 1000 by chance: none of these.
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(150, 2))
        y = np.round((x @ [1.0, 0.5] + rng.normal(size=150)) * [0.5, 1.0, 2.0][seed % 3])
        assert "of the responses are" not in said(linear(x, y))


def test_two_values_are_labels():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2))
    words = said(linear(x, (rng.logistic(size=200) < 3.0 * x[:, 0]).astype(float)))
    # And nothing else: a Student-t model or the log of a label are no advice.
    assert words == "the response has two values only (fit it as a label: a logistic model)"


def test_counts_that_have_a_spread_of_their_own_are_not_told_to_get_one():
    rng = np.random.default_rng(0)
    x = 0.5 * rng.normal(size=(200, 2))
    y = rng.negative_binomial(1.0, 1.0 / (1.0 + np.exp(1.0 + x[:, 0]))).astype(float)
    y[rng.uniform(size=200) < 0.1] *= 12.0
    for kind, told in ((robula.PoissonModel, True), (NegativeBinomialModel, False)):
        words = said(kind(x, y, prior=PRIOR, intercept=True), 0.01)
        assert words
        assert ("try a negative binomial" in words) is told


def leaked(rows, columns):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, columns))
    return linear(x, x[:, 0] if rows > columns else rng.normal(size=rows))


@pytest.mark.parametrize(
    ("rows", "columns", "why"), [(200, 3, "computed from"), (20, 40, "parameters and only 20 rows")]
)
def test_rows_that_are_fitted_to_the_last_digit_are_the_first_reason(rows, columns, why):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        posterior = robula.sample(leaked(rows, columns), contamination=0.1, draws=100, progress=False)
    found = robula.diagnose(posterior)
    assert found.verdict == "not usable yet"
    assert "fitted to the last digit" in found.findings[0]
    assert why in found.findings[0]
    assert not len(posterior.contested)
    assert "Student-t" not in found.text


def test_what_is_called_bad_and_is_the_end_of_a_tail_is_said():
    # Earnings: a third are 0, and without the highest ones the others look less skewed.
    rng = np.random.default_rng(0)
    x = rng.normal(size=(450, 2))
    earned = np.where(rng.uniform(size=450) < 0.31, 0.0, 8.0 * rng.gamma(1.5, size=450))
    slips = x @ [1.0, 0.5] + rng.normal(size=450) + 12.0 * (np.arange(450) < 25)
    for y, tail in ((earned, True), (slips, False)):
        found = robula.trust(linear(x, y), 0.1)
        assert found.weights.sum() < 430, "or this test shows nothing"
        assert ("one long tail" in "; ".join(found.law)) is tail


def test_skew_is_said_where_the_residuals_have_it_only():
    # A spread and a bend that are a little off make the law's own skewness look large where there is none.
    from sklearn.datasets import load_diabetes

    table = load_diabetes()
    assert "skewed" not in said(linear(table.data / table.data.std(axis=0), table.target / 77.0))
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 2))
    assert "skewed to the right" in said(linear(x, x[:, 0] + rng.gamma(2.0, size=400)))


def test_a_group_that_moves_nothing_is_not_named():
    found = robula.trust(gamma_rows(500, 100), 0.25)
    assert found.contested_shift > trust_constants.WORTH_NAMING, "or this test shows nothing"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conclusion, "WORTH_NAMING", 2.0 * found.contested_shift)
        unmoved = robula.trust(gamma_rows(500, 100), 0.25)
    assert (unmoved.law, len(unmoved.contested), unmoved.contested_shift) == ((), 0, 0.0)
