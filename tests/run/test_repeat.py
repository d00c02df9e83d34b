"""A run is repeated from its setup, bit for bit, whatever object was passed; or refused with the reason."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pytest

import robula
from robula.run.descriptions import build, describe
from robula.run.repeat import repeat, setup_of
from robula.run.setup import Setup

PROBLEM = robula.simulate.linear_regression(n_clean=150, dim=3, contamination=0.1, seed=3)
MODEL = PROBLEM.model
SHORT = {"contamination": 0.1, "draws": 12, "burn_in": 8, "chains": 2, "seed": 5}


@dataclass(frozen=True)
class Trim(robula.selectors.RobustMean):
    """A selector of the user's own, with a parameter."""

    share: float = 0.1

    def select(self, points, contamination):
        norms = np.linalg.norm(points, axis=1)
        weights = (norms <= np.quantile(norms, 1 - self.share)).astype(float)
        return robula.selectors.Selection((robula.selectors.Part(weights),), points.shape[1])


RUNS = {
    "defaults": {},
    "friction": {"kernel": robula.kernels.BAOAB(friction=3.0), "selector": "spectral"},
    "nested kernel": {"kernel": robula.kernels.Preconditioned(robula.kernels.ULA())},
    "travel": {"kernel": robula.kernels.Preconditioned(robula.kernels.HMC(travel=0.7))},
    "trimmed": {"selector": robula.selectors.TrimmedLikelihood(), "kernel": "lm"},
    "nested selector": {"selector": robula.selectors.SubsetSelector(Trim(share=0.2), rows=1000, seed=3)},
    "own selector": {"selector": Trim(share=0.25), "refresh_every": 3},
    "trust": {"selector": robula.selectors.TrustSelector()},
    "lai": {"selector": robula.RecursiveMean(variant="lai2016"), "likelihood_rows": "clean"},
    "estimate": {"contamination": "estimate"},
    "function of the step": {"kernel": "ula", "step_size": lambda k: 1e-3 / k},
    "bias": {"kernel": "ula", "selector": "mean", "step_size": robula.StepFor(bias=0.3)},
    "spawned seed": {"seed": np.random.SeedSequence(7, spawn_key=(3, 1))},
    "large seed": {"seed": 2**127 + 1},
    "start": {"start": np.arange(6.0).reshape(2, 3), "kernel": "ula", "selector": "mean"},
    "start variance": {"start_variance": 2.5, "thin": 2, "kernel": "lm"},
}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_is_repeated_bit_for_bit_from_json(name):
    posterior = robula.sample(MODEL, **{**SHORT, **RUNS[name]})
    setup = Setup.from_json(setup_of(posterior).to_json())
    assert setup == setup_of(posterior)
    again = repeat(setup, MODEL)
    np.testing.assert_array_equal(again.draws, posterior.draws)
    np.testing.assert_array_equal(again.row_weights, posterior.row_weights)
    assert again.setup == posterior.setup == json.loads(json.dumps(posterior.setup))


def test_rob_ula_is_repeated_too():
    posterior = robula.rob_ula(MODEL, contamination=0.1, draws=10, burn_in=5)
    np.testing.assert_array_equal(repeat(posterior, MODEL).draws, posterior.draws)


def test_a_saved_posterior_can_be_repeated(tmp_path):
    posterior = robula.sample(MODEL, **SHORT, selector=Trim(share=0.3))
    posterior.save(tmp_path / "run.npz")
    np.testing.assert_array_equal(repeat(robula.load(tmp_path / "run.npz"), MODEL).draws, posterior.draws)


def test_changes_take_the_place_of_the_runs_own():
    # Doubt about rows would widen all draws around their common mean, which more draws move.
    posterior = robula.sample(MODEL, **{**SHORT, "contamination": 0.0}, kernel="lm")
    longer = repeat(posterior, MODEL, draws=20)
    np.testing.assert_array_equal(longer.draws[:, :12], posterior.draws)
    assert not np.array_equal(repeat(posterior, MODEL, seed=6).draws, posterior.draws)


def test_another_model_is_refused_with_what_differs():
    posterior = robula.sample(MODEL, **SHORT)
    y = MODEL.y.copy()
    y[0] += 1e-9
    other = robula.LinearModel(MODEL.design, y, noise_scale=MODEL.noise_scale, prior=MODEL.prior)
    with pytest.raises(robula.exceptions.InputError, match="the data, the prior or a constant"):
        repeat(posterior, other)
    with pytest.raises(robula.exceptions.InputError, match="number of rows"):
        repeat(posterior, MODEL.take(np.arange(50)))
    with pytest.raises(robula.exceptions.InputError, match="not a robula model"):
        repeat(posterior, posterior)


def test_what_cannot_be_described_is_refused_not_replaced():
    class Local(Trim):
        pass

    posterior = robula.sample(MODEL, **SHORT, selector=Local(share=0.2))
    assert "not_repeatable" in posterior.setup["selector"]
    with pytest.raises(robula.exceptions.InputError, match=r"Local.*pass it as selector="):
        repeat(posterior, MODEL)
    np.testing.assert_array_equal(repeat(posterior, MODEL, selector=Local(share=0.2)).draws, posterior.draws)


class Remembers(robula.selectors.RobustMean):
    """Its rule is in an attribute that no parameter sets."""

    def __init__(self) -> None:
        self.share = 0.1

    def select(self, points, contamination):
        return Trim(self.share).select(points, contamination)


def test_an_object_changed_after_it_was_made_is_not_described_by_its_class():
    selector = Remembers()
    assert describe(selector)["class"].endswith(":Remembers")
    selector.share = 0.3
    assert describe(selector)["not_repeatable"] == "it holds more than its parameters say"


@pytest.mark.parametrize(
    "description",
    [
        {"class": "os:system", "parameters": {}},
        {"class": "antigravity:fly", "parameters": {}},
        {"class": "robula.no.such:Thing", "parameters": {}},
        {"class": "robula.kernels.ula:ULA", "parameters": {"friction": 1.0}},
        {"class": "robula.kernels.ula:ULA", "parameters": {}},
        {"something": 1},
        "recursive",
    ],
)
def test_a_description_builds_selectors_and_kernels_only(description):
    with pytest.raises(robula.exceptions.InputError):
        build(description, robula.selectors.Selector, "selector")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"model": 1}'])
def test_other_json_is_not_a_setup(text):
    with pytest.raises(robula.exceptions.InputError):
        Setup.from_json(text)


def test_a_posterior_without_a_run_has_no_setup():
    posterior = robula.Posterior(np.zeros((1, 5, 3)), np.ones(10), ("a", "b", "c"))
    assert posterior.setup is None
    with pytest.raises(robula.exceptions.InputError, match="no setup"):
        repeat(posterior, MODEL)


def test_another_version_is_announced():
    posterior = robula.sample(MODEL, **SHORT)
    with pytest.warns(robula.exceptions.RepeatWarning, match="robula 0.0"):
        repeat({**posterior.setup, "robula": "0.0"}, MODEL)


def test_the_contamination_path_of_a_run_uses_its_selector():
    posterior = robula.sample(MODEL, **SHORT, selector=robula.selectors.TrimmedLikelihood())
    own = robula.contamination_path(MODEL, [0.1], posterior)
    named = robula.contamination_path(MODEL, [0.1], robula.selectors.TrimmedLikelihood())
    np.testing.assert_array_equal(own.means, named.means)
    assert not np.array_equal(own.means, robula.contamination_path(MODEL, [0.1]).means)
