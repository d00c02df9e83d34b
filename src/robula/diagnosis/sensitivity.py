"""How the posterior and the row weights depend on the assumed contamination."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from robula._intervals import HALF_WIDTH
from robula._threads import few_threads_for_small_data
from robula._types import FloatArray
from robula._validation import check_contamination, show
from robula.exceptions import InputError
from robula.models.model import Model
from robula.models.posterior_mode import weighted_mode
from robula.models.precision import weighted_precision
from robula.result.posterior import Posterior
from robula.run.descriptions import build
from robula.run.repeat import setup_of
from robula.selectors import resolve_selector
from robula.selectors.selection import Selector
from robula.selectors.trust.streamed_trust import prepared_for
from robula.target.centre_search import robust_centre

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_MOST_LINES = 12


@dataclass(frozen=True, eq=False)
class ContaminationPath:
    """Posterior and row weights at each assumed level.

    Attributes
    ----------
    levels : ndarray, shape (k,)
    means, sds : ndarray, shape (k, d)
        Mode and standard deviations of the posterior of the weighted rows; exact for Gaussian models, Laplace's
        approximation for others.
    row_weights : ndarray, shape (k, n)
    parameter_names : tuple of str
    """

    levels: FloatArray
    means: FloatArray
    sds: FloatArray
    row_weights: FloatArray
    parameter_names: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """One line a level and parameter: mean, sd, 95 % interval, mean row weight."""
        import pandas as pd

        count, dim = self.means.shape
        return pd.DataFrame(
            {
                "contamination": np.repeat(self.levels, dim),
                "parameter": np.tile(np.array(self.parameter_names), count),
                "mean": self.means.ravel(),
                "sd": self.sds.ravel(),
                "low": (self.means - HALF_WIDTH * self.sds).ravel(),
                "high": (self.means + HALF_WIDTH * self.sds).ravel(),
                "mean_row_weight": np.repeat(self.row_weights.mean(axis=1), dim),
            }
        )

    def plot(self) -> Figure:
        """Parameters with their intervals (the twelve that move most), and the row weights, against the level."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10.0, 4.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        movement = np.ptp(self.means, axis=0) / np.maximum(self.sds.mean(axis=0), 1e-300)
        for index in np.sort(np.argsort(-movement, kind="stable")[:_MOST_LINES]):
            mean, sd = self.means[:, index], self.sds[:, index]
            (line,) = left.plot(self.levels, mean, marker="o", markersize=3, label=self.parameter_names[index])
            left.fill_between(
                self.levels,
                mean - HALF_WIDTH * sd,
                mean + HALF_WIDTH * sd,
                color=line.get_color(),
                alpha=0.15,
                linewidth=0,
            )
        left.set(xlabel="assumed contamination", ylabel="posterior mean and 95 % interval")
        left.legend(fontsize=8, frameon=False)
        order = np.argsort(self.row_weights.mean(axis=0), kind="stable")
        image = right.imshow(
            self.row_weights[:, order].T, aspect="auto", vmin=0, vmax=1, cmap="viridis", interpolation="nearest"
        )
        right.set(xlabel="assumed contamination", ylabel="rows, least trusted first")
        right.set_xticks(range(len(self.levels)), [f"{level:g}" for level in self.levels])
        figure.colorbar(image, ax=right, label="row weight")
        return figure


@few_threads_for_small_data
def contamination_path(
    model: Model,
    levels: Sequence[float] = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3),
    selector: str | Selector | Posterior = "trust",
) -> ContaminationPath:
    """Fit at each assumed level of contamination, without sampling.

    Where the path is flat from some level on, the answer does not hang on the choice.

    Parameters
    ----------
    model : Model
    levels : sequence of float
        Assumed shares of bad rows, each in [0, 0.5).
    selector : str, Selector or Posterior, optional
        Of a posterior, the selector that its run had.

    Returns
    -------
    ContaminationPath

    Examples
    --------
    >>> import robula
    >>> problem = robula.simulate.linear_regression(n_clean=300, dim=2, contamination=0.2, seed=1)
    >>> path = robula.contamination_path(problem.model, levels=[0.0, 0.2, 0.3])
    >>> path.to_frame().shape
    (6, 7)
    """
    if not isinstance(model, Model):
        raise InputError(
            f"model={show(model)} is not a robula model of rows in memory; of a LargeModel, call robula.trust at each "
            "level."
        )
    if isinstance(levels, str) or not isinstance(levels, Iterable):
        raise InputError(f"levels={show(levels)} is not a list of shares of bad rows, such as [0.0, 0.1, 0.2].")
    shares = [check_contamination(level) for level in levels]
    if not shares:
        raise InputError("levels is empty; pass at least one share of bad rows.")
    if isinstance(selector, Posterior):
        setup = setup_of(selector)
        setup.require(model)
        selector = build(setup.selector, Selector, "selector")  # type: ignore[type-abstract]
    resolved = resolve_selector(selector)
    means, sds, weights = [], [], []
    for share in shares:
        prepared = prepared_for(resolved, model, share)
        centre = prepared.centre
        if centre is None:
            centre = robust_centre(model, prepared, share, "weights", model.initial).theta
        rows = prepared.select_rows(model, centre, share).weights
        mode = weighted_mode(model, rows, centre)
        means.append(mode if prepared.shift is None else mode + prepared.shift)
        sds.append(np.sqrt(np.diag(np.linalg.inv(weighted_precision(model, rows, mode)))))
        weights.append(rows)
    return ContaminationPath(np.array(shares), np.array(means), np.array(sds), np.array(weights), model.parameter_names)
