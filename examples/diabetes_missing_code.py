"""Diabetes progression (scikit-learn's own 442 patients), where one clinic wrote 999 for "not measured".

The clinic saw heavy patients, so its codes sit where the body mass is high and bend the coefficients of least squares.
The robust regressor is used like any other of scikit-learn, and lists the rows of the clinic.

    python examples/diabetes_missing_code.py --out diabetes_missing_code.png
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression

from robula.sklearn import RobustBayesianRegressor

CODE = 999.0


def main(out: Path, draws: int) -> tuple[float, float]:
    """Fit with the codes; return how far each method's predictions are from its own without them, in points."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    heavy = np.argsort(X["bmi"].to_numpy())[-60:]
    clinic = np.random.default_rng(0).choice(heavy, size=22, replace=False)
    good = np.setdiff1d(np.arange(len(X)), clinic)
    entered = y.copy()
    entered[clinic] = CODE

    plain, plain_good = LinearRegression().fit(X, entered), LinearRegression().fit(X.iloc[good], y.iloc[good])
    robust = RobustBayesianRegressor(contamination=0.1, draws=draws).fit(X, entered)
    moved = [float(np.abs(fit.predict(X) - plain_good.predict(X)).mean()) for fit in (robust, plain)]
    flagged = np.flatnonzero(robust.outlier_mask_)
    print(f"predictions are off by {moved[0]:.1f} points (robula) and {moved[1]:.1f} (least squares)")
    print(f"{np.isin(clinic, flagged).sum()} of {len(clinic)} rows of the clinic listed, {len(flagged)} rows in all")

    spread = X.std().to_numpy()
    place = np.arange(X.shape[1])
    _, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    axes[0].plot(place, plain_good.coef_ * spread, "k_", ms=18, mew=2, label="least squares, good rows only")
    axes[0].plot(place, plain.coef_ * spread, "s", color="tab:red", label="least squares, all rows")
    axes[0].plot(place, robust.coef_ * spread, "o", color="tab:blue", label="robula, all rows")
    axes[0].set_xticks(place, X.columns)
    axes[0].set(ylabel="points for one sd of the column", title="Coefficients")
    axes[0].legend()
    points = axes[1].scatter(X["bmi"], entered, c=robust.row_weights_, cmap="viridis", vmin=0, vmax=1, s=14)
    plt.colorbar(points, label="row weight")
    axes[1].set(xlabel="body mass index", ylabel="progression as entered", title="Rows")
    plt.savefig(out, dpi=110)
    plt.close()
    return moved[0], moved[1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("diabetes_missing_code.png"))
    parser.add_argument("--draws", type=int, default=1000)
    main(**vars(parser.parse_args()))
