"""Write the documentation page of a finished reproduction: figures, claims, command and commit.

python -m robula.experiments.page reproduction docs/reproduction.md --commit <hash> --note "machine and time"
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd

from robula.experiments.registry import FIGURES
from robula.experiments.reproduce import TITLES

_INTRO = """# The paper, reproduced

Every experiment of section 6 of *Bayesian Robustness: A Nonasymptotic Viewpoint*, re-run, with each sentence the paper
says about a figure as a computed check. Figures, tables and verdicts are written by `python -m robula.experiments.page`
from the output of

    {command}

at commit `{commit}`; only the summary is ours to word. {note}

"""


def write_page(source: Path, page: Path, commit: str, note: str, remarks: str = "", closing: str = "") -> None:
    """Write ``page`` from the folder that ``robula reproduce all`` made, its pictures into a folder beside it.

    Parameters
    ----------
    source : Path
    page : Path
    commit : str
        The commit the reproduction ran at.
    note : str
        Machine and time.
    remarks : str
        Text for the head of the page: what a reader should take away.
    closing : str
        Text for its end: one paragraph to quote.
    """
    images = page.parent / "images" / "reproduction"
    images.mkdir(parents=True, exist_ok=True)
    command = "robula reproduce all"
    parts = [_INTRO.format(command=command, commit=commit, note=note), remarks]
    parts.append(_summary(json.loads((source / "claims.json").read_text())))
    for figure in FIGURES:
        folder = source / figure
        parts.append(f"## {TITLES[figure]}\n\n")
        for picture in sorted(folder.glob("*.png"), key=lambda path: (len(path.name), path.name)):
            shutil.copyfile(picture, images / picture.name)
            parts.append(f"![{TITLES[figure]}](images/reproduction/{picture.name})\n\n")
        claims = json.loads((folder / "claims.json").read_text())
        parts.append(_claims(claims) + _readings(claims))
        if figure in ("figure4", "figure5"):
            parts.append(_logistic_table(pd.read_csv(folder / f"{figure}.csv")))
        settings = json.loads((folder / "settings.json").read_text())
        parts.append(_choices(settings["choices where the paper is silent"]))
    parts.append(f"## In one paragraph\n\n{closing}" if closing else "")
    page.write_text("".join(parts))


def _summary(claims: list[dict[str, Any]]) -> str:
    counts = pd.Series([claim["verdict"] for claim in claims]).value_counts()
    return "**" + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) + "**, in detail:\n\n"


def _claims(claims: list[dict[str, Any]]) -> str:
    lines = ["| the paper | we computed | verdict | finding |", "|---|---|---|---|"]
    for claim in claims:
        cells = [claim["sentence"], claim["check"], f"**{claim['verdict']}**", claim["finding"]]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n\n"


def _readings(claims: list[dict[str, Any]]) -> str:
    """What checks say under other readings of the paper where one of the verdicts is not that it holds."""
    lines = ["| the paper | read otherwise | verdict | finding |", "|---|---|---|---|"]
    for claim in claims:
        for label, verdict, finding in claim["readings"]:
            cells = [claim["sentence"], label, f"**{verdict}**", finding]
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    if len(lines) == 2:
        return ""
    return (
        "With what the paper leaves open chosen otherwise, where a check fails or would fail:\n\n"
        + "\n".join(lines)
        + "\n\n"
    )


def _logistic_table(table: pd.DataFrame) -> str:
    """Means over splits of what the paper's plots do not show."""
    columns = {
        "contamination": "epsilon",
        "step_multiple": "step x L",
        "steps": "steps",
        "rhat_predictor": "R-hat",
        "effective_sample_size": "ESS",
        "log_likelihood_mean": "mean",
        "log_likelihood_median": "median",
        "predictive_log_likelihood": "predictive",
        "accuracy": "accuracy",
        "calibration_error": "calibration error",
    }
    lines = [
        "Means over splits; log-likelihoods in nats a test point, at the posterior mean unless predictive.\n",
        "| data, flips, splits | algorithm | " + " | ".join(columns.values()) + " |",
        "|---" * (len(columns) + 2) + "|",
    ]
    for key, group in table.groupby(["dataset", "flips", "algorithm"], sort=False):
        name, flips, algorithm = key
        cells = [f"{group[column].mean():.3g}" for column in columns]
        lines.append(f"| {name}, {flips}, {len(group)} | {algorithm} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n\n"


def _choices(choices: dict[str, str]) -> str:
    lines = [f"- {name}: {choice}" for name, choice in choices.items()]
    return "Where the paper is silent:\n\n" + "\n".join(lines) + "\n\n"


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("page", type=Path)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--note", default="")
    parser.add_argument("--remarks", type=Path, help="a Markdown file for the head of the page")
    parser.add_argument("--closing", type=Path, help="a Markdown file for the end of the page")
    options = parser.parse_args()
    remarks = options.remarks.read_text() + "\n" if options.remarks else ""
    closing = options.closing.read_text() if options.closing else ""
    write_page(options.source, options.page, options.commit, options.note, remarks, closing)


if __name__ == "__main__":
    main()
