"""Breast tumours (scikit-learn's Wisconsin data): some diagnoses were entered the wrong way round.

A 20th of the labels are flipped. A label says little about itself, so the odd ones are found by what the other rows say
about such tumours.

    python examples/tumour_labels.py --out tumour_labels.png
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

import robula

COLUMNS = ["mean radius", "mean texture", "mean smoothness"]


def main(out: Path, draws: int) -> float:
    """Fit with flipped labels; return the share of them among the rows of lowest weight."""
    table = load_breast_cancer(as_frame=True)
    X = (table.data[COLUMNS] - table.data[COLUMNS].median()) / table.data[COLUMNS].std()
    malignant = 1 - table.target.to_numpy()
    flipped = np.random.default_rng(1).choice(len(X), size=len(X) // 20, replace=False)
    entered = malignant.copy()
    entered[flipped] = 1 - entered[flipped]
    prior = robula.NormalPrior(0.0, 25.0)
    posterior = robula.sample(
        robula.LogisticModel(X, entered, prior=prior, intercept=True), contamination=0.1, draws=draws, progress=False
    )
    right = robula.sample(
        robula.LogisticModel(X, malignant, prior=prior, intercept=True),
        contamination=0.0,
        selector="mean",
        draws=draws,
        progress=False,
    )
    plain = robula.sample(
        robula.LogisticModel(X, entered, prior=prior, intercept=True),
        contamination=0.0,
        selector="mean",
        draws=draws,
        progress=False,
    )
    listed = posterior.distrusted(len(flipped))
    share = float(np.isin(listed, flipped).mean())
    print(f"{share:.0%} of the {len(listed)} rows of lowest weight are flipped labels")

    _, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    runs = (("right labels", right, "k"), ("robula", posterior, "tab:blue"), ("plain", plain, "tab:red"))
    for shift, (name, run, colour) in enumerate(runs):
        low, high = np.quantile(run.flat_draws, [0.05, 0.95], axis=0)
        place = np.arange(len(run.mean)) + 0.2 * (shift - 1)
        axes.errorbar(place, run.mean, [run.mean - low, high - run.mean], fmt="o", color=colour, label=name)
    axes.axhline(0.0, color="grey", lw=0.8)
    axes.set_xticks(range(len(posterior.parameter_names)), posterior.parameter_names)
    axes.set(ylabel="log odds of malignant, 90 % intervals", title="A twentieth of the labels are flipped")
    axes.legend()
    plt.savefig(out, dpi=110)
    plt.close()
    return share


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("tumour_labels.png"))
    parser.add_argument("--draws", type=int, default=1000)
    main(**vars(parser.parse_args()))
