"""The mean of 50 irises when ten specimens of another species were put into the drawer (Fisher's data, scikit-learn).

The four measurements of one species have a mean; the ten strangers pull it. Each flower gets a weight: the probability
that it belongs.

    python examples/mixed_up_species.py --out mixed_up_species.png
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

import robula


def main(out: Path, draws: int) -> tuple[float, float]:
    """Return the distance of robula's mean and of the plain mean from that of the species, in centimetres."""
    flowers, species = load_iris(return_X_y=True)
    setosa, strangers = flowers[species == 0], flowers[species == 1][:10]
    drawer = np.vstack([setosa, strangers])
    model = robula.MeanModel(drawer, covariance=np.cov(setosa.T), prior=robula.NormalPrior(5.0, 25.0))
    posterior = robula.sample(model, contamination=0.25, draws=draws, progress=False)
    truth = setosa.mean(axis=0)
    robust, plain = np.linalg.norm(posterior.mean - truth), np.linalg.norm(drawer.mean(axis=0) - truth)
    print(f"off by {robust:.3f} cm (robula), {plain:.3f} cm (the plain mean)")
    print("strangers' weights:", posterior.row_weights[50:].round(3))

    _, axes = plt.subplots(figsize=(6.5, 4.5), layout="constrained")
    points = axes.scatter(*drawer[:, [0, 2]].T, c=posterior.row_weights, cmap="viridis", vmin=0, vmax=1, edgecolor="k")
    plt.colorbar(points, label="row weight")
    axes.scatter(*posterior.flat_draws[::20, [0, 2]].T, s=4, color="tab:blue", label="robula: draws of the mean")
    axes.scatter(*drawer.mean(axis=0)[[0, 2]], marker="X", s=110, color="tab:red", label="mean of all flowers")
    axes.scatter(*truth[[0, 2]], marker="*", s=140, color="k", label="mean of the species")
    axes.set(xlabel="sepal length (cm)", ylabel="petal length (cm)", title="Ten strangers among fifty irises")
    axes.legend()
    plt.savefig(out, dpi=110)
    plt.close()
    return float(robust), float(plain)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("mixed_up_species.png"))
    parser.add_argument("--draws", type=int, default=1000)
    main(**vars(parser.parse_args()))
