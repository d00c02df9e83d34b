"""A model's identity follows its data, prior and constants, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

import robula
from robula.models.fingerprint import identity
from tests.helpers import small_models

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
