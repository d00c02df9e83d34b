"""A model's identity follows its data, prior and constants, and nothing else."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import robula
from robula.exceptions import RobulaError
from robula.models.fingerprint import hash_of_function, identity
from robula.models.law import ModelWithLaw
from tests.helpers import jax_linear, small_models

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 2))
Y = X @ [1.0, -1.0] + RNG.standard_normal(30)


def linear(X=X, y=Y, noise_scale=1.0, prior=None, **options) -> robula.LinearModel:
    prior = robula.NormalPrior(0.0, 1.0) if prior is None else prior
    return robula.LinearModel(X, y, noise_scale=noise_scale, prior=prior, **options)


def test_the_same_data_have_the_same_identity():
    assert identity(linear()) == identity(linear(X.copy(order="F"), Y.tolist()))
    assert identity(linear()).differences(identity(linear())) == []


@pytest.fixture(scope="module")
def three_of_each() -> list[dict[str, robula.models.Model]]:
    return [small_models(), small_models(), small_models(seed=1)]


@pytest.mark.parametrize("name", list(small_models()))
def test_identity_is_stable_and_survives_a_run(three_of_each, name):
    one, two, other = (models[name] for models in three_of_each)
    robula.sample(one, contamination=0.0, selector="mean", draws=5, burn_in=0)
    assert identity(one) == identity(two)
    assert identity(one) != identity(other)


def changed(array: np.ndarray) -> np.ndarray:
    other = array.copy()
    other.flat[3] = np.nextafter(other.flat[3], np.inf)
    return other


@pytest.mark.parametrize(
    "other",
    [
        linear(changed(X)),
        linear(y=changed(Y)),
        linear(noise_scale=1.1),
        linear(prior=robula.NormalPrior(0.0, 2.0)),
        linear(prior=robula.NormalPrior(0.1, 1.0)),
    ],
)
def test_one_bit_of_data_prior_or_constant_changes_the_hash(other):
    assert identity(linear()).differences(identity(other)) == ["the data, the prior or a constant of the model"]


def test_what_differs_is_said():
    fewer = identity(linear(X[:20], Y[:20], intercept=True))
    words = "; ".join(identity(linear()).differences(fewer))
    for part in ("rows 30 against 20", "parameters 2 against 3", "names ('0', '1')"):
        assert part in words
    assert "class 'LinearModel' against 'MeanModel'" in identity(linear()).differences(identity(robula.MeanModel(X)))[0]


def test_a_memory_map_is_its_numbers(tmp_path):
    np.save(tmp_path / "X.npy", X)
    one, two = (linear(np.load(tmp_path / "X.npy", mmap_mode="r")) for _ in range(2))
    assert identity(one) == identity(two)


@pytest.mark.parametrize("name", list(small_models()))
def test_a_model_that_was_used_before_is_still_the_same(three_of_each, name):
    """Its last product and the odds of its cells were hashed: a rebuilt model was refused beside the posterior."""
    fresh, used = three_of_each[0][name], small_models()[name]
    weights = np.ones(used.n_rows)
    used.log_likelihood(used.initial)
    used.weighted_gradient(used.initial, weights)
    used.curvature(used.initial, weights)
    if isinstance(used, ModelWithLaw) and used.response_kind != "vector":
        used.cell_odds()
        assert used.codes is not None
    assert identity(used) == identity(fresh)


def test_a_model_that_was_judged_before_is_still_the_same():
    used = linear()
    robula.trust(used, contamination=0.1)
    assert identity(used) == identity(linear())


GLOBAL = 1.0


def scaled_by_global(value):
    return value * GLOBAL


def calls_a_helper(value):
    return scaled_by_global(value)


def in_closure(constant):
    return lambda value: value / constant


def by_default(constant):
    return lambda value, scale=constant: value / scale


class Scaled:
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, value):
        return value / self.scale


def test_functions_are_told_apart_by_what_they_capture(monkeypatch):
    for make in (
        in_closure,
        by_default,
        Scaled,
        lambda scale: Scaled(scale).__call__,
        lambda scale: in_closure([scale]),
    ):
        assert hash_of_function(make(1.0)) == hash_of_function(make(1.0)) != hash_of_function(make(2.0))
        assert hash_of_function(make(X)) == hash_of_function(make(X.copy())) != hash_of_function(make(changed(X)))
    assert hash_of_function(lambda value: value / 1.0) != hash_of_function(lambda value: value / 2.0)
    before = hash_of_function(calls_a_helper)
    monkeypatch.setitem(globals(), "GLOBAL", 2.0)
    assert hash_of_function(calls_a_helper) != before


def test_a_function_that_refers_to_itself_is_read_to_its_end():
    def recursive(value):
        return recursive(value - 1) if value else 0

    holder = Scaled(None)
    holder.scale = holder
    assert hash_of_function(recursive) is not None
    assert hash_of_function(holder.__call__) is not None


def test_what_cannot_be_read_is_said():
    """An object of another package, here of Python's own, may hide what a function does."""
    hidden = SimpleNamespace(scale=1.0)
    assert hash_of_function(lambda value: value / hidden.scale) is None
    assert hash_of_function(lambda value: Scaled(2.0)(value)) is None
    assert hash_of_function(lambda value: np.log(value)) is not None


class OwnPrior:
    """A user's own prior, N(0, variance)."""

    proper = True

    def __init__(self, variance):
        self.variance = variance

    def log_density(self, theta):
        return -0.5 * (theta**2).sum(axis=-1) / self.variance

    def gradient(self, theta):
        return -theta / self.variance

    def precision(self, theta):
        return np.eye(theta.shape[-1]) / self.variance

    def check_dim(self, dim):
        pass


def test_models_with_other_functions_or_priors_are_others():
    """A user's own prior with variance 1 and 100 was "the same model", and so were likelihoods with other constants."""
    one, two, other = (identity(linear(prior=OwnPrior(variance))) for variance in (1.0, 1.0, 100.0))
    assert one == two
    assert one != other
    pytest.importorskip("jax")
    first, same, third = (jax_linear(X, Y, scale) for scale in (1.0, 1.0, 2.0))
    assert identity(first) == identity(same)
    assert identity(first) != identity(third)
    posterior = robula.sample(first, contamination=0.0, selector="mean", draws=5, burn_in=0)
    with pytest.raises(RobulaError, match="a constant of the model"):
        robula.step_bias(third, posterior)


def test_hashes_of_earlier_versions_are_not_said_to_be_of_other_data():
    now = identity(linear())
    earlier = now._replace(sha256=now.sha256.removeprefix("2:"))
    (words,) = now.differences(earlier)
    assert "another version of robula" in words


class ReadsItsClass:
    scale = 1.0

    def prior_scale(self):
        return GLOBAL * self.scale

    def __call__(self):
        return self.prior_scale()


def test_methods_and_values_of_a_users_class_are_captured(monkeypatch):
    """A NumPyro model on an object calls the object's other methods, and they read globals."""
    model = ReadsItsClass()
    before = hash_of_function(model)
    assert before == hash_of_function(ReadsItsClass())
    assert before is not None
    monkeypatch.setattr(ReadsItsClass, "scale", 2.0)
    other = hash_of_function(model)
    monkeypatch.setitem(globals(), "GLOBAL", 7.0)
    assert len({before, other, hash_of_function(model)}) == 3
