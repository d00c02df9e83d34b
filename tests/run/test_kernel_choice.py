"""kernel="auto": exact where the target is normal, adjusted where it has a density, else Langevin; it says which."""

from __future__ import annotations

import pytest

import robula
from tests.helpers import small_models

MODELS = small_models()
FIXED = {"contamination": 0.0, "selector": "mean", "draws": 5, "burn_in": 3}


@pytest.mark.parametrize(
    ("name", "options", "kernel"),
    [
        ("mean", {}, "Exact()"),
        ("mean-full", {"selector": "recursive", "contamination": 0.1}, "Exact()"),
        ("linear", {}, "Exact()"),
        ("linear", {"selector": "trust", "contamination": 0.1}, "Exact()"),
        ("linear-unknown-scale", {}, "Preconditioned(kernel=HMC(travel=None))"),
        ("logistic", {}, "Preconditioned(kernel=HMC(travel=None))"),
        ("poisson", {}, "Preconditioned(kernel=HMC(travel=None))"),
        ("jax", {}, "NUTS() of NumPyro"),
        ("linear", {"selector": "geometric_median"}, "Preconditioned(kernel=LeimkuhlerMatthews())"),
        ("linear", {"step_size": 0.1}, "Preconditioned(kernel=LeimkuhlerMatthews())"),
    ],
)
def test_auto_takes_the_best_there_is(name, options, kernel):
    posterior = robula.sample(MODELS[name], **{**FIXED, **options})
    assert posterior.settings["kernel"] == kernel
    assert posterior.settings["kernel_from"] == "auto"
    assert posterior.setup["kernel"] == "auto"
    assert kernel in repr(posterior)


RULES = {
    "ula": "1 / L of the trusted rows",
    "baoab": "sqrt(2 / L) of the trusted rows",
    "preconditioned_lm": "1 / L of the trusted rows, in coordinates in which their posterior is round",
    "hmc": "adapted in burn-in to accept 0.8 of the proposals, in coordinates",
    "exact": "none",
}


@pytest.mark.parametrize("kernel", RULES)
def test_the_step_rule_on_record_is_the_one_that_was_used(kernel):
    posterior = robula.sample(MODELS["linear"], kernel=kernel, **FIXED)
    assert posterior.settings["step_size_from"].startswith(RULES[kernel])
    assert posterior.settings["kernel_from"] == "given"
    if kernel == "exact":
        return  # a step size is refused, see below
    given = robula.sample(MODELS["linear"], kernel=kernel, step_size=0.01, **FIXED)
    assert given.settings["step_size_from"] == "given"
    assert given.settings["step_size"] == pytest.approx(0.01)


def test_a_step_size_without_meaning_is_said_to_have_none():
    posterior = robula.sample(MODELS["linear"], kernel="exact", **FIXED)
    assert posterior.settings["adjusted"]
    assert "step size bias: none" in repr(posterior)


@pytest.mark.parametrize("ignored", [{"step_size": 0.1}, {"start": [0.0, 0.0, 0.0]}, {"start_variance": 1.0}])
def test_what_independent_draws_would_ignore_is_refused(ignored):
    with pytest.raises(robula.exceptions.InputError, match=rf"{next(iter(ignored))} would be ignored"):
        robula.sample(MODELS["linear"], kernel="exact", **ignored, **FIXED)


def test_a_start_that_was_not_used_is_not_said_to_be_given():
    posterior = robula.sample(MODELS["linear"], start=[0.0] * MODELS["linear"].dim, **FIXED)
    assert posterior.settings["start"] == "none: every draw is independent"
