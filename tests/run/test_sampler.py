"""The assembly: seeds, steps, starts, failure and interruption."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

import robula
from robula.target.frozen_gradient import frozen_mean
from tests.helpers import PAPER

PROBLEM = robula.simulate.linear_regression(n_clean=200, dim=4, contamination=0.1, seed=3)
MODEL = PROBLEM.model


def run(**arguments) -> robula.Posterior:
    settings = {"contamination": 0.1, "draws": 30, "burn_in": 10, "chains": 2, "seed": 5, **arguments}
    return robula.sample(MODEL, **{**PAPER, **settings})


def test_same_seed_and_arguments_give_the_same_bits():
    first, second = run(), run()
    np.testing.assert_array_equal(first.draws, second.draws)
    np.testing.assert_array_equal(first.row_weights, second.row_weights)
    assert not np.array_equal(first.draws, run(seed=6).draws)


def test_a_seed_sequence_is_left_as_it_was():
    sequence = np.random.SeedSequence(5)
    np.testing.assert_array_equal(run(seed=sequence).draws, run(seed=sequence).draws)
    np.testing.assert_array_equal(run(seed=sequence).draws, run(seed=5).draws)


def test_shapes_and_settings():
    posterior = run(draws=7, thin=3, burn_in=4)
    assert posterior.draws.shape == (2, 7, 4)
    assert posterior.row_weights.shape == (MODEL.n_rows,)
    assert all(values.shape == (2, 7) for values in posterior.stats.values())
    assert posterior.settings["contamination"] == 0.1
    assert posterior.settings["step_size"] == pytest.approx(1 / posterior.settings["smoothness"])
    assert "step size" in repr(posterior)
    assert posterior.citations == ("bhatia2019", "lai2016")


def test_thinning_keeps_every_third_draw_of_the_same_chain():
    np.testing.assert_array_equal(run(draws=10, thin=3).draws, run(draws=30).draws[:, 2::3])


def test_burn_in_is_the_beginning_of_the_same_chain():
    np.testing.assert_array_equal(run(burn_in=0, draws=40).draws[:, 10:], run(burn_in=10, draws=30).draws)


def test_step_sizes_as_number_sequence_and_function_agree():
    number = run(step_size=1e-3)
    np.testing.assert_array_equal(number.draws, run(step_size=[1e-3] * 40).draws)
    np.testing.assert_array_equal(number.draws, run(step_size=lambda k: 1e-3).draws)
    decaying = run(step_size=lambda k: 1e-3 / k)
    np.testing.assert_allclose(decaying.stats["step_size"][0], 1e-3 / np.arange(11, 41))


def test_translated_gradients_select_once_and_exactly():
    """For mean estimation the single selection gives what selecting at every step gives."""
    problem = robula.simulate.mean_estimation(n_clean=120, dim=5, contamination=0.1, seed=2)

    class SelectEveryTime(robula.selectors.RobustMean):
        def select(self, points, contamination):
            return robula.RecursiveMean().select(points, contamination)

    settings = {**PAPER, "contamination": 0.1, "draws": 20, "burn_in": 5, "seed": 3}
    once = robula.sample(problem.model, **settings)
    each = robula.sample(problem.model, **{**settings, "selector": SelectEveryTime()})
    np.testing.assert_allclose(once.draws, each.draws, rtol=0, atol=1e-9)
    np.testing.assert_allclose(once.row_weights, each.row_weights, atol=1e-12)


def test_a_mean_model_step_costs_no_pass_over_the_rows():
    calls = 0

    class Counting(robula.MeanModel):
        def gradients(self, theta):
            nonlocal calls
            calls += 1
            return super().gradients(theta)

        def weighted_gradient(self, theta, weights):
            nonlocal calls
            calls += 1
            return super().weighted_gradient(theta, weights)

    model = Counting(np.random.default_rng(0).standard_normal((100, 3)))
    robula.sample(model, contamination=0.1, draws=10, burn_in=0)
    few = calls
    robula.sample(model, contamination=0.1, draws=500, burn_in=0)
    assert calls == 2 * few


def test_frozen_selection_uses_the_anchor_rows():
    selection = robula.RecursiveMean().select_rows(MODEL, np.zeros(4), 0.1)
    theta = np.full(4, 0.3)
    np.testing.assert_allclose(frozen_mean(MODEL, selection, theta), selection.mean(MODEL.gradients(theta)), atol=1e-10)
    batch = frozen_mean(MODEL, selection, np.stack([theta, 2 * theta]))
    np.testing.assert_allclose(batch[0], selection.mean(MODEL.gradients(theta)), atol=1e-10)
    # With all rows kept a frozen selection changes nothing.
    np.testing.assert_allclose(
        run(contamination=0.0, refresh_every=7).draws, run(contamination=0.0).draws, rtol=0, atol=1e-9
    )


def test_given_start_and_start_variance():
    start = np.arange(8.0).reshape(2, 4)
    first = run(start=start, burn_in=0, draws=1, step_size=1e-12)
    np.testing.assert_allclose(first.draws[:, 0], start, atol=1e-4)
    wide = run(start_variance=1e6, burn_in=0, draws=1, chains=50, step_size=1e-12)
    assert 500 < wide.draws.std() < 2000


@pytest.mark.filterwarnings("ignore::robula.exceptions.StepSizeWarning")
def test_divergence_carries_what_it_had():
    with pytest.raises(robula.exceptions.DivergenceError) as caught:
        run(selector="mean", step_size=[1e-4] * 20 + [0.5] * 20)
    error = caught.value
    assert error.step > 20
    assert error.step_size == 0.5
    assert 0 < error.suggested_step_size < 0.5
    assert error.draws.shape == (2, error.step - 11, 4)
    assert np.isfinite(error.draws).all()
    assert np.isfinite(error.last_state).all()
    message = str(error)
    for word in (f"step {error.step}", "0.5", f"{error.suggested_step_size:.3g}", "step_size=None"):
        assert word in message
    assert str(pickle.loads(pickle.dumps(error))) == message


def test_unstable_step_sizes_are_announced():
    with (
        pytest.warns(robula.exceptions.StepSizeWarning, match="2 / L") as caught,
        pytest.raises(robula.exceptions.DivergenceError) as diverged,
    ):
        run(selector="mean", step_size=1.0)
    assert caught[0].filename == __file__
    # What the error suggests works.
    run(selector="mean", step_size=diverged.value.suggested_step_size)
    assert hash(diverged.value)


def test_interrupt_returns_what_was_drawn():
    class Stops(robula.kernels.ULA):
        def step(self, rngs, state, target, step_size):
            nonlocal steps
            steps += 1
            if steps > 15:
                raise KeyboardInterrupt
            return super().step(rngs, state, target, step_size)

    steps = 0
    with pytest.warns(robula.exceptions.InterruptedWarning, match="5 of 30 draws"):
        posterior = run(kernel=Stops())
    assert posterior.draws.shape == (2, 5, 4)
    assert posterior.settings["interrupted"]
    np.testing.assert_array_equal(posterior.draws, run().draws[:, :5])
    steps = 10
    with pytest.raises(KeyboardInterrupt):
        run(kernel=Stops())


def test_attackers_do_not_own_the_step_size():
    """Leverage rows raise the curvature of all rows a hundredfold; the default step size must not follow."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 5))
    y = X @ np.ones(5) + rng.standard_normal(500)
    clean_L = np.linalg.eigvalsh(X[50:].T @ X[50:])[-1]
    X[:50] *= 20.0
    for bad_y in (10 * rng.standard_normal(50), -X[:50] @ np.ones(5), np.zeros(50)):
        y[:50] = bad_y
        model = robula.LinearModel(X, y, noise_scale=1.0, prior=robula.NormalPrior(0.0, 1.0))
        posterior = robula.sample(model, contamination=0.1, draws=300, burn_in=100)
        # One leverage row whose residual happens to be small may slip in; fifty may not.
        assert posterior.settings["smoothness"] < 4 * clean_L
        assert np.linalg.eigvalsh(X.T @ X)[-1] > 40 * clean_L
        np.testing.assert_allclose(posterior.mean, 1.0, atol=0.3)
        assert posterior.row_weights[:50].max() < 0.2


