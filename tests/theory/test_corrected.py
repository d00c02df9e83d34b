"""The corrected theorem, summed step by step from the chain of its proof, each term on its own."""

from __future__ import annotations

import math

import pytest

from robula import theory

N, DIM, EPSILON, L, M, C_R, FIRST, SECOND, MODE = 1000, 10, 0.05, 2.0, 0.5, 0.3, 0.2, 1.5, 1.7
ETA = 1e-4


@pytest.mark.parametrize("steps", [0, 1, 7, 400])
def test_the_corrected_theorem_term_by_term(steps):
    """d/dt KL <= -m KL + L^2 (eta^2 (2 L^2 V + 2 G) + 2 d eta) + G, with V_j on its way to its stationary value.

    All in units of n^2: G / n^2 = epsilon C_R (C_sigma1 V + C_sigma2) l, h = n eta, d eta = (d / n) h.
    """
    h, share, level = N * ETA, DIM / N, EPSILON * (1.0 + math.log(DIM))
    stationary = 4.0 * C_R * SECOND * level / M**2 + 4.0 * share / M
    excess = DIM / (N * L) + MODE**2 - stationary
    assert excess > 0

    def error(moment):
        return level * C_R * (FIRST * moment + SECOND)

    def step(moment):
        return L**2 * (h**2 * (2.0 * L**2 * moment + 2.0 * error(moment)) + 2.0 * share * h)

    kl = 0.5 * DIM * math.log(L / M) + 0.5 * N * L * MODE**2
    initial = 2.0 * math.exp(-M * steps * h) / (N * M) * kl
    for j in range(steps):
        moment = stationary + (1.0 - 0.5 * M * h) ** j * excess
        left = math.exp(-M * h * (steps - 1 - j)) * (1.0 - math.exp(-M * h))
        more = step(moment) + error(moment) - step(stationary) - error(stationary)
        initial += 2.0 / M**2 * left * more
    bound = theory.corrected_wasserstein_bound(steps, ETA, N, DIM, EPSILON, L, M, C_R, FIRST, SECOND, MODE)
    assert bound.initial == pytest.approx(initial)
    assert bound.discretization == pytest.approx(2.0 / M**2 * step(stationary))
    assert bound.contamination == pytest.approx(2.0 / M**2 * error(stationary))
    assert bound.valid == (M**2 / (4.0 * C_R * FIRST * (1.0 + math.log(DIM))) >= EPSILON)
