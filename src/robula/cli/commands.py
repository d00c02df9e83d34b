"""The commands: fit, predict, plan, reproduce, datasets."""

from __future__ import annotations

import math
import os
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from robula.cli.plain_errors import one_line, plain_errors

_Debug = Annotated[bool, typer.Option("--debug", help="Show the full trace of an error.")]
_DropMissing = Annotated[
    bool, typer.Option("--drop-missing", help="Leave out rows with missing values instead of refusing them.")
]

_COLOURS = {"holds": "green", "holds partly": "yellow", "does not hold": "red", "not run": "dim", "not judged": "dim"}


def fit(
    data: Annotated[
        Path,
        typer.Argument(
            help="CSV (comma, semicolon or tab; with a header) or Parquet; 'data/*.parquet' for many files."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for draws, tables and report.")],
    model: Annotated[
        str,
        typer.Option(
            help="linear, student-t, logistic, multinomial, poisson, negative-binomial, gamma, mean, or your own."
        ),
    ] = "linear",
    target: Annotated[str | None, typer.Option(help="The column to explain.")] = None,
    features: Annotated[str | None, typer.Option(help="Columns to use, a,b,c; all others if left out.")] = None,
    exclude: Annotated[str | None, typer.Option(help="Columns to leave out, a,b,c.")] = None,
    contamination: Annotated[str, typer.Option(help="Upper bound on the share of bad rows, or estimate.")] = "0.1",
    noise_scale: Annotated[float | None, typer.Option(help="Noise standard deviation (linear), if known.")] = None,
    exposure: Annotated[
        str | None, typer.Option(help="Column with the time, area or number at risk that a count is of.")
    ] = None,
    row_weights: Annotated[str | None, typer.Option(help="Column that says how often each row counts.")] = None,
    missing: Annotated[
        str | None, typer.Option(help='Codes that stand for "missing" in any column, -999,unknown.')
    ] = None,
    drop_missing: _DropMissing = False,
    drop_rows: Annotated[
        str | None, typer.Option(help="Rows to leave out, 3,17,40-52, or a CSV file with a column 'row'.")
    ] = None,
    selector: Annotated[str | None, typer.Option(help="Another rule for which rows to trust.")] = None,
    kernel: Annotated[str | None, typer.Option(help="Another Langevin kernel.")] = None,
    draws: Annotated[int, typer.Option(min=1, help="Draws a chain.")] = 1000,
    burn_in: Annotated[int, typer.Option(min=0, help="Steps before the first draw.")] = 300,
    chains: Annotated[int, typer.Option(min=1)] = 4,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    sensitivity: Annotated[bool, typer.Option(help="Also refit for other assumed shares of bad rows.")] = True,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Keep the state of the run in this file; if it is there, go on from it.")
    ] = None,
    dask: Annotated[bool, typer.Option("--dask", help="Read many files by the workers of a Dask cluster.")] = False,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a running cluster, tcp://...; without it two local processes.")
    ] = None,
    debug: _Debug = False,
) -> None:
    """Fit a model to a file with bad rows in it: posterior, row weights and a report."""
    with plain_errors("fit", debug=debug):
        from robula.exceptions import InputError
        from robula.result.thresholds import DISTRUSTED
        from robula.tables.table_files import read_table
        from robula.workflow.fit_files import fit_files, is_pattern, rows_of
        from robula.workflow.fit_table import fit_table
        from robula.workflow.run_folder import is_run, space_needed, write_run
        from robula.workflow.staged_folder import staged_folder
        from robula.workflow.table_fit import Options

        options = Options(
            contamination=_level(contamination),
            noise_scale=noise_scale,
            exposure=exposure,
            row_weights=row_weights,
            missing=tuple(_names(missing, "--missing") or ()),
            drop_missing=drop_missing,
            drop_rows=drop_rows,
            draws=draws,
            burn_in=burn_in,
            chains=chains,
            seed=seed,
            sensitivity=sensitivity,
            checkpoint=checkpoint,
            sampler={name: value for name, value in (("selector", selector), ("kernel", kernel)) if value is not None},
        )
        command = _command(
            data,
            out,
            {
                "--model": model,
                "--target": target,
                "--features": features,
                "--exclude": exclude,
                "--contamination": contamination,
                "--noise-scale": noise_scale,
                "--exposure": exposure,
                "--row-weights": row_weights,
                "--missing": missing,
                "--drop-rows": drop_rows,
                "--selector": selector,
                "--kernel": kernel,
                "--draws": draws,
                "--burn-in": burn_in,
                "--chains": chains,
                "--seed": seed,
                "--checkpoint": checkpoint,
                "--scheduler": scheduler,
            },
            [
                *(["--dask"] if dask else []),
                *(["--drop-missing"] if drop_missing else []),
                *([] if sensitivity else ["--no-sensitivity"]),
            ],
        )
        title = f"{target} in {data.name}" if target is not None else f"Means of {data.name}"
        name = model.replace("-", "_")
        if dask or scheduler is not None or is_pattern(data):
            if target is None:
                raise InputError("many files are fitted with a regression: name the column to explain with --target.")
            named, without = _names(features, "--features"), _names(exclude, "--exclude")
            chosen = (str(data), target, named, without or [], dask or scheduler is not None)
            with (
                rows_of(*chosen, scheduler) as rows,
                staged_folder(out, replaceable=is_run, needed=0) as staging,
            ):
                fitted, table = fit_files(rows, model=name, target=target, options=options, staging=staging)
                written = write_run(fitted, table, staging, command=command, title=title)
        else:
            table = read_table(data)
            if sys.stderr.isatty():  # a word before the silence; pipes and logs get results only
                typer.echo(f"{len(table)} rows, {table.shape[1]} columns: weighing the rows, sampling ...", err=True)
            with staged_folder(out, replaceable=is_run, needed=space_needed(table, draws * chains)) as staging:
                fitted = fit_table(
                    table,
                    model=name,
                    target=target,
                    features=_names(features, "--features"),
                    exclude=_names(exclude, "--exclude"),
                    options=options,
                )
                written = write_run(fitted, table, staging, command=command, title=title)
        if checkpoint is not None:
            checkpoint.unlink(missing_ok=True)
        weights = fitted.posterior.row_weights
        for note in written.notes:
            typer.echo(f"note: {one_line(note)}", err=True)
        typer.echo(
            f"{int((weights < DISTRUSTED).sum())} of {len(weights)} rows count less than half."
            + (f" {one_line(written.verdict)}" if written.verdict else "")
        )
        typer.echo(f"Open {out / 'report.html'}; draws, tables and the command to repeat it are beside it.")


