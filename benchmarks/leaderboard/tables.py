"""Results as tables: one line a run, and one line a cell and method."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.leaderboard import settings
from benchmarks.leaderboard.scores import information_bound

CELL = ["attack", "dim", "epsilon"]
_KEYS = ["kind", "dataset", "attack", "dim", "epsilon", "seed", "method"]
_FIGURES = [
    "bias", "bias_mcse", "spread", "spread_mcse", "w2", "w2_mcse", "w2_floor", "coverage", "effective_draws", "auc",
    "log_likelihood", "calibration_error", "divergent", "seconds", "skipped", "error",
]  # fmt: skip


#: A run with a sampling floor above this many widths has too few effective draws to win a cell.
MOST_FLOOR = 0.6


def as_table(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """One line a run, in a fixed order."""
    table = pd.DataFrame(list(rows)).reindex(columns=[*_KEYS, *_FIGURES])
    return table.sort_values(_KEYS, kind="stable").reset_index(drop=True)


def write_csv(table: pd.DataFrame, path: Path) -> None:
    """Write the table that is committed."""
    table.drop(columns=[name for name in ("skipped", "error") if table[name].isna().all()]).to_csv(
        path, index=False, float_format="%.5g", lineterminator="\n"
    )


def usable(table: pd.DataFrame, kind: str) -> pd.DataFrame:
    """The finished runs of a kind, without those that failed or were refused."""
    chosen: pd.DataFrame = table[(table["kind"] == kind) & table["error"].isna() & table["skipped"].isna()].copy()
    # Sampling noise adds to the squared distance; what is left is the method's own, and never less than the bias alone.
    bias = chosen["bias"] ** 2 - chosen["bias_mcse"].fillna(0.0) ** 2
    chosen["net"] = np.sqrt(np.maximum(np.maximum(chosen["w2"] ** 2 - chosen["w2_floor"] ** 2, bias), 0.0))
    return chosen


def cells(runs: pd.DataFrame) -> pd.DataFrame:
    """Means over the seeds of each cell and method, with the standard error of W2 and the targets."""
    groups = runs.groupby([*CELL, "method"], sort=False)
    figures = ["bias", "spread", "w2", "net", "w2_floor", "coverage", "auc", "seconds", "effective_draws"]
    table = groups[figures].mean()
    between = groups["net"].std(ddof=1).fillna(0.0) / np.sqrt(groups["net"].count())
    table = table.assign(net_error=between, seeds=groups["net"].count()).reset_index()
    # Squared, W2 and its floor each have a relative error of sqrt(2 / k), k the number of moments they sum over.
    moments = table["dim"] * (table["dim"] + 3) / 2
    resolution = table["w2_floor"] * (4.0 / moments) ** 0.25
    table["net_error"] = np.hypot(table["net_error"], resolution)
    pairs = zip(table["epsilon"], table["dim"], strict=True)
    table["bound"] = [information_bound(epsilon, settings.N_CLEAN, dim) for epsilon, dim in pairs]
    table["target"] = np.maximum(1.0, 0.5 * table["bound"])
    return table


def best_rival(table: pd.DataFrame) -> pd.DataFrame:
    """Per cell, the rival (no oracle, none of ours) with the smallest W2: columns rival, rival_net, rival_error."""
    names = [name for name in settings.REGRESSION_RIVALS if name not in settings.ORACLES]
    chosen = table[table["method"].isin(names) & table["net"].notna()]
    best = chosen.loc[chosen.groupby(CELL)["net"].idxmin(), [*CELL, "method", "net", "net_error"]]
    return best.rename(columns={"method": "rival", "net": "rival_net", "net_error": "rival_error"})


def winners(table: pd.DataFrame) -> pd.DataFrame:
    """Per cell, the method with the smallest W2; oracles left out, and runs too short for their W2 to mean anything."""
    told = table["net"].notna() & (table["w2_floor"] <= MOST_FLOOR)
    chosen = table[~table["method"].isin(settings.ORACLES) & told]
    return chosen.loc[chosen.groupby(CELL)["net"].idxmin()]


def logistic_cells(runs: pd.DataFrame) -> pd.DataFrame:
    """Means over the splits of each data set, flips and method, beside plain ULA's and the clean posterior's.

    The clean posterior is NUTS on the same training rows with the right labels. Differences are paired by split.
    """
    keys = ["dataset", "attack", "seed"]
    figures = ["log_likelihood", "calibration_error"]
    clean = runs[(runs["method"] == "nuts") & (runs["attack"] == "none")].set_index(["dataset", "seed"])[figures]
    plain = runs[runs["method"] == "ula"].set_index(keys)[figures]
    table = runs.join(clean.add_prefix("clean_"), on=["dataset", "seed"]).join(plain.add_prefix("ula_"), on=keys)
    table["gain"] = table["log_likelihood"] - table["ula_log_likelihood"]
    table["gap"] = table["clean_log_likelihood"] - table["ula_log_likelihood"]
    table["calibration_change"] = table["calibration_error"] - table["ula_calibration_error"]
    groups = table.groupby(["dataset", "attack", "method"])
    means = groups[[*figures, "gain", "gap", "calibration_change", "auc"]].mean()
    means["gain_error"] = groups["gain"].std(ddof=1) / np.sqrt(groups["gain"].count())
    means["log_likelihood_error"] = groups["log_likelihood"].std(ddof=1) / np.sqrt(groups["log_likelihood"].count())
    means["splits"] = groups["log_likelihood"].count()
    return means.reset_index()