@pytest.mark.filterwarnings("ignore::robula.exceptions.TruncationBiasWarning")
def test_poisson_survives_a_far_start():
    """At the start the rates are exp(20) and more; the guard brings the chains home, and is silent there."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 3))
    truth = np.array([0.5, -0.3, 0.8])
    y = rng.poisson(np.exp(0.5 + X @ truth))
    y[:20] = 300
    model = robula.PoissonModel(X, y, prior=robula.NormalPrior(0.0, 10.0), intercept=True)
    posterior = robula.sample(model, contamination=0.1, draws=300, burn_in=500, start=np.full(4, 10.0), seed=1)
    assert not posterior.stats["guarded"].any()
    near = robula.sample(model, contamination=0.1, draws=300, burn_in=300, seed=2)
    np.testing.assert_allclose(posterior.mean, near.mean, atol=0.1)
    plain = robula.sample(model, contamination=0.1, selector="mean", draws=300, burn_in=300, seed=2)
    errors = [np.linalg.norm(run.mean - [0.5, *truth]) for run in (posterior, plain)]
    assert errors[0] < 0.5 * errors[1]
    assert posterior.row_weights[:20].mean() < 0.1
    langevin = {
        "contamination": 0.1,
        "draws": 5,
        "burn_in": 0,
        "start": np.full(4, 10.0),
        "kernel": "preconditioned_lm",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", robula.exceptions.RobulaWarning)
        early = robula.sample(model, seed=1, **langevin)
    assert early.stats["guarded"].all()
    with pytest.warns(robula.exceptions.GuardWarning, match="smaller step_size"):
        robula.sample(model, seed=1, **langevin)


def test_user_defined_selector_and_kernel_plug_in():
    class TrimByNorm(robula.selectors.RobustMean):
        def select(self, points, contamination):
            norms = np.linalg.norm(points - np.median(points, axis=0), axis=1)
            weights = (norms <= np.quantile(norms, 1 - contamination)).astype(float)
            return robula.selectors.Selection((robula.selectors.Part(weights),), points.shape[1])

    posterior = run(selector=TrimByNorm(), draws=200)
    assert posterior.row_weights[PROBLEM.outlier_mask].mean() < posterior.row_weights[~PROBLEM.outlier_mask].mean()
    with pytest.raises(robula.exceptions.InputError, match="no rule"):
        TrimByNorm().select(np.eye(4), 0.1).weights_for(np.eye(4))


def test_row_weights_are_relative_to_the_largest():
    class Uneven(robula.selectors.RobustMean):
        def select(self, points, contamination):
            weights = np.where(np.arange(len(points)) % 2, 5.0, 2.0) / len(points)
            return robula.selectors.Selection(
                (robula.selectors.Part(weights),), points.shape[1], rule=lambda new: [np.full(len(new), 0.1)]
            )

    posterior = run(selector=Uneven())
    np.testing.assert_allclose(posterior.row_weights, np.where(np.arange(MODEL.n_rows) % 2, 1.0, 0.4))
    selection = Uneven().select(np.zeros((10, 4)), 0.1)
    np.testing.assert_allclose(selection.weights_for(np.zeros((3, 4))), 0.1 / 0.5)


@pytest.mark.parametrize("weights", [np.zeros(3), np.full(3, np.nan), np.array([1.0, -1.0, 1.0]), np.ones(2)])
def test_wrong_selections_are_refused_before_the_first_step(weights):
    class Wrong(robula.selectors.RobustMean):
        def select(self, points, contamination):
            return robula.selectors.Selection(
                (robula.selectors.Part(np.resize(weights, len(points) - len(weights) % 3)),), points.shape[1]
            )

    with pytest.raises(robula.exceptions.InputError, match="does not fit"):
        run(selector=Wrong())


def test_a_part_without_rows_has_no_mean():
    selection = robula.RecursiveMean().select(np.random.default_rng(0).standard_normal((50, 2)), 0.1)
    far = np.full((4, 2), 1e6)
    with pytest.raises(robula.exceptions.InputError, match="no row is inside"):
        selection.apply(far).mean(far)


def test_a_column_that_no_trusted_row_informs_is_named():
    """Clean data, but the rows of a rare category look like a group of outliers to the paper's estimator."""
    rng = np.random.default_rng(0)
    rare = (rng.uniform(size=500) < 0.1).astype(float)
    y = 1 + 5 * rare + rng.standard_normal(500)
    model = robula.LinearModel(rare[:, None], y, noise_scale=1.0, prior=robula.NormalPrior(0.0, 100.0), intercept=True)
    with pytest.warns(robula.exceptions.BreakdownWarning, match="parameter '0'"):
        robula.sample(model, contamination=0.05, draws=10, **PAPER)


