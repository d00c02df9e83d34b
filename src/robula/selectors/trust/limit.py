"""The declared contamination is a limit: how many rows may be called bad, and whether an explanation wants more."""

from __future__ import annotations

from scipy.special import expit

from robula._types import FloatArray
from robula.selectors.trust import trust_constants as constants


def within_limit(wanted: float, budget: float, rows: int) -> bool:
    """Whether a share of rows is within the budget, with some leeway and two rows."""
    return wanted <= (1.0 + constants.LEEWAY) * budget + 2.0 / rows


def within_budget(log_odds: FloatArray, budget: float, decisive: FloatArray) -> tuple[float, FloatArray]:
    """Take the same log odds off every row until the probabilities of being bad are within the budget.

    Rows that are unmistakable (e^10 times likelier bad) are not counted beyond the budget: they go in any case.

    Returns
    -------
    wanted : float
        Share of the rows that would be called bad without a budget, unmistakable ones beyond it left out.
    doubt : ndarray, shape (n,)
        Probability of each row to be bad, within the budget.
    """
    n = len(log_odds)
    doubt: FloatArray = expit(log_odds)
    called = float(doubt.sum())
    if called <= budget * n:
        return called / n, doubt
    sure = decisive > constants.GROSS_ODDS
    certain = float(doubt[sure].sum())
    room, uncounted = max(budget * n - certain, 0.0), max(certain - budget * n, 0.0)
    unsure = log_odds[~sure]
    wanted = (called - uncounted) / n
    if float(doubt[~sure].sum()) <= room:
        return wanted, doubt
    low, high = 0.0, 1.0
    while float(expit(unsure - high).sum()) > room and high < 1e3:
        low, high = high, 2.0 * high
    for _ in range(20):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if float(expit(unsure - middle).sum()) > room else (low, middle)
    doubt[~sure] = expit(unsure - high)
    return wanted, doubt
