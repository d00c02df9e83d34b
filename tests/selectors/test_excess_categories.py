"""Categories in the features are not outliers: the excess rule keeps their rows when others are bad."""

from __future__ import annotations

import numpy as np

import robula


def test_rows_of_a_category_are_kept_when_other_rows_are_bad():
    rng = np.random.default_rng(0)
    x, group = rng.normal(size=600), rng.choice(3, 600, p=[0.5, 0.3, 0.2])
    X = np.column_stack([x, group == 1, group == 2]).astype(float)
    y = 1.0 + x + X[:, 1] + rng.normal(size=600)
    y[:30] = -999.0
    model = robula.LinearModel(X, y, noise_scale=1.0, prior=robula.NormalPrior(0.0, 100.0), intercept=True)
    posterior = robula.sample(model, contamination=0.1, selector="excess", draws=20)
    assert posterior.row_weights[:30].max() == 0.0
    for level in range(3):
        assert posterior.row_weights[30:][group[30:] == level].mean() > 0.95
