"""What is passed by mistake is refused with what came and what to do, never by a traceback from inside."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import robula
from robula.exceptions import InputError
from robula.selectors import TrustSelector

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 2))
MODEL = robula.LinearModel(X, X @ [1.0, 2.0] + RNG.standard_normal(60), noise_scale=1.0)


@pytest.mark.parametrize("wrong", [np.array([0.1, 0.2]), pd.Series([0.1, 0.2]), [0.1], None, "0.1", "Estimate"])
@pytest.mark.parametrize("function", [robula.sample, robula.trust])
def test_a_contamination_that_is_no_number(function, wrong):
    with pytest.raises(InputError, match="is not a number in"):
        function(MODEL, contamination=wrong)


@pytest.mark.parametrize("wrong", [X, pd.DataFrame(X), robula.LinearModel, None])
def test_what_is_no_model(wrong):
    for function in (
        lambda: robula.sample(wrong, contamination=0.1),
        lambda: robula.trust(wrong, 0.1),
        lambda: robula.restarts(wrong, np.zeros((2, 2)), contamination=0.1),
    ):
        with pytest.raises(InputError, match=r"is not a robula model; make one with LinearModel"):
            function()


def test_influence_says_that_it_takes_no_large_model():
    posterior = robula.sample(MODEL, contamination=0.1, draws=10, progress=False)
    large = robula.LargeModel(robula.LinearModel, X, MODEL.y, noise_scale=1.0)
    with pytest.raises(InputError, match="a LargeModel is read in blocks: make the model of some of the rows"):
        robula.influence(large, posterior)


def test_advice_about_an_option_is_not_about_a_table():
    for options in ({"step_size": "auto"}, {"start": "zero"}):
        with pytest.raises(InputError, match=r"only real numbers are allowed\. Pass a number") as refused:
            robula.sample(MODEL, contamination=0.1, **options)
        assert "categories" not in str(refused.value)
    with pytest.raises(InputError, match=r"Pass a number"):
        robula.MeanModel(X, covariance="estimate")
    with pytest.raises(InputError, match=r"draws=10\.0 is not allowed: pass an int of at least 1"):
        robula.sample(MODEL, contamination=0.1, draws=10.0)


def test_the_papers_algorithm_advises_no_argument_that_it_has_not():
    with pytest.raises(InputError, match=r"use robula\.sample with contamination='estimate'"):
        robula.rob_ula(MODEL, contamination="estimate")


def test_exact_law_may_be_numpys_true():
    assert TrustSelector(exact_law=np.True_) == TrustSelector(exact_law=True)
    assert TrustSelector(exact_law=np.True_).exact_law is True
    with pytest.raises(InputError, match="or None: exact where noise_scale was declared, but skew"):
        TrustSelector(exact_law="yes")
