"""What is passed by mistake is refused with what came and what to do, never by a traceback from inside."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import robula
from robula.exceptions import InputError
from robula.metrics import clean_posterior_gap
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


def test_a_prior_that_is_a_class_and_a_response_that_a_mean_has_not():
    with pytest.raises(InputError, match=r"is not a prior: pass robula\.NormalPrior"):
        robula.LinearModel(X, MODEL.y, noise_scale=1.0, prior=robula.NormalPrior)
    with pytest.raises(InputError, match="MeanModel has no response: leave y out"):
        robula.LargeModel(robula.MeanModel, X, MODEL.y)
    with pytest.raises(InputError, match=r"exactly two are needed, such as 0 and 1") as refused:
        robula.LargeModel(robula.LogisticModel, X, MODEL.y, prior=robula.NormalPrior(0.0, 1.0))
    assert "()" not in str(refused.value)


POSTERIOR = robula.sample(MODEL, contamination=0.1, draws=50, progress=False)
FRAME = pd.DataFrame(X, columns=["a", "b"])
OTHER = robula.LinearModel(X[:40], MODEL.y[:40], noise_scale=1.0)
OF_OTHER = robula.sample(OTHER, contamination=0.1, draws=50, progress=False)
REPORTS = {
    "data": (X, "is not a DataFrame"),
    "odd": (3, "is not what robula.odd_rows returns"),
    "plain": (3, "is not a normal posterior"),
    "sensitivity": (3, "is not a DataFrame"),
    "residuals": ({"error": np.zeros(3)}, "pass one number for each"),
    "path": (3, "is not a file name"),
}


@pytest.mark.parametrize("name", REPORTS)
def test_helpers_of_a_report_that_are_none(tmp_path, name):
    wrong, said = REPORTS[name]
    with pytest.raises(InputError, match=said):
        robula.report(POSTERIOR, **{"path": tmp_path / "page.html", name: wrong})


def test_a_folder_is_no_file(tmp_path):
    for write in (
        lambda path: robula.report(POSTERIOR, path),
        lambda path: POSTERIOR.save(path),
        lambda path: robula.sample(MODEL, contamination=0.1, draws=10, checkpoint=path),
    ):
        with pytest.raises(InputError, match="is a folder; pass the name of a file in it"):
            write(tmp_path)
        with pytest.raises(InputError, match="is not a file name"):
            write(3)


def test_odd_rows_and_influence_of_other_rows(tmp_path):
    of_other = robula.odd_rows(OF_OTHER, FRAME[:40])
    for function in (
        lambda: robula.diagnose(POSTERIOR, odd=of_other),
        lambda: robula.report(POSTERIOR, tmp_path / "page.html", odd=of_other),
        lambda: robula.odd_rows(POSTERIOR, FRAME, influence=robula.influence(OTHER, OF_OTHER)),
    ):
        with pytest.raises(InputError, match="is of 40 rows, but the posterior is of 60"):
            function()
    with pytest.raises(InputError, match=r"influence=3 is not what robula\.influence returns"):
        robula.odd_rows(POSTERIOR, FRAME, influence=3)


def test_without_a_column_of_numbers_no_cell_was_judged():
    assert "no cell was judged" in robula.odd_rows(POSTERIOR, FRAME.astype(str)).text


def test_levels_and_clean_posteriors_that_are_none():
    with pytest.raises(InputError, match=r"levels=0\.1 is not a list of shares"):
        robula.contamination_path(MODEL, levels=0.1)
    with pytest.raises(InputError, match="clean_posterior=3 has no mean and covariance"):
        clean_posterior_gap(POSTERIOR, 3)
