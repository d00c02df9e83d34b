"""Linear regression with an unknown noise scale: estimated robustly, then sampled with the coefficients."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import robula


def contaminated(
    attack: str, contamination: float, scale: float, seed: int = 3
) -> tuple[robula.models.Model, np.ndarray]:
    problem = robula.simulate.contaminated_regression(
        attack, n_clean=600, dim=4, contamination=contamination, seed=seed
    )
    model = robula.LinearModel(
        problem.model.design, scale * problem.model.y, noise_scale="estimate", prior=robula.NormalPrior(0.0, 100.0)
    )
    return model, scale * problem.clean_posterior.mean


@pytest.mark.parametrize("scale", [0.01, 1.0, 50.0])
@pytest.mark.parametrize("attack", ["paper", "leverage_cluster", "stealth_shift", "sentinel_response"])
def test_scale_is_found_under_attack_in_any_units(attack, scale):
    model, coefficients = contaminated(attack, 0.2, scale)
    prepared = robula.selectors.ExcessSelector().prepared(model, 0.2)
    # The standard error of a scale from 600 rows is 3 %; four of them for what the bad rows add.
    assert np.exp(prepared.centre[-1]) / scale == pytest.approx(1.0, abs=0.12)
    assert np.abs(prepared.centre[:-1] - coefficients).max() < 0.2 * scale


def test_clean_rows_keep_their_weight():
    model, _ = contaminated("paper", 0.0, 1.0)
    prepared = robula.selectors.ExcessSelector().prepared(model, 0.2)
    assert prepared.select_rows(model, prepared.centre, 0.2).weights.mean() > 0.99


def test_scale_is_sampled_with_the_coefficients():
    model, _ = contaminated("stealth_shift", 0.2, 1.0)
    posterior = robula.sample(
        model,
        contamination=0.2,
        selector="excess",
        likelihood_rows="weights",
        draws=500,
        chains=2,
        progress=False,
    )
    assert posterior.parameter_names[-1] == "log_noise_scale"
    scale = posterior.variables["noise_scale"]
    assert scale.shape == (2, 500)
    assert scale.min() > 0
    np.testing.assert_allclose(scale, np.exp(posterior.draws[..., -1]))
    assert scale.mean() == pytest.approx(1.0, abs=0.12)
    # 600 rows: the standard deviation of the scale's posterior is about 1 / sqrt(1200).
    assert 0.01 < scale.std() < 0.06
    assert posterior.variables["coefficients"].shape == (2, 500, 4)


def test_models_can_be_copied_and_pickled():
    known = robula.LinearModel(np.eye(5, 2), np.arange(5.0), noise_scale=0.5)
    unknown = robula.LinearModel(np.eye(5, 2), np.arange(5.0), noise_scale="estimate")
    for model in (known, unknown):
        for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            theta = np.full(model.dim, 0.3)
            np.testing.assert_array_equal(twin.log_likelihood(theta), model.log_likelihood(theta))


def test_rows_without_noise_are_refused_with_what_to_do():
    X = np.random.default_rng(0).standard_normal((60, 3))
    model = robula.LinearModel(X, np.zeros(60), noise_scale="estimate", prior=robula.NormalPrior(0.0, 1.0))
    with pytest.raises(robula.exceptions.InputError, match="noise_scale= as a number"):
        robula.sample(model, contamination=0.2, draws=5)
