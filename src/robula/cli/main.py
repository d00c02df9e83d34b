"""The ``robula`` command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from robula._version import __version__
from robula.cli.commands import datasets, fit, plan, predict, reproduce

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="The posterior you would have got without the bad rows."
)

app.command()(fit)
app.command()(predict)
app.command()(reproduce)
app.command()(plan)
app.command()(datasets)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"robula {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Robust Bayesian inference by Langevin sampling."""


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture and the posterior.")] = Path("demo"),
    seed: Annotated[int, typer.Option(min=0, help="Another seed, another data set.")] = 1,
) -> None:
    """Show in a minute what robula does, with a picture."""
    from robula.experiments.demo import DECLARED, paper_default, run_demo, write_demo

    console = Console()
    console.print(
        "[bold]1. A line through 300 rows, 45 of them wrong[/bold] (a cluster at large x), "
        f"with contamination={DECLARED} declared"
    )
    result = run_demo(seed)
    table = Table(box=None, pad_edge=False)
    for heading in ("", "intercept", "slope", "bias", "spread"):
        table.add_column(heading, justify="left" if not heading else "right")
    table.add_row("exact posterior of the good rows", *_cells(result.clean.mean), "0", "1")
    for name, posterior, gap in (
        ("plain Langevin on all rows", result.plain, result.plain_gap),
        ("the paper's Rob-ULA on all rows", result.paper, result.paper_gap),
        ("robula on all rows", result.robust, result.robust_gap),
    ):
        table.add_row(name, *_cells(posterior.mean), f"{gap.bias:.1f}", f"{gap.spread:.2f}")
    console.print(table)
    low = result.robust.row_weights < 0.05
    console.print(
        "bias: distance to the good rows' posterior mean, in its own widths; spread: width relative to it.\n"
        f"Row weights below 0.05: {int(low[result.bad].sum())} of the {int(result.bad.sum())} bad rows, and "
        f"{int(low[~result.bad].sum())} of the {int((~result.bad).sum())} good ones."
    )
    picture = write_demo(result, out)
    console.print(f"picture: [bold]{picture}[/bold]   posterior: {out / 'posterior.npz'} (robula.load)\n")
    console.print(
        "[bold]2. The paper's default experiment[/bold]: mean of 200 coordinates, 1250 rows, a fifth of them bad"
    )
    plain, paper, robust = paper_default(seed)
    console.print(
        f"error of the posterior mean: plain Langevin {plain:.2f}, the paper's Rob-ULA {paper:.2f}, robula {robust:.2f}"
    )


def _cells(values: object) -> list[str]:
    import numpy as np

    return [f"{value:.2f}" for value in np.asarray(values)]
