"""The new models against bad rows, one small problem each; benchmarks.robust_models has more."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.robust_models import CASES, Line, measure, problems, table

import robula

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "attack"),
    [(name, attack) for name in CASES if "poisson" not in name for attack in list(CASES[name].attacks)[:1]],
)
def test_bad_rows_do_not_move_the_posterior(name, attack):
    found = measure(name, attack, 0.1, seed=11)
    if name == "multinomial":
        # Flips are told only together: a fifth of their effect is what one data set of 500 rows allows to ask for.
        assert found.bias < found.plain_bias
        return
    assert found.bias < 0.5
    assert found.plain_bias > 2.0
    assert 0.85 < found.spread < 1.2
    assert found.good_lost < 0.05


@pytest.mark.parametrize("name", [name for name in CASES if "poisson" not in name])
def test_clean_rows_cost_next_to_nothing(name):
    found = measure(name, next(iter(CASES[name].attacks)), 0.0, seed=12)
    assert found.bias < 0.5
    assert found.good_lost < 0.03


@pytest.mark.filterwarnings("ignore::robula.exceptions.MisfitWarning")
def test_the_advice_to_try_a_negative_binomial_is_good_advice():
    """Negative binomial counts under a Poisson law are told from it, and the model that is named fits them."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((600, 2))
    y = rng.poisson(np.exp(1.5 + X @ [0.5, -0.3]) * rng.gamma(4.0, 0.25, 600))
    prior = robula.NormalPrior(0.0, 4.0)
    advice = robula.trust(robula.PoissonModel(X, y, prior=prior, intercept=True), 0.1)
    assert any("negative binomial" in words for words in advice.law)
    found = robula.trust(robula.models.NegativeBinomialModel(X, y, prior=prior, intercept=True), 0.1)
    assert found.law == ()
    assert found.misfit is None
    assert found.weights.min() > 0.9
    assert np.abs(found.theta - [1.5, 0.5, -0.3, np.log(0.25)]).max() < 0.3


def test_the_table_has_a_row_for_every_problem():
    lines = [Line(name, attack, share, 0.1, 1.0, 2.0, 0.0) for name, attack, share, _ in problems(1)]
    assert table(lines).count("\n") == 2 + len(lines)
