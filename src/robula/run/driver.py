"""The loop: a generator that moves all chains and stops when one of them diverges; and a progress bar."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from robula._types import FloatArray
from robula.kernels.kernel import Info, Kernel, Noise, State, Target

Item = TypeVar("Item")


class Step(NamedTuple):
    """One step of all chains; ``number`` counts from 1."""

    number: int
    size: float
    state: State
    info: Info


class Escape(Exception):
    """A chain left the region in which it can be; carries the last sound state."""

    def __init__(self, number: int, size: float, last: FloatArray, chains: tuple[int, ...]) -> None:
        super().__init__(number)
        self.number, self.size, self.last, self.chains = number, size, last, chains


def iterate(
    kernel: Kernel,
    target: Target,
    start: FloatArray,
    step_sizes: FloatArray,
    rngs: Sequence[Noise],
    centre: FloatArray,
    radius: float,
    adapting: int = 0,
    resumed: tuple[int, State] | None = None,
) -> Iterator[Step]:
    """Yield the chains after each step.

    Parameters
    ----------
    start : ndarray, shape (c, d)
    step_sizes : ndarray, shape (steps,)
    centre, radius
        A chain further than ``radius`` from ``centre`` has diverged: unstable chains grow geometrically, and waiting
        for the overflow would return nonsense from the steps before it.
    adapting : int
        For so many steps a kernel that adapts may do so.
    resumed : (int, State), optional
        Go on from this state after so many steps, instead of from the start.
    """
    # Overflow on the way out is expected, and reported below in words.
    with np.errstate(over="ignore", invalid="ignore"):
        done, state = (0, kernel.init(rngs, start, target)) if resumed is None else resumed
        for number, size in enumerate(step_sizes[done:].tolist(), start=done + 1):
            if number == adapting + 1:
                state = kernel.settled(state)
            try:
                moved, info = kernel.step(rngs, state, target, size)
            except np.linalg.LinAlgError:
                # A selector met gradients that are no longer numbers.
                raise Escape(number, size, state.theta, ()) from None
            distance = np.linalg.norm(moved.theta - centre, axis=1)
            escaped = np.flatnonzero(~(distance <= radius))
            if len(escaped):
                raise Escape(number, size, state.theta, tuple(escaped.tolist()))
            state = moved
            yield Step(number, size, state, info)


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
