"""Influence: the derivative is right, predictions agree with refits, and masked groups are found."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import robula
from robula.diagnosis.flipping_rows import Hinge
from robula.diagnosis.without_rows import Estimate
from robula.exceptions import InputError
from robula.models.posterior_mode import weighted_mode
from tests.helpers import small_models

N, DIM = 400, 4


def simulated(kind: str, seed: int = 0) -> robula.models.Model:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, DIM))
    eta = X @ [0.6, -0.4, 0.2, 0.0]
    prior = robula.NormalPrior(0.0, 10.0)
    if kind == "logistic":
        return robula.LogisticModel(X, (rng.uniform(size=N) < 1 / (1 + np.exp(-eta))).astype(int), prior=prior)
    if kind == "poisson":
        return robula.PoissonModel(X, rng.poisson(np.exp(eta)), prior=prior)
    scale = "estimate" if kind == "unknown scale" else 1.0
    return robula.LinearModel(X, eta + rng.standard_normal(N), noise_scale=scale, prior=prior)


def sampled(model: robula.models.Model, **options: object) -> robula.Posterior:
    return robula.sample(model, **{"contamination": 0.0, "seed": 1, "progress": False, **options})


@cache
def fitted(kind: str) -> tuple[robula.models.Model, robula.Posterior]:
    model = simulated(kind)
    return model, sampled(model)


def refit(model: robula.models.Model, weights: np.ndarray, rows: np.ndarray, start: np.ndarray) -> np.ndarray:
    left = weights.copy()
    left[rows] = 0.0
    return weighted_mode(model, left, start) - weighted_mode(model, weights, start)


def test_slopes_are_the_derivative_of_the_exact_posterior_mean():
    model = simulated("linear")
    posterior = sampled(model, draws=4000)
    found = robula.influence(model, posterior)
    step = 1e-4
    for row in (0, 17, 200):
        more = np.ones(N)
        more[row] += step
        slope = (model.gaussian_posterior(more).mean - model.gaussian_posterior().mean) / step
        # Cov of S independent draws: its error is at most about sd(f) sd(log-likelihood) / sqrt(S); five of them.
        spread = model.log_likelihood(posterior.flat_draws)[:, row].std()
        tolerance = 5.0 * found.sd * spread / np.sqrt(16_000)
        assert (np.abs(found.slopes[row] - slope) < tolerance).all()
        # A negative control: another row's derivative is outside of it.
        assert (np.abs(found.slopes[(row + 1) % N] - slope) > tolerance).any()


def test_leverages_are_those_of_the_design_and_sum_to_the_number_of_parameters():
    model, posterior = fitted("linear")
    found = robula.influence(model, posterior)
    X = model.design
    exact = np.einsum("ij,jk,ik->i", X, model.gaussian_posterior().covariance, X)
    assert np.corrcoef(found.leverage, exact)[0, 1] > 0.9
    assert found.leverage.sum() == pytest.approx(DIM, rel=0.15)


@pytest.mark.parametrize("kind", ["linear", "unknown scale", "logistic", "poisson"])
def test_what_one_row_in_a_hundred_changes_is_predicted_within_a_tenth(kind):
    model, posterior = fitted(kind)
    found = robula.influence(model, posterior)
    weights, rng = posterior.row_weights, np.random.default_rng(2)
    for place in range(DIM):
        for sign in (1, -1):
            rows = np.argsort(sign * found.slopes[:, place])[: N // 100]
            true = refit(model, weights, rows, posterior.mean)[place]
            assert found.change(rows)[place] == pytest.approx(true, rel=0.1)
    for _ in range(3):
        rows = rng.choice(N, N // 100, replace=False)
        true = refit(model, weights, rows, posterior.mean)
        assert np.linalg.norm((found.change(rows) - true) / found.sd) < 0.1 * np.linalg.norm(true / found.sd)


def test_doubt_about_rows_widens_the_draws_and_not_what_a_row_does():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((600, 5))
    y = (rng.uniform(size=600) < 1 / (1 + np.exp(-X @ [2.0, -1.0, 1.0, 0.5, 0.0]))).astype(float)
    flipped = robula.simulate.random_flips(600, 0.1, rng)
    model = robula.LogisticModel(X, np.where(flipped, 1.0 - y, y), prior=robula.NormalPrior(0.0, 10.0))
    posterior = sampled(model, contamination=0.2)
    assert posterior.row_doubt.max() > 0.3, "or this test shows nothing"
    found = robula.influence(model, posterior)
    weights, step = posterior.row_weights, 1e-3
    mode = weighted_mode(model, weights, posterior.mean)
    rows = rng.choice(600, 40, replace=False)
    slopes = []
    for row in rows:
        more = weights.copy()
        more[row] += step
        slopes.append((weighted_mode(model, more, mode) - mode) / step)
    exact, by_draws = np.ravel(slopes / found.sd), np.ravel(found.slopes[rows] / found.sd)
    # Covariances of 4,000 draws; from the widened draws this is 4.
    assert exact @ by_draws / (exact @ exact) == pytest.approx(1.0, abs=0.1)
    gone = rows[:6]
    true = refit(model, weights, gone, mode)
    assert np.linalg.norm((found.change(gone) - true) / found.sd) < 0.05 * np.linalg.norm(true / found.sd)
    # What is told of the answer itself is what the user sees.
    assert np.allclose(found.mean, posterior.mean)
    assert np.allclose(found.sd, posterior.flat_draws.std(axis=0))


def masked(count: int) -> robula.LinearModel:
    """The second slope is 0; a few rows far out in its column, all alike, pull it to 1 and hide each other."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((300, 2))
    y = X @ [1.0, 0.0] + rng.standard_normal(300)
    X[:count, 1] = 40.0 + 0.01 * rng.standard_normal(count)
    y[:count] = X[:count, 0] + 40.0
    return robula.LinearModel(X, y, noise_scale=1.0)


