"""A frozen selection gives the same mean gradients on every fast path as its definition does."""

from __future__ import annotations

import numpy as np
import pytest

import robula
from robula.target import frozen_gradient as frozen
from robula.target.frozen_gradient import FrozenGradient
from tests.helpers import small_models

MODELS = small_models(n=60)
SELECTORS = {
    "mean": robula.SampleMean(),
    "recursive": robula.RecursiveMean(),
    "lai2016": robula.RecursiveMean(variant="lai2016"),
}


def by_definition(model, selections, theta):
    return np.stack(
        [selection.mean(model.gradients(chain)) for selection, chain in zip(selections, theta, strict=True)]
    )


@pytest.mark.parametrize("selector", SELECTORS)
@pytest.mark.parametrize("sharing", [(0, 1, 2, 3), (0, 1, 0, 1), (0, 0, 0, 0)])
@pytest.mark.parametrize("name", MODELS)
def test_frozen_means_are_selection_means(name, selector, sharing, rng):
    model = MODELS[name]
    anchors = 0.3 * rng.standard_normal((4, model.dim))
    made = [SELECTORS[selector].select_rows(model, anchor, 0.1) for anchor in anchors]
    selections = tuple(made[index] for index in sharing)
    gradient = FrozenGradient(model, selections)
    for _ in range(6):  # past the point where linear regression switches to its affine form
        theta = 0.3 * rng.standard_normal((4, model.dim))
        np.testing.assert_allclose(gradient(theta), by_definition(model, selections, theta), rtol=1e-9, atol=1e-9)


def test_parts_are_applied_in_blocks_where_projected_rows_would_be_too_large(rng, monkeypatch):
    model, theta = MODELS["logistic"], rng.standard_normal((2, 3))
    selection = robula.RecursiveMean().select_rows(model, theta[0], 0.1)
    expected = FrozenGradient(model, (selection, selection))(theta)
    monkeypatch.setattr(frozen, "_MOST_PROJECTED", 0)
    np.testing.assert_allclose(FrozenGradient(model, (selection, selection))(theta), expected, atol=1e-12)


def test_an_affine_step_does_not_touch_the_rows(rng, monkeypatch):
    model = MODELS["linear"]
    theta = rng.standard_normal((2, 3))
    selection = robula.RecursiveMean().select_rows(model, theta[0], 0.1)
    gradient = FrozenGradient(model, (selection, selection))
    expected = [gradient(theta) for _ in range(3)][-1]
    for name in ("weighted_gradient", "scores", "blocks", "gradients"):
        monkeypatch.setattr(type(model), name, lambda *_: pytest.fail("a pass over the rows"))
    np.testing.assert_allclose(gradient(theta), expected)
