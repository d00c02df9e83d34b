"""UCI Air Quality: an hourly record in which -200 stands for "no reading", as a benchmark that nobody made up.

True carbon monoxide on the readings of five sensors, temperature and humidity. Give the file (the UCI archive's
AirQualityUCI.csv, or any copy with its columns); a fifth of the rows have a -200 in one column or another.

    python examples/air_quality.py AirQualityUCI.csv --out air_quality.png
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import robula

TARGET = "CO(GT)"
SENSORS = ["PT08.S1(CO)", "PT08.S2(NMHC)", "PT08.S3(NOx)", "PT08.S4(NO2)", "PT08.S5(O3)", "T", "RH"]
MISSING = -200


def read(path: Path) -> pd.DataFrame:
    """The archive's file has semicolons and decimal commas, copies of it have commas and points."""
    header = path.read_text(encoding="utf-8-sig", errors="replace").splitlines()[0]
    table = pd.read_csv(path, sep=";", decimal=",") if ";" in header else pd.read_csv(path)
    return table[[TARGET, *SENSORS]].dropna().reset_index(drop=True)


def main(file: Path, out: Path, draws: int, rows: int) -> dict[str, float]:
    """Fit as it comes; return the share of -200 rows that were given up, and of good rows that were kept."""
    table = read(file)
    table = table.sample(min(rows, len(table)), random_state=0)
    bad = (table == MISSING).any(axis=1).to_numpy()
    X = (table[SENSORS] - table[SENSORS].median()) / (table[SENSORS].quantile(0.75) - table[SENSORS].quantile(0.25))
    prior = robula.NormalPrior(0.0, 100.0)

    def model(keep: np.ndarray) -> robula.LinearModel:
        return robula.LinearModel(X[keep], table.loc[keep, TARGET], noise_scale="estimate", prior=prior, intercept=True)

    everything = np.ones(len(table), dtype=bool)
    posterior = robula.sample(model(everything), contamination=0.4, draws=draws, progress=False)
    plain = robula.sample(model(everything), contamination=0.0, selector="mean", draws=draws, progress=False)
    good = robula.sample(model(~bad), contamination=0.0, selector="mean", draws=draws, progress=False)
    found = {
        "-200 rows given up": float((posterior.row_weights[bad] < 0.5).mean()),
        "weight of good rows kept": float(posterior.row_weights[~bad].mean()),
    }
    print(f"{bad.mean():.0%} of the rows have a {MISSING}:", {name: round(value, 3) for name, value in found.items()})
    print(robula.diagnose(posterior).text)

    _, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", width_ratios=[3, 2])
    place = np.arange(1, X.shape[1] + 1)
    runs = (("good rows only", good, "k"), ("robula, all rows", posterior, "tab:blue"), ("all rows", plain, "tab:red"))
    for shift, (name, run, colour) in enumerate(runs):
        low, high = np.quantile(run.flat_draws[:, place], [0.05, 0.95], axis=0)
        mean = run.mean[place]
        axes[0].errorbar(
            place + 0.2 * (shift - 1), mean, [mean - low, high - mean], fmt="o", ms=4, color=colour, label=name
        )
    axes[0].set_xticks(place, SENSORS, rotation=30, ha="right")
    axes[0].axhline(0.0, color="grey", lw=0.8)
    axes[0].set_yscale("symlog", linthresh=1.0)
    axes[0].set(ylabel="mg/m³ for one quartile range", title="What each sensor says about CO, 90 % intervals")
    axes[0].legend()
    weights = [posterior.row_weights[~bad], posterior.row_weights[bad]]
    axes[1].hist(
        weights, np.linspace(0, 1, 11), color=["grey", "tab:red"], label=["good rows", f"rows with a {MISSING}"]
    )
    axes[1].set(xlabel="row weight", ylabel="rows", yscale="log", ylim=(0.7, None), title="Row weights")
    axes[1].legend()
    plt.savefig(out, dpi=110)
    plt.close()
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="AirQualityUCI.csv")
    parser.add_argument("--out", type=Path, default=Path("air_quality.png"))
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=10**6, help="a random part of the file, for speed")
    main(**vars(parser.parse_args()))
