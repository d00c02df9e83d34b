"""The loop: a generator that moves all chains and stops when one of them diverges; and a progress bar."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from robula._types import FloatArray
from robula.kernels.kernel import Info, Kernel, State
from robula.target.drift import RobustDrift

Item = TypeVar("Item")


class Step(NamedTuple):
    """One step of all chains; ``number`` counts from 1."""

    number: int
    size: float
    theta: FloatArray  # (c, d)
    info: Info


class Escape(Exception):
    """A chain left the region in which it can be; carries the last sound state."""

    def __init__(self, number: int, size: float, last: FloatArray, chains: tuple[int, ...]) -> None:
        super().__init__(number)
        self.number, self.size, self.last, self.chains = number, size, last, chains


def iterate(
    kernel: Kernel,
    drift: RobustDrift,
    start: FloatArray,
    step_sizes: FloatArray,
    rngs: Sequence[np.random.Generator],
    centre: FloatArray,
    radius: float,
) -> Iterator[Step]:
    """Yield the chains after each step.

    Parameters
    ----------
    start : ndarray, shape (c, d)
    step_sizes : ndarray, shape (steps,)
    centre, radius
        A chain further than ``radius`` from ``centre`` has diverged: unstable chains grow geometrically, and waiting
        for the overflow would return nonsense from the steps before it.
    """
    state: State = kernel.init(rngs, start)
    # Overflow on the way out is expected, and reported below in words.
    with np.errstate(over="ignore", invalid="ignore"):
        for number, size in enumerate(step_sizes.tolist(), start=1):
            try:
                moved, info = kernel.step(rngs, state, drift, size)
            except np.linalg.LinAlgError:
                # A selector met gradients that are no longer numbers.
                raise Escape(number, size, state.theta, ()) from None
            distance = np.linalg.norm(moved.theta - centre, axis=1)
            escaped = np.flatnonzero(~(distance <= radius))
            if len(escaped):
                raise Escape(number, size, state.theta, tuple(escaped.tolist()))
            state = moved
            yield Step(number, size, state.theta, info)


def track(items: Iterable[Item], total: int, description: str, enabled: bool) -> Iterator[Item]:
    """Yield the items while showing how many of ``total`` are done and how long the rest will take."""
    console = Console(stderr=True)
    if not (enabled and (console.is_terminal or console.is_jupyter)):
        yield from items
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(description, total=total)
        for item in items:
            yield item
            progress.advance(task)
