"""Run the grid, or go on with it, and write its page.

python -m benchmarks.anymodel [--seeds 1] [--rows 400] [--models linear,gamma] [--methods robula] [--again robula]
                              [--minutes 30] [--page]

Every finished line is in benchmarks/anymodel/results.csv and is not run again; a killed run goes on where it was. The
posteriors of the clean rows are in references.csv beside it: after a change of the rule, ``--again robula`` runs that
alone.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.anymodel.models import MODELS
from benchmarks.anymodel.run import OURS, Cell, Reference, Workbench, grid, methods_of

RESULTS = Path(__file__).with_name("results.csv")
REFERENCES = Path(__file__).with_name("references.csv")
PAGE = Path(__file__).parents[2] / "docs" / "anymodel.md"
BEGIN, END = "<!-- benchmarks.anymodel: begin -->", "<!-- benchmarks.anymodel: end -->"
METHODS = (*OURS, "all rows", "Student-t", "mixture")
COLUMNS = [
    *Cell._fields, "method", "bias", "spread", "r_hat", "r_hat_clean", "good_weight", "bad_weight", "seconds",
]  # fmt: skip


def read() -> pd.DataFrame:
    """The finished cells; a line that was cut off by a kill is no line."""
    if not RESULTS.exists():
        return pd.DataFrame(columns=COLUMNS)
    table = pd.read_csv(RESULTS, on_bad_lines="skip")
    return table.dropna(subset=["seconds"]).drop_duplicates([*Cell._fields, "method"], keep="last")


def append(path: Path, line: dict[str, object]) -> None:
    """Add one line to a table, with a heading if it is the first."""
    fresh = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, list(line), lineterminator="\n")
        if fresh:
            writer.writeheader()
        writer.writerow({name: f"{v:.4g}" if isinstance(v, float) else v for name, v in line.items()})


def read_references() -> dict[Cell, Reference]:
    """Posteriors of the clean rows, by cell."""
    if not REFERENCES.exists():
        return {}
    table = pd.read_csv(REFERENCES, on_bad_lines="skip").dropna()
    return {
        Cell(*key): Reference(tuple(names.split()), *(np.array(part.split(), float) for part in (mean, width)), r_hat)
        for *key, names, mean, width, r_hat in table.itertuples(index=False, name=None)
    }


def write_reference(cell: Cell, found: Reference) -> None:
    """Add the posterior of a cell's clean rows."""
    numbers = {name: " ".join(f"{v:.6g}" for v in getattr(found, name)) for name in ("mean", "width")}
    append(REFERENCES, {**cell._asdict(), "names": " ".join(found.names), **numbers, "r_hat": found.r_hat})


def tables(results: pd.DataFrame) -> str:
    """The page's tables: how far each method is from the clean posterior, over all cells and by model."""
    lines = [f"{len(results[list(Cell._fields)].drop_duplicates())} cells.", ""]
    groups = {"no bad rows": results["attack"] == "none", "bad rows": results["attack"] != "none"}
    lines += [
        "| | method | cells | bias, median | bias, 90 % | bias at most 0.1 | spread, median | spread 0.9 to 1.15 | R-hat, largest |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for title, chosen in groups.items():
        for method in [method for method in METHODS if method in set(results.loc[chosen, "method"])]:
            part = results[chosen & (results["method"] == method)]
            figures = [
                f"{part['bias'].median():.2f}",
                f"{part['bias'].quantile(0.9):.2f}",
                f"{(part['bias'] <= 0.1).mean():.0%}",
                f"{part['spread'].median():.2f}",
                f"{part['spread'].between(0.9, 1.15).mean():.0%}",
                f"{part['r_hat'].max():.3f}",
            ]
            lines.append(f"| {title} | {method} | {len(part)} | " + " | ".join(figures) + " |")
    lines += [
        "",
        "Bias of robula / told that the law is exact / of NUTS on all rows, median over the shares of bad rows:",
        "",
    ]
    kinds = [kind for kind in ("none", "gross", "moderate", "leverage") if (results["attack"] == kind).any()]
    lines += ["| model | " + " | ".join(kinds) + " |", "|---" * (len(kinds) + 1) + "|"]
    for model in [name for name in MODELS if (results["model"] == name).any()]:
        row = [model]
        for kind in kinds:
            part = results[(results["model"] == model) & (results["attack"] == kind)]
            medians = (part.loc[part["method"] == method, "bias"].median() for method in (*OURS, "all rows"))
            row.append("" if part.empty else " / ".join(f"{bias:.2f}" for bias in medians))
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
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--again", help="a method whose lines, of these models, are forgotten first")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--page", action="store_true")
    asked = parser.parse_args()
    began, names, wanted = time.monotonic(), asked.models.split(","), asked.methods.split(",")
    known, references = read(), read_references()
    if asked.again:
        known = known[(known["method"] != asked.again) | ~known["model"].isin(names)]
        known.to_csv(RESULTS, index=False)
    done = {
        (Cell(*key), method) for *key, method in known[[*Cell._fields, "method"]].itertuples(index=False, name=None)
    }
    for cell in grid(asked.seeds, asked.rows):
        missing = [method for method in methods_of(cell) if method in wanted and (cell, method) not in done]
        if not missing or cell.model not in names or time.monotonic() - began > 60.0 * asked.minutes:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            bench = Workbench(cell)
            if cell not in references:
                references[cell] = bench.reference()
                write_reference(cell, references[cell])
            for method in missing:
                line = bench.line(method, references[cell])
                append(RESULTS, line)
                print(*cell, method, *(f"{name} {line[name]:.3g}" for name in COLUMNS[6:]), flush=True)
    if asked.page:
        write_page(read())


if __name__ == "__main__":
    main()
