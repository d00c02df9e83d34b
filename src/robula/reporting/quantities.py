"""What a report shows of a posterior: one line a quantity, in the space the user knows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robula._types import FloatArray
from robula.models.gaussian_posterior import GaussianPosterior
from robula.result.posterior import Posterior


class Quantities(NamedTuple):
    """Named draws.

    Attributes
    ----------
    names : list of str, k of them
    draws : ndarray, shape (chains, draws, k)
    """

    names: list[str]
    draws: FloatArray

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
        return Quantities(list(posterior.parameter_names), posterior.draws)
    names: list[str] = []
    columns = []
    for name, values in posterior.variables.items():
        for place in np.ndindex(*values.shape[2:]):
            names.append(name + (f"[{','.join(map(str, place))}]" if place else ""))
            columns.append(values[(slice(None), slice(None), *place)])
    return Quantities(names, np.stack(columns, axis=-1).astype(np.float64))


def lines(shown: Quantities, plain: GaussianPosterior | None) -> list[Line]:
    """Return one line a quantity, those that robustness moves most first."""
    low, high = np.quantile(shown.flat, [0.025, 0.975], axis=0)
    mean, deviation = shown.flat.mean(axis=0), shown.flat.std(axis=0)
    result = []
    for index, name in enumerate(shown.names):
        numbers = (float(mean[index]), float(deviation[index]), float(low[index]), float(high[index]))
        line = Line(name, index, *numbers)
        if plain is not None:
            centre, half = float(plain.mean[index]), 1.96 * float(np.sqrt(plain.covariance[index, index]))
            moved = abs(centre - line.mean) / max(line.deviation, 1e-300)
            line = line._replace(
                plain_mean=centre, plain_low=centre - half, plain_high=centre + half, moved=float(moved)
            )
        result.append(line)
    return sorted(result, key=lambda line: -(line.moved or 0.0)) if plain is not None else result
