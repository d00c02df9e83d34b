"""Keep the draws after burn-in, with their statistics, until the end, a divergence or Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from robula._types import FloatArray
from robula._validation import warn
from robula.exceptions import DivergenceError, InterruptedWarning
from robula.run.driver import Escape, Step
from robula.target.robust_target import Chosen, RobustTarget


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
        self._pending: Chosen | None = None
        self._count = 0

    def add(self, chosen: Chosen) -> None:
        """Count the selections that one kept draw used."""
        if self._pending is None or chosen.number != self._pending.number:
            self._flush()
            self._pending = chosen
        self._count += 1

    def _flush(self) -> None:
        if self._pending is not None:
            selections = self._pending.selections
            mean = sum((selection.weights for selection in selections), np.zeros_like(self._total))
            self._total += self._count * (mean / len(selections))
            self._added += self._count
        self._count = 0

    def state(self, chosen: Chosen | None) -> dict[str, np.ndarray]:
        """Return the sums so far; counts of selections no longer in use are added first, as the next draw would."""
        if self._pending is not None and (chosen is None or chosen.number != self._pending.number):
            self._flush()
        return {"weight_total": self._total, "weight_counts": np.array([self._added, self._count])}

    def restore(self, state: Mapping[str, np.ndarray], chosen: Chosen | None) -> None:
        """Go on from a state."""
        self._total = np.array(state["weight_total"])
        self._added, self._count = state["weight_counts"].tolist()
        self._pending = chosen if self._count else None

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
        self._pending: Chosen | None = None
        self._pending_counts = np.zeros(2)

    def add(self, chosen: Chosen, draw: int) -> None:
        """Count the selections, one per group, that the kept draw of this number used."""
        if self._pending is None or chosen.number != self._pending.number:
            self._flush()
            self._pending = chosen
        self._pending_counts[int(draw >= self._middle)] += 1

    def _flush(self) -> None:
        if self._pending is None:
            return
        if len(self._totals) == 0:
            self._totals = np.zeros((len(self._pending.selections), 2, self._rows))
        if self._pending_counts.any():
            weights = np.stack([selection.weights for selection in self._pending.selections])
            self._totals += self._pending_counts[None, :, None] * weights[:, None, :]
            self._counts += self._pending_counts
            self._pending_counts = np.zeros(2)

    def state(self, chosen: Chosen | None) -> dict[str, np.ndarray]:
        """Return the sums so far, as :meth:`RowWeightAverage.state`."""
        if self._pending is not None and (chosen is None or chosen.number != self._pending.number):
            self._flush()
        return {"half_totals": self._totals, "half_counts": np.stack([self._counts, self._pending_counts])}

    def restore(self, state: Mapping[str, np.ndarray], chosen: Chosen | None) -> None:
        """Go on from a state."""
        self._totals = np.array(state["half_totals"])
        self._counts, self._pending_counts = np.array(state["half_counts"])
        self._pending = chosen if self._pending_counts.any() else None

    def result(self) -> FloatArray:
        """Return the averages so far, shape (groups, 2, n); a half without draws is that of the other."""
        self._flush()
        counts = np.maximum(self._counts, 1)
        means = self._totals / counts[None, :, None]
        for half in (0, 1):
            if not self._counts[half]:
                means[:, half] = means[:, 1 - half]
        return np.clip(means, 0.0, 1.0)


class Collector:
    """Keeps every ``thin``-th draw after ``burn_in``, its statistics, and the row weights.

    Parameters
    ----------
    shape : (chains, draws, d)
    rows : int
        Number of rows n of the data.
    """

    def __init__(self, shape: tuple[int, int, int], rows: int, burn_in: int, thin: int) -> None:
        chains, self.draws, _ = shape
        self._burn_in, self._thin = burn_in, thin
        self.done = 0
        self.kept = np.empty(shape)
        self.stats: dict[str, np.ndarray] = {
            "drift_norm": np.empty((chains, self.draws)),
            "kept_share": np.empty((chains, self.draws)),
            "guarded": np.zeros((chains, self.draws), dtype=bool),
            "step_size": np.empty((chains, self.draws)),
        }
        self._weights, self._half_weights = RowWeightAverage(rows), HalfRowWeights(rows, self.draws)

    def add(self, step: Step, target: RobustTarget) -> None:
        """Keep what a step left behind, if it is one to be kept."""
        after = step.number - self._burn_in
        if after <= 0 or after % self._thin:
            return
        done, stats, info = self.done, self.stats, step.info
        self.kept[:, done] = step.state.theta
        stats["drift_norm"][:, done] = np.linalg.norm(info.drift, axis=1)
        stats["kept_share"][:, done] = [selection.mean_weight for selection in target.chosen.selections]
        stats["step_size"][:, done] = step.size if info.step_size is None else info.step_size
        if info.acceptance is None:
            stats["guarded"][:, done] = target.guarded
        else:  # a cut drift is only a worse proposal
            stats.setdefault("acceptance", np.empty(stats["step_size"].shape))[:, done] = info.acceptance
        self._weights.add(target.chosen)
        self._half_weights.add(target.chosen, done)
        self.done += 1

    def state(self, chosen: Chosen | None) -> dict[str, np.ndarray]:
        """Return all that was kept so far, as arrays by name; ``chosen`` are the selections in use."""
        stats = {f"stats:{name}": values[:, : self.done] for name, values in self.stats.items()}
        weights = {**self._weights.state(chosen), **self._half_weights.state(chosen)}
        return {"draws": self.kept[:, : self.done], **stats, **weights}

    def restore(self, state: Mapping[str, np.ndarray], chosen: Chosen | None) -> None:
        """Go on from a state."""
        self.done = state["draws"].shape[1]
        self.kept[:, : self.done] = state["draws"]
        for name, values in state.items():
            if name.startswith("stats:"):
                whole = self.stats.setdefault(name.removeprefix("stats:"), np.empty(self.kept.shape[:2]))
                whole[:, : self.done] = values
        self._weights.restore(state, chosen)
        self._half_weights.restore(state, chosen)

    def result(self, interrupted: bool) -> Collected:
        """Return everything."""
        stats = {name: values[:, : self.done] for name, values in self.stats.items()}
        weights = self._weights.result(), self._half_weights.result()
        return Collected(self.kept[:, : self.done], *weights, stats, interrupted)


def collect(
    steps: Iterable[Step],
    target: RobustTarget,
    collector: Collector,
    stable_step: float,
    after: Callable[[Step], None] | None = None,
) -> Collected:
    """Run through ``steps`` and keep what the collector keeps.

    Parameters
    ----------
    stable_step : float
        A step size known to be stable, suggested after a divergence.
    after : callable, optional
        Called after each step: writes checkpoints.

    Raises
    ------
    DivergenceError
        With the draws kept until then.
    KeyboardInterrupt
        If Ctrl-C comes before the first draw; later it ends the run with a warning and what was drawn.
    """
    interrupted = False
    try:
        for step in steps:
            collector.add(step, target)
            if after is not None:
                after(step)
    except Escape as escape:
        raise DivergenceError(
            step=escape.number,
            step_size=escape.size,
            suggested_step_size=min(escape.size / 4.0, stable_step),
            draws=collector.kept[:, : collector.done].copy(),
            last_state=escape.last,
            chains=escape.chains,
        ) from None
    except KeyboardInterrupt:
        if not collector.done:
            raise
        interrupted = True
        warn(
            f"interrupted: the result holds {collector.done} of {collector.draws} draws per chain.", InterruptedWarning
        )
    return collector.result(interrupted)


def widened(
    draws: FloatArray, widening: FloatArray | None, shift: FloatArray | None = None
) -> tuple[FloatArray, list[float] | None]:
    """Put the doubt about rows into draws (chains, draws, d): a linear map (d, d) around their mean, and a shift (d,).

    Around the mode they would move where it is not the mean, as in a hierarchical model.

    Returns
    -------
    draws : ndarray, shape (chains, draws, d)
    share : list of float, or None
        Of each parameter's width, how much is due to it.
    """
    if widening is None:
        return draws, None
    mean = draws.mean(axis=(0, 1))
    wider = (mean if shift is None else mean + shift) + (draws - mean) @ widening.T
    before, after = (some.std(axis=(0, 1)) for some in (draws, wider))
    return wider, np.maximum(1.0 - before / np.maximum(after, 1e-300), 0.0).tolist()