def test_rows_that_mask_each_other_are_found_as_a_group():
    model = masked(40)
    found = robula.influence(model, sampled(model))
    # One by one they seem harmless: others move the coefficient more.
    assert len(set(found.most("1", count=40)["row"]) & set(range(40))) < 40
    hinge = found.hangs_on("1", "interval")
    assert set(hinge.rows) == set(range(40))
    assert hinge.confirmed
    assert hinge.refitted.mean == pytest.approx(0.0, abs=0.2)
    assert "hangs on 40 rows of the 300 that count" in hinge.text


def test_what_a_refit_does_not_confirm_is_not_said_to_hang_on_rows():
    before, refitted = Estimate(0.72, 0.44, 1.01), Estimate(0.96, 0.76, 1.16)
    hinge = Hinge("AIRFLOW", "interval", np.array([20, 3]), 21, before, before, refitted, False)
    assert "may hang on 2 rows of the 21 that count (20, 3)" in hinge.text
    assert "a refit does not confirm it: without them 0.96" in hinge.text


@pytest.mark.parametrize("kind", ["linear", "unknown scale", "logistic", "poisson"])
@pytest.mark.parametrize("conclusion", ["sign", "interval"])
def test_sets_that_are_named_turn_the_conclusion_in_a_fresh_fit(kind, conclusion):
    model, posterior = fitted(kind)
    found = robula.influence(model, posterior)
    for name in ("2",) if conclusion == "sign" else ("3",):
        hinge = found.hangs_on(name, conclusion)
        assert hinge.rows is not None
        assert hinge.confirmed
        left = np.setdiff1d(np.arange(N), hinge.rows)
        fresh = sampled(model.take(left), draws=2000).flat_draws[:, int(name)]
        mcse = 4.0 * fresh.std() / np.sqrt(2000)
        if conclusion == "sign":
            assert np.sign(hinge.before.mean) * fresh.mean() < mcse
        else:
            low, high = np.quantile(fresh, [0.025, 0.975])
            held = hinge.before.low <= 0 <= hinge.before.high
            nearest = min(abs(low), abs(high))
            assert (low <= 0 <= high) != held or nearest < 3.0 * mcse


def test_no_few_rows_carry_a_strong_effect():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 1))
    model = robula.LinearModel(X, 5.0 * X[:, 0] + rng.standard_normal(200), noise_scale=1.0)
    hinge = robula.influence(model, sampled(model)).hangs_on()
    assert hinge.rows is None
    assert not hinge.confirmed
    assert "hangs on no few rows" in hinge.text


def test_rows_without_weight_have_no_influence():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 1))
    y = 3.0 * X[:, 0] + rng.standard_normal(200)
    y[:10] = rng.uniform(-60.0, -40.0, size=10)
    model = robula.LinearModel(X, y, noise_scale=1.0)
    posterior = sampled(model, contamination=0.1)
    found = robula.influence(model, posterior)
    assert posterior.row_weights[:10].max() < 1e-6
    assert found.strength[:10].max() < 1e-3
    assert found.hangs_on("0").n_rows <= 200


def test_a_prediction_and_parameters_by_name():
    model, posterior = fitted("poisson")
    new = np.array([1.0, 2.0, 0.0, -1.0])
    all_of_them = robula.influence(model, posterior)
    rows = np.arange(4)
    one = robula.influence(model, posterior, lambda theta: new @ theta)
    assert one.names == ("f",)
    assert one.change(rows)[0] == pytest.approx(new @ all_of_them.change(rows), rel=1e-6)
    curved = robula.influence(model, posterior, lambda theta: np.exp(new @ theta))
    left = np.delete(np.arange(N), rows)
    fresh = np.exp(sampled(model.take(left), draws=5000).flat_draws @ new)
    change = fresh.mean() - curved.mean[0]
    assert curved.change(rows)[0] == pytest.approx(change, abs=5.0 * curved.sd[0] / np.sqrt(4000))
    named = robula.influence(model, posterior, ["3", "1"])
    assert np.allclose(named.slopes, all_of_them.slopes[:, [3, 1]])
    assert curved.hangs_on().rows is None  # an exponential is never negative


