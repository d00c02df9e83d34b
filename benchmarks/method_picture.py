"""The picture of docs/method.md: skewed noise loses no row, and shifted and gross rows among normal ones do.

python -m benchmarks.method_picture [--out docs/images/method.png]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

import robula
from robula.selectors.trust.bad_population import far_log_density, normal_log_density
from robula.selectors.trust.explanation import Explanation
from robula.selectors.trust.scored_rows import Scores
from robula.selectors.trust.trust_selector import weigh

_ROWS, _SHIFTED, _GROSS, _SHIFT = 600, 60, 18, 5.0
_LIMIT = 0.25
_GRID = np.linspace(-5.0, 9.0, 281)
_BINS = np.arange(-5.0, 9.01, 0.4)


def _model(noise: np.ndarray, rng: np.random.Generator) -> robula.LinearModel:
    X = rng.standard_normal((_ROWS, 2))
    prior = robula.NormalPrior(0.0, 100.0)
    return robula.LinearModel(X, X @ [1.0, -1.0] + noise, noise_scale="estimate", prior=prior, intercept=True)


def _skewed(rng: np.random.Generator) -> np.ndarray:
    """Noise of mean 0 and variance 1 with the skewness of a gamma law, and no bad row."""
    return (rng.gamma(3.0, size=_ROWS) - 3.0) / np.sqrt(3.0)


def _with_bad_rows(rng: np.random.Generator) -> np.ndarray:
    """Normal noise; a tenth of the rows are off by five widths, and three in a hundred are anything."""
    noise = rng.standard_normal(_ROWS)
    noise[:_SHIFTED] += _SHIFT
    noise[_SHIFTED : _SHIFTED + _GROSS] = 25.0 * rng.standard_normal(_GROSS)
    return noise


def _on_the_grid() -> Scores:
    nothing = np.zeros(len(_GRID))
    return Scores(_GRID, _GRID, _GRID, nothing + 1.0, nothing > 0.0, 0.0, nothing - np.inf)


def _rows_by_score(explanation: Explanation, axis: Axes) -> None:
    """Histogram of the scores, and how many rows each part of the explanation expects."""
    scores, per_bin = explanation.scores, _BINS[1] - _BINS[0]
    z = scores.point
    axis.hist(np.clip(z, _BINS[0], _BINS[-1]), _BINS, color="0.85", label="rows (those farther out at the ends)")
    # The law may differ from place to place: the mean over rows.
    law = explanation.law
    clean = np.mean(
        [np.exp(law.among(np.tile(t, (len(_GRID), 1)), np.tile(b, (len(_GRID), 1))).log_density(*_scores_of_law()))
         for t, b in zip(law.trends, law.bends, strict=True)], axis=0,
    )  # fmt: skip
    curves = {"clean rows": (clean * explanation.weights.sum(), "tab:blue")}
    declared = np.exp(-0.5 * _GRID**2) / np.sqrt(2.0 * np.pi)
    if explanation.free:
        axis.plot(_GRID, declared * _ROWS * per_bin, "k:", label="the declared law")
    doubt = 1.0 - explanation.weights
    members = explanation.members.sum(axis=1)
    gross = np.exp(far_log_density(_on_the_grid(), explanation.gross_scale))
    if (doubt - members).sum() > 1.0:
        curves["gross rows"] = (gross * (doubt - members).sum(), "tab:red")
    for population in explanation.populations:
        spread = np.ones(len(_GRID))
        shift = np.full(len(_GRID), population.coefficients[0])
        curves["shifted rows"] = (
            np.exp(normal_log_density(_on_the_grid(), shift, spread)) * members.sum(),
            "tab:orange",
        )
    for name, (density, colour) in curves.items():
        axis.plot(_GRID, density * per_bin, color=colour, label=name)
    axis.set(xlabel="score of the row", ylabel="rows", xlim=(_BINS[0], _BINS[-1]))
    axis.legend(fontsize="small")


def _scores_of_law() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return _GRID, _GRID, np.zeros(len(_GRID), dtype=bool)


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "images" / "method.png")
    out = parser.parse_args().out
    figure, axes = plt.subplots(2, 2, figsize=(11, 7), layout="constrained", width_ratios=[3, 2])
    problems = (("Skewed noise, no bad row", _skewed), ("Normal noise, 60 shifted and 18 gross rows", _with_bad_rows))
    for (title, noise), (left, right) in zip(problems, axes, strict=True):
        rng = np.random.default_rng(1)
        model = _model(noise(rng), rng)
        verdict = weigh(model, _LIMIT)
        name = max(verdict.probabilities, key=lambda name: verdict.probabilities[name])
        explanation = verdict.explanations[name]
        assert isinstance(explanation, Explanation)
        _rows_by_score(explanation, left)
        left.set_title(f"{title}\nexplained best by: {name}")
        z = explanation.scores.point
        right.plot(np.clip(z, _BINS[0], _BINS[-1]), verdict.weights, ".", color="tab:blue")
        right.set(xlabel="score of the row", ylabel="weight of the row", ylim=(-0.05, 1.05), xlim=(_BINS[0], _BINS[-1]))
        right.set_title(f"{1.0 - verdict.weights.mean():.1%} of the weight is removed")
        print(f"{title}: { ({key: round(value, 4) for key, value in verdict.probabilities.items()}) }")
    figure.savefig(out, dpi=110)


if __name__ == "__main__":
    main()
