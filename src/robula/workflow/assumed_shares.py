"""The answer at other assumed shares of bad rows, as the lines of a table."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd

from robula._intervals import TAILS
from robula.exceptions import RobulaWarning
from robula.reporting.quantities import quantities
from robula.result.posterior import Posterior
from robula.workflow.table_fit import Options

# Assumed shares of bad rows at which the answer is shown, beside the declared one.
_LEVELS = (0.0, 0.05, 0.1, 0.2, 0.3)


def levels_shown(declared: Any) -> list[float]:
    """Return the shares of bad rows at which the answer is shown, ascending, the declared one among them."""
    return sorted({*_LEVELS, *([float(declared)] if isinstance(declared, float | int) else [])})


def path_lines(level: float, posterior: Posterior) -> list[tuple[float, str, float, float, float]]:
    """Return a line for each parameter at a share; an interrupted run ends the command."""
    if posterior.settings.get("interrupted"):
        raise KeyboardInterrupt
    shown = quantities(posterior)
    low, high = np.quantile(shown.flat, TAILS, axis=0)
    return [
        (level, name, float(shown.flat[:, index].mean()), float(low[index]), float(high[index]))
        for index, name in enumerate(shown.names)
    ]


def path_table(lines: list[tuple[float, str, float, float, float]]) -> pd.DataFrame:
    """Return the lines as a table."""
    return pd.DataFrame(lines, columns=["contamination", "parameter", "mean", "low", "high"])


def shorter(options: Options) -> dict[str, int]:
    """Return how much shorter runs at other shares are."""
    return {"draws": max(100, options.draws // 4), "chains": min(2, options.chains)}


@contextmanager
def unheard() -> Iterator[None]:
    """Let short runs at other shares warn nobody: what they say is not of the answer, and has no place in its notes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RobulaWarning)
        yield
