"""The main theorem as printed (thm:RULA_conv) and the two lemmas it rests on.

Notation: n rows, d dimensions, epsilon the contamination; L-bar and m-bar the largest and smallest curvature of the
clean negative log posterior divided by n; eta the step size, h = n eta. All bounds are on the *squared* Wasserstein-2
distance, and hold for whatever estimator meets the theorem's hypothesis on the gradient error. Lemma lem:rob_bound
claims it for Algorithm 2; as printed it fails there unless the share of bad rows stays below 1/6 at every level of the
recursion, and with the recursion on all rows it is proved (docs/errata.md): ``recursion=`` says which is meant, and the
share is one of the bound's conditions.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from robula._validation import check_name
from robula.theory._checks import check_contamination, check_count, check_curvatures, check_non_negative, check_positive
from robula.theory.gradient_error import ALL_ROWS_LIMIT, APPENDIX_LIMIT, last_level_share

#: How Algorithm 2 is read: the recursion goes on with the truncated rows, as printed, or starts from all rows.
Recursion = Literal["truncated", "all_rows"]


class Condition(NamedTuple):
    """A hypothesis of the theorem: ``value`` at most ``limit``; ``factor`` is their ratio, above 1 if violated."""

    name: str
    value: float
    limit: float
    factor: float
    satisfied: bool


class Bound(NamedTuple):
    """A bound on the squared W2 distance between the k-th iterate and the clean posterior, and its parts.

    Attributes
    ----------
    initial : float
        What is left of the start, term (I) of the remark; decays with the number of steps.
    discretization : float
        Term (II): the step size.
    contamination : float
        Term (III): the bad rows; neither steps nor rows remove it.
    conditions : tuple of Condition
        Where one is violated the number is not a bound; see :attr:`valid`.
    talagrand : float
        2 / (n m-bar): W2^2 is at most this times the KL divergence, which is what the proof bounds.
    """

    initial: float
    discretization: float
    contamination: float
    conditions: tuple[Condition, ...]
    talagrand: float

    @property
    def total(self) -> float:
        """Bound on W2 squared."""
        return self.initial + self.discretization + self.contamination

    @property
    def w2(self) -> float:
        """Bound on W2 itself."""
        return math.sqrt(self.total)

    @property
    def kl(self) -> float:
        """Bound on KL(p_k | p*), the end of the proof before Talagrand's inequality."""
        return self.total / self.talagrand

    @property
    def valid(self) -> bool:
        """Whether every condition holds."""
        return all(condition.satisfied for condition in self.conditions)

    @property
    def violations(self) -> tuple[str, ...]:
        """Say which conditions fail, and by what factor."""
        return tuple(
            f"{condition.name}: {condition.value:.3g} is {condition.factor:.3g} times the limit {condition.limit:.3g}"
            for condition in self.conditions
            if not condition.satisfied
        )


def at_most(name: str, value: float, limit: float) -> Condition:
    """Return the condition ``value <= limit``, up to rounding."""
    factor = value / limit if limit > 0 else (math.inf if value > 0 else 0.0)
    return Condition(name, value, limit, factor, factor <= 1.0 + 1e-12)


def theorem_conditions(
    step_size: float,
    n: int,
    contamination: float,
    smoothness: float,
    strong_convexity: float,
    product: float,
    log_dim: float,
    dim: int,
    recursion: Recursion,
) -> tuple[Condition, ...]:
    """Return the theorem's two hypotheses, and that of the lemma behind it; ``product`` is C_R C_sigma1."""
    limit = strong_convexity**2 / (4.0 * product * log_dim) if product * log_dim > 0 else math.inf
    if check_name(recursion, "recursion", ("truncated", "all_rows")) == "truncated":
        share = "share of bad rows below 1/6 at every level of Algorithm 2 as printed"
        lemma = at_most(share, last_level_share(contamination, dim), APPENDIX_LIMIT)
    else:
        share = "share of bad rows below 1 - sqrt(1/2), recursion on all rows"
        lemma = at_most(share, contamination, ALL_ROWS_LIMIT)
    return (
        at_most("step size at most 1 / (n L-bar)", step_size, 1.0 / (n * smoothness)),
        at_most("contamination at most m-bar^2 / (4 C_R C_sigma1 log d)", contamination, limit),
        lemma,
    )