def predict(
    run: Annotated[Path, typer.Argument(help="Folder written by robula fit.")],
    data: Annotated[Path, typer.Argument(help="CSV or Parquet file with the features.")],
    out: Annotated[Path | None, typer.Option(help="File for the predictions; standard output if left out.")] = None,
    drop_missing: _DropMissing = False,
    debug: _Debug = False,
) -> None:
    """Predict new rows, with intervals."""
    with plain_errors("predict", debug=debug):
        from robula.exceptions import InputError
        from robula.tables.table_files import csv_text, write_table
        from robula.workflow.predict_file import predict_file

        if out is not None and not out.parent.is_dir():
            raise InputError(f"the folder of --out {str(out)!r} does not exist.")
        table = predict_file(run, data, drop_missing=drop_missing)
        if out is None:
            typer.echo(csv_text(table), nl=False)
        else:
            write_table(table, out)


def _level(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _names(text: str | None, option: str) -> list[str] | None:
    """Return a,b,c as a list; a column whose own name has a comma is quoted, as in CSV."""
    if text is None:
        return None
    import csv

    from robula.exceptions import InputError

    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), []) if name.strip()]
    if not names:
        raise InputError(f"{option} {text!r} names nothing; write it as a,b,c, or leave it out.")
    return names


def _command(data: Path, out: Path, options: dict[str, object], flags: list[str]) -> str:
    words = ["robula", "fit", str(data), "--out", str(out)]
    for name, value in options.items():
        if value is not None:
            words += [name, str(value)]
    return shlex.join([*words, *flags])


