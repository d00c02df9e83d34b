"""Draw the pictures of docs/slipped_decimal.md and docs/missing_codes.md, and print the figures that stand there.

python -m benchmarks.examples [slipped_decimal] [missing_codes]

The first needs scikit-learn's diabetes data only, the second UCI Air Quality: air_quality_uci.csv in the folder that
ROBULA_REALDATA_DIR names, or in shared/realdata beside the repository.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.datasets import load_diabetes

import robula
from robula.sklearn import RobustBayesianRegressor

_ROOT = Path(__file__).parents[1]
_IMAGES = _ROOT / "docs" / "images"
_GOOD, _ODD = "#11698e", "#a8322d"


def slipped_decimal() -> None:
    """Seven of 442 blood pressures are divided by ten."""
    right = load_diabetes(as_frame=True, scaled=False).frame
    rows = np.random.default_rng(0).choice(len(right), 7, replace=False)
    table = right.copy()
    table.loc[rows, "bp"] = (table.loc[rows, "bp"] / 10.0).round(2)
    fits = {
        name: RobustBayesianRegressor(contamination=told).fit(data.drop(columns="target"), data["target"])
        for name, data, told in (
            ("as it was", right, 0.1),
            ("slipped, every row trusted", table, 0.0),
            ("slipped", table, 0.1),
            ("without the seven", table.drop(index=rows), 0.1),
        )
    }
    for name, fit in fits.items():
        column = 1 + list(fit.feature_names_in_).index("bp")
        draws = fit.posterior_.flat_draws[:, column]
        print(f"bp, {name}: {draws.mean():.2f} +- {draws.std():.2f}")
    slipped = fits["slipped"]
    found = robula.influence(slipped.model_, slipped.posterior_)
    listed = robula.odd_rows(slipped.posterior_, table, response="target", influence=found)
    print(listed.text)
    print(listed.to_frame(8).to_string())
    print(f"weights of the seven: {slipped.row_weights_[rows].min():.3f} to {slipped.row_weights_[rows].max():.3f}")
    print(found.hangs_on("bp", "interval").text)
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    left, right_axes = figure.subplots(1, 2)
    scores = listed.cells.row_scores
    odd = listed.odd
    left.scatter(table["bp"], table["target"], s=8, color=_GOOD, alpha=0.5, label="rows")
    left.scatter(table["bp"][rows], table["target"][rows], s=26, color=_ODD, label="decimal point slipped")
    left.set(xlabel="bp", ylabel="progression", title="Seven rows hold the slope; they lose their weight")
    left.legend(frameon=False, fontsize=8)
    right_axes.scatter(found.strength, scores, s=8, color=_GOOD, alpha=0.5)
    right_axes.scatter(found.strength[odd], scores[odd], s=14, color=_ODD)
    right_axes.axhline(listed.cells.limit, linewidth=0.8, linestyle="--", color="0.5")
    right_axes.set(
        xlabel="influence, in standard deviations", ylabel="score of the oddest cell", title="What robula.odd_rows sees"
    )
    figure.savefig(_IMAGES / "slipped_decimal.png", dpi=110)


def missing_codes() -> None:
    """UCI Air Quality with its -200 left in, as a careless user would."""
    folder = Path(os.environ.get("ROBULA_REALDATA_DIR", _ROOT.parent / "shared" / "realdata"))
    columns = ["C6H6(GT)", "PT08.S1(CO)", "PT08.S3(NOx)", "PT08.S4(NO2)", "T", "RH"]
    table = pd.read_csv(folder / "air_quality_uci.csv")[columns].sample(2000, random_state=0).reset_index(drop=True)
    bad = (table == -200).any(axis=1)
    response, features = columns[0], columns[1:]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        robust = RobustBayesianRegressor(contamination=0.1).fit(table[features], table[response])
    good = RobustBayesianRegressor(contamination=0.0).fit(table.loc[~bad, features], table.loc[~bad, response])
    plain = RobustBayesianRegressor(contamination=0.0).fit(table[features], table[response])
    for item in caught:
        print("warned:", item.message)
    print(f"{bad.sum()} of {len(table)} rows have a code")
    print(
        pd.DataFrame(
            {"good rows alone": good.coef_, "robula": robust.coef_, "all rows trusted": plain.coef_}, index=features
        ).round(4)
    )
    listed = robula.odd_rows(
        robust.posterior_, table, response=response, influence=robula.influence(robust.model_, robust.posterior_)
    )
    print(listed.text)
    print(
        f"rows with a code: weights up to {robust.row_weights_[bad].max():.3f}; others lose "
        f"{1 - robust.row_weights_[~bad].mean():.3f} of theirs"
    )
    first = listed.order[: int(bad.sum())]
    print(f"of the first {len(first)} in the list, {bad[first].sum()} have a code")
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.scatter(table[features[0]][~bad], table[response][~bad], s=6, color=_GOOD, alpha=0.4, label="rows")
    left.scatter(table[features[0]][bad], table[response][bad], s=14, color=_ODD, label="with a code")
    left.set(xlabel=features[0], ylabel=response, title="-200 stands for missing")
    left.legend(frameon=False, fontsize=8)
    spread = good.posterior_.draws[..., 1:6].reshape(-1, 5).std(axis=0)
    places = np.arange(len(features))
    for shift, (name, fit, color) in enumerate((("robula", robust, _GOOD), ("all rows trusted", plain, _ODD))):
        right.barh(places + 0.35 * shift, np.abs(fit.coef_ - good.coef_) / spread, height=0.33, color=color, label=name)
    right.set_yticks(places + 0.17, features)
    right.set(
        xscale="symlog",
        xlabel="distance from the good rows' answer, in sd",
        title="What the codes do to the coefficients",
    )
    right.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2)
    figure.savefig(_IMAGES / "missing_codes.png", dpi=110)


if __name__ == "__main__":
    known = {"slipped_decimal": slipped_decimal, "missing_codes": missing_codes}
    for asked in sys.argv[1:] or known:
        known[asked]()
