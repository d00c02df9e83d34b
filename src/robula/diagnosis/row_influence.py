"""Which rows carry the answer: what every expectation would do without a row, from the draws that are there.

If row i counted w_i times, the posterior would be prior x product of p(row)^w, and [giordano2019]

    d E[f] / d w_i = Cov(f, log-likelihood of row i).

Over draws of that posterior: where rows are in doubt, the draws that users see are wider, and are narrowed first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from robula._threads import few_threads_for_small_data, threads_for
from robula._types import FloatArray, IntArray
from robula._validation import check_count, check_name, show
from robula.diagnosis.flipping_rows import Hinge, smallest_set
from robula.diagnosis.without_rows import WithoutRows
from robula.exceptions import InputError
from robula.models.model import Model
from robula.models.posterior_mode import weighted_mode
from robula.models.precision import weighted_precision
from robula.result.posterior import Posterior
from robula.selectors.trust.row_doubt import without_doubt

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

# From so many log-likelihoods on, draws are left out, down to so many.
_MOST_VALUES, _ENOUGH_DRAWS = 2 * 10**7, 1000
# Log-likelihoods are looked at so many at a time: they then stay in the processor's cache.
_BLOCK = 2**18
# Beyond this share of its own fit a row is not divided by what it leaves: Monte Carlo error would decide.
_MOST_LEVERAGE = 0.9
# Directions in which draws spread less than this, relative to the most, are none.
_NO_SPREAD = 1e-14
_NAMED, _LABELLED = 3, 5
_MOST_WORK, _FEWEST_DRAWS = 2e10, 1000


@dataclass(frozen=True, eq=False)
class Influence:
    """How k expectations E[f] hang on n rows.

    Attributes
    ----------
    names : tuple of str, k of them
    slopes : ndarray, shape (n, k)
        d E[f] / d w_i, where w_i multiplies the row as often as the model counts it (``row_weights`` of the model).
    removal : ndarray, shape (n, k)
        Predicted change of E[f] if the row went and the others kept their weights; 0 for rows that do not count.
    leverage : ndarray, shape (n,)
        Share of each row's own fit in it: 0 for a row that has no say, 1 for one that nothing contradicts.
    mean, sd : ndarray, shape (k,)
        Posterior mean and standard deviation of f, with the doubt about rows in it.
    row_weights : ndarray, shape (n,)
    """

    names: tuple[str, ...]
    slopes: FloatArray
    removal: FloatArray
    leverage: FloatArray
    mean: FloatArray
    sd: FloatArray
    row_weights: FloatArray
    _without: WithoutRows
    _value: Callable[[FloatArray], FloatArray]

    @property
    def strength(self) -> FloatArray:
        """By how many standard deviations each row moves the expectation that it moves most, shape (n,)."""
        strength: FloatArray = np.abs(self._in_sds).max(axis=1)
        return strength

    @property
    def moved_most(self) -> IntArray:
        """Place of that expectation among the names, shape (n,)."""
        place: IntArray = np.abs(self._in_sds).argmax(axis=1)
        return place

    @property
    def _in_sds(self) -> FloatArray:
        return self.removal / np.where(self.sd > 0, self.sd, 1.0)

    def change(self, rows: Sequence[int] | IntArray) -> FloatArray:
        """Predicted change of every E[f], shape (k,), if these rows went and the others kept their weights.

        The covariances are a first step; the rows that go take their curvature along, and a second step corrects what
        is not linear.
        """
        places = _rows(rows, len(self.row_weights))
        moved = self._without.move(places)
        if not np.isfinite(moved).all():
            raise InputError(
                f"without these {len(places)} row(s) the other {len(self.row_weights) - len(places)} and the prior "
                "determine nothing in some direction; pass fewer rows."
            )
        first_order = -(self.row_weights[places] @ (self.slopes - self._without.linear_slopes)[places])
        change: FloatArray = self._without.directions @ moved + first_order
        return change

    def most(self, name: str | None = None, count: int = 10) -> pd.DataFrame:
        """The rows that move an expectation most, in either direction; all of them by name, or any if None."""
        import pandas as pd

        count = check_count(count, "count", 0)
        in_sds = self._in_sds
        place = self.moved_most if name is None else np.full(len(in_sds), self._place(name))
        each = np.take_along_axis(in_sds, place[:, None], axis=1)[:, 0]
        rows = np.argsort(-np.abs(each), kind="stable")[:count]
        return pd.DataFrame(
            {
                "row": rows,
                "weight": self.row_weights[rows],
                "moves": [self.names[index] for index in place[rows]],
                "change": np.take_along_axis(self.removal, place[:, None], axis=1)[rows, 0],
                "change_in_sd": each[rows],
            }
        )

    def hangs_on(self, name: str | None = None, conclusion: str = "sign") -> Hinge:
        """The smallest set of rows that was found whose removal turns a conclusion, confirmed by one refit.

        Parameters
        ----------
        name : str, optional
            One of ``names``; needed where there are several.
        conclusion : "sign" or "interval"
            The sign of the mean; or whether the 95 % interval holds 0.

        Returns
        -------
        Hinge
            Print its ``text``.
        """
        check_name(conclusion, "conclusion", ("sign", "interval"))
        if name is None and len(self.names) > 1:
            raise InputError(f"name one of the {len(self.names)} quantities: {show(list(self.names), 200)}.")
        place = 0 if name is None else self._place(name)
        with threads_for(self.slopes.size):
            return smallest_set(
                self._without, self.names[place], lambda draws: self._value(draws)[:, place], place, conclusion
            )

    def _place(self, name: str) -> int:
        return self.names.index(check_name(name, "name", self.names))

    @property
    def text(self) -> str:
        """The rows that move most, in words."""
        strength, place = self.strength, self.moved_most
        lines = [
            f"row {row} moves {self.names[place[row]]} by {strength[row]:.2g} standard deviations "
            f"({self.removal[row, place[row]]:+.3g} if it went)"
            for row in np.argsort(-strength, kind="stable")[:_NAMED]
        ]
        return f"Of {len(self.row_weights):,} rows, " + "; ".join(lines) + "."

    def __repr__(self) -> str:
        return f"Influence of {len(self.row_weights)} rows on {len(self.names)} expectation(s)\n  {self.text}"

    def plot(self, name: str | None = None) -> Figure:
        """What each row's removal would do, in standard deviations; by name, or what each row moves most."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(8.0, 3.4), layout="constrained")
        axes = figure.subplots()
        place = self.moved_most if name is None else np.full(len(self.removal), self._place(name))
        values = np.take_along_axis(self._in_sds, place[:, None], axis=1)[:, 0]
        axes.vlines(np.arange(len(values)), 0.0, values, linewidth=0.8)
        axes.axhline(0.0, linewidth=0.6, color="0.5")
        for row in np.argsort(-np.abs(values), kind="stable")[:_LABELLED]:
            label = f"{row}" if name is not None else f"{row} ({self.names[place[row]]})"
            axes.annotate(label, (row, values[row]), fontsize=8, ha="center", va="bottom" if values[row] > 0 else "top")
        of = name or "what it moves most"
        axes.set(xlabel="row", ylabel="change without the row, in sd", title=f"Influence on {of}")
        return figure