def test_models_own_their_data():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 1)), rng.standard_normal(30)
    model, mean = robula.LinearModel(X, y, noise_scale=1.0), robula.MeanModel(X)
    before = model.gradients(np.ones(1)), mean.gradients(np.ones(1)), mean.log_likelihood(np.ones(1))
    X[:], y[:] = 0.0, 0.0
    after = model.gradients(np.ones(1)), mean.gradients(np.ones(1)), mean.log_likelihood(np.ones(1))
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(ValueError, match="read-only"):
        model.y[0] = 1.0


def test_large_seeds_are_welcome():
    assert not np.array_equal(run(seed=2**127 + 1).draws, run(seed=2**127).draws)


@pytest.mark.parametrize("kind", [robula.LogisticModel, robula.PoissonModel])
def test_truncation_of_skewed_gradients_is_announced(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    model = kind(X, rng.integers(0, 2, 60), prior=robula.NormalPrior(0.0, 1.0))
    with pytest.warns(robula.exceptions.TruncationBiasWarning, match=kind.__name__):
        robula.rob_ula(model, contamination=0.1, draws=5, burn_in=0)
    # Not where nothing is truncated, nor for the symmetric models.
    robula.sample(model, contamination=0.1, selector="mean", draws=5, burn_in=0)
    robula.rob_ula(model, contamination=0.0, draws=5, burn_in=0)
    run()


def test_a_run_too_short_for_its_slowest_direction_says_so():
    X = np.column_stack([np.random.default_rng(0).standard_normal(100), np.full(100, 500.0)])
    X[:, 1] += X[:, 0]
    model = robula.LinearModel(X, X[:, 0], noise_scale=1.0, prior=robula.NormalPrior(0.0, 1.0))
    assert "too few. Standardise" in repr(robula.sample(model, contamination=0.0, draws=20, kernel="ula"))
    assert "too few" not in repr(run(draws=500))
