"""Keep the draws after burn-in, with their statistics, until the end, a divergence or Ctrl-C."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from robula._types import FloatArray
from robula._validation import warn
from robula.exceptions import DivergenceError, InterruptedWarning
from robula.run.driver import Escape, Step
from robula.selectors.selection import Selection
from robula.target.drift import RobustDrift


class Collected(NamedTuple):
    """Draws (chains, draws, d), mean row weights (n,), statistics (chains, draws) by name, and whether Ctrl-C came.

    ``half_row_weights`` (groups, 2, n) are the mean row weights of the chains that share a selection, in the first and
    in the second half of the draws.
    """

    draws: FloatArray
    row_weights: FloatArray
    half_row_weights: FloatArray
    stats: dict[str, np.ndarray]
    interrupted: bool


class RowWeightAverage:
    """Average of the chains' row weights over the kept draws.

    A selection that stays the same is added once, with its count: with frozen selections a step must not cost n.
    """

    def __init__(self, rows: int) -> None:
        self._total: FloatArray = np.zeros(rows)
        self._added = 0
        self._pending: tuple[Selection, ...] | None = None
        self._count = 0

    def add(self, selections: tuple[Selection, ...]) -> None:
        """Count the selections that one kept draw used."""
        if selections is not self._pending:
            self._flush()
            self._pending = selections
        self._count += 1

    def _flush(self) -> None:
        if self._pending is not None:
            mean = sum((selection.weights for selection in self._pending), np.zeros_like(self._total))
            self._total += self._count * (mean / len(self._pending))
            self._added += self._count
        self._count = 0

    def result(self) -> FloatArray:
        """Return the average so far, shape (n,)."""
        self._flush()
        self._pending = None
        return np.clip(self._total / max(self._added, 1), 0.0, 1.0)


class HalfRowWeights:
    """Average row weights of each group of chains with a common selection, in both halves of the kept draws."""

    def __init__(self, rows: int, draws: int) -> None:
        self._rows, self._middle = rows, draws // 2
        self._totals: FloatArray = np.zeros((0, 2, rows))
        self._counts = np.zeros(2)
        self._pending: tuple[Selection, ...] = ()
        self._pending_counts = np.zeros(2)

    def add(self, selections: tuple[Selection, ...], draw: int) -> None:
        """Count the selections, one per group, that the kept draw of this number used."""
        if selections is not self._pending:
            self._flush()
            self._pending = selections
        self._pending_counts[int(draw >= self._middle)] += 1

    def _flush(self) -> None:
        if len(self._totals) == 0:
            self._totals = np.zeros((len(self._pending), 2, self._rows))
        if self._pending_counts.any():
            weights = np.stack([selection.weights for selection in self._pending])
            self._totals += self._pending_counts[None, :, None] * weights[:, None, :]
            self._counts += self._pending_counts
            self._pending_counts = np.zeros(2)

    def result(self) -> FloatArray:
        """Return the averages so far, shape (groups, 2, n); a half without draws is that of the other."""
        self._flush()
        counts = np.maximum(self._counts, 1)
        means = self._totals / counts[None, :, None]
        for half in (0, 1):
            if not self._counts[half]:
                means[:, half] = means[:, 1 - half]
        return np.clip(means, 0.0, 1.0)


def collect(
    steps: Iterable[Step],
    drift: RobustDrift,
    shape: tuple[int, int, int],
    rows: int,
    burn_in: int,
    thin: int,
    stable_step: float,
) -> Collected:
    """Run through ``steps`` and keep every ``thin``-th draw after ``burn_in``.

    Parameters
    ----------
    shape : (chains, draws, d)
    rows : int
        Number of rows n of the data.
    stable_step : float
        A step size known to be stable, suggested after a divergence.

    Raises
    ------
    DivergenceError
        With the draws kept until then.
    KeyboardInterrupt
        If Ctrl-C comes before the first draw; later it ends the run with a warning and what was drawn.
    """
    chains, draws, _ = shape
    kept = np.empty(shape)
    stats: dict[str, np.ndarray] = {
        "drift_norm": np.empty((chains, draws)),
        "kept_share": np.empty((chains, draws)),
        "guarded": np.zeros((chains, draws), dtype=bool),
        "step_size": np.empty((chains, draws)),
    }
    weights, half_weights = RowWeightAverage(rows), HalfRowWeights(rows, draws)
    done, interrupted = 0, False
    try:
        for step in steps:
            after = step.number - burn_in
            if after <= 0 or after % thin:
                continue
            kept[:, done] = step.theta
            stats["drift_norm"][:, done] = np.linalg.norm(step.info.drift, axis=1)
            stats["kept_share"][:, done] = [selection.mean_weight for selection in drift.selections]
            stats["guarded"][:, done] = drift.guarded
            stats["step_size"][:, done] = step.size
            weights.add(drift.selections)
            half_weights.add(drift.selections, done)
            done += 1
    except Escape as escape:
        raise DivergenceError(
            step=escape.number,
            step_size=escape.size,
            suggested_step_size=min(escape.size / 4.0, stable_step),
            draws=kept[:, :done].copy(),
            last_state=escape.last,
            chains=escape.chains,
        ) from None
    except KeyboardInterrupt:
        if not done:
            raise
        interrupted = True
        warn(f"interrupted: the result holds {done} of {draws} draws per chain.", InterruptedWarning)
    trimmed = {name: values[:, :done] for name, values in stats.items()}
    return Collected(kept[:, :done], weights.result(), half_weights.result(), trimmed, interrupted)