@few_threads_for_small_data
def influence(
    model: Model,
    posterior: Posterior,
    f: Callable[[FloatArray], Any] | str | Sequence[str] | None = None,
) -> Influence:
    """Find what every row does to the answer, from the draws, without a refit.

    Parameters
    ----------
    model : Model
    posterior : Posterior
        Of this model.
    f : function, str or list of str, optional
        What is expected: names of parameters, or a function of one theta (d,) that returns a number or several, such
        as a prediction ``lambda theta: x_new @ theta``. All parameters by default.

    Returns
    -------
    Influence
        Print it, or its ``hangs_on(name).text``.

    Examples
    --------
    >>> import numpy as np, robula
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = X @ [1.0, 0.02] + rng.normal(size=200)
    >>> X[:3, 1], y[:3] = 4.0, X[:3, 0] + 7.0  # three rows make the second coefficient
    >>> model = robula.LinearModel(X, y, noise_scale=1.0)
    >>> posterior = robula.sample(model, contamination=0.0, progress=False)
    >>> found = robula.influence(model, posterior)
    >>> found.most("1", count=3)["row"].sort_values().tolist()
    [0, 1, 2]
    """
    if not isinstance(posterior, Posterior):
        raise InputError("influence needs the model, and the posterior that robula.sample drew from it, in this order.")
    posterior.require_model(model, "influence")
    seen = posterior.flat_draws
    # Of very large data some of the draws are used: the work is rows times parameters times draws.
    budget = max(_FEWEST_DRAWS, int(_MOST_WORK / (model.n_rows * model.dim)))
    seen = seen[:: max(1, len(seen) // budget)]
    if len(seen) <= model.dim + 1:
        raise InputError(f"{len(seen)} draws are too few to tell covariances of {model.dim} parameters; draw more.")
    names, value = _quantities(posterior, f)
    with threads_for(model.n_rows * model.dim):
        weights = _effective_weights(posterior)
        draws = _of_these_weights(model, posterior, seen, weights)
        values = value(draws)
        seen_values = values if draws is seen else value(seen)
        mean_theta = draws.mean(axis=0)
        centred, deviations = draws - mean_theta, values - values.mean(axis=0)
        parameters, others, average, used = _covariances(model, draws, centred, deviations if f is not None else None)
        slopes = parameters if others is None else others
        covariance = centred.T @ centred / (len(draws) - 1.0)
        gradients = np.asarray(parameters @ np.linalg.pinv(used, rcond=_NO_SPREAD, hermitian=True), dtype=np.float64)
        directions = (
            np.eye(model.dim)
            if f is None
            else np.linalg.lstsq(covariance, centred.T @ deviations / (len(draws) - 1.0), rcond=None)[0].T
        )
        # For a normal posterior the log-likelihood at the mean exceeds its average by half the row's leverage.
        leverage = np.clip(2.0 * (model.counted(model.log_likelihood(mean_theta)) - average) * weights, 0.0, 1.0)
        removal = -(weights / (1.0 - np.minimum(leverage, _MOST_LEVERAGE)))[:, None] * slopes
        without = WithoutRows(model, mean_theta, seen, weights, gradients, directions, parameters @ directions.T)
    mean, sd = seen_values.mean(axis=0), seen_values.std(axis=0)
    return Influence(names, slopes, removal, leverage, mean, sd, weights, without, value)


def _of_these_weights(model: Model, posterior: Posterior, draws: FloatArray, weights: FloatArray) -> FloatArray:
    """Draws (S, d) of the posterior in which rows count by these weights (n,), without the doubt about them."""
    if not posterior.row_doubt.any() or not model.dense_curvature:
        return draws
    draws = draws - posterior.row_shift
    mode = weighted_mode(model, weights, draws.mean(axis=0))
    return without_doubt(draws, weighted_precision(model, weights, mode))


def _quantities(
    posterior: Posterior, f: Callable[[FloatArray], Any] | str | Sequence[str] | None
) -> tuple[tuple[str, ...], Callable[[FloatArray], FloatArray]]:
    """Names of what is expected, and the function from draws (S, d) to its values (S, k)."""
    known = posterior.parameter_names
    if f is None:
        return known, lambda draws: draws
    if not callable(f):
        if not isinstance(f, str | Sequence):
            raise InputError(f"f={show(f)} is no name of a parameter, list of names or function of theta.")
        asked = [f] if isinstance(f, str) else list(f)
        if not asked:
            raise InputError("f is an empty list; name a parameter, pass a function of theta, or leave it out.")
        places = [known.index(check_name(name, "f", known)) for name in asked]
        return tuple(asked), lambda draws: draws[:, places]

    def values(draws: FloatArray) -> FloatArray:
        found = np.array([np.ravel(f(theta)) for theta in draws], dtype=np.float64)
        if not found.size or not np.isfinite(found).all():
            raise InputError("f must return a finite number, or several, for every draw.")
        return found

    count = np.size(f(posterior.flat_draws[0]))
    return ("f",) if count == 1 else tuple(f"f[{index}]" for index in range(count)), values


def _covariances(
    model: Model, draws: FloatArray, centred: FloatArray, deviations: FloatArray | None
) -> tuple[FloatArray, FloatArray | None, FloatArray, FloatArray]:
    """Cov of every row's log-likelihood with the parameters (n, d) and with f (n, k), its mean (n,), and Cov of theta.

    Each row as often as the model counts it. Of every k-th draw where rows are many: the Monte Carlo error of a
    thousand draws is 3 %.
    """
    every = max(1, min(len(draws) // _ENOUGH_DRAWS, len(draws) * model.n_rows // _MOST_VALUES))
    draws, centred = draws[::every], centred[::every]
    deviations = None if deviations is None else deviations[::every]
    columns = centred if deviations is None else np.concatenate([centred, deviations], axis=1)
    # Log-likelihoods are not centred, so the columns must be, over the draws that are used.
    columns = columns - columns.mean(axis=0)
    total, mean = np.zeros((columns.shape[1], model.n_rows)), np.zeros(model.n_rows)
    # No fewer draws at a time than sums a row, or adding to the sums takes longer than what is added.
    step = max(_BLOCK // model.n_rows, columns.shape[1])
    for first in range(0, len(draws), step):
        part = slice(first, first + step)
        values = model.log_likelihood(draws[part])
        # A row that is impossible at some draw has weight 0, and covariances with nothing.
        if not np.isfinite(values).all():
            values = np.where(np.isfinite(values), values, 0.0)
        # The posterior has each row as often as the model counts it.
        values = model.counted(values)
        total += columns[part].T @ values
        mean += values.sum(axis=0)
    covariances = total.T / (len(draws) - 1.0)
    dim = centred.shape[1]
    used = columns[:, :dim].T @ columns[:, :dim] / (len(draws) - 1.0)
    return covariances[:, :dim], None if deviations is None else covariances[:, dim:], mean / len(draws), used


def _effective_weights(posterior: Posterior) -> FloatArray:
    """How often each row counted in the likelihood, shape (n,); ``likelihood_rows`` may scale the row weights."""
    weights = posterior.row_weights
    rule, total = posterior.settings.get("likelihood_rows", "weights"), float(weights.sum())
    if rule == "weights" or total <= 0:
        return weights
    share = float(posterior.settings.get("contamination", 0.0)) if rule == "clean" else 0.0
    return weights * ((1.0 - share) * len(weights) / total)


def _rows(rows: Sequence[int] | IntArray, count: int) -> IntArray:
    places = np.unique(np.asarray(rows))
    if places.size and (places.dtype.kind not in "iu" or places[0] < 0 or places[-1] >= count):
        raise InputError(f"rows={show(rows)} must be places of rows, whole numbers from 0 to {count - 1}.")
    return places.astype(np.intp)
