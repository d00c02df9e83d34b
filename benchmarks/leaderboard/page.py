"""Write docs/leaderboard.md, its figure, and the committed table."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.leaderboard import settings
from benchmarks.leaderboard.checks import Check, all_checks
from benchmarks.leaderboard.figure import draw
from benchmarks.leaderboard.reasons import not_halved
from benchmarks.leaderboard.scores import information_bound
from benchmarks.leaderboard.tables import (
    CELL,
    MOST_FLOOR,
    as_table,
    best_rival,
    cells,
    logistic_cells,
    usable,
    winners,
    write_csv,
)

_ROOT = Path(__file__).parents[2]
TITLES = {
    "robula": f"robula (default, at most {settings.LIMIT:.0%} bad)",
    "robula_estimate": 'robula (contamination "estimate")',
    "rob_ula": "the paper's Rob-ULA",
    "ula": "plain ULA",
    "nuts": "NUTS, the model's own likelihood",
    "student_t": "NUTS, Student-t likelihood",
    "mixture": "NUTS, outlier mixture (Hogg)",
    "density_power": "NUTS, density power 0.3",
    "isolation_forest": "IsolationForest, then NUTS",
    "mm": "MM regression (statsmodels)",
    "clean_nuts": "oracle: NUTS on the clean rows",
    "label_flip": "NUTS, label-flip likelihood",
    "pareto_k": "Pareto-k of a plain fit",
    "median_of_means": "median-of-means gradient (Prasad et al.)",
    "reweighted": "reweighted model (Wang, Kucukelbir, Blei)",
    "coarsened": "coarsened posterior (Miller, Dunson)",
    "m_posterior": "M-posterior (Minsker et al.)",
    "localized": "localized model (Wang, Blei)",
}


def write_all(rows: Iterable[dict[str, Any]], root: Path = _ROOT) -> None:
    """Write the three files under a repository root."""
    table = as_table(rows)
    write_csv(table, root / "benchmarks" / "leaderboard" / "results.csv")
    draw(cells(usable(table, "regression")), root / "docs" / "images" / "leaderboard.png")
    (root / "docs" / "leaderboard.md").write_text(text(table))


def text(table: pd.DataFrame) -> str:
    """Return the page."""
    regression, mean = cells(usable(table, "regression")), cells(usable(table, "mean"))
    logistic = logistic_cells(usable(table, "logistic"))
    parts = [_head(table), _checks(all_checks(table))]
    if len(regression):
        parts += [
            "## Linear regression\n",
            _summary(regression),
            _winners(regression),
            _not_halved(regression),
            _by_attack(regression),
            _detection(regression),
            _floors(regression),
        ]
    if len(mean):
        parts += ["## Mean estimation\n", _mean(mean)]
    if len(logistic):
        parts += ["## Logistic regression on real data\n", _logistic(logistic)]
    if len(regression):
        parts.append(_all_cells(regression))
    parts.append(_problems(table))
    return "\n".join(parts).rstrip() + "\n"


def _markdown(header: list[str], lines: Iterable[list[str]]) -> str:
    rule = "|" + "---|" * len(header)
    return (
        "\n".join(["| " + " | ".join(header) + " |", rule, *("| " + " | ".join(line) + " |" for line in lines)]) + "\n"
    )


def _number(value: float) -> str:
    if not np.isfinite(value):
        return ""
    return f"{value:.2f}" if abs(value) < 9.95 else f"{value:.0f}"


def _head(table: pd.DataFrame) -> str:
    finished = table["error"].isna() & table["skipped"].isna()
    return f"""# Leaderboard

Written by `python -m benchmarks.leaderboard --page` from {int(finished.sum())} runs; every run is a line of
[results.csv](../benchmarks/leaderboard/results.csv). {settings.N_CLEAN} clean rows; {len(settings.SEEDS)} seeds a cell
({len(settings.CLEAN_SEEDS)} without bad rows, {settings.SPLITS} splits of each data set). A run goes seed by seed and may be stopped; a cell is the mean of
the seeds it has. Runs: {_counts(table[finished])}. All methods know the noise scale, and those that ask for a contamination are told
{settings.DECLARED}, in every cell; robula, for which it is an upper limit, is told {settings.LIMIT}. The attacks are `robula.simulate.attacks`; without bad rows they are one problem, "none".

