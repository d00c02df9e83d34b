"""``robula plan``: before a run, what step size and how many steps an accuracy needs, and what can be hoped for."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table


def plan(
    data: Annotated[Path, typer.Argument(help="CSV file with a header.")],
    model: Annotated[str, typer.Option(help="mean, linear or logistic.")],
    contamination: Annotated[float, typer.Option(help="Upper bound on the share of bad rows.")],
    accuracy: Annotated[float, typer.Option(help="Wanted W2 in posterior widths.")] = 0.5,
    target: Annotated[str | None, typer.Option(help="Response column (linear, logistic).")] = None,
    noise_scale: Annotated[float | None, typer.Option(help="Noise standard deviation (linear).")] = None,
    prior_variance: Annotated[float, typer.Option(help="Variance of the normal prior around 0.")] = 1.0,
    intercept: Annotated[bool, typer.Option(help="Add a column of ones.")] = True,
    constant: Annotated[float, typer.Option("--c-r", help="The universal constant C_R, assumed.")] = 1.0,
    plot: Annotated[Path | None, typer.Option(help="Picture of the bound and its parts against the step.")] = None,
) -> None:
    """Say what step size and how many steps the theorem asks for, and what the bad rows may cost."""
    from robula.exceptions import RobulaError
    from robula.theory import plan as make_plan
    from robula.workflow.plan_file import bound_figure, data_constants, read_model

    try:
        problem = read_model(data, model, target, noise_scale, prior_variance, intercept)
        constants = data_constants(problem, contamination)
        numbers = make_plan(constants, accuracy, C_R=constant)
    except RobulaError as error:
        Console(stderr=True).print(f"robula plan: {error}", markup=False, highlight=False)
        raise typer.Exit(2) from None
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
