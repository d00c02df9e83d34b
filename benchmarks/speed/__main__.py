"""``python -m benchmarks.speed [--quick] [--sections 1,2,3,4,5,6]``: write the speed table, CSV and Markdown.

Without ``--quick`` the results go to benchmarks/results/speed.csv and speed.md, which are committed; with it they are only
printed. Sections: 1 and 3 steps and growth, 2 frozen against refreshed, 4 a million rows, 5 NUTS,
6 NUTS on the same weighted rows.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.speed.equality import equality_rows, reach_rows
from benchmarks.speed.large import large_rows
from benchmarks.speed.nuts import nuts_rows
from benchmarks.speed.steps import growth_rows, step_rows
from benchmarks.speed.timing import Row, environment
from benchmarks.speed.weighted_target import weighted_rows

RESULTS = Path(__file__).parents[1] / "results"


def measure(sections: set[str], quick: bool) -> Iterable[Row]:
    """All rows of the wanted sections, in order."""
    repeats = 5 if quick else 40
    if "1" in sections:
        yield from step_rows(repeats, dim=50 if quick else 200)
    if "2" in sections:
        yield from equality_rows(quick)
        yield from reach_rows(quick)
    if "3" in sections:
        yield from growth_rows(max(5, repeats // 3))
    if "4" in sections:
        yield from large_rows(quick)
    if "5" in sections:
        yield from nuts_rows(quick)
    if "6" in sections:
        yield from weighted_rows(quick)


def markdown(lines_of_csv: list[dict[str, object]]) -> str:
    """The tables, a heading for each section."""
    about_page = (
        "Written by `make bench`. Ratios are measured side by side in one process; docs/speed.md explains them."
    )
    lines = ["# Speed: measured figures", "", about_page, ""]
    for section in dict.fromkeys(str(line["section"]) for line in lines_of_csv):
        here = [line for line in lines_of_csv if line["section"] == section]
        where = ", ".join(f"{name} {here[0][name]}" for name in list(here[0])[len(Row._fields) + 1 :])
        lines += [f"## {section}", "", f"{where}.", ""]
        lines += ["| case | quantity | figure | limit | within |", "|---|---|---:|---:|---|"]
        for line in here:
            limit = "" if line["limit"] in (None, "") else f"{float(str(line['limit'])):.3g}"
            figure = f"{float(str(line['value'])):.3g}"
            lines.append(f"| {line['case']} | {line['quantity']} | {figure} | {limit} | {line['within']} |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, print only")
    parser.add_argument("--sections", default="1,2,3,4,5,6")
    options = parser.parse_args()
    rows = []
    with threadpool_limits(1):
        for row in measure(set(options.sections.split(",")), options.quick):
            print(f"{row.section[:30]:<32}{row.case:<38}{row.quantity:<46}{row.value:10.3g}  {row.verdict}", flush=True)
            rows.append(row)
    if options.quick:
        return
    write(rows, environment())


def write(rows: list[Row], about: dict[str, str]) -> None:
    """Write the results; sections that were not measured this time keep their lines, with their own date and commit."""
    RESULTS.mkdir(exist_ok=True)
    path, measured = RESULTS / "speed.csv", {_number(row.section) for row in rows}
    lines = [{**row._asdict(), "within": row.verdict, **about} for row in rows]
    if path.exists():
        with path.open(newline="") as file:
            lines += [line for line in csv.DictReader(file) if _number(line["section"]) not in measured]
    lines.sort(key=lambda line: _number(str(line["section"])))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*Row._fields, "within", *about])
        writer.writeheader()
        writer.writerows(lines)
    (RESULTS / "speed.md").write_text(markdown(lines))


def _number(section: str) -> str:
    """The section's number; the exact gradient belongs to the first."""
    return section[0] if section[0].isdigit() else "1"


if __name__ == "__main__":
    main()
