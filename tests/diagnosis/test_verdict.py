"""The verdict on a run: right for good runs, and for each thing that can go wrong."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import robula
from robula.run.collector import HalfRowWeights
from robula.target.robust_target import Chosen

RNG = np.random.default_rng(0)
X = RNG.standard_normal((150, 3))
Y = X @ np.ones(3) + RNG.standard_normal(150)
MODEL = robula.LinearModel(X, Y, noise_scale=1.0)


def run(**options: object) -> robula.Posterior:
    settings = {"contamination": 0.0, "selector": "mean", "kernel": "lm", "draws": 1000, "seed": 1, **options}
    return robula.sample(MODEL, **settings)


def test_a_good_run_is_called_usable():
    diagnosis = robula.diagnose(run())
    assert diagnosis.verdict == "usable"
    assert diagnosis.findings == ()
    assert diagnosis.r_hat < 1.01
    assert diagnosis.effective_sample_size > 400
    assert diagnosis.weight_drift == 0.0
    assert "Verdict: usable." in diagnosis.text


def test_a_short_run_is_told_how_much_longer():
    diagnosis = robula.diagnose(run(step_size=1e-5, draws=100, burn_in=0))
    assert diagnosis.verdict == "not usable yet"
    assert "times as many steps" in diagnosis.text


def test_eulers_default_step_is_named():
    diagnosis = robula.diagnose(run(kernel="ula"))
    assert diagnosis.verdict == "usable with care"
    assert "2.0 times too large" in diagnosis.text
    measured = robula.diagnose(run(kernel="ula"), robula.step_bias(MODEL, run(kernel="ula"), steps=500))
    assert any("StepFor" in finding for finding in measured.findings)
    good = robula.diagnose(run(kernel="ula", step_size=robula.StepFor(bias=0.08), draws=3000))
    assert good.verdict == "usable"
    assert good.step_bias is not None


class ByChain(robula.selectors.Selector):
    """Trusts the even or the odd rows, by the sign of the first parameter: two explanations of the same data."""

    def select_rows(self, model, theta, contamination):
        kept = (np.arange(model.n_rows) % 2 == 0) == (theta[0] > 0)
        return robula.selectors.Selection((robula.selectors.Part(kept.astype(float)),), model.dim)


@pytest.mark.parametrize(("rows", "said"), [(3, True), (12, False)])
def test_as_many_parameters_as_rows_are_named(rows, said):
    x, noise = np.random.default_rng(0).normal(size=(2, rows))
    prior = robula.NormalPrior(0.0, 100.0)
    model = robula.LinearModel(x[:, None], x + noise, noise_scale="estimate", intercept=True, prior=prior)
    found = robula.diagnose(robula.sample(model, contamination=0.1, progress=False))
    assert any("rows for 3 parameters" in finding for finding in found.findings) is said
    assert not said or found.verdict != "usable"


def test_chains_that_trust_different_rows_are_found_out():
    y = np.where(np.arange(150) % 2 == 0, X @ [3.0, 0, 0], X @ [-3.0, 0, 0])
    model = robula.LinearModel(X, y, noise_scale=1.0)
    start = np.array([[3.0, 0, 0], [-3.0, 0, 0]])
    posterior = robula.sample(model, contamination=0.4, selector=ByChain(), kernel="lm", chains=2, start=start)
    diagnosis = robula.diagnose(posterior)
    assert posterior.half_row_weights.shape == (2, 2, 150)
    assert diagnosis.weight_disagreement == pytest.approx(0.5)
    assert diagnosis.verdict == "not usable yet"
    assert "trust different rows" in diagnosis.text


def test_row_weights_that_still_move_are_found_out():
    posterior = run()
    halves = posterior.half_row_weights.copy()
    halves[:, 1, :75] = 0.0
    diagnosis = robula.diagnose(dataclasses.replace(posterior, half_row_weights=halves))
    assert diagnosis.weight_drift == pytest.approx(0.5)
    assert "still move" in diagnosis.text
    assert diagnosis.verdict == "usable with care"


def test_shared_selections_are_said_to_be_shared():
    model = robula.MeanModel(X)
    posterior = robula.sample(model, contamination=0.1, kernel="lm", draws=1000)
    diagnosis = robula.diagnose(posterior)
    assert math.isnan(diagnosis.weight_disagreement)
    assert "use the same row weights" in diagnosis.text


def chosen(number: int, selection: robula.selectors.Selection) -> Chosen:
    return Chosen(number, (selection,), np.ones((1, 1)), lambda theta: theta)


def test_halves_are_averaged_over_the_draws_that_used_them():
    first = robula.selectors.Selection((robula.selectors.Part(np.array([1.0, 0.0])),), 1)
    second = robula.selectors.Selection((robula.selectors.Part(np.array([1.0, 1.0])),), 1)
    halves = HalfRowWeights(2, draws=4)
    for draw, (number, selection) in enumerate([(1, first), (1, first), (1, first), (2, second)]):
        halves.add(chosen(number, selection), draw)
    np.testing.assert_allclose(halves.result(), [[[1.0, 0.0], [1.0, 0.5]]])
    interrupted = HalfRowWeights(2, draws=4)
    interrupted.add(chosen(1, second), 0)
    np.testing.assert_allclose(interrupted.result(), [[[1.0, 1.0], [1.0, 1.0]]])


def test_saved_runs_keep_what_the_diagnosis_needs(tmp_path):
    posterior = run()
    posterior.save(tmp_path / "run.npz")
    loaded = robula.load(tmp_path / "run.npz")
    np.testing.assert_array_equal(loaded.half_row_weights, posterior.half_row_weights)
    assert robula.diagnose(loaded) == robula.diagnose(posterior)


def test_too_short_to_judge_is_refused():
    with pytest.raises(robula.exceptions.InputError, match="four draws"):
        robula.diagnose(run(draws=2))


def test_odd_rows_that_were_kept_ask_for_care_where_they_matter_and_forbid_it_where_they_decide():
    rng = np.random.default_rng(3)
    wide = rng.normal(20.0, 4.0, size=(300, 2)).round(1)
    for slip, slope, verdict in (
        (1.0, 0.2, "usable"),
        (10.0, 0.002, "usable with care"),
        (10.0, 0.2, "not usable yet"),
    ):
        y = wide @ [slope, 0.1] + np.random.default_rng(4).normal(size=300)
        rows = wide.copy()
        rows[:9, 0] *= slip  # a decimal point
        model = robula.LinearModel(rows, y, noise_scale=1.0, prior=robula.NormalPrior(0.0, 10.0), intercept=True)
        posterior = robula.sample(model, contamination=0.0, draws=500, seed=0, progress=False)
        odd = robula.odd_rows(posterior, rows, response=y, influence=robula.influence(model, posterior))
        assert "odd" not in robula.diagnose(posterior).text  # the draws alone cannot tell
        assert robula.diagnose(posterior, odd=odd).verdict == verdict
    assert "standard deviations away" in robula.diagnose(posterior, odd=odd).text


def labels_of_a_product(rows=800):
    """Signs of two columns, and labels that hang on their product too."""
    rng = np.random.default_rng(3)
    X = rng.choice([-1.0, 1.0], size=(rows, 2))
    return X, (rng.logistic(size=rows) < X @ [2.0, 2.0] - 3.0 * X[:, 0] * X[:, 1]).astype(float)


def of_labels(X, label):
    model = robula.LogisticModel(X, label, prior=robula.NormalPrior(0.0, 10.0), intercept=True)
    return robula.sample(model, contamination=0.2, draws=300, seed=1)


def test_labels_called_wrong_are_to_be_looked_at():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((800, 3))
    label = (rng.logistic(size=800) < 2.0 * X.sum(axis=1)).astype(float)
    flipped = rng.random(800) < 0.1
    label[flipped] = 1.0 - label[flipped]
    posterior = of_labels(X, label)
    assert 1.0 - posterior.row_weights.mean() > 0.01
    found = robula.diagnose(posterior)
    assert found.verdict != "usable"
    assert "are called wrong" in found.text
    # What was stored before runs recorded the kind of their responses is told by its explanations.
    earlier = {name: value for name, value in posterior.settings.items() if name != "response_kind"}
    assert robula.diagnose(dataclasses.replace(posterior, settings=earlier)) == found


def test_a_product_that_the_model_lacks_is_said_and_no_label_called_wrong():
    X, label = labels_of_a_product()
    posterior = of_labels(X, label)
    found = robula.diagnose(posterior)
    assert posterior.row_weights.mean() > 0.999
    assert found.verdict == "usable with care"
    assert "log odds that bend" in found.text
    assert "are called wrong" not in found.text
    # With the product nothing is said.
    whole = robula.diagnose(of_labels(np.column_stack([X, X[:, 0] * X[:, 1]]), label))
    assert "bend" not in whole.text
    assert "are called wrong" not in whole.text


def test_a_limit_that_is_used_up_is_said():
    problem = robula.simulate.linear_regression(n_clean=300, dim=3, contamination=0.1, seed=1)
    for limit, verdict in ((0.1, "usable with care"), (0.2, "usable")):
        posterior = robula.sample(problem.model, contamination=limit, draws=500, progress=False)
        found = robula.diagnose(posterior)
        assert found.verdict == verdict
        assert ("used up" in found.text) == (limit == 0.1)
