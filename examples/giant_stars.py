"""Temperature and light of 47 stars of the cluster CYG OB1: four of them are giants, and giants follow another law.

The data are those of Rousseeuw and Leroy (1987), as logarithms. The four giants are far out in the feature, where they
turn the slope of least squares around. Nothing is wrong with their readings: they are another population.

    python examples/giant_stars.py --out giant_stars.png
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import robula

TEMPERATURE = np.concatenate(
    [
        [4.37, 4.56, 4.26, 4.56, 4.30, 4.46, 3.84, 4.57, 4.26, 4.37, 3.49, 4.43, 4.48, 4.01, 4.29, 4.42],
        [4.23, 4.42, 4.23, 3.49, 4.29, 4.29, 4.42, 4.49, 4.38, 4.42, 4.29, 4.38, 4.22, 3.48, 4.38, 4.56],
        [4.45, 3.49, 4.23, 4.62, 4.53, 4.45, 4.53, 4.43, 4.38, 4.45, 4.50, 4.45, 4.55, 4.45, 4.42],
    ]
)
LIGHT = np.concatenate(
    [
        [5.23, 5.74, 4.93, 5.74, 5.19, 5.46, 4.65, 5.27, 5.57, 5.12, 5.73, 5.45, 5.42, 4.05, 4.26, 4.58],
        [3.94, 4.18, 4.18, 5.89, 4.38, 4.22, 4.42, 4.85, 5.02, 4.66, 4.66, 4.90, 4.39, 6.05, 4.42, 5.10],
        [5.22, 6.29, 4.34, 5.62, 5.10, 5.22, 5.18, 5.57, 4.62, 5.06, 5.34, 5.34, 5.54, 4.98, 4.50],
    ]
)
GIANTS = TEMPERATURE < 3.6


def main(out: Path, draws: int) -> tuple[float, float]:
    """Fit light on temperature; return robula's slope and that of least squares."""
    centre = np.median(TEMPERATURE)
    model = robula.LinearModel(
        (TEMPERATURE - centre)[:, None],
        LIGHT,
        noise_scale="estimate",
        prior=robula.NormalPrior(0.0, 100.0),
        intercept=True,
    )
    posterior = robula.sample(model, contamination=0.2, draws=draws, progress=False)
    print(posterior.summary())
    print("weights of the four giants:", posterior.row_weights[GIANTS].round(3))
    print(robula.diagnose(posterior).text)

    grid = np.linspace(3.4, 4.7, 50)
    some = posterior.flat_draws[:: max(1, len(posterior.flat_draws) // 60), :2]
    plain = np.polyfit(TEMPERATURE, LIGHT, 1)
    _, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    axes.plot(grid, (some @ np.stack([np.ones_like(grid), grid - centre])).T, color="tab:blue", alpha=0.08)
    axes.plot([], [], color="tab:blue", label="robula: draws of the line")
    axes.plot(grid, np.polyval(plain, grid), color="tab:red", ls="--", label="least squares")
    points = axes.scatter(
        TEMPERATURE, LIGHT, c=posterior.row_weights, cmap="viridis", vmin=0, vmax=1, edgecolor="k", zorder=3
    )
    plt.colorbar(points, label="row weight")
    axes.set(xlabel="log temperature", ylabel="log light", title="Stars of CYG OB1", ylim=(3.5, 6.6))
    axes.invert_xaxis()
    axes.legend(loc="lower left")
    plt.savefig(out, dpi=110)
    plt.close()
    return float(posterior.mean[1]), float(plain[0])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("giant_stars.png"))
    parser.add_argument("--draws", type=int, default=1000)
    main(**vars(parser.parse_args()))
