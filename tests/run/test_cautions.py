"""What a run says by itself: chains that disagree, and a fallback that is not to be recommended to itself."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest

import robula
from robula.models.model import known_name
from robula.reporting.findings import findings
from robula.reporting.quantities import quantities
from robula.run.cautions import warn_if_unconverged

RNG = np.random.default_rng(0)
X = RNG.standard_normal((150, 3))
MODEL = robula.LinearModel(X, X @ np.ones(3) + RNG.standard_normal(150), noise_scale=1.0)


@pytest.mark.filterwarnings("always::robula.exceptions.ConvergenceWarning")
class TestConvergence:
    def test_a_run_that_has_not_converged_says_so(self):
        with pytest.warns(robula.exceptions.ConvergenceWarning, match=r"R-hat .*parameter '\d'.* effective draws"):
            robula.sample(MODEL, contamination=0.0, selector="mean", kernel="lm", step_size=1e-5, draws=200)

    def test_too_few_effective_draws_are_enough_to_be_told(self):
        with pytest.warns(robula.exceptions.ConvergenceWarning, match=r"\d\d effective draws"):
            robula.sample(MODEL, contamination=0.0, kernel="hmc", draws=20)

    def test_of_independent_draws_only_the_number_can_be_too_small(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # R-hat and effective draws of so few are chance
            posteriors = [robula.sample(MODEL, contamination=0.0, draws=20, seed=seed) for seed in range(5)]
        for posterior in posteriors:
            said = robula.diagnose(posterior).findings
            assert len(said) == 1
            assert "independent draws: make" in said[0]
            assert "steps" not in said[0]

    def test_what_was_warned_of_is_in_the_verdict_and_on_the_page(self):
        # The intercept of centred columns is another quantity than that of the file, with an R-hat of its own.
        posterior = robula.sample(MODEL, contamination=0.0, kernel="hmc", draws=1000)
        assert posterior.settings["convergence"][0] < 1.01
        assert robula.diagnose(posterior).r_hat == pytest.approx(posterior.settings["convergence"][0])
        warned = dataclasses.replace(posterior, settings={**posterior.settings, "convergence": [1.03, "1", 300.0]})
        told = robula.diagnose(warned)
        assert told.verdict == "usable with care"
        assert (told.r_hat, told.effective_sample_size) == (1.03, 300.0)
        page = {finding.title: finding.text for finding in findings(warned, quantities(warned))}
        assert "Largest R-hat 1.030 (1)" in page["The chains nearly agree"]
        assert "at least 300 independent ones" in page["Draws are enough for means, scarce for intervals"]

    def test_a_good_run_is_silent(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            robula.sample(MODEL, contamination=0.1)

    @pytest.mark.parametrize("broken", [np.nan, np.inf])
    def test_an_r_hat_that_is_no_number_never_counts_as_one(self, broken):
        draws = RNG.standard_normal((4, 500, 2))
        draws[1, 7, 1] = broken
        with pytest.warns(robula.exceptions.ConvergenceWarning, match="R-hat inf .*'b'"):
            warn_if_unconverged(draws, ("a", "b"))

    def test_nor_that_of_a_parameter_that_never_moved(self):
        draws = RNG.standard_normal((4, 500, 2))
        draws[:, :, 0] = 3.0
        with pytest.warns(robula.exceptions.ConvergenceWarning, match="R-hat inf .*'a'"):
            warn_if_unconverged(draws, ("a", "b"))


def test_parameters_are_named_as_the_user_named_them():
    """A warning spoke of "1|school_sigma_log__", which the summary does not have."""
    variables = ["b", "sigma", "1|school", "1|school_sigma"]
    sampled = ["b[3]", "sigma_unconstrained__", "1|school_sigma_log__[2]", "other__", "b_c"]
    assert [known_name(name, variables) for name in sampled] == ["b[3]", "sigma", "1|school_sigma", "other__", "b_c"]


class NewCounts(robula.PoissonModel):
    """A model the default selector has no rule for, with skewed gradients."""


def test_the_default_selector_is_not_recommended_to_those_who_use_it(monkeypatch):
    model = NewCounts(X, RNG.poisson(1.0, 150), prior=robula.NormalPrior(0.0, 1.0))
    monkeypatch.setattr(robula.selectors.TrustSelector, "prepared", lambda *_: robula.SpectralFilter())
    with pytest.warns(robula.exceptions.TruncationBiasWarning, match="no rule for NewCounts") as caught:
        robula.sample(model, contamination=0.1, draws=3, burn_in=0)
    assert "the default of robula.sample" not in str(caught[0].message)
    with pytest.warns(robula.exceptions.TruncationBiasWarning, match="the default of robula.sample"):
        robula.sample(model, contamination=0.1, selector="spectral", draws=3, burn_in=0)
