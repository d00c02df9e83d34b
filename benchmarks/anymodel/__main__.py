"""Run the grid, or go on with it, and write its page.

python -m benchmarks.anymodel [--seeds 1] [--rows 400] [--models linear,gamma] [--minutes 30] [--page]

Every finished cell is in benchmarks/anymodel/results.csv and is not run again; a killed run goes on where it was.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import pandas as pd

from benchmarks.anymodel.models import MODELS
from benchmarks.anymodel.run import Cell, grid, run_cell

RESULTS = Path(__file__).with_name("results.csv")
PAGE = Path(__file__).parents[2] / "docs" / "anymodel.md"
BEGIN, END = "<!-- benchmarks.anymodel: begin -->", "<!-- benchmarks.anymodel: end -->"
COLUMNS = [
    *Cell._fields, "method", "bias", "spread", "r_hat", "r_hat_clean", "good_weight", "bad_weight", "seconds",
]  # fmt: skip


def read() -> pd.DataFrame:
    """The finished cells; a line that was cut off by a kill is no line."""
    if not RESULTS.exists():
        return pd.DataFrame(columns=COLUMNS)
    table = pd.read_csv(RESULTS, on_bad_lines="skip")
    return table.dropna(subset=["seconds"]).drop_duplicates([*Cell._fields, "method"], keep="last")


def append(rows: list[dict[str, object]]) -> None:
    """Add the lines of one cell."""
    fresh = not RESULTS.exists()
    with RESULTS.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if fresh:
            writer.writeheader()
        writer.writerows({name: f"{v:.4g}" if isinstance(v, float) else v for name, v in row.items()} for row in rows)


def tables(results: pd.DataFrame) -> str:
    """The page's tables: how far each method is from the clean posterior, over all cells and by model."""
    lines = [f"{len(results[list(Cell._fields)].drop_duplicates())} cells.", ""]
    groups = {"no bad rows": results["attack"] == "none", "bad rows": results["attack"] != "none"}
    lines += [
        "| | method | cells | bias, median | bias, 90 % | spread, median | R-hat, largest |",
        "|---|---|---|---|---|---|---|",
    ]
    for title, chosen in groups.items():
        for method, part in results[chosen].groupby("method", sort=False):
            lines.append(
                f"| {title} | {method} | {len(part)} | {part['bias'].median():.2f} | {part['bias'].quantile(0.9):.2f} | "
                f"{part['spread'].median():.2f} | {part['r_hat'].max():.3f} |"
            )
    lines += ["", "Bias of robula (of NUTS on all rows), median over the shares of bad rows:", ""]
    kinds = [kind for kind in ("none", "gross", "moderate", "leverage") if (results["attack"] == kind).any()]
    lines += ["| model | " + " | ".join(kinds) + " |", "|---" * (len(kinds) + 1) + "|"]
    for model in [name for name in MODELS if (results["model"] == name).any()]:
        row = [model]
        for kind in kinds:
            part = results[(results["model"] == model) & (results["attack"] == kind)]
            ours, plain = (part.loc[part["method"] == method, "bias"].median() for method in ("robula", "all rows"))
            row.append("" if part.empty else f"{ours:.2f} ({plain:.2f})")
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def write_page(results: pd.DataFrame) -> None:
    """Put the tables between the marks of docs/anymodel.md."""
    text = PAGE.read_text()
    before, after = text[: text.index(BEGIN) + len(BEGIN)], text[text.index(END) :]
    PAGE.write_text(f"{before}\n{tables(results)}\n{after}")


def main() -> None:
    """Run what is not finished."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.anymodel")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--page", action="store_true")
    asked = parser.parse_args()
    began, names = time.monotonic(), asked.models.split(",")
    known = read()
    done = {Cell(*key) for key in known[list(Cell._fields)].itertuples(index=False, name=None)}
    for cell in grid(asked.seeds, asked.rows):
        if cell in done or cell.model not in names or time.monotonic() - began > 60.0 * asked.minutes:
            continue
        rows = run_cell(cell)
        append(rows)
        print(cell, {row["method"]: round(row["bias"], 2) for row in rows}, flush=True)
    if asked.page:
        write_page(read())


if __name__ == "__main__":
    main()
