"""How far empirical moments of Gaussian rows are from their population values, with constants.

What the corollaries need before any data are seen: the extreme singular values of the design, its norm from l2 to l4
(Assumption 4) and the mean fourth power of the noise (lem:gauss_fourth_moment).
"""

from __future__ import annotations

import math

from robula.exceptions import InputError
from robula.theory._checks import check_count, check_non_negative, check_positive

#: Var z^4 = E z^8 - 9 for a standard normal z.
_VARIANCE = 96.0
#: C_z4 of lem:gauss_fourth_moment, which the paper leaves open; see :func:`fourth_moment_tail`.
C_Z4 = math.sqrt(math.e * math.sqrt(_VARIANCE))


def check_probability(delta: float) -> float:
    """Return a probability of failure strictly between 0 and 1."""
    if not 0.0 < check_positive(delta, "delta", "the probability of failure") < 1.0:
        raise InputError(f"delta={delta} is not allowed: pass a probability between 0 and 1.")
    return float(delta)


def gaussian_excess(dim: int, delta: float) -> float:
    """sqrt(d) + sqrt(2 log(1 / delta)): a standard normal vector (d,) is longer with probability at most delta.

    The singular values of a standard normal (N, d) matrix lie within sqrt(N) -+ this, each side with probability
    1 - delta (Davidson and Szarek 2001, theorem II.13).

    Parameters
    ----------
    dim : int
        Number of dimensions d.
    delta : float
        Probability with which the bound may fail, between 0 and 1.

    Returns
    -------
    float
    """
    return math.sqrt(check_count(dim, "dim", 1)) + math.sqrt(2.0 * math.log(1.0 / check_probability(delta)))


def gaussian_fourth_norm(rows: float, dim: int, delta: float) -> float:
    """Bound on sup over unit v of mean_i (v'x_i)^4 for N standard normal rows, with probability 1 - delta.

    ((3 N)^(1/4) + sqrt(d) + sqrt(2 log(1 / delta)))^4 / N: Chevet's inequality bounds the mean of the norm from l2 to
    l4 by E|g|_4 + E|h|_2, and the norm is a 1-Lipschitz function of the matrix.

    Parameters
    ----------
    rows : float
        Number of rows N.
    dim : int
        Number of dimensions d.
    delta : float
        Probability with which the bound may fail, between 0 and 1.

    Returns
    -------
    float
    """
    count = check_positive(rows, "rows", "the number of rows")
    return (math.pow(3.0 * count, 0.25) + gaussian_excess(dim, delta)) ** 4 / count


def gaussian_fourth_moment(rows: float, delta: float, scale: float = 1.0) -> float:
    """Bound on mean_i z_i^4 for N independent normal z of standard deviation ``scale``, with probability 1 - delta.

    3 plus the smaller of Cantelli's sqrt(96 / N (1 / delta - 1)) and, as in lem:gauss_fourth_moment,
    e (log(1 / delta) - 1)^2 sqrt(96 / N).

    Parameters
    ----------
    rows : float
        Number of rows N.
    delta : float
        Probability with which the bound may fail, between 0 and 1.
    scale : float, optional
        Standard deviation of z.

    Returns
    -------
    float
    """
    spread = math.sqrt(_VARIANCE / check_positive(rows, "rows", "the number of rows"))
    odds = 1.0 / check_probability(delta)
    deviations = [math.sqrt(odds - 1.0)]
    if math.log(odds) >= 2.0:
        deviations.append(math.e * (math.log(odds) - 1.0) ** 2)
    return check_positive(scale, "scale", "the standard deviation") ** 4 * (3.0 + spread * min(deviations))


def fourth_moment_tail(rows: int, deviation: float, constant: float = C_Z4) -> float:
    """lem:gauss_fourth_moment: P(|mean z^4 - 3| >= deviation) <= e^2 exp(-n^(1/4) deviation^(1/2) / C_z4), z ~ N(0, 1).

    The paper leaves C_z4 open; (e sqrt(96))^(1/2) = 5.16 is enough. With Q = mean z^4 - 3, hypercontractivity gives
    |Q|_p <= (p - 1)^2 sqrt(96 / n) for p >= 2, so P(|Q| >= e (p - 1)^2 sqrt(96 / n)) <= e^-p.

    Parameters
    ----------
    rows : int
        Number of values n.
    deviation : float
        Distance of the mean fourth power from 3.
    constant : float, optional
        C_z4.

    Returns
    -------
    float
        At most 1.
    """
    n = check_count(rows, "rows", 1)
    away = check_non_negative(deviation, "deviation")
    exponent = math.pow(n, 0.25) * math.sqrt(away) / check_positive(constant, "constant", "C_z4")
    return min(1.0, math.exp(2.0 - exponent))
