"""``robula reproduce`` and ``robula datasets``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

_COLOURS = {"holds": "green", "holds partly": "yellow", "does not hold": "red", "not run": "dim", "not judged": "dim"}


def reproduce(
    which: Annotated[str, typer.Argument(metavar="figure1|figure2|figure3|figure4|figure5|all")],
    out: Annotated[Path, typer.Option(help="Folder for tables, figures, settings and claims.")] = Path("reproduction"),
    quick: Annotated[bool, typer.Option("--quick", help="A reduced version of everything, in minutes.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where an interrupted run stopped.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Worker processes; does not change the numbers.")] = os.cpu_count()
    or 1,
    seed: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """Re-run the paper's experiments and say, claim by claim, what holds."""
    from robula._validation import check_name
    from robula.exceptions import InputError
    from robula.experiments.registry import FIGURES
    from robula.experiments.reproduce import figure_names
    from robula.experiments.reproduce import reproduce as run

    try:
        figures = figure_names(check_name(which, "figure", (*FIGURES, "all")))
    except InputError as error:
        raise typer.BadParameter(str(error)) from None
    console = Console()
    try:
        claims = run(figures, out, quick=quick, workers=jobs, resume=resume, seed=seed)
    except KeyboardInterrupt:
        console.print(
            f"interrupted; finished jobs are kept in {out / 'jobs'}. Go on with the same command and --resume."
        )
        raise typer.Exit(130) from None
    table = Table(title="What the paper says, and what we found", show_lines=True)
    for heading in ("", "claim", "verdict", "finding"):
        table.add_column(heading)
    for claim in claims:
        colour = _COLOURS[claim.verdict]
        read = "".join(f"\n{label}: {verdict}" for label, verdict, _ in claim.readings)
        table.add_row(claim.figure, claim.sentence, f"[{colour}]{claim.verdict}[/{colour}]", claim.finding + read)
    console.print(table)
    console.print(f"tables, figures, settings and claims: [bold]{out}[/bold]")


def datasets() -> None:
    """List the paper's data sets: size, licence, and where they are found."""
    from robula.datasets.loaders import where
    from robula.datasets.registry import ENTRIES

    table = Table(box=None)
    for heading in ("name", "rows", "features", "licence", "found in", "title"):
        table.add_column(heading, justify="right" if heading in ("rows", "features") else "left")
    for name, entry in ENTRIES.items():
        table.add_row(name, str(entry.rows), str(entry.features), entry.licence, where(name), entry.title)
    table.add_row("wisconsin", "569", "30", "CC BY 4.0", "scikit-learn", "Breast Cancer Wisconsin (Diagnostic)")
    Console().print(table)
    Console().print("ROBULA_DATA_DIR names a folder with local copies; otherwise files come from the LIBSVM data page.")