def wasserstein_bound(
    steps: int,
    step_size: float,
    n: int,
    dim: int,
    contamination: float,
    smoothness: float,
    strong_convexity: float,
    C_R: float,
    C_sigma1: float,
    C_sigma2: float,
    initial_kl: float | None = None,
    log_dim: float | None = None,
    recursion: Recursion = "truncated",
) -> Bound:
    """Bound W2^2 after ``steps`` steps, exactly as thm:RULA_conv is printed.

    Parameters
    ----------
    steps : int
        k, at least 0.
    step_size : float
        eta.
    n, dim : int
    contamination : float
        Share of bad rows among the n, in [0, 0.5). If epsilon is a probability, the lemma's gamma = epsilon + e_n
        belongs here (:func:`contamination_level`).
    smoothness, strong_convexity : float
        The per-row averages L-bar and m-bar.
    C_R, C_sigma1, C_sigma2 : float
        Constants of the gradient error: |error|^2 <= n^2 epsilon C_R |Sigma_theta| log d with
        |Sigma_theta| <= C_sigma1 |theta - mode|^2 + C_sigma2.
    initial_kl : float, optional
        KL(p_0 | p*); None is the paper's d/2 log(L/m), which assumes the mode at 0 (docs/errata.md).
    log_dim : float, optional
        Stands for log d; None is log d as printed, which is 0 at d = 1. Appendix A supports 1 + log d.
    recursion : {"truncated", "all_rows"}, optional
        How Algorithm 2 is read, for the condition on the share of bad rows: as printed (``rob_ula``), or with every
        level starting from all rows (``RecursiveMean(variant="all_rows")``).

    Returns
    -------
    Bound
        The printed theorem has slips; :func:`corrected_wasserstein_bound` is the one to rely on.
    """
    steps, dim, n = check_count(steps, "steps", 0), check_count(dim, "dim", 1), check_count(n, "n", 1)
    eta = check_positive(step_size, "step_size", "a step size")
    epsilon = check_contamination(contamination)
    L, m = check_curvatures(smoothness, strong_convexity)
    first = check_non_negative(C_R, "C_R") * check_non_negative(C_sigma1, "C_sigma1")
    second = check_non_negative(C_R, "C_R") * check_non_negative(C_sigma2, "C_sigma2")
    log_d = math.log(dim) if log_dim is None else check_non_negative(log_dim, "log_dim")
    kl = 0.5 * dim * math.log(L / m) if initial_kl is None else check_non_negative(initial_kl, "initial_kl")
    h = n * eta
    share = dim / n
    # thm:RULA_conv, first displayed inequality, term by term.
    initial = 2.0 * math.exp(-m * steps * h) / (n * m) * kl
    discretization = (
        8.0 * (second * (L / m) ** 4 * epsilon * log_d + L**4 / m**3 * share) * h**2 + 4.0 * (L / m) ** 2 * share * h
    )
    corruption = epsilon * (4.0 * second / m**2 * log_d + 8.0 * first / m**2 * share * log_d)
    conditions = theorem_conditions(eta, n, epsilon, L, m, first, log_d, dim, recursion)
    return Bound(initial, discretization, corruption, conditions, 2.0 / (n * m))


def initial_kl(dim: int, smoothness: float, strong_convexity: float, mode_norm: float = 0.0, n: int = 1) -> float:
    """Bound KL(p_0 | p*) for p_0 = N(0, I / L) (lemma:initial_dist): d/2 log(L/m) + L/2 |mode|^2.

    The paper has the first term only: its proof uses |theta|^2 where |theta - mode|^2 belongs.

    Parameters
    ----------
    smoothness, strong_convexity : float
        L-bar and m-bar (with ``n``), or L and m themselves (``n = 1``).
    mode_norm : float
        Length of the mode of the clean posterior.
    n : int
    """
    dim, n = check_count(dim, "dim", 1), check_count(n, "n", 1)
    L, m = check_curvatures(smoothness, strong_convexity)
    return 0.5 * dim * math.log(L / m) + 0.5 * n * L * check_non_negative(mode_norm, "mode_norm") ** 2


def second_moment_bound(
    n: int,
    dim: int,
    contamination: float,
    strong_convexity: float,
    C_R: float,
    C_sigma2: float,
    log_dim: float | None = None,
    smoothness: float | None = None,
    mode_norm: float = 0.0,
) -> float:
    """Bound E|theta_k - mode|^2 for every k (lem:var): 4 C_R C_sigma2 epsilon log d / m-bar^2 + 4 d / (n m-bar).

    With ``smoothness`` the start is included, as it must be when the mode is not 0: the larger of this and d / L +
    |mode|^2.

    Parameters
    ----------
    n, dim : int
        Number of rows and of parameters.
    contamination : float
        epsilon, in [0, 0.5).
    strong_convexity, smoothness : float
        As for :func:`wasserstein_bound`.
    C_R, C_sigma2 : float
        As for :func:`wasserstein_bound`.
    log_dim : float, optional
        Instead of log d.
    mode_norm : float, optional
        Length of the mode.

    Returns
    -------
    float
    """
    n, dim = check_count(n, "n", 1), check_count(dim, "dim", 1)
    epsilon = check_contamination(contamination)
    m = check_positive(strong_convexity, "strong_convexity", "m-bar")
    log_d = math.log(dim) if log_dim is None else check_non_negative(log_dim, "log_dim")
    product = check_non_negative(C_R, "C_R") * check_non_negative(C_sigma2, "C_sigma2")
    stationary = 4.0 * product * epsilon * log_d / m**2 + 4.0 * dim / (n * m)
    if smoothness is None:
        return stationary
    L, _ = check_curvatures(smoothness, m)
    return max(stationary, dim / (n * L) + check_non_negative(mode_norm, "mode_norm") ** 2)
