"""What a report shows of a posterior: one line a quantity, in the space the user knows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robula._intervals import HALF_WIDTH, TAILS
from robula._types import FloatArray
from robula.models.gaussian_posterior import GaussianPosterior
from robula.result.posterior import Posterior


class Quantities(NamedTuple):
    """Named draws.

    Attributes
    ----------
    names : list of str, k of them
    draws : ndarray, shape (chains, draws, k)
    n_coefficients : int
        The first so many are what was asked for; a noise scale, say, comes after them.
    """

    names: list[str]
    draws: FloatArray
    n_coefficients: int

    @property
    def flat(self) -> FloatArray:
        """All chains as one list, shape (chains * draws, k)."""
        return self.draws.reshape(-1, self.draws.shape[-1])


class Line(NamedTuple):
    """One quantity: mean, standard deviation, 95 % interval, and the same without robustness where that is known.

    ``moved`` is the distance of the two means in robust standard deviations.
    """

    name: str
    place: int
    mean: float
    deviation: float
    low: float
    high: float
    plain_mean: float | None = None
    plain_low: float | None = None
    plain_high: float | None = None
    moved: float | None = None

    @property
    def changes_sign(self) -> bool:
        """Whether both intervals exclude 0, on different sides."""
        if self.plain_low is None or self.plain_high is None:
            return False
        return (self.low > 0 and self.plain_high < 0) or (self.high < 0 and self.plain_low > 0)


def quantities(posterior: Posterior) -> Quantities:
    """Return the model's own variables where it has them, else the parameters."""
    if not posterior.variables:
        return Quantities(list(posterior.parameter_names), posterior.draws, len(posterior.parameter_names))
    names: list[str] = []
    coefficients = 0
    columns = []
    for name, values in posterior.variables.items():
        count = values.shape[-1]
        if values.ndim == 3 and np.array_equal(values, posterior.draws[..., :count]):
            # The first parameters as they are: their own names say more than numbers.
            names += posterior.parameter_names[:count]
            columns += list(np.moveaxis(values, -1, 0))
            coefficients = len(names)
            continue
        for place in np.ndindex(*values.shape[2:]):
            names.append(name + (f"[{','.join(map(str, place))}]" if place else ""))
            columns.append(values[(slice(None), slice(None), *place)])
    return Quantities(names, np.stack(columns, axis=-1).astype(np.float64), coefficients or len(names))


def lines(shown: Quantities, plain: GaussianPosterior | None) -> list[Line]:
    """Return one line a quantity, the coefficients that robustness moves most first, then a scale and the like."""
    low, high = np.quantile(shown.flat, TAILS, axis=0)
    mean, deviation = shown.flat.mean(axis=0), shown.flat.std(axis=0)
    result = []
    for index, name in enumerate(shown.names):
        numbers = (float(mean[index]), float(deviation[index]), float(low[index]), float(high[index]))
        line = Line(name, index, *numbers)
        if plain is not None:
            centre, half = float(plain.mean[index]), HALF_WIDTH * float(np.sqrt(plain.covariance[index, index]))
            moved = abs(centre - line.mean) / max(line.deviation, 1e-300)
            line = line._replace(
                plain_mean=centre, plain_low=centre - half, plain_high=centre + half, moved=float(moved)
            )
        result.append(line)
    if plain is None:
        return result
    return sorted(result, key=lambda line: (line.place >= shown.n_coefficients, -(line.moved or 0.0)))
