"""The recursion of Algorithm 2: where lem:rob_bound fails as printed, and its proof with constants where all rows stay.

Algorithm 2 recurses on the *truncated* rows, so the share of bad rows grows by up to 1 / (1 - epsilon)^2 a level, while
Appendix A treats it as constant. Recursing on all rows (``RecursiveMean(variant="all_rows")``) mends the proof and
makes its constants computable; docs/errata.md has both derivations.
"""

from __future__ import annotations

import math

from robula.exceptions import InputError
from robula.theory._checks import check_contamination, check_count, check_non_negative, check_positive

#: Appendix A asks for a share of bad rows below this, at every level of the recursion.
APPENDIX_LIMIT = 1.0 / 6.0
#: The proof for all rows needs (1 - eta)^2 > 1/2: two intervals that each hold this share must meet.
ALL_ROWS_LIMIT = 1.0 - math.sqrt(0.5)


def recursion_levels(dim: int) -> int:
    """Number of halvings ceil(log2 d) from d dimensions to one: the truncations before the last estimate."""
    return (check_count(dim, "dim", 1) - 1).bit_length()


def last_level_share(contamination: float, dim: int) -> float:
    """Largest share of bad rows that the last level of Algorithm 2 as printed can meet.

    epsilon / (1 - epsilon)^(2 ceil(log2 d)), at most 1: what is left if no bad row is ever cut.
    """
    epsilon = check_contamination(contamination)
    return min(1.0, epsilon * math.pow(1.0 - epsilon, -2 * recursion_levels(dim)))


def all_rows_error_bound(dim: int, level: float, covariance_norm: float, fourth_moment: float) -> float:
    """lem:rob_bound with every constant, for Algorithm 2 with the recursion on all rows.

    Holds for any points of which at most a share ``level`` is bad, with no further probability: the law of the clean
    points is their empirical one.

    Parameters
    ----------
    dim : int
    level : float
        eta, the share of bad rows the estimator is told; below 1 - sqrt(1/2) = 0.293.
    covariance_norm : float
        Largest eigenvalue of the clean points' covariance.
    fourth_moment : float
        C_4, with E (v'(x - mu))^4 <= C_4 (v' Sigma v)^2 for every direction v; at least 1.

    Returns
    -------
    float
        Bound on the distance from the mean of the clean points.
    """
    eta = check_contamination(level)
    if eta >= ALL_ROWS_LIMIT:
        raise InputError(f"level={level:g} is not allowed: the proof needs a share below 1 - sqrt(1/2) = 0.293.")
    root = math.sqrt(math.sqrt(check_positive(fourth_moment, "fourth_moment", "the fourth-moment constant")))
    size = check_non_negative(covariance_norm, "covariance_norm")
    levels = recursion_levels(dim)
    if eta == 0.0:
        return 0.0
    kept = (1.0 - eta) ** 2
    cut = math.pow(1.0 - kept, 0.75)  # Hoelder: what the clean points that are cut can weigh
    line = root * (3.0 * math.pow(eta, 0.75) + cut) / kept  # lem:1d_robust
    shift = root * cut / (kept - eta)  # lem:shifts
    radius = root * math.pow(eta, -0.25) + 2.0 * line  # lem:bnd_ptn_rad, over sqrt(tr Sigma)
    spread = 1.0 / kept + 2.0 * eta / kept * (radius + shift / math.sqrt(2.0)) ** 2  # largest variance in W
    level_error = math.sqrt(eta / (kept - eta) * spread) + shift  # lem:error_bnd_proj and lem:shifts
    return math.sqrt(size * (levels * level_error**2 + line**2))


def all_rows_constant(dim: int, level: float, fourth_moment: float) -> float:
    """C_R of thm:RULA_conv, proved, for the recursion on all rows and a ``level`` above 0.

    The gradient error is then at most sqrt(level C_R |Sigma| (1 + log d)).
    """
    eta = check_positive(level, "level", "the share of bad rows")
    return all_rows_error_bound(dim, eta, 1.0, fourth_moment) ** 2 / (eta * (1.0 + math.log(dim)))
