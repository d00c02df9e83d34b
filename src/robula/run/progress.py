"""A progress bar with the time left, on terminals and notebooks only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

Item = TypeVar("Item")


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
