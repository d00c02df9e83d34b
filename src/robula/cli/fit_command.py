"""``robula fit`` and ``robula predict``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from robula.cli.plain_errors import one_line, plain_errors

_Debug = Annotated[bool, typer.Option("--debug", help="Show the full trace of an error.")]
_DropMissing = Annotated[
    bool, typer.Option("--drop-missing", help="Leave out rows with missing values instead of refusing them.")
]


def fit(
    data: Annotated[Path, typer.Argument(help="CSV (comma, semicolon or tab; with a header) or Parquet file.")],
    out: Annotated[Path, typer.Option(help="Folder for draws, tables and report.")],
    model: Annotated[str, typer.Option(help="linear, logistic, poisson or mean.")] = "linear",
    target: Annotated[str | None, typer.Option(help="The column to explain.")] = None,
    features: Annotated[str | None, typer.Option(help="Columns to use, a,b,c; all others if left out.")] = None,
    exclude: Annotated[str | None, typer.Option(help="Columns to leave out, a,b,c.")] = None,
    contamination: Annotated[str, typer.Option(help="Upper bound on the share of bad rows, or estimate.")] = "0.1",
    noise_scale: Annotated[float | None, typer.Option(help="Noise standard deviation (linear), if known.")] = None,
    drop_missing: _DropMissing = False,
    selector: Annotated[str | None, typer.Option(help="Another rule for which rows to trust.")] = None,
    kernel: Annotated[str | None, typer.Option(help="Another Langevin kernel.")] = None,
    draws: Annotated[int, typer.Option(min=1, help="Draws a chain.")] = 1000,
    burn_in: Annotated[int, typer.Option(min=0, help="Steps before the first draw.")] = 300,
    chains: Annotated[int, typer.Option(min=1)] = 4,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    sensitivity: Annotated[bool, typer.Option(help="Also refit for other assumed shares of bad rows.")] = True,
    debug: _Debug = False,
) -> None:
    """Fit a model to a file with bad rows in it: posterior, row weights and a report."""
    with plain_errors("fit", debug=debug):
        from robula.tables.read_table import read_table
        from robula.workflow.fit_table import Options, fit_table
        from robula.workflow.run_folder import check_folder, write_run

        check_folder(out)
        table = read_table(data)
        options = Options(
            contamination=_level(contamination),
            noise_scale=noise_scale,
            drop_missing=drop_missing,
            draws=draws,
            burn_in=burn_in,
            chains=chains,
            seed=seed,
            sensitivity=sensitivity,
            sampler={name: value for name, value in (("selector", selector), ("kernel", kernel)) if value is not None},
        )
        fitted = fit_table(
            table,
            model=model,
            target=target,
            features=_names(features),
            exclude=_names(exclude),
            options=options,
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
                "--selector": selector,
                "--kernel": kernel,
                "--draws": draws,
                "--burn-in": burn_in,
                "--chains": chains,
                "--seed": seed,
            },
            [*(["--drop-missing"] if drop_missing else []), *([] if sensitivity else ["--no-sensitivity"])],
        )
        title = f"{target} in {data.name}" if target is not None else f"Means of {data.name}"
        write_run(fitted, table, out, command=command, title=title)
        weights = fitted.posterior.row_weights
        for note in fitted.notes:
            typer.echo(f"note: {one_line(note)}", err=True)
        typer.echo(
            f"{int((weights < 0.5).sum())} of {len(weights)} rows count less than half. "
            f"Open {out / 'report.html'}; draws, tables and the command to repeat it are beside it."
        )


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
        from robula.workflow.predict_file import predict_file

        if out is not None and not out.parent.is_dir():
            raise InputError(f"the folder of --out {str(out)!r} does not exist.")
        table = predict_file(run, data, drop_missing=drop_missing)
        if out is None:
            typer.echo(table.to_csv(index=False), nl=False)
        else:
            table.to_csv(out, index=False)


def _level(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _names(text: str | None) -> list[str] | None:
    """Return a,b,c as a list; a column whose own name has a comma is quoted, as in CSV."""
    if text is None:
        return None
    import csv

    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), []) if name.strip()]


def _command(data: Path, out: Path, options: dict[str, object], flags: list[str]) -> str:
    words = ["robula", "fit", str(data), "--out", str(out)]
    for name, value in options.items():
        if value is not None:
            words += [name, str(value)]
    return shlex.join([*words, *flags])
