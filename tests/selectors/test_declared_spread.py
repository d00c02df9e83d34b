"""A declared noise scale or covariance that is not the rows' own is said, and the run is not called usable."""

from __future__ import annotations

import numpy as np
import pytest

import robula
from robula.exceptions import InputError, MisfitWarning


def regression(seed: int, noise_scale: float, n: int = 500, bad: int = 0, **options: object) -> robula.LinearModel:
    """Rows with noise of standard deviation 1 and some gross ones, whatever is declared."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    y = X @ [1.0, 2.0, 3.0] + rng.standard_normal(n)
    y[:bad] = 30.0 * rng.standard_normal(bad)
    return robula.LinearModel(X, y, noise_scale=noise_scale, **options)


@pytest.mark.parametrize("variance", [0.01, 0.5, 2.0, 100.0])
def test_a_wrong_covariance_is_said_and_the_run_not_usable(variance):
    rows = np.random.default_rng(0).standard_normal((500, 3))
    model = robula.MeanModel(rows, covariance=variance)
    (said,) = robula.trust(model, 0.1).law
    assert "times the declared covariance" in said
    posterior = robula.sample(model, contamination=0.1, draws=1000, progress=False)
    assert robula.diagnose(posterior).verdict == "usable with care"


def test_one_wrong_direction_is_enough():
    rows = np.random.default_rng(0).standard_normal((500, 3)) * [1.0, 1.0, 2.0]
    (said,) = robula.trust(robula.MeanModel(rows), 0.1).law
    assert "to 2 times the declared covariance" in said


@pytest.mark.parametrize(("n", "d"), [(12, 1), (40, 5), (500, 20)])
def test_the_right_covariance_is_not_called_wrong(n, d):
    rng = np.random.default_rng(1)
    assert [robula.trust(robula.MeanModel(rng.standard_normal((n, d))), 0.1).law for _ in range(5)] == [()] * 5
    rows = rng.standard_normal((500, 3))
    rows[:50] += 8.0  # bad rows are no part of the spread
    assert robula.trust(robula.MeanModel(rows), 0.2).law == ()


@pytest.mark.parametrize(("noise_scale", "times"), [(0.4, 2.5), (0.6, 1.67), (2.0, 0.5), (20.0, 0.05)])
@pytest.mark.parametrize("exact_law", [None, True])
@pytest.mark.filterwarnings("ignore::robula.exceptions.MisfitWarning")
def test_a_wrong_noise_scale_is_all_that_is_said_of_the_law(noise_scale, times, exact_law):
    (said,) = robula.trust(regression(0, noise_scale), 0.1, exact_law=exact_law).law
    assert said.startswith("the residuals spread ")
    assert float(said.split()[3]) == pytest.approx(times, rel=0.12)


def test_tails_of_a_noise_that_is_larger_than_declared_are_not_only_called_bad():
    found = robula.trust(regression(1, 0.6), 0.4)
    assert found.share > 0.2  # the others look as declared
    assert found.law[0].startswith("the residuals spread 1.")


@pytest.mark.parametrize("n", [30, 60, 500])
def test_the_right_noise_scale_is_not_called_wrong(n):
    for seed in range(3):
        for bad in (0, n // 10):
            law = robula.trust(regression(seed, 1.0, n, bad), 0.2).law
            assert not any("the residuals spread" in words for words in law)


def test_a_noise_scale_that_is_too_large_is_not_answered_with_a_larger_contamination():
    with pytest.warns(MisfitWarning, match="Declare the noise that the residuals have") as caught:
        posterior = robula.sample(regression(0, 20.0), contamination=0.1, draws=300, progress=False)
    assert "contamination" not in str(caught[0].message).split("What is off")[1]
    assert robula.diagnose(posterior).verdict == "not usable yet"


@pytest.mark.parametrize("prior", [None, robula.NormalPrior(0.0, 1.0)])
def test_a_noise_scale_far_too_small_is_refused(prior):
    with pytest.raises(InputError, match=r"the residuals spread 1[01]0000 times noise_scale=1e-05: are its"):
        robula.trust(regression(0, 1e-5, prior=prior), 0.1)


def test_gross_rows_alone_are_no_reason_to_refuse():
    model = regression(0, 1.0, bad=50)
    far = model.with_response(np.where(np.arange(500) < 50, 1e6, model.y))
    assert robula.trust(far, 0.2).share == pytest.approx(0.1, abs=0.01)


@pytest.mark.filterwarnings("ignore::robula.exceptions.MisfitWarning")
@pytest.mark.parametrize("noise_scale", [1.2e-4, 3e-4, 7e-4])
def test_a_noise_scale_a_little_less_small_overflows_nowhere(noise_scale):
    assert robula.trust(regression(1, noise_scale, n=60), 0.4).misfit is not None


def test_where_no_row_fits_all_are_kept_and_that_is_said():
    """The share of bad rows and their weights say the same."""
    with pytest.warns(MisfitWarning, match="all rows are far from what the model says, so none is called bad"):
        found = robula.trust(regression(1, 2e-3, n=60), 0.1)
    assert found.weights.min() == 1.0
    assert found.share == 0.0
    assert found.law[0].startswith("the residuals spread ")
