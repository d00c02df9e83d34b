"""Who does best: the methods side by side."""

from __future__ import annotations

import pandas as pd

from benchmarks.realdata.errors import KINDS
from benchmarks.realdata.plan import OURS

#: What tells one problem from another.
PROBLEM = ["set", "kind", "rate"]
#: Errors that differ by less than this are a draw: a tenth of a standard error moves no conclusion.
_DRAW = 0.1
#: The rates at which robula and all rivals but NUTS run every kind.
_RATES = (0.05, 0.1)


def names_of_ours(table: pd.DataFrame) -> pd.DataFrame:
    """Add the column ``label``: the method, and what robula was told."""
    told = table["contamination"].where(table["contamination"] == "", " " + table["contamination"])
    return table.assign(label=table["method"] + told)


def of_all(cells: pd.DataFrame) -> pd.DataFrame:
    """Only the problems that every method here ran, so that all are measured by the same."""
    ran = cells.groupby(PROBLEM)["label"].transform("nunique")
    return cells[ran == cells["label"].nunique()]


def winners(cells: pd.DataFrame) -> pd.Series:
    """Share of the problems in which a method's error is within a tenth of the smallest; the largest share first.

    Only problems that robula was told 0.2 in, and methods that ran at least half of them, so that all are measured by
    the same cells; without robula, all problems.
    """
    chosen = cells[(cells["method"] != OURS) | (cells["contamination"] == "0.2")]
    if (chosen["method"] == OURS).any():
        problems = chosen.loc[chosen["method"] == OURS, PROBLEM]
        chosen = chosen.merge(problems, on=PROBLEM)
    counts = chosen.groupby("label").size()
    chosen = chosen[chosen["label"].map(counts) >= 0.5 * counts.max()]
    best = chosen.groupby(PROBLEM)["error"].transform("min")
    return (chosen["error"] <= best + _DRAW).groupby(chosen["label"]).mean().sort_values(ascending=False)


def error_by_method(cells: pd.DataFrame) -> pd.DataFrame:
    """Median and 90 % of the coefficient error, gross and subtle kinds."""
    gross = cells["gross"].astype(str) == "True"
    parts = {}
    for name, chosen in (("gross", cells[gross]), ("subtle", cells[~gross])):
        groups = chosen.groupby("label")["error"]
        parts |= {
            f"{name}, cells": groups.size(),
            f"{name}, median": groups.median(),
            f"{name}, 90 %": groups.quantile(0.9),
        }
    return _ordered(pd.DataFrame(parts))


def rows_by_method(cells: pd.DataFrame) -> pd.DataFrame:
    """AUC, precision and recall of the row list; log-likelihood and coverage at 5 % of errors; seconds."""
    gross = cells[cells["gross"].astype(str) == "True"].groupby("label")
    groups = cells.groupby("label")
    return _ordered(
        pd.DataFrame(
            {
                "AUC": groups["auc"].median(),
                "AUC, gross": gross["auc"].median(),
                "precision": groups["precision"].mean(),
                "bad rows listed": groups["recall"].mean(),
                "good rows keep": groups["good_weight"].mean(),
                "log-lik, median": groups["gain"].median(),
                "log-lik, smallest": groups["gain"].min(),
                "covers, smallest": groups["coverage"].min(),
                "seconds": groups["seconds"].median(),
            }
        )
    )


def predictions_by_method(plain: pd.DataFrame) -> pd.DataFrame:
    """As they come: what is removed, moved, predicted, and what it costs."""
    groups = plain.groupby("label")
    return _ordered(
        pd.DataFrame(
            {
                "removed, median": groups["removed"].median(),
                "removed, largest": groups["removed"].max(),
                "move, median": groups["move"].median(),
                "log-lik, mean": groups["gain"].mean(),
                "log-lik, smallest": groups["gain"].min(),
                "covers, smallest": groups["coverage"].min(),
                "covers, mean": groups["coverage"].mean(),
                "mean ratio, smallest": groups["mean_ratio"].min(),
                "mean ratio, largest": groups["mean_ratio"].max(),
                "seconds": groups["seconds"].median(),
            }
        )
    )


def error_by_kind(cells: pd.DataFrame) -> pd.DataFrame:
    """Median error of each kind and method; the best of a kind in bold, whoever it is."""
    chosen = cells[cells["rate"].isin(_RATES)]
    table = chosen.pivot_table(index="kind", columns="label", values="error", aggfunc="median")
    table = table.reindex(index=[kind for kind in KINDS if kind in table.index], columns=_order(table.columns))
    return _best_in_bold(table).rename_axis("kind").reset_index()


def error_by_set(cells: pd.DataFrame) -> pd.DataFrame:
    """One line a set: robula told 0.2, the rival with the smallest median, and how many cells rivals win."""
    rows = []
    for name, here in cells[cells["rate"].isin(_RATES)].groupby("set", sort=False):
        ours = here[(here["method"] == OURS) & (here["contamination"] == "0.2")]
        rivals = here[(here["method"] != OURS) & ~here["method"].str.endswith("_nuts")]
        medians = rivals.groupby("label")["error"].median()
        row = {"set": name, "rows": here["rows"].iloc[0]}
        if len(ours):
            both = ours.merge(rivals, on=PROBLEM, suffixes=("", "_rival"))
            better = both[both["error_rival"] < both["error"] - _DRAW].groupby("label_rival").size()
            row |= {"robula 0.2, median": ours["error"].median(), "90 %": ours["error"].quantile(0.9)}
            counts = better.sort_values(ascending=False)
            row["cells won by rivals"] = (
                ", ".join(f"{rival} {count}" for rival, count in counts.head(4).items()) or "none"
            )
            row["of"] = len(ours)
        if len(medians):
            best = medians.idxmin()
            quantile = rivals.loc[rivals["label"] == best, "error"].quantile(0.9)
            row |= {"best rival": best, "its median": medians.min(), "its 90 %": quantile}
        rows.append(row)
    return pd.DataFrame(rows)


def _best_in_bold(table: pd.DataFrame) -> pd.DataFrame:
    smallest = table.min(axis=1)
    shown = table.map(lambda value: "-" if pd.isna(value) else f"{value:.2f}" if value < 1000 else f"{value:.2g}")
    return shown.where(~table.le(smallest, axis=0), "**" + shown + "**")


def _ordered(table: pd.DataFrame) -> pd.DataFrame:
    return table.reindex(_order(table.index)).rename_axis("method").reset_index()


def _order(labels: pd.Index) -> list[str]:
    """Robula first, then the rivals by name."""
    return sorted(labels, key=lambda label: (not label.startswith(OURS), label))
