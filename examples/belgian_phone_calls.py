"""Calls from Belgium, 1950-73: for six years somebody wrote down minutes instead of calls.

The data are those of Rousseeuw and Leroy (1987), in tens of millions of calls. Least squares follows the wrong years;
robula gives them up and says which they are.

    python examples/belgian_phone_calls.py --out phone_calls.png
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import robula

YEAR = np.arange(1950, 1974)
CALLS = np.concatenate(
    [
        [0.44, 0.47, 0.47, 0.59, 0.66, 0.73, 0.81, 0.88, 1.06, 1.20, 1.35, 1.49],
        [1.61, 2.12, 11.9, 12.4, 14.2, 15.9, 18.2, 21.2, 4.30, 2.40, 2.70, 2.90],
    ]
)


def main(out: Path, draws: int) -> dict[int, float]:
    """Fit a line, draw it beside least squares, and return the weight of every year."""
    decades = (YEAR - 1961.5) / 10.0
    model = robula.LinearModel(
        decades[:, None], CALLS, noise_scale="estimate", prior=robula.NormalPrior(0.0, 100.0), intercept=True
    )
    posterior = robula.sample(model, contamination=0.4, draws=draws, progress=False)
    print(posterior.summary())
    weights = dict(zip(YEAR.tolist(), posterior.row_weights.round(3).tolist(), strict=True))
    print("years that hardly counted:", [year for year, weight in weights.items() if weight < 0.5])

    plain = np.polyfit(decades, CALLS, 1)
    some = posterior.flat_draws[:: max(1, len(posterior.flat_draws) // 60), :2]
    lines = some @ np.stack([np.ones_like(decades), decades])
    _, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.plot(YEAR, lines.T, color="tab:blue", alpha=0.08)
    axes.plot([], [], color="tab:blue", label="robula: draws of the line")
    axes.plot(YEAR, np.polyval(plain, decades), color="tab:red", ls="--", label="least squares")
    points = axes.scatter(YEAR, CALLS, c=posterior.row_weights, cmap="viridis", vmin=0, vmax=1, edgecolor="k", zorder=3)
    plt.colorbar(points, label="row weight")
    axes.set(xlabel="year", ylabel="calls (tens of millions)", title="Belgian phone calls")
    axes.legend(loc="upper left")
    plt.savefig(out, dpi=110)
    plt.close()
    return weights


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("belgian_phone_calls.png"))
    parser.add_argument("--draws", type=int, default=1000)
    main(**vars(parser.parse_args()))
