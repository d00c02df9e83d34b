"""The constants of the two corollaries (cor:rbme, cor:rbls) from data, mended where needed."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robula.exceptions import InputError
from robula.theory._checks import check_contamination, check_count, check_non_negative, check_positive
from robula.theory.concentration import check_probability


class ContaminationLevel(NamedTuple):
    """Share of bad rows in a sample, with probability 1 - delta (eq:bnd_ep_m, eq:bnd_dc).

    Attributes
    ----------
    level : float
        epsilon + e_n, the paper's gamma: what a robust mean should be given.
    lower : float
        epsilon - e_n, at least 0.
    margin : float
        e_n = sqrt(2 / n log(1 / delta)).
    clean_rows : (float, float)
        Both sides of |D_c|: n (1 - epsilon - e_n) and n (1 - epsilon + e_n).
    """

    level: float
    lower: float
    margin: float
    clean_rows: tuple[float, float]


class Constants(NamedTuple):
    """Everything the theorem needs about a problem.

    Attributes
    ----------
    n, dim : int
    contamination : float
        Bound on the share of bad rows among the n: as declared, or gamma = epsilon + e_n where ``delta`` was given.
    smoothness, strong_convexity : float
        L-bar and m-bar.
    C_sigma1, C_sigma2 : float
        |Sigma_theta| <= C_sigma1 |theta - mode|^2 + C_sigma2.
    mode_norm : float
        Length of the clean posterior's mode.
    width : float
        Posterior width sqrt(tr Cov); known for Gaussian posteriors, else its lower bound sqrt(d / L).
    """

    n: int
    dim: int
    contamination: float
    smoothness: float
    strong_convexity: float
    C_sigma1: float
    C_sigma2: float
    mode_norm: float
    width: float


def contamination_level(contamination: float, n: int, delta: float = 0.05) -> ContaminationLevel:
    """Bound the share of bad rows among n independent ones, each bad with probability ``contamination``.

    The paper's e_n is twice what Hoeffding's inequality needs for one side; it is kept.

    Parameters
    ----------
    contamination : float
        epsilon, in [0, 0.5).
    n : int
        Number of rows.
    delta : float, optional
        Probability with which the bound may fail, between 0 and 1.

    Returns
    -------
    ContaminationLevel
    """
    epsilon, n = check_contamination(contamination), check_count(n, "n", 1)
    check_probability(delta)
    margin = math.sqrt(2.0 / n * math.log(1.0 / delta))
    return ContaminationLevel(
        epsilon + margin,
        max(epsilon - margin, 0.0),
        margin,
        (n * max(1.0 - epsilon - margin, 0.0), n * min(1.0 - epsilon + margin, 1.0)),
    )


def share_of_bad_rows(contamination: float, n: int, delta: float | None) -> float:
    """Return the declared share, or gamma = epsilon + e_n where ``delta`` says that it is a probability."""
    epsilon = check_contamination(contamination)
    if delta is None:
        return epsilon
    level = contamination_level(epsilon, n, delta)
    if level.level >= 0.5:
        raise InputError(
            f"contamination={epsilon:g} as a probability means up to {level.level:.2f} of n={n} rows with probability "
            f"1 - delta, delta={delta:g}: one half or more cannot be told apart. Use more rows or a larger delta."
        )
    return level.level


def mean_constants(
    clean: ArrayLike,
    n: int,
    *,
    covariance: ArrayLike | None = None,
    prior_mean: ArrayLike = 0.0,
    prior_covariance: ArrayLike = 1.0,
    contamination: float = 0.0,
    delta: float | None = None,
) -> Constants:
    """Constants of mean estimation (cor:rbme) from the clean rows.

    Parameters
    ----------
    clean : array-like, shape (n_c, d)
    n : int
        Number of all rows; the averages are per row of the whole data set.
    covariance : array-like, optional
        Known covariance Sigma of a row: scalar, (d,) or (d, d); None is the identity.
    prior_mean, prior_covariance : array-like
    contamination : float
        Bound on the share of bad rows, or with ``delta`` the probability that a row is bad.
    delta : float, optional
        Take gamma = epsilon + e_n, a bound on the share with probability 1 - delta (eq:bnd_ep_m), as lem:rob_bound.

    Notes
    -----
    Cov of the gradients is Sigma^-1 Sigma_z Sigma^-1, so C_sigma2 is its largest eigenvalue; the paper has
    lambda_max(Sigma_z) / lambda_min(Sigma), from Sigma^-1 Sigma_z. C_sigma1 is 0.
    """
    rows = _matrix(clean, "clean")
    n_clean, dim = rows.shape
    n = check_count(n, "n", n_clean)
    precision = np.linalg.inv(as_covariance(1.0 if covariance is None else covariance, dim, "covariance"))
    prior_precision = np.linalg.inv(as_covariance(prior_covariance, dim, "prior_covariance"))
    centred = rows - rows.mean(axis=0)
    gradient_covariance = precision @ (centred.T @ centred / n_clean) @ precision
    hessian = n_clean * precision + prior_precision
    mean0 = _vector(prior_mean, dim, "prior_mean")
    mode = np.linalg.solve(hessian, precision @ rows.sum(axis=0) + prior_precision @ mean0)
    gamma = share_of_bad_rows(contamination, n, delta)
    return _constants(n, dim, gamma, hessian, 0.0, float(np.linalg.eigvalsh(gradient_covariance)[-1]), mode)


def regression_constants(
    clean_X: ArrayLike,
    n: int,
    *,
    noise_scale: float,
    truth: ArrayLike,
    clean_y: ArrayLike,
    prior_mean: ArrayLike = 0.0,
    prior_covariance: ArrayLike = 1.0,
    contamination: float = 0.0,
    delta: float | None = None,
    fourth_moment: float | None = None,
) -> Constants:
    """Constants of linear regression (cor:rbls) from the clean rows and the true coefficients.

    Parameters
    ----------
    clean_X, clean_y : array-like, shapes (n_c, d) and (n_c,)
    n : int
        Number of all rows.
    noise_scale : float
        sigma.
    truth : array-like, shape (d,)
        theta*, around which the noise is y - x'theta*.
    contamination, delta : float
        As for :func:`mean_constants`.
    fourth_moment : float, optional
        C_x4 of Assumption 4; None takes the upper bound of :func:`fourth_moment_constant`.

    Notes
    -----
    Mended: the curvature carries 1 / sigma^2 and the gradients' covariance 1 / sigma^4; the product of the two fourth
    moments stays a product:

        |Sigma_theta| <= sqrt(C_x4) |S| (sqrt(8 C_x4) |S| |theta - theta*|^2 + sqrt(8 E z^4)) / sigma^4

    and |theta - theta*|^2 <= 2 |theta - mode|^2 + 2 |mode - theta*|^2. E z^4 is that of the data.
    """
    X = _matrix(clean_X, "clean_X")
    n_clean, dim = X.shape
    y = _vector(clean_y, n_clean, "clean_y")
    n = check_count(n, "n", n_clean)
    sigma = check_positive(noise_scale, "noise_scale", "the noise's standard deviation")
    star = _vector(truth, dim, "truth")
    prior_precision = np.linalg.inv(as_covariance(prior_covariance, dim, "prior_covariance"))
    hessian = X.T @ X / sigma**2 + prior_precision
    mean0 = _vector(prior_mean, dim, "prior_mean")
    mode = np.linalg.solve(hessian, X.T @ y / sigma**2 + prior_precision @ mean0)
    size = float(np.linalg.eigvalsh(X.T @ X / n_clean)[-1])
    if fourth_moment is None:
        fourth_moment = fourth_moment_constant(X)[1]
    kurtosis = check_non_negative(fourth_moment, "fourth_moment")
    noise = float(((y - X @ star) ** 4).mean())
    growth = math.sqrt(8.0) * kurtosis * size**2 / sigma**4
    first = 2.0 * growth
    at_the_mode = math.sqrt(8.0 * kurtosis * noise) * size / sigma**4
    second = 2.0 * growth * float(((mode - star) ** 2).sum()) + at_the_mode
    return _constants(n, dim, share_of_bad_rows(contamination, n, delta), hessian, first, second, mode)


def fourth_moment_constant(points: ArrayLike, iterations: int = 50) -> tuple[float, float]:
    """Bracket sup over directions v of E (v'x)^4 / (E (v'x)^2)^2 (Assumption 4).

    The lower end is the best local maximum found from many starts; the upper end is proved: with z the whitened points,
    (v'z)^4 <= |z|^2 (v'z)^2, so the supremum is at most the largest eigenvalue of E |z|^2 z z'.

    Parameters
    ----------
    points : array-like, shape (n, d)
    iterations : int, optional
        Steps of the search for the lower end.

    Returns
    -------
    tuple of float
        The lower and the upper end.
    """
    rows = _matrix(points, "points")
    values, vectors = np.linalg.eigh(rows.T @ rows / len(rows))
    if not values[0] > 1e-12 * values[-1]:
        raise InputError("the points do not span their space, so the fourth-moment constant is not defined.")
    white = rows @ (vectors / np.sqrt(values))
    norms = (white**2).sum(axis=1)
    upper = float(np.linalg.eigvalsh((white * norms[:, None]).T @ white / len(rows))[-1])
    # Start at the most extreme rows and at the axes; v <- E (v'z)^3 z increases E (v'z)^4.
    starts = np.vstack([white[np.argsort(-norms)[:10]], np.eye(white.shape[1])])
    directions = starts / np.linalg.norm(starts, axis=1, keepdims=True)
    for _ in range(iterations):
        directions = ((directions @ white.T) ** 3) @ white
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    lower = float(((directions @ white.T) ** 4).mean(axis=1).max())
    return lower, max(upper, lower)


def _constants(
    n: int,
    dim: int,
    contamination: float,
    hessian: NDArray[np.floating],
    first: float,
    second: float,
    mode: NDArray[np.floating],
) -> Constants:
    values = np.linalg.eigvalsh(hessian)
    width = math.sqrt(float((1.0 / values).sum()))
    return Constants(
        n,
        dim,
        check_contamination(contamination),
        float(values[-1]) / n,
        float(values[0]) / n,
        first,
        second,
        float(np.linalg.norm(mode)),
        width,
    )


def _numbers(value: ArrayLike, name: str) -> NDArray[np.float64]:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} does not hold numbers only ({error}).") from error


def _vector(value: ArrayLike, length: int, name: str) -> NDArray[np.float64]:
    array = _numbers(value, name)
    if array.shape not in ((), (length,)) or not np.isfinite(array).all():
        raise InputError(f"{name} has shape {array.shape}; pass {length} finite numbers, or one for all.")
    return np.broadcast_to(array, (length,))


def _matrix(value: ArrayLike, name: str) -> NDArray[np.float64]:
    array = _numbers(value, name)
    if array.ndim != 2 or len(array) < 2 or array.shape[1] < 1 or not np.isfinite(array).all():
        raise InputError(f"{name} has shape {array.shape}; pass finite numbers (rows, columns), 2 rows or more.")
    return array


def as_covariance(value: ArrayLike, dim: int, name: str) -> NDArray[np.float64]:
    """Return a positive-definite (dim, dim) matrix given as a variance, variances or in full."""
    array = np.asarray(value, dtype=np.float64)
    matrix = array if array.ndim == 2 else np.diag(np.broadcast_to(array, dim))
    if matrix.shape != (dim, dim) or not np.isfinite(matrix).all() or not np.linalg.eigvalsh(matrix)[0] > 0:
        raise InputError(f"{name} must be positive definite: a variance, {dim} variances or a ({dim}, {dim}) matrix.")
    return matrix
