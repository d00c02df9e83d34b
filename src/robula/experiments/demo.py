"""The two-minute demonstration: contaminated data, the wrong posterior, the robust one, the distrusted rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

from robula._types import BoolArray, FloatArray
from robula.exceptions import BreakdownWarning, ConvergenceWarning
from robula.metrics import Gap, clean_posterior_gap
from robula.models.gaussian_posterior import GaussianPosterior
from robula.models.linear_model import LinearModel
from robula.models.priors import NormalPrior
from robula.result.posterior import Posterior
from robula.run.rob_ula import rob_ula
from robula.run.sampler import sample
from robula.simulate.paper_settings import mean_estimation

_ROWS = 300
_BAD_SHARE = 0.15
#: What the demo declares: an upper bound on the share of bad rows, not the share itself, which no user knows.
DECLARED = 0.2


@dataclass(frozen=True)
class Demo:
    """Everything the demonstration shows.

    Attributes
    ----------
    x, y : ndarray, shape (n,)
    bad : ndarray of bool, shape (n,)
    clean : GaussianPosterior
        Exact posterior of the good rows: what we want.
    plain, paper, robust : Posterior
        Of all rows: plain Langevin, the paper's Rob-ULA, and robula's defaults.
    plain_gap, paper_gap, robust_gap : Gap
        Their distances to the clean posterior.
    """

    x: FloatArray
    y: FloatArray
    bad: BoolArray
    clean: GaussianPosterior
    plain: Posterior
    paper: Posterior
    robust: Posterior
    plain_gap: Gap
    paper_gap: Gap
    robust_gap: Gap


def run_demo(seed: int) -> Demo:
    """Fit a line to 300 rows, 45 of which are a cluster of wrong readings at large x."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-5.0, 5.0, _ROWS)
    y = 2.0 + 1.5 * x + rng.standard_normal(_ROWS)
    bad = rng.permutation(_ROWS) < round(_BAD_SHARE * _ROWS)
    x[bad] = 4.0 + 0.5 * rng.standard_normal(bad.sum())
    y[bad] = -6.0 + rng.standard_normal(bad.sum())
    model = LinearModel(x[:, None], y, noise_scale=1.0, prior=NormalPrior(0.0, 100.0), intercept=True)
    clean = model.gaussian_posterior((~bad).astype(np.float64))
    plain = sample(model, contamination=DECLARED, selector="mean", seed=seed)
    with warnings.catch_warnings():
        # The paper's chains mix slowly; the table says what that does to the result.
        warnings.simplefilter("ignore", ConvergenceWarning)
        paper = rob_ula(model, contamination=DECLARED, seed=seed)
    robust = sample(model, contamination=DECLARED, seed=seed)
    gaps = [clean_posterior_gap(posterior, clean) for posterior in (plain, paper, robust)]
    return Demo(x, y, bad, clean, plain, paper, robust, *gaps)


def paper_default(seed: int) -> tuple[float, float, float]:
    """Errors of plain Langevin, Rob-ULA and robula in the paper's mean estimation: d = 200, a fifth of the rows bad."""
    problem = mean_estimation(seed=seed)
    plain = sample(problem.model, contamination=0.2, selector="mean", chains=1, seed=seed)
    with warnings.catch_warnings():
        # The paper's default is where its Algorithm 2 has no bound (docs/errata.md).
        warnings.simplefilter("ignore", BreakdownWarning)
        paper = rob_ula(problem.model, contamination=0.2, chains=1, seed=seed)
    robust = sample(problem.model, contamination=0.2, chains=1, seed=seed)
    errors = [float(np.linalg.norm(posterior.mean - problem.truth)) for posterior in (plain, paper, robust)]
    return errors[0], errors[1], errors[2]


def write_demo(demo: Demo, folder: Path) -> Path:
    """Write the picture and the robust posterior into ``folder``; return the picture's path."""
    folder.mkdir(parents=True, exist_ok=True)
    picture = folder / "demo.png"
    draw_figure(demo.x, demo.y, demo.bad, demo.clean, demo.plain, demo.robust).savefig(picture, dpi=150)
    demo.robust.save(folder / "posterior.npz")
    return picture


