"""The certificate of a finished run, and the plan command."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import robula
from robula.cli.main import app
from robula.workflow.plan_file import data_constants
from tests.helpers import PAPER

PLAIN = {**PAPER, "selector": "mean"}


@pytest.fixture(scope="module")
def problem():
    return robula.simulate.linear_regression(300, 3, 0.05, seed=0)


@pytest.fixture(scope="module")
def posterior(problem):
    return robula.rob_ula(problem.model, contamination=0.05, draws=500, burn_in=200, seed=0)


def test_certificate_says_what_is_proved_measured_and_assumed(problem, posterior):
    result = robula.certificate(problem.model, posterior)
    assert result.bound.total > 0
    gap = robula.metrics.clean_posterior_gap(posterior, problem.clean_posterior)
    assert result.bound.w2 / result.width > gap.w2 - 3 * gap.w2_mcse
    for word in ("Proved:", "Measured:", "Assumed: C_R = 1", "Error budget", "by halving the step", "R-hat"):
        assert word in result.text
    assert result.effective_sample_size == pytest.approx(posterior.summary()["ess_bulk"].astype(float).min(), rel=0.5)


def test_covariances_are_those_of_the_trusted_rows(problem, posterior):
    """The bad rows' gradients would otherwise set the error budget: the attacker owns them."""
    result = robula.certificate(problem.model, posterior, step_halving=False)

    def norm(weights):
        gradients = problem.model.gradients(posterior.mean)
        return np.linalg.eigvalsh(np.cov(gradients.T, aweights=weights, ddof=0))[-1]

    trusted, everything = norm(posterior.row_weights), norm(np.ones(problem.model.n_rows))
    assert everything > 1.5 * trusted
    m = posterior.settings["strong_convexity"] / problem.model.n_rows
    assert result.mean_shift == pytest.approx(math.sqrt(0.05 * (1 + math.log(3)) * trusted) / m)


def test_the_reading_of_the_algorithm_is_said(problem, posterior):
    """As printed the share of bad rows grows from level to level; on all rows it does not. gamma needs delta."""
    printed = robula.certificate(problem.model, posterior, step_halving=False)
    assert "Reading: Algorithm 2 as printed recurses on truncated rows" in printed.text
    assert printed.bound.conditions[2].value == pytest.approx(0.05 / 0.95**4)
    selector = robula.RecursiveMean(variant="all_rows")
    settings = {**PAPER, "selector": selector, "draws": 100, "burn_in": 50}
    mended = robula.sample(problem.model, contamination=0.05, **settings)
    result = robula.certificate(problem.model, mended, step_halving=False)
    assert "Reading: every level starts from all rows" in result.text
    assert result.bound.conditions[2].value == 0.05
    unsure = robula.certificate(problem.model, mended, step_halving=False, delta=0.05)
    gamma = robula.theory.contamination_level(0.05, problem.model.n_rows, 0.05).level
    assert unsure.bound.conditions[2].value == gamma
    assert unsure.mean_shift == pytest.approx(result.mean_shift * math.sqrt(gamma / 0.05))


def test_conditions_that_fail_are_said(problem, posterior):
    """The paper's own default regression admits almost no contamination: the certificate may not hide it."""
    result = robula.certificate(problem.model, posterior, C_R=100.0, step_halving=False)
    assert result.step_halving is None
    assert "Not a bound: the theorem's condition fails" in result.text
    assert "times the limit" in result.text


def test_step_halving_sees_the_inflated_variance():
    """At h = 1 / L an isotropic posterior has sqrt(2) times the spread; extrapolated from half the step, to h^2."""
    model = robula.MeanModel(np.random.default_rng(0).standard_normal((200, 4)), prior=robula.NormalPrior(0.0, 1.0))
    posterior = robula.sample(model, contamination=0.0, draws=4000, seed=1, **PLAIN)
    result = robula.certificate(model, posterior)
    assert result.step_halving is not None
    # Variances 2 and 4/3 at the two steps: the excess of order h is twice their difference, over the finer one.
    assert result.step_halving.spread == pytest.approx(math.sqrt(1 + 2 * (2 - 4 / 3) / (4 / 3)), abs=0.03)
    assert result.step_halving.shift < 4 * result.step_halving.shift_mcse
    assert result.step_halving == robula.step_bias(model, posterior)
    assert result.mean_shift == 0.0
    assert result.bound.contamination == 0.0