def plan(
    data: Annotated[Path, typer.Argument(help="CSV file with a header.")],
    model: Annotated[str, typer.Option(help="mean, linear or logistic.")],
    contamination: Annotated[float, typer.Option(help="Upper bound on the share of bad rows.")],
    accuracy: Annotated[float, typer.Option(help="Wanted W2 in posterior widths.")] = 0.5,
    target: Annotated[str | None, typer.Option(help="Response column (linear, logistic).")] = None,
    noise_scale: Annotated[float | None, typer.Option(help="Noise standard deviation (linear).")] = None,
    prior_variance: Annotated[float, typer.Option(help="Variance of the normal prior around 0.")] = 1.0,
    intercept: Annotated[bool, typer.Option(help="Add a column of ones.")] = True,
    delta: Annotated[
        float | None,
        typer.Option(
            help="Read contamination as a probability; plan for the share that holds with probability 1 - delta."
        ),
    ] = None,
    constant: Annotated[float, typer.Option("--c-r", help="The universal constant C_R, assumed.")] = 1.0,
    plot: Annotated[Path | None, typer.Option(help="Picture of the bound and its parts against the step.")] = None,
    debug: _Debug = False,
) -> None:
    """Say what step size and how many steps the theorem asks for, and what the bad rows may cost."""
    with plain_errors("plan", debug=debug):
        from robula.theory import plan as make_plan
        from robula.workflow.plan_file import bound_figure, data_constants, read_model

        problem = read_model(data, model, target, noise_scale, prior_variance, intercept)
        constants = data_constants(problem, contamination, delta)
        numbers = make_plan(constants, accuracy, C_R=constant)
        console = Console()
        table = Table(box=None, show_header=False)
        for name, value in _lines(constants, numbers, intercept and model != "mean"):
            table.add_row(name, value)
        console.print(table)
        for violation in numbers.bound.violations:
            console.print(
                f"The theorem's condition fails, so the bad rows' part is not a bound. {violation}.", markup=False
            )
        console.print(
            "Curvatures and gradient covariances are measured on the rows trusted at a robust centre; "
            f"C_R = {constant:g} is assumed, the paper does not give it."
        )
        if plot is not None:
            bound_figure(constants, numbers, constant).savefig(plot, dpi=150)
            console.print(f"picture: {plot}")


def _lines(constants: Any, numbers: Any, intercept: bool) -> list[tuple[str, str]]:
    width = numbers.width
    return [
        ("rows, parameters", f"{constants.n}, {constants.dim}" + (" (intercept included)" if intercept else "")),
        ("share of bad rows, at most", f"{constants.contamination:.3g}"),
        ("L-bar, m-bar", f"{constants.smoothness:.4g}, {constants.strong_convexity:.4g}"),
        ("condition number", f"{constants.smoothness / constants.strong_convexity:.4g}"),
        ("posterior width", f"{width:.4g}"),
        ("step size", f"{numbers.step_size:.4g}"),
        ("steps", f"{numbers.steps}"),
        (
            "start and step size part",
            f"{math.sqrt(numbers.bound.initial + numbers.bound.discretization) / width:.3g} widths",
        ),
        (
            "bad rows part",
            f"{numbers.contamination_widths:.3g} widths" + ("" if numbers.bound.valid else " (not a bound)"),
        ),
        (
            "the remark's O() values",
            f"step size {numbers.remark_step_size:.3g}, {numbers.remark_steps:.0f} steps of 1 / L",
        ),
    ]


def reproduce(
    which: Annotated[str, typer.Argument(metavar="figure1|figure2|figure3|figure4|figure5|all")],
    out: Annotated[Path, typer.Option(help="Folder for tables, figures, settings and claims.")] = Path("reproduction"),
    quick: Annotated[bool, typer.Option("--quick", help="A reduced version of everything, in minutes.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where an interrupted run stopped.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Worker processes; does not change the numbers.")] = os.cpu_count()
    or 1,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    debug: _Debug = False,
) -> None:
    """Re-run the paper's experiments and say, claim by claim, what holds."""
    with plain_errors("reproduce", debug=debug):
        from robula._validation import check_name
        from robula.experiments.registry import FIGURES
        from robula.experiments.reproduce import figure_names
        from robula.experiments.reproduce import reproduce as run

        figures = figure_names(check_name(which, "figure", (*FIGURES, "all")))
        console = Console()
        try:
            claims = run(figures, out, quick=quick, workers=jobs, resume=resume, seed=seed)
        except KeyboardInterrupt:
            console.print(f"finished jobs are kept in {out / 'jobs'}. Go on with the same command and --resume.")
            raise
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
    from robula.datasets.dataset_loaders import ENTRIES, where

    table = Table(box=None)
    for heading in ("name", "rows", "features", "licence", "found in", "title"):
        table.add_column(heading, justify="right" if heading in ("rows", "features") else "left")
    for name, entry in ENTRIES.items():
        table.add_row(name, str(entry.rows), str(entry.features), entry.licence, where(name), entry.title)
    table.add_row("wisconsin", "569", "30", "CC BY 4.0", "scikit-learn", "Breast Cancer Wisconsin (Diagnostic)")
    Console().print(table)
    Console().print("ROBULA_DATA_DIR names a folder with local copies; otherwise files come from the LIBSVM data page.")
