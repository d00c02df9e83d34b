"""The robust mean's error: lem:rob_bound, Appendix A, and the universal constant that can only be measured.

All of Appendix A needs a share of bad rows below 1/6, at every level of the recursion. As printed, Algorithm 2 does not
keep it there: it recurses on the *truncated* rows, so the share of bad rows grows by up to 1 / (1 - epsilon)^2 a level,
and these are one level's figures, not bounds. Recursing on all rows (``RecursiveMean(variant="all_rows")``) mends the
proof and makes its constants computable; docs/errata.md has both derivations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robula.exceptions import InputError
from robula.theory._checks import check_contamination, check_count, check_non_negative, check_positive

#: Appendix A asks for a share of bad rows below this, at every level of the recursion.
APPENDIX_LIMIT = 1.0 / 6.0
#: The proof for all rows needs (1 - eta)^2 > 1/2: two intervals that each hold this share must meet.
ALL_ROWS_LIMIT = 1.0 - math.sqrt(0.5)


def recursion_levels(dim: int) -> int:
    """Number of halvings ceil(log2 d) from d dimensions to one: the truncations before the last estimate.

    Parameters
    ----------
    dim : int
        Number of dimensions d.

    Returns
    -------
    int
    """
    return (check_count(dim, "dim", 1) - 1).bit_length()


def last_level_share(contamination: float, dim: int) -> float:
    """Largest share of bad rows that the last level of Algorithm 2 as printed can meet.

    epsilon / (1 - epsilon)^(2 ceil(log2 d)), at most 1: what is left if no bad row is ever cut.

    Parameters
    ----------
    contamination : float
        The share of bad rows that is declared, in [0, 0.5).
    dim : int
        Number of dimensions d.

    Returns
    -------
    float
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

    Parameters
    ----------
    dim : int
        Number of dimensions d.
    level : float
        eta, the share of bad rows that the estimator is told; above 0 and below 1 - sqrt(1/2) = 0.293.
    fourth_moment : float
        C_4, the bound on E (v'x)^4 / (E (v'x)^2)^2 over directions v.

    Returns
    -------
    float
    """
    eta = check_positive(level, "level", "the share of bad rows")
    return all_rows_error_bound(dim, eta, 1.0, fourth_moment) ** 2 / (eta * (1.0 + math.log(dim)))


def gradient_error_bound(
    dim: int, level: float, covariance_norm: float, fourth_moment: float, constant: float, log_dim: float | None = None
) -> float:
    """lem:rob_bound: C_1 C_4^(1/4) sqrt(gamma log d |Sigma_theta|), with log d as printed unless ``log_dim`` is given.

    Parameters
    ----------
    level : float
        gamma = epsilon + e_n.
    constant : float
        The universal constant C_1; the paper does not give it.
    """
    dim = check_count(dim, "dim", 1)
    log_d = math.log(dim) if log_dim is None else check_non_negative(log_dim, "log_dim")
    size = _appendix_level(level) * log_d * check_non_negative(covariance_norm, "covariance_norm")
    return _factor(fourth_moment, constant) * math.sqrt(size)


def one_dimensional_error(level: float, scale: float, fourth_moment: float, constant: float = 1.0) -> float:
    """lem:1d_robust: C C_4^(1/4) sigma eta^(3/4).

    Parameters
    ----------
    level : float
        eta, the share of bad rows, in [0, 1/6).
    scale : float
        Standard deviation sigma of the clean points.
    fourth_moment : float
        C_4, the bound on E (v'x)^4 / (E (v'x)^2)^2 over directions v.
    constant : float, optional
        The universal constant C; the paper does not give it.

    Returns
    -------
    float
    """
    eta = _appendix_level(level)
    return _factor(fourth_moment, constant) * check_non_negative(scale, "scale") * math.pow(eta, 0.75)


def ball_radius(
    dim: int, level: float, covariance_norm: float, covariance_trace: float, fourth_moment: float, constant: float = 1.0
) -> float:
    """lem:bnd_ptn_rad: C C_4^(1/4) (sqrt(d |Sigma|) / eta^(1/4) + sqrt(tr Sigma) eta^(3/4)), for eta above 0.

    Parameters
    ----------
    dim : int
        Number of dimensions d.
    level : float
        eta, the share of bad rows, in (0, 1/6).
    covariance_norm : float
        Largest eigenvalue of the clean points' covariance.
    covariance_trace : float
        Trace of the same covariance.
    fourth_moment : float
        C_4, the bound on E (v'x)^4 / (E (v'x)^2)^2 over directions v.
    constant : float, optional
        The universal constant C; the paper does not give it.

    Returns
    -------
    float
    """
    eta = check_positive(_appendix_level(level), "level", "the share of outliers")
    dim = check_count(dim, "dim", 1)
    near = math.sqrt(dim * check_non_negative(covariance_norm, "covariance_norm")) / math.pow(eta, 0.25)
    far = math.sqrt(check_non_negative(covariance_trace, "covariance_trace")) * math.pow(eta, 0.75)
    return _factor(fourth_moment, constant) * (near + far)


def truncation_shift(
    level: float, covariance_norm: float, fourth_moment: float, constant: float = 1.0
) -> tuple[float, float]:
    """lem:shifts: bounds on the shift of the clean mean and on the clean covariance's norm after truncation.

    Parameters
    ----------
    level : float
        eta, the share of bad rows, in [0, 1/6).
    covariance_norm : float
        Largest eigenvalue of the clean points' covariance.
    fourth_moment : float
        C_4, the bound on E (v'x)^4 / (E (v'x)^2)^2 over directions v.
    constant : float, optional
        The universal constant C; the paper does not give it.

    Returns
    -------
    tuple of float
        Bound on the length of the shift, and on the norm of the covariance.
    """
    eta = _appendix_level(level)
    size = check_non_negative(covariance_norm, "covariance_norm")
    return _factor(fourth_moment, constant) * math.pow(eta, 0.75) * math.sqrt(size), (constant * eta + 1.0) * size


def low_variance_error(level: float, covariance_norm: float, fourth_moment: float, constant: float = 1.0) -> float:
    """lem:error_bnd_proj: bound on |eta P_W delta_mu|^2, eta ((C eta + 1) + C C_4^(1/2) eta^(1/2)) |Sigma|.

    Parameters
    ----------
    level : float
        eta, the share of bad rows, in [0, 1/6).
    covariance_norm : float
        Largest eigenvalue of the clean points' covariance.
    fourth_moment : float
        C_4, the bound on E (v'x)^4 / (E (v'x)^2)^2 over directions v.
    constant : float, optional
        The universal constant C; the paper does not give it.

    Returns
    -------
    float
    """
    eta = _appendix_level(level)
    size = check_non_negative(covariance_norm, "covariance_norm")
    return eta * ((constant * eta + 1.0) + constant * math.sqrt(fourth_moment * eta)) * size


def _appendix_level(level: float) -> float:
    """Return a share of bad rows for which Appendix A is proved."""
    eta = check_contamination(level)
    if eta >= APPENDIX_LIMIT:
        raise InputError(f"level={eta:g} is not allowed: Appendix A needs a share of bad rows below 1/6.")
    return eta


def _factor(fourth_moment: float, constant: float) -> float:
    """C C_4^(1/4), which every piece carries."""
    moment = check_non_negative(fourth_moment, "fourth_moment")
    return check_non_negative(constant, "constant") * math.sqrt(math.sqrt(moment))


class MeasuredConstant(NamedTuple):
    """A measured, not proved, value of C_R.

    Attributes
    ----------
    C_R : float
        Largest of |error|^2 / (epsilon l |Sigma_theta|) over the points tried.
    errors : ndarray, shape (points,)
        Length of the gradient error at each.
    points : int
    """

    C_R: float
    errors: NDArray[np.float64]
    points: int


def measure_gradient_constant(
    gradients: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    robust_mean: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    clean: NDArray[np.bool_],
    thetas: NDArray[np.float64],
    contamination: float,
    *,
    ball: float = 0.0,
    ball_points: int = 0,
    rng: np.random.Generator | None = None,
    log_dim: float | None = None,
) -> MeasuredConstant:
    """Measure the universal constant C_R on the points a chain visits, and on a ball around their mean.

    Parameters
    ----------
    gradients : callable
        theta (d,) to the rows' gradients (n, d).
    robust_mean : callable
        Points (n, d) to their robust mean (d,).
    clean : ndarray of bool, shape (n,)
        Which rows are clean: known in simulations only.
    thetas : ndarray, shape (m, d)
    contamination : float
        epsilon, above 0.
    ball, ball_points : float, int
        Radius of the ball and number of uniform points in it, drawn with ``rng``.
    log_dim : float, optional
        Stands for log d; None is 1 + log d.
    """
    points = np.atleast_2d(np.asarray(thetas, dtype=np.float64))
    dim = points.shape[1]
    epsilon = check_contamination(contamination)
    if epsilon == 0.0:
        raise InputError("contamination is 0: the constant multiplies nothing and cannot be measured.")
    if ball_points:
        if rng is None:
            raise InputError("ball_points needs rng, a numpy.random.Generator.")
        directions = rng.standard_normal((ball_points, dim))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        radii = ball * rng.uniform(size=(ball_points, 1)) ** (1.0 / dim)
        points = np.vstack([points, points.mean(axis=0) + radii * directions])
    log_d = 1.0 + math.log(dim) if log_dim is None else check_positive(log_dim, "log_dim", "log d")
    ratios, errors = [], []
    for theta in points:
        rows = gradients(theta)
        good = rows[clean]
        error = float(np.linalg.norm(robust_mean(rows) - good.mean(axis=0)))
        centred = good - good.mean(axis=0)
        norm = float(np.linalg.eigvalsh(centred.T @ centred / len(good))[-1])
        errors.append(error)
        ratios.append(error**2 / (epsilon * log_d * norm) if norm > 0 else 0.0)
    return MeasuredConstant(max(ratios), np.asarray(errors), len(points))
