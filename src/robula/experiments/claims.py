"""The paper's sentences as computed checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

HOLDS, PARTLY, FAILS = "holds", "holds partly", "does not hold"
#: The settings that the claim is about were not run; or they were, and the chains did not converge.
NOT_RUN, NOT_JUDGED = "not run", "not judged"


@dataclass(frozen=True)
class Claim:
    """One sentence of the paper and what we found.

    Attributes
    ----------
    figure : str
    sentence : str
        In the paper's words, or close to them.
    check : str
        What was computed.
    verdict : {"holds", "holds partly", "does not hold", "not run", "not judged"}
    finding : str
        The figures behind the verdict.
    readings : tuple of (str, str, str)
        Where it does not hold, or would not: label, verdict and finding of the same check under other readings.
    """

    figure: str
    sentence: str
    check: str
    verdict: str
    finding: str
    readings: tuple[tuple[str, str, str], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the claim for JSON."""
        return {**asdict(self), "readings": [list(reading) for reading in self.readings]}


def verdict(passed: int, total: int) -> str:
    """Return "holds" if all parts of a check pass, "does not hold" if none does."""
    if not total:
        return NOT_RUN
    return HOLDS if passed == total else (FAILS if passed == 0 else PARTLY)


def with_readings(claims: Sequence[Claim], otherwise: Mapping[str, Sequence[Claim]]) -> list[Claim]:
    """Put beside each claim that does not hold, and beside each that another reading changes, what the readings say.

    Parameters
    ----------
    claims : sequence of Claim
    otherwise : mapping
        From the label of a reading to the claims found under it; those with the same sentence belong together.
    """
    result = []
    for claim in claims:
        found = [
            (label, other.verdict, other.finding)
            for label, others in otherwise.items()
            for other in others
            if other.sentence == claim.sentence and (claim.verdict != HOLDS or other.verdict != HOLDS)
        ]
        judged = claim.verdict in (HOLDS, PARTLY, FAILS)
        result.append(replace(claim, readings=tuple(found)) if judged else claim)
    return result


@dataclass(frozen=True)
class Curve:
    """Mean of a column over runs along one sweep, for one algorithm, with standard errors."""

    x: np.ndarray
    mean: np.ndarray
    error: np.ndarray


def curve(table: pd.DataFrame, default: dict[str, Any], sweep: str, algorithm: str, column: str) -> Curve:
    """Return the curve of one panel: ``sweep`` varies, the other settings are at their default."""
    chosen = table[table["algorithm"] == algorithm]
    for name, value in default.items():
        if name != sweep:
            chosen = chosen[chosen[name] == value]
    groups = chosen.groupby(sweep)[column]
    mean, count = groups.mean(), groups.count()
    error: pd.Series[float] = groups.std().fillna(0.0) / np.sqrt(np.maximum(count, 1))
    return Curve(mean.index.to_numpy(), mean.to_numpy(dtype=float), error.to_numpy(dtype=float))


def rises(values: Curve) -> tuple[int, int]:
    """Count the consecutive pairs in which the curve rises, up to two standard errors of the difference."""
    slack = 2.0 * np.hypot(values.error[1:], values.error[:-1])
    return int((np.diff(values.mean) > -slack).sum()), len(values.x) - 1


def falls(values: Curve) -> tuple[int, int]:
    """Count the consecutive pairs in which the curve falls, up to two standard errors of the difference."""
    return rises(Curve(values.x, -values.mean, values.error))


def path(values: Curve) -> str:
    """Write a curve's values in order."""
    return " ".join(f"{value:.3g}" for value in values.mean)
