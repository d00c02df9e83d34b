"""The theorem with its slips mended; docs/errata.md has the derivation of each change.

The chain of the proof, with G = n^2 epsilon C_R (C_sigma1 V + C_sigma2) l a bound on the mean squared gradient error,
V a bound on E|theta - mode|^2, l = 1 + log d:

    d/dt KL <= -m KL + L^2 (eta^2 (2 L^2 V + 2 G) + 2 d eta) + G

1. the increment within a step moves along the *estimated* gradient, hence 2 L^2 V + 2 G and not L^2 V;
2. V starts at d / L + |mode|^2, not below the stationary value, and decays: V_k <= B + (1 - m-bar h / 2)^k (V_0 - B)_+;
3. KL(p_0 | p*) <= d/2 log(L/m) + L/2 |mode|^2;
4. log d is 1 + log d, as the recursion of Appendix A gives;
5. the term with C_sigma1 d / n carries 1 / m-bar^3, not 1 / m-bar^2.

Talagrand's inequality, W2^2 <= 2 KL / m, then gives the bound; ``Bound.kl`` is the KL divergence itself.
"""

from __future__ import annotations

import math

from robula.theory._checks import check_contamination, check_count, check_curvatures, check_non_negative, check_positive
from robula.theory.bounds import Bound, Recursion, theorem_conditions
from robula.theory.bounds import initial_kl as kl_of_start
from robula.theory.constants import Constants


def corrected_wasserstein_bound(
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
    mode_norm: float = 0.0,
    initial_kl: float | None = None,
    log_dim: float | None = None,
    recursion: Recursion = "truncated",
) -> Bound:
    """Bound W2^2 after ``steps`` steps from N(0, I / L), with the proof's slips mended.

    Parameters are those of :func:`wasserstein_bound`; ``mode_norm`` is the length of the clean posterior's mode, and
    ``log_dim`` defaults to 1 + log d.
    """
    steps, dim, n = check_count(steps, "steps", 0), check_count(dim, "dim", 1), check_count(n, "n", 1)
    eta = check_positive(step_size, "step_size", "a step size")
    epsilon = check_contamination(contamination)
    L, m = check_curvatures(smoothness, strong_convexity)
    mode = check_non_negative(mode_norm, "mode_norm")
    C_R = check_non_negative(C_R, "C_R")
    first, second = C_R * check_non_negative(C_sigma1, "C_sigma1"), C_R * check_non_negative(C_sigma2, "C_sigma2")
    log_d = 1.0 + math.log(dim) if log_dim is None else check_non_negative(log_dim, "log_dim")
    kl = kl_of_start(dim, L, m, mode, n) if initial_kl is None else check_non_negative(initial_kl, "initial_kl")
    h, share = n * eta, dim / n
    level = epsilon * log_d

    stationary = 4.0 * second * level / m**2 + 4.0 * share / m  # lem:var
    excess = max(dim / (n * L) + mode**2 - stationary, 0.0)
    # 2 / (n m)^2 times the increments above, as coefficients of V and of 1; divided by n^2 already.
    per_moment_step = 2.0 * L**4 * h**2 + 2.0 * L**2 * h**2 * first * level
    per_moment_error = first * level
    constant_step = 2.0 * L**2 * h**2 * second * level + 2.0 * L**2 * share * h
    constant_error = second * level
    scale = 2.0 / m**2
    # Sum over past steps of exp(-m h (k - 1 - j)) (1 - exp(-m h)) (1 - m h / 2)^j: how much of the start's excess is
    # left.
    decay, shrink = math.exp(-m * h), 1.0 - 0.5 * m * h
    remaining = (1.0 - decay) * (shrink**steps - decay**steps) / (shrink - decay) if m * h > 1e-12 else 0.0
    initial = 2.0 * math.exp(-m * steps * h) / (n * m) * kl
    initial += scale * (per_moment_step + per_moment_error) * excess * remaining
    return Bound(
        initial,
        scale * (per_moment_step * stationary + constant_step),
        scale * (per_moment_error * stationary + constant_error),
        theorem_conditions(eta, n, epsilon, L, m, first, log_d, dim, recursion),
        2.0 / (n * m),
    )


def bound_for(
    constants: Constants, steps: int, step_size: float, C_R: float, recursion: Recursion = "truncated"
) -> Bound:
    """Return the corrected bound for a problem whose constants are known."""
    return corrected_wasserstein_bound(
        steps,
        step_size,
        constants.n,
        constants.dim,
        constants.contamination,
        constants.smoothness,
        constants.strong_convexity,
        C_R,
        constants.C_sigma1,
        constants.C_sigma2,
        constants.mode_norm,
        recursion=recursion,
    )