# Colour-blind safe (Okabe and Ito).
_CLEAN, _PLAIN, _ROBUST = "#000000", "#D55E00", "#0072B2"


def draw_figure(
    x: FloatArray, y: FloatArray, bad: BoolArray, clean: GaussianPosterior, plain: Posterior, robust: Posterior
) -> Figure:
    """Return the three panels; ``x``, ``y``, ``bad`` have shape (n,), the posteriors are of (intercept, slope)."""
    figure = Figure(figsize=(13.0, 4.4), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=[1.25, 1.0, 1.0])
    _draw_fits(figure, left, x, y, bad, clean, plain, robust)
    _draw_posteriors(middle, clean, plain, robust)
    _draw_weights(right, bad, robust)
    return figure


def _draw_fits(
    figure: Figure,
    axes: Any,
    x: FloatArray,
    y: FloatArray,
    bad: BoolArray,
    clean: GaussianPosterior,
    plain: Posterior,
    robust: Posterior,
) -> None:
    points = axes.scatter(
        x, y, c=robust.row_weights, cmap="viridis", vmin=0, vmax=1, s=16, edgecolors="0.4", linewidths=0.3
    )
    figure.colorbar(points, ax=axes, label="row weight: how far the row was trusted", shrink=0.9)
    grid = np.linspace(x.min() - 0.3, x.max() + 0.3, 60)
    for posterior, colour, name in (
        (plain, _PLAIN, "plain Langevin, all rows"),
        (robust, _ROBUST, "robula, all rows"),
    ):
        lines = posterior.flat_draws[:, :1] + posterior.flat_draws[:, 1:] * grid
        low, middle, high = np.quantile(lines, [0.025, 0.5, 0.975], axis=0)
        axes.fill_between(grid, low, high, color=colour, alpha=0.3, linewidth=0)
        axes.plot(grid, middle, color=colour, linewidth=2, label=name)
    axes.plot(grid, clean.mean[0] + clean.mean[1] * grid, color=_CLEAN, linestyle="--", label="exact, good rows only")
    axes.set(xlabel="x", ylabel="y", title=f"{len(x)} rows, {int(bad.sum())} of them bad")
    axes.legend(loc="upper left", frameon=False, fontsize=9)
    axes.margins(y=0.12)


def _draw_posteriors(axes: Any, clean: GaussianPosterior, plain: Posterior, robust: Posterior) -> None:
    for posterior, colour, name in ((plain, _PLAIN, "plain Langevin"), (robust, _ROBUST, "robula")):
        axes.scatter(*posterior.flat_draws[::4].T, s=3, color=colour, alpha=0.25, linewidths=0)
        axes.scatter([], [], s=20, color=colour, label=name)
    values, vectors = np.linalg.eigh(clean.covariance)
    angle = np.degrees(np.arctan2(vectors[1, -1], vectors[0, -1]))
    for level, probability in ((2.448, "95 %"), (1.177, "50 %")):
        axes.add_patch(
            Ellipse(
                tuple(clean.mean),
                2 * level * np.sqrt(values[-1]),
                2 * level * np.sqrt(values[0]),
                angle=angle,
                fill=False,
                color=_CLEAN,
                linestyle="--",
                label="clean posterior, 50 % and 95 %" if probability == "95 %" else None,
            )
        )
    axes.set(xlabel="intercept", ylabel="slope", title="posterior: draws and target")
    axes.legend(loc="center right", frameon=False, fontsize=9)


def _draw_weights(axes: Any, bad: BoolArray, robust: Posterior) -> None:
    bins = np.linspace(0, 1, 21).tolist()
    axes.hist(
        [robust.row_weights[~bad], robust.row_weights[bad]],
        bins=bins,
        stacked=True,
        color=["0.75", _PLAIN],
        label=[f"{int((~bad).sum())} good rows", f"{int(bad.sum())} bad rows"],
    )
    axes.set(xlabel="row weight", ylabel="rows", title="which rows were distrusted")
    axes.legend(loc="upper center", frameon=False, fontsize=9)