- Bias, spread and W2 are distances to the exact posterior of the clean rows, in its widths (`robula.metrics`).
- W2 is net of sampling noise: sqrt(W2^2 - floor^2), and at least the bias. The floor is what the draws of a run would show if their law were right,
  measured from two halves of them. results.csv has the raw figure and the floor.
- The bound is 1.57 epsilon / (1 - epsilon) sqrt(n / d) widths: some attack forces at least that bias on any method.
- NUTS methods run in NumPyro, in coordinates made round by their own mode's curvature, from the highest mode that three starts
  lead to. That helps them: a user's run may end in a worse one. For the Gaussian likelihood d equivalent rows (QR) replace the n.
- For "subtractive" the clean posterior is that of the rows before the removal, and the oracle has them.
- The related work is written from its papers, one file a method in `benchmarks/leaderboard`, two chains: reweighted models with Beta(0.1, 0.01)
  weights and localized models by Gibbs sampling, the coarsened posterior at alpha = 50 and the M-posterior of 10 subsets by independent draws; for
  logistic regression with the curvature at the mode (as a Metropolis proposal for the reweighted model). The median-of-means gradient is
  `selector="median_of_means"` under robula's kernel.
- A run whose sampling floor is above {MOST_FLOOR} widths wins no cell and is blank in the picture: the paper's chains at d = 200 have a dozen effective draws.
- Seconds are of one core of a busy machine, compilation included where a run happened to be a worker's first: an order of magnitude.