def test_text_table_and_picture():
    model = masked(1)
    found = robula.influence(model, sampled(model))
    assert found.most(count=1)["row"].tolist() == [0]
    assert "row 0 moves 1 by" in repr(found)
    assert found.plot().axes
    assert found.plot("1").axes
    assert found.hangs_on("1").words([f"id{i}" for i in range(300)]).count("id0") == 1


def test_every_model_has_influences():
    for name, model in small_models().items():
        found = robula.influence(model, sampled(model, kernel="preconditioned_lm", draws=100))
        assert np.isfinite(found.removal).all(), name
        assert np.isfinite(found.change([0, 1])).all(), name
        assert found.hangs_on(found.names[0]).text


def test_wrong_input_is_refused():
    model, other = simulated("linear"), simulated("linear", seed=1)
    posterior = sampled(model, draws=50)
    found = robula.influence(model, posterior)
    with pytest.raises(InputError, match="in this order"):
        robula.influence(posterior, model)
    with pytest.raises(InputError, match="drawn from"):
        robula.influence(other, posterior)
    with pytest.raises(InputError, match="is not known"):
        robula.influence(model, posterior, "x7")
    with pytest.raises(InputError, match="finite"):
        robula.influence(model, posterior, lambda theta: np.nan)
    with pytest.raises(InputError, match="places of rows"):
        found.change([N])
    with pytest.raises(InputError, match="conclusion"):
        found.hangs_on("0", "effect")
    with pytest.raises(InputError, match="name one"):
        found.hangs_on()


def test_draws_that_are_left_out_do_not_spoil_the_changes(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    model = robula.LinearModel(X, X @ [1.0, 0.5, -0.5] + rng.standard_normal(400), noise_scale=1.0)
    posterior = robula.sample(model, contamination=0.0, progress=False)
    rows = rng.choice(400, 4, replace=False)
    whole = robula.influence(model, posterior).change(rows)
    monkeypatch.setattr("robula.diagnosis.row_influence._MOST_VALUES", 400 * 1000)
    assert np.allclose(robula.influence(model, posterior).change(rows), whole, rtol=0.05, atol=1e-4)


def test_a_row_that_counts_several_times_goes_with_all_of_its_weight():
    plain = simulated("linear")
    counts = np.random.default_rng(3).uniform(0.5, 8.0, size=N)
    model = robula.LinearModel(
        plain.design, plain.y, noise_scale=1.0, prior=robula.NormalPrior(0.0, 10.0), row_weights=counts
    )
    found = robula.influence(model, sampled(model, draws=1000))
    features = model.features(np.zeros(DIM)) @ np.linalg.inv(model.information(np.zeros(DIM)) + 0.1 * np.eye(DIM))
    leverage = counts * (features * model.design).sum(axis=1)
    np.testing.assert_allclose(found.leverage, leverage, atol=0.01)
    for row in np.argsort(-found.strength)[:5]:
        without = np.ones(N)
        without[row] = 0.0
        moved = model.gaussian_posterior(without).mean - model.gaussian_posterior().mean
        for said in (found.change([row]), found.removal[row]):
            assert np.abs(said - moved).max() < 0.15 * np.abs(moved).max()


def test_conclusions_hang_on_rows_that_count_several_times():
    """A clean effect, and three rows against it: each is in the data once but counts thirty times."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.uniform(0.5, 1.5, size=200), [4.0, 4.0, 4.0]])[:, None]
    y = np.concatenate([-0.5 * X[:200, 0] + rng.standard_normal(200), [4.0, 4.0, 4.0]])
    counts = np.repeat([1.0, 30.0], [200, 3])
    model = robula.LinearModel(X, y, noise_scale=1.0, prior=robula.NormalPrior(0.0, 10.0), row_weights=counts)
    hinge = robula.influence(model, sampled(model)).hangs_on("0")
    assert sorted(hinge.rows) == [200, 201, 202]
    assert hinge.confirmed
    assert abs(hinge.predicted.mean - hinge.refitted.mean) < 0.05


def test_what_is_without_rows_that_determine_it_is_refused():
    """With a flat prior the change without all rows was said to be 1e14."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    model = robula.LinearModel(X, X @ [1.0, 1.0] + rng.standard_normal(60), noise_scale=1.0)
    found = robula.influence(model, sampled(model))
    for rows in (np.arange(60), np.arange(1, 60)):
        with pytest.raises(InputError, match="determine nothing"):
            found.change(rows)
    assert np.isfinite(found.change(np.arange(2, 60))).all()
    assert (found.change([]) == 0.0).all()
    informed = robula.LinearModel(X, model.y, noise_scale=1.0, prior=robula.NormalPrior(0.0, 4.0))
    without_all = robula.influence(informed, sampled(informed)).change(np.arange(60))
    assert np.abs(without_all).max() < 4.0  # the prior determines what is left
