"""The heat map: methods x attacks, a panel for each dimension and share of bad rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.leaderboard import settings
from benchmarks.leaderboard.tables import MOST_FLOOR

_ORDER = (*settings.OURS, *(name for name in settings.REGRESSION_RIVALS if name != "pareto_k"))


def draw(table: pd.DataFrame, path: Path) -> None:
    """Draw W2 in posterior widths of every cell; white is at most 0.3, dark 30 and more, blank too few draws to tell."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure

    methods = [name for name in _ORDER if name in set(table["method"])]
    epsilons = sorted(table.loc[table["epsilon"] > 0, "epsilon"].unique())
    dims = sorted(table["dim"].unique())
    attacks = [name for name in settings.REGRESSION_ATTACKS if name in set(table["attack"])]
    if not (methods and epsilons and attacks):
        return
    figure = Figure(figsize=(1.0 + 4.6 * len(epsilons), 1.2 + 3.3 * len(dims)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = np.atleast_2d(figure.subplots(len(dims), len(epsilons), sharex=True, sharey=True))
    axes = axes.reshape(len(dims), len(epsilons))
    norm = LogNorm(0.3, 30.0, clip=True)
    for row, dim in enumerate(dims):
        for column, epsilon in enumerate(epsilons):
            cell = table[(table["dim"] == dim) & (table["epsilon"] == epsilon)]
            told = cell.assign(net=cell["net"].where(cell["w2_floor"] <= MOST_FLOOR))
            values = told.pivot(index="method", columns="attack", values="net").reindex(index=methods, columns=attacks)
            axis = axes[row, column]
            image = axis.imshow(np.maximum(values.to_numpy(dtype=float), 1e-3), norm=norm, cmap="YlOrRd", aspect="auto")
            for (i, j), value in np.ndenumerate(values.to_numpy(dtype=float)):
                if np.isfinite(value):
                    text = f"{value:.2f}" if value < 9.95 else f"{value:.0f}"
                    axis.text(j, i, text, ha="center", va="center", fontsize=6, color="white" if value > 5 else "black")
            axis.set_title(f"d = {dim:.0f}, {epsilon:.0%} bad rows", fontsize=10)
            axis.set_xticks(
                range(len(attacks)), [name.replace("_", " ") for name in attacks], rotation=60, ha="right", fontsize=8
            )
            axis.set_yticks(range(len(methods)), [name.replace("_", " ") for name in methods], fontsize=8)
    figure.colorbar(image, ax=axes, shrink=0.5, label="W2 to the clean posterior, in its widths")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, bbox_inches="tight", dpi=110)
