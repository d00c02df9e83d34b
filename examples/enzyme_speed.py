"""The speed of an enzyme (puromycin, Treloar 1974) by a law that no regression formula has: your own model, in JAX.

Michaelis and Menten's curve has two parameters. Two of the 12 readings have the decimal point one place
off. Needs the extra `jax`.

    python examples/enzyme_speed.py --out enzyme_speed.png
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import robula

CONCENTRATION = np.repeat([0.02, 0.06, 0.11, 0.22, 0.56, 1.10], 2)
SPEED = np.array([76.0, 47.0, 97.0, 107.0, 123.0, 139.0, 159.0, 152.0, 191.0, 201.0, 207.0, 200.0])
SLIPS = [7, 10]
NOISE = 11.0


def main(out: Path, draws: int) -> dict[str, float]:
    """Return the posterior means of the curve's parameters."""
    import jax.numpy as jnp

    entered = SPEED.copy()
    entered[SLIPS] /= 10.0

    def log_likelihood(params, row):
        curve = jnp.exp(params["log_top"]) * row["x"] / (jnp.exp(params["log_half"]) + row["x"])
        return -0.5 * ((row["y"] - curve) / NOISE) ** 2

    model = robula.from_jax(
        log_likelihood,
        {"x": CONCENTRATION, "y": entered},
        log_prior=robula.NormalPrior([-2.0, 5.0], 4.0),
        init={"log_half": -2.0, "log_top": 5.0},
    )
    posterior = robula.sample(model, contamination=0.25, selector="spectral", draws=draws, progress=False)
    top, half = (np.exp(posterior.variables[name]).ravel() for name in ("log_top", "log_half"))
    print(f"top speed {top.mean():.0f}, half of it at {half.mean():.3f}")
    print("weights:", dict(zip(entered.tolist(), posterior.row_weights.round(2).tolist(), strict=True)))

    grid = np.linspace(0.005, 1.2, 100)
    some = slice(None, None, max(1, top.size // 60))
    _, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    axes.plot(grid, (top[some, None] * grid / (half[some, None] + grid)).T, color="tab:blue", alpha=0.08)
    axes.plot([], [], color="tab:blue", label="robula: draws of the curve")
    points = axes.scatter(
        CONCENTRATION, entered, c=posterior.row_weights, cmap="viridis", vmin=0, vmax=1, edgecolor="k", zorder=3
    )
    plt.colorbar(points, label="row weight")
    axes.scatter(CONCENTRATION[SLIPS], SPEED[SLIPS], marker="x", color="k", label="what should have been written")
    axes.set(xlabel="concentration", ylabel="speed", title="Two decimal points are one place off")
    axes.legend(loc="lower right")
    plt.savefig(out, dpi=110)
    plt.close()
    return {"top": float(top.mean()), "half": float(half.mean())}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("enzyme_speed.png"))
    parser.add_argument("--draws", type=int, default=1000)
    main(**vars(parser.parse_args()))
