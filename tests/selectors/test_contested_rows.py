"""Groups that data cannot tell from what the model lacks: kept, and named."""

from __future__ import annotations

import numpy as np
import pytest

import robula
from robula.models import GammaModel
from robula.models.posterior_mode import weighted_mode
from robula.models.precision import weighted_precision


def gamma_rows(rows, far):
    """Rows of a Gamma regression, the first of them far out together with the responses of ordinary ones."""
    rng = np.random.default_rng([rows, 3])
    X = rng.standard_normal((rows, 3))
    y = np.exp(1.0 + X @ [0.5, -0.3, 0.2]) * rng.gamma(3.0, 1.0 / 3.0, rows)
    X[:far] = 0.2 * X[:far] + [5.0, -5.0, 5.0]
    return GammaModel(X, y, prior=robula.NormalPrior(0.0, 4.0), intercept=True)


@pytest.mark.parametrize("rows", [500, 2500])  # all rows are searched, or a sample of them
def test_a_group_that_data_cannot_tell_from_a_bend_is_kept_and_named(rows):
    found = robula.trust(gamma_rows(rows, rows // 5), 0.25)
    assert found.share < 0.05
    assert set(found.contested) == set(range(rows // 5))
    (words,) = [said for said in found.law if "follows another line" in said]
    assert "rows (20%)" in words
    moved = float(words.split("moves by ")[1].split()[0])
    without = weighted_mode(model := gamma_rows(rows, rows // 5), np.arange(rows) >= rows // 5, found.theta)
    width = np.sqrt(np.diag(np.linalg.inv(weighted_precision(model, np.ones(rows), found.theta))))
    assert moved == pytest.approx(np.abs((without - found.theta) / width).max(), rel=0.15)


def test_a_run_that_kept_such_a_group_is_usable_with_care():
    posterior = robula.sample(gamma_rows(500, 100), contamination=0.25, draws=300, seed=1, progress=False)
    assert set(posterior.settings["rows_found"]["contested"]) == set(range(100))
    found = robula.diagnose(posterior)
    assert found.verdict == "usable with care"
    assert "follows another line" in found.text


def test_no_group_is_named_among_clean_rows():
    found = robula.trust(gamma_rows(500, 0), 0.25)
    assert not len(found.contested)
    assert not any("follows another line" in said for said in found.law)


@pytest.mark.parametrize(("shift", "rows", "verdict"), [(21.0, 500, False), (19.0, 500, True), (60.0, 20_000, True)])
def test_a_group_that_decides_the_answer_forbids_its_use(shift, rows, verdict):
    """The limit is in widths of 2000 rows: of more rows, everything moves by more of them."""
    rng = np.random.default_rng(0)
    found = {"explanations": {"gross rows": 1.0}, "contested": [1, 2], "contested_shift": shift}
    posterior = robula.Posterior(rng.normal(size=(4, 500, 1)), np.ones(rows), ("a",), settings={"rows_found": found})
    assert (robula.diagnose(posterior).verdict != "not usable yet") == verdict
    assert posterior.contested.tolist() == [1, 2]
