"""Where to begin: robust parameters, and rows that might be a population of their own.

All of them are functions of the rows that do not depend on their order, and none is random.
"""

from __future__ import annotations

import numpy as np

from robula._types import BoolArray, FloatArray
from robula.selectors.trust import trust_constants as constants
from robula.selectors.trust.scored_rows import ScoredRows

# As in Fast-LTS: two concentrations from every beginning, and more from the best.
_FIRST_CONCENTRATIONS, _FOLLOWED, _CONCENTRATIONS = 2, 2, 10
_SETTLING_STEPS = 25
_SURE = 0.95


def beginning_parameters(rows: ScoredRows, budget: float) -> list[FloatArray]:
    """Parameters (d,) to begin from: of all rows, of the half that fits best, of the near rows."""
    everyone = np.ones(rows.count)
    plain = rows.mode(everyone, rows.model.initial, _SETTLING_STEPS)
    near = _near_rows(rows, min(1.5 * budget, 0.4))
    enough = float(near.sum()) > 2 * rows.dim
    return [
        plain,
        _best_half(rows, plain, near),
        rows.mode(near, plain, _SETTLING_STEPS) if enough else plain,
    ]


def _near_rows(rows: ScoredRows, left_out: float) -> FloatArray:
    # A cell that stands apart makes a row far, whatever its other columns.
    distance = rows.space.distance + rows.space.apart
    return (distance <= np.quantile(distance, 1.0 - left_out)).astype(np.float64)


def _best_half(rows: ScoredRows, plain: FloatArray, near: FloatArray) -> FloatArray:
    """The half of the rows that fits best, by concentration from several beginnings: Fast-LTS [rousseeuw2006].

    The beginnings are the rows near the middle and the halves above and below the medians of the response and of the
    coordinates in which the rows look least normal.
    """
    half = min((rows.count + rows.dim + 1) // 2, rows.count)
    coordinates = list(rows.space.directions.T[:1])
    if rows.model.response is not None:
        coordinates.append(rows.model.response)
    subsets = [np.ones(rows.count), near]
    for values in coordinates:
        middle = np.median(values)
        subsets += [(values <= middle).astype(np.float64), (values >= middle).astype(np.float64)]

    def concentrated(theta: FloatArray, steps: int) -> tuple[float, FloatArray]:
        """Log-likelihood of the half that fits best, and theta (d,), after some concentrations."""
        for _ in range(steps):
            kept = np.zeros(rows.count)
            kept[np.argsort(np.abs(_points(rows, theta)), kind="stable")[:half]] = 1.0
            moved = rows.mode(kept, theta)
            if np.allclose(moved, theta, rtol=1e-6, atol=1e-12):
                break
            theta = moved
        return float(np.sort(rows.model.log_likelihood(theta))[-half:].sum()), theta

    begun = [concentrated(rows.mode(subset, plain, _SETTLING_STEPS), _FIRST_CONCENTRATIONS) for subset in subsets]
    begun = sorted(begun, key=lambda found: -found[0])[:_FOLLOWED]
    best_value, best = concentrated(plain, 0)
    for value, theta in (concentrated(theta, _CONCENTRATIONS) for _, theta in begun):
        if value > best_value + 1e-9 * abs(best_value):
            best, best_value = theta, value
    # The half that fits best has too little spread; the rows within its reach have the right one.
    for _ in range(3):
        size = np.abs(_points(rows, best))
        best = rows.mode((size <= 2.5 * 1.4826 * float(np.median(size))).astype(np.float64), best, _SETTLING_STEPS)
    return best


def _points(rows: ScoredRows, theta: FloatArray) -> FloatArray:
    return rows.scores(theta, np.zeros(rows.count), np.ones(rows.count)).point


def suspects_by_place(rows: ScoredRows, budget: float, thorough: bool) -> dict[str, FloatArray]:
    """Rows (n,) that might be a population by where they are, or by one response that many share.

    Those far out; where ``thorough``, also the ends of the directions in which rows look least normal.
    """
    found: dict[str, FloatArray] = {}
    space = rows.space
    if space.rank:
        apart = space.apart > 0.0
        # They may be more than the budget: codes are unmistakable.
        some = 0 < int(apart.sum()) <= constants.MOST_BAD * rows.count
        found["far"] = _sure(apart if some else space.distance > np.quantile(space.distance, 1.0 - budget))
    for index, coordinate in enumerate(space.directions.T if thorough else ()):
        found.update({f"direction {index} {end}": who for end, who in _ends(coordinate, budget).items()})
    response = rows.model.response
    if response is not None and rows.model.noise != "implied":
        _, which, counts = np.unique(response, return_inverse=True, return_counts=True)
        if 5 <= counts.max() <= 1.5 * budget * rows.count:
            found["one response"] = _sure(which == counts.argmax())
    return found


def suspects_by_score(rows: ScoredRows, theta: FloatArray) -> dict[str, FloatArray]:
    """Rows (n,) that might be a population by their scores at theta: large ones, of either sign or of both."""
    z = _points(rows, theta)
    z = z / max(1.4826 * float(np.median(np.abs(z))), 0.3 if rows.exact_law else 1e-9)
    return {"large": _sure(np.abs(z) > 2.5, 0.8), "high": _sure(z > 2.0, 0.8), "low": _sure(z < -2.0, 0.8)}


def _sure(who: BoolArray, chance: float = _SURE) -> FloatArray:
    """These rows (n,) with this probability, others with 0."""
    return np.where(who, chance, 0.0)


def _ends(values: FloatArray, budget: float) -> dict[str, FloatArray]:
    away = np.abs(values - np.median(values))
    return {
        "both": _sure(away > np.quantile(away, 1.0 - budget)),
        "up": _sure(values > np.quantile(values, 1.0 - budget)),
        "down": _sure(values < np.quantile(values, budget)),
    }