def test_own_selectors_must_be_given_back(problem):
    class Trim(robula.selectors.RobustMean):
        def select(self, points, contamination):
            return robula.selectors.Selection((robula.selectors.Part(np.ones(len(points))),), points.shape[1])

    posterior = robula.sample(problem.model, contamination=0.05, selector=Trim(), kernel="ula", draws=20)
    with pytest.raises(robula.exceptions.InputError, match="pass it as selector="):
        robula.certificate(problem.model, posterior)
    assert robula.certificate(problem.model, posterior, selector=Trim()).step_halving is not None


def test_the_theorem_is_about_ula(problem):
    posterior = robula.sample(problem.model, contamination=0.05, draws=20)
    # A posterior stored before runs recorded the class of their kernel says it in words only.
    earlier = {name: value for name, value in posterior.settings.items() if not name.endswith("_class")}
    for run in (posterior, dataclasses.replace(posterior, settings=earlier)):
        with pytest.raises(robula.exceptions.InputError, match=r"robula\.step_bias"):
            robula.certificate(problem.model, run)


def test_certificate_needs_the_runs_own_model(problem, posterior):
    other = robula.MeanModel(np.eye(5))
    fewer = robula.simulate.linear_regression(100, 3, 0.05, seed=0).model
    for model, run in ((other, posterior), (fewer, posterior), (posterior, problem.model)):
        with pytest.raises(robula.exceptions.InputError, match="certificate needs"):
            robula.certificate(model, run)


def test_the_plain_mean_gets_no_promise_about_bad_rows(problem):
    posterior = robula.sample(problem.model, contamination=0.05, draws=50, **PLAIN)
    assert (
        "plain mean, which bad rows can move" in robula.certificate(problem.model, posterior, step_halving=False).text
    )


def csv(tmp_path, problem):
    table = pd.DataFrame(problem.model.design, columns=["a", "b", "c"]).assign(y=problem.model.y)
    path = tmp_path / "data.csv"
    table.to_csv(path, index=False)
    return path


def test_plan_command(tmp_path, problem):
    path = csv(tmp_path, problem)
    picture = tmp_path / "bound.png"
    arguments = ["plan", str(path), "--model", "linear", "--target", "y", "--noise-scale", "1"]
    result = CliRunner().invoke(
        app, [*arguments, "--contamination", "0.1", "--accuracy", "0.5", "--plot", str(picture)]
    )
    assert result.exit_code == 0, result.output
    for word in ("step size", "steps", "bad rows part", "assumed", "remark"):
        assert word in result.output
    unsure = CliRunner().invoke(app, [*arguments, "--contamination", "0.1", "--delta", "0.05"])
    gamma = robula.theory.contamination_level(0.1, problem.model.n_rows, 0.05).level
    assert f"share of bad rows, at most  {gamma:.3g}" in " ".join(unsure.output.split(" ")), unsure.output
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "linear", "--target", "z", "--noise-scale", "1"], "no column"),
        (["--model", "linear", "--target", "y"], "--noise-scale"),
        (["--model", "forest", "--target", "y"], "not known"),
        (["--model", "logistic", "--target", "y"], "different values"),
    ],
)
def test_plan_command_refuses_in_one_line(tmp_path, problem, arguments, message):
    result = CliRunner().invoke(app, ["plan", str(csv(tmp_path, problem)), "--contamination", "0.1", *arguments])
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    missing = CliRunner().invoke(app, ["plan", str(tmp_path / "no.csv"), "--contamination", "0.1", *arguments])
    assert missing.exit_code == 2


def test_logistic_constants_are_proved_ones():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2))
    y = rng.uniform(size=300) < 1 / (1 + np.exp(-X[:, 0]))
    model = robula.LogisticModel(X, y, prior=robula.NormalPrior(0.0, 4.0))
    constants = data_constants(model, 0.0)
    assert constants.strong_convexity == pytest.approx(0.25 / 300)
    assert constants.smoothness == pytest.approx((0.25 * np.linalg.eigvalsh(X.T @ X)[-1] + 0.25) / 300)
    for theta in rng.standard_normal((10, 2)):
        assert np.linalg.eigvalsh(np.cov(model.gradients(theta).T, bias=True))[-1] <= constants.C_sigma2
    assert robula.theory.plan(constants, 0.9).steps > 100
