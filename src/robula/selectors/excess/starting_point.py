"""A robust start: several candidates for the parameter, and the one that the most rows can agree with."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robula._types import BoolArray, FloatArray
from robula.models.posterior_mode import weighted_mode
from robula.selectors.excess.excess_constants import HUBER, SHRINK
from robula.selectors.excess.excess_counts import ResponseModel, bin_shares, clean_count, residuals


class Candidate(NamedTuple):
    """One candidate start.

    Attributes
    ----------
    name : str
        Which rows it began from, and the scale of the residuals it looks at.
    score : float
        The largest wins. How many rows of the model the data can contain if this candidate is right; for labels the log
        evidence, less what flip rates by doubt must gain.
    """

    name: str
    score: float


@dataclass(frozen=True, eq=False)
class RobustStart:
    """Where to start, and how it was chosen.

    Attributes
    ----------
    theta : ndarray, shape (d,)
    name : str
        Name of the chosen candidate.
    candidates : tuple of Candidate
    flagged : ndarray of bool, shape (n,)
        Rows whose features stick out together.
    seconds : float
    """

    theta: FloatArray
    name: str
    candidates: tuple[Candidate, ...]
    flagged: BoolArray
    seconds: float

    def __repr__(self) -> str:
        return (
            f"RobustStart({self.name!r} of {len(self.candidates)} candidates, {int(self.flagged.sum())} rows flagged "
            f"by their features, {self.seconds:.2g} s)"
        )


def response_start(model: ResponseModel, flagged: BoolArray, robust: bool = True) -> RobustStart:
    """Start of a model with one response per row.

    From all rows, and from the rows that are not flagged, rows are reweighted by exp(-z^2 / 2 s^2) while s shrinks to
    the model's own scale 1; every stage is a candidate. The candidates are compared by the number of clean rows among
    those that are not flagged: an exact fit to a tight group loses because "too many zeros" is not N(0, 1) either,
    which trimmed least squares would not notice.

    Parameters
    ----------
    flagged : ndarray of bool, shape (n,)
    robust : bool
        False stops at the plain mode of the rows that are not flagged.
    """
    began = time.perf_counter()
    plain = ~flagged
    found: list[tuple[Candidate, FloatArray]] = []
    unit = np.ones(model.n_rows)
    for label, keep in {"all rows": np.ones_like(plain), "rows not flagged": plain}.items():
        if label != "all rows" and not flagged.any():
            continue
        for name, theta in _descend(model, keep, robust):
            shares, near = bin_shares(model, theta, unit)
            clean = clean_count(near[plain] @ shares[plain], 0.0)
            found.append((Candidate(f"{label}, {name}", clean), theta))
    best = max(range(len(found)), key=lambda index: (found[index][0].score, -index))
    return RobustStart(
        found[best][1],
        found[best][0].name,
        tuple(candidate for candidate, _ in found),
        flagged,
        time.perf_counter() - began,
    )


def _descend(model: ResponseModel, keep: BoolArray, robust: bool) -> list[tuple[str, FloatArray]]:
    """Candidates (name, theta) from the rows to keep (n,): Huber's weights first, then a shrinking window."""
    base = keep.astype(np.float64)
    theta = weighted_mode(model, base, model.initial)
    if not robust:
        return [("plain mode", theta)]
    z = residuals(model, theta)
    for _ in range(4):
        scale = max(1.4826 * float(np.median(np.abs(z[keep]))), 1.0)
        theta = weighted_mode(model, base * np.minimum(1.0, HUBER * scale / np.maximum(np.abs(z), 1e-9)), theta, 5)
        z = residuals(model, theta)
    found = []
    scale = max(1.5 * 1.4826 * float(np.median(np.abs(z[keep]))), 1.0)
    while True:
        for _ in range(2 if scale > 1.0 else 4):
            theta = weighted_mode(model, base * np.exp(-0.5 * (z / scale) ** 2), theta, 3)
            z = residuals(model, theta)
        found.append((f"residuals up to {scale:.3g}", theta))
        if scale <= 1.0:
            return found
        scale = max(1.0, scale / SHRINK)
