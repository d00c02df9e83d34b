"""Draw the picture of docs/method.md: ``python -m benchmarks.method_figure``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import robula
from robula.selectors.excess.excess_constants import EDGES, PROBABILITIES
from robula.selectors.excess.excess_counts import clean_count
from robula.selectors.excess.excess_selector import PreparedExcess

OUT = Path(__file__).parents[1] / "docs" / "images" / "method.png"
# Colour-blind safe (Okabe and Ito).
_SEEN, _EXPECTED, _BAD = "#56B4E9", "#000000", "#D55E00"


def main() -> None:
    """Stealth attack, d = 5: counts against expectation, and the row weights that follow."""
    problem = robula.simulate.contaminated_regression("stealth_shift", dim=5, contamination=0.2, seed=7)
    model = problem.model
    prepared = robula.selectors.ExcessSelector().prepared(model, 0.2)
    assert isinstance(prepared, PreparedExcess)
    weights = prepared.selection.weights
    z = model.y - model.predictor(prepared.mode)
    edges = np.concatenate([[-4.5], EDGES[1:-1], [4.5]])
    middles = (edges[1:] + edges[:-1]) / 2.0
    bins = np.digitize(z, EDGES[1:-1])
    seen = np.bincount(bins, minlength=len(middles))
    bad = np.bincount(bins[problem.outlier_mask], minlength=len(middles))
    expected = clean_count(seen.astype(float), 1.5) * PROBABILITIES

    figure = Figure(figsize=(11.0, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.bar(middles, seen, width=0.46, color=_SEEN, label="rows seen")
    left.bar(middles, bad, width=0.46, color=_BAD, alpha=0.55, label="of these bad (the rule does not know)")
    left.step(edges, np.concatenate([expected, expected[-1:]]), where="post", color=_EXPECTED, label="model predicts")
    left.set(xlabel="standardised residual z", ylabel="rows", title="More rows than the model predicts: the excess")
    left.legend(frameon=False, fontsize=8, loc="upper left")
    left.set_ylim(0, 1.35 * seen.max())
    for mask, colour, name in ((~problem.outlier_mask, _SEEN, "clean"), (problem.outlier_mask, _BAD, "bad")):
        right.scatter(z[mask], weights[mask], s=9, color=colour, alpha=0.6, label=f"{name} rows")
    right.set(xlabel="standardised residual z", ylabel="row weight", title="Weight = predicted / seen, only there")
    right.legend(frameon=False, fontsize=9)
    figure.savefig(OUT, dpi=110)


if __name__ == "__main__":
    main()