![W2 of every method under every attack](images/leaderboard.png)
"""


def _counts(finished: pd.DataFrame) -> str:
    """How many runs each method has, by kind."""
    kinds = finished.groupby("method", sort=False)["kind"].value_counts().unstack(fill_value=0)
    lines = [
        f"{method} " + " + ".join(f"{count} {kind}" for kind, count in row.items() if count)
        for method, row in kinds.iterrows()
    ]
    return "; ".join(lines)


def _checks(checks: list[Check]) -> str:
    if not checks:
        return "## Targets\n\nThe recommended method has not been run yet.\n"
    lines = [
        [check.item, check.method, check.target, check.measured, "pass" if check.passed else "**miss**"]
        for check in checks
    ]
    parts = ["## Targets\n", _markdown(["item", "method", "target", "measured", ""], lines)]
    missing = [check for check in checks if check.misses]
    if missing:
        parts.append("Cells beyond a target:\n")
    for check in missing:
        parts.append(f"- {check.item}, {check.method}, {check.target}: " + "; ".join(check.misses) + ".")
    return "\n".join(parts) + "\n"


def _summary(table: pd.DataFrame) -> str:
    lines = []
    for method in TITLES:
        mine = table[(table["method"] == method) & table["bias"].notna()]
        if not len(mine):
            continue
        bad, clean = mine[mine["epsilon"] > 0], mine[mine["epsilon"] == 0]
        small = bad[bad["epsilon"] <= 0.2]
        lines.append(
            [
                TITLES[method],
                f"{_number(clean['bias'].max())} / {_number(clean['spread'].mean())}",
                _number(bad["bias"].median()),
                f"{(small['bias'] <= small['target']).mean():.0%}" if len(small) else "",
                f"{bad['spread'].between(0.85, 1.15).mean():.0%}" if len(bad) else "",
                _number(bad["net"].median()),
                _number(bad["net"].quantile(0.9)),
                f"{mine['coverage'].mean():.0%}",
                f"{mine['seconds'].median():.1f}",
            ]
        )
    header = [
        "method", "no bad rows: largest bias / spread", "median bias", "bias within target, eps <= 0.2",
        "spread in 0.85-1.15", "median W2", "90 % of W2 below", "90 % intervals cover", "seconds",
    ]  # fmt: skip
    return "Figures of the contaminated cells unless said; a cell is the mean of its seeds.\n\n" + _markdown(
        header, lines
    )


def _winners(table: pd.DataFrame) -> str:
    best = winners(table)
    bad = best[best["epsilon"] > 0]
    counts = bad["method"].value_counts()
    lines = [[TITLES[name], str(count)] for name, count in counts.items()]
    grid = best.pivot(index=["attack", "dim"], columns="epsilon", values="method")
    epsilons = sorted(best["epsilon"].unique())
    values = best.set_index(["attack", "dim", "epsilon"])["net"]
    rows = []
    for attack in ("none", *settings.REGRESSION_ATTACKS):
        for dim in sorted(best["dim"].unique()):
            if (attack, dim) in grid.index:
                cell = [
                    f"{grid.loc[(attack, dim), e]} {_number(values[attack, dim, e])}"
                    if isinstance(grid.loc[(attack, dim), e], str)
                    else ""
                    for e in epsilons
                ]
                rows.append([attack.replace("_", " "), f"{dim:.0f}", *cell])
    return (
        "### Who wins\n\nSmallest W2 of a cell with bad rows, oracle left out:\n\n"
        + _markdown(["method", "cells won"], lines)
        + "\n"
        + _markdown(["attack", "d", *(f"eps = {e:g}" for e in epsilons)], rows)
    )


def _not_halved(table: pd.DataFrame) -> str:
    lines = not_halved(table)
    head = "### Where W2 is more than half the best rival's\n\nCells of the recommended method, the median ratio, and why.\n\n"
    return head + _markdown(["attack", "cells", "ratio", "reason"], lines) if lines else ""


def _by_attack(table: pd.DataFrame) -> str:
    bad = table[(table["epsilon"] > 0) & table["bias"].notna()]
    methods = [name for name in TITLES if name in set(bad["method"])]
    parts = ["### Bias by attack\n\nMedian over d and epsilon; in brackets the largest.\n"]
    medians = bad.groupby(["attack", "method"])["bias"].median().unstack()
    largest = bad.groupby(["attack", "method"])["bias"].max().unstack()
    lines = [
        [
            attack.replace("_", " "),
            *(f"{_number(medians.loc[attack, m])} ({_number(largest.loc[attack, m])})" for m in methods),
        ]
        for attack in settings.REGRESSION_ATTACKS
        if attack in medians.index
    ]
    parts.append(_markdown(["attack", *methods], lines))
    return "\n".join(parts)


def _detection(table: pd.DataFrame) -> str:
    areas = table[(table["epsilon"] > 0) & table["auc"].notna()].groupby(["attack", "method"])["auc"].mean().unstack()
    methods = [name for name in TITLES if name in areas]
    lines = [
        [attack.replace("_", " "), *(_number(areas.loc[attack, name]) for name in methods)]
        for attack in settings.REGRESSION_ATTACKS
        if attack in areas.index
    ]
    return (
        "### Finding the bad rows\n\nArea under the ROC curve, mean over d, epsilon and seeds; 0.5 is guessing.\n\n"
        + _markdown(["attack", *methods], lines)
    )


def _floors(table: pd.DataFrame) -> str:
    chosen = table[table["bias"].notna()]
    methods = [name for name in TITLES if name in set(chosen["method"])]
    medians = chosen.groupby(["method", "dim"])[["effective_draws", "w2_floor"]].median()
    dims = sorted(chosen["dim"].unique())
    lines = []
    for method in methods:
        found = [medians.loc[(method, dim)] if (method, dim) in medians.index else None for dim in dims]
        lines.append(
            [TITLES[method], *("" if one is None else f"{one.iloc[0]:.0f} / {one.iloc[1]:.2f}" for one in found)]
        )
    text = "### Sampling\n\nMedian number of effective draws of the mean / sampling floor of W2.\n\n"
    return text + _markdown(["method", *(f"d = {dim:.0f}" for dim in dims)], lines)


def _all_cells(table: pd.DataFrame) -> str:
    """Every cell: the bound, ours, and the best of the others."""
    rivals = best_rival(table).set_index(CELL)
    found = table.set_index([*CELL, "method"])
    ours = [name for name in ("robula", "robula_estimate") if name in set(table["method"])]
    order = {name: number for number, name in enumerate(("none", *settings.REGRESSION_ATTACKS))}
    lines = []
    for attack, dim, epsilon in sorted(rivals.index, key=lambda cell: (order[cell[0]], *cell[1:])):
        line = [
            attack.replace("_", " "),
            f"{dim:.0f}",
            f"{epsilon:g}",
            _number(information_bound(epsilon, settings.N_CLEAN, dim)),
        ]
        for method in ours:
            key = (attack, dim, epsilon, method)
            figures = found.loc[key, ["bias", "spread", "net"]] if key in found.index else []
            line.append(" / ".join(_number(value) for value in figures))
        rival = rivals.loc[(attack, dim, epsilon)]
        figures = found.loc[(attack, dim, epsilon, rival["rival"]), ["bias", "spread", "net"]]
        lines.append([*line, f"{rival['rival']} " + " / ".join(_number(value) for value in figures)])
    text = "## Every regression cell\n\nBias / spread / W2, mean of the seeds, and the rival with the smallest W2.\n\n"
    return text + _markdown(["attack", "d", "epsilon", "bound", *ours, "best rival"], lines)


def _mean(table: pd.DataFrame) -> str:
    methods = [name for name in TITLES if name in set(table["method"])]
    found = table.set_index(["attack", "method", "dim", "epsilon"])[["bias", "spread"]]
    lines = []
    for attack, dim, epsilon in sorted(
        set(table[CELL].itertuples(index=False, name=None)),
        key=lambda cell: (settings.MEAN_ATTACKS.index(cell[0]), *cell[1:]),
    ):
        line = [attack, f"{dim:.0f}", f"{epsilon:g}"]
        for method in methods:
            key = (attack, method, dim, epsilon)
            line.append(
                f"{_number(found.loc[key, 'bias'])} / {_number(found.loc[key, 'spread'])}" if key in found.index else ""
            )
        lines.append(line)
    text = (
        "Bias / spread. The hidden cluster is a tight group of bad rows inside the clean rows' shell, which Algorithm 2 as printed "
        "never cuts and ends up with ([errata](errata.md)).\n\n"
    )
    return text + _markdown(["attack", "d", "epsilon", *methods], lines)


def _logistic(table: pd.DataFrame) -> str:
    methods = [name for name in TITLES if name in set(table["method"])]
    found = table.set_index(["dataset", "attack", "method"])
    lines = []
    for dataset in settings.DATASETS:
        for flips in settings.FLIPS:
            line = [dataset, flips]
            clean = ("clean", (dataset, "none", "nuts"))
            for _, key in (clean, *((name, (dataset, flips, name)) for name in methods)):
                if key in found.index:
                    one = found.loc[key]
                    line.append(
                        f"{one['log_likelihood']:.3f} ± {one['log_likelihood_error']:.3f} / {one['calibration_error']:.3f}"
                    )
                else:
                    line.append("")
            lines.append(line)
    splits = int(table["splits"].max())
    return (
        f"Held-out posterior predictive log-likelihood ± standard error / expected calibration error, mean of {splits} splits. "
        "`clean` is NUTS on the same training rows with the right labels. Astro and phishing are cut to "
        f"{settings.MOST_ROWS} random rows a split. Targeted flips are the labels that a logistic regression on the clean rows "
        "is surest of.\n\n" + _markdown(["data", "flips", "clean", *methods], lines)
    )


def _problems(table: pd.DataFrame) -> str:
    lines = []
    for name in ("skipped", "error"):
        for (method, reason), group in table[table[name].notna()].groupby(["method", name]):
            lines.append(f"- {method}, {len(group)} runs: {reason}")
    return "## Not run\n\n" + "\n".join(lines) + "\n" if lines else ""
