"""Constants promised before any data: checked on 200 data sets each, and the inequalities they rest on."""

from __future__ import annotations

import math

import numpy as np
import pytest

import robula
from robula import theory

DELTA, DATA_SETS, CONTAMINATION = 0.05, 200, 0.1


def broken(constants: theory.Constants, hessian: np.ndarray, mode: np.ndarray, norm_at) -> bool:
    """Whether a data set breaks one of the promises: curvatures, mode, covariance of the gradients on the way out."""
    values = np.linalg.eigvalsh(hessian) / constants.n
    if values[0] < constants.strong_convexity or values[-1] > constants.smoothness:
        return True
    if np.linalg.norm(mode) > constants.mode_norm:
        return True
    direction = mode / np.linalg.norm(mode)
    return any(
        norm_at(mode + distance * direction) > constants.C_sigma1 * distance**2 + constants.C_sigma2
        for distance in (0.0, 0.5, 3.0)
    )


def spectral_norm(gradients: np.ndarray) -> float:
    centred = gradients - gradients.mean(axis=0)
    return float(np.linalg.eigvalsh(centred.T @ centred / len(centred))[-1])


SIZES = [pytest.param(1250, 200, marks=pytest.mark.slow), (300, 40), (1000, 5)]


@pytest.mark.parametrize(("n", "dim"), SIZES)
def test_mean_constants_hold_with_the_probability_they_promise(n, dim):
    truth = np.random.default_rng(0).uniform(size=dim)
    constants = theory.population_mean_constants(
        n, dim, contamination=CONTAMINATION, truth_norm=float(np.linalg.norm(truth)), delta=DELTA
    )
    found, tight = 0, 0.0
    for seed in range(DATA_SETS):
        rng = np.random.default_rng([n, dim, seed])
        count = rng.binomial(n, 1 - CONTAMINATION)
        z = truth + rng.standard_normal((count, dim))
        hessian, mode = (count + 1.0) * np.eye(dim), z.sum(axis=0) / (count + 1.0)
        norm = spectral_norm(z)
        found += broken(constants, hessian, mode, lambda _, norm=norm: norm)
        tight = max(tight, norm / constants.C_sigma2)
    assert found <= DELTA * DATA_SETS
    # The promise is worth something: the population's 1 would be exceeded everywhere at d = 200.
    assert tight > 0.75


@pytest.mark.parametrize(("n", "dim"), SIZES)
def test_regression_constants_hold_with_the_probability_they_promise(n, dim):
    truth = np.random.default_rng(0).uniform(size=dim)
    constants = theory.population_regression_constants(
        n,
        contamination=CONTAMINATION,
        truth_norm=float(np.linalg.norm(truth)),
        second_moment=np.eye(dim),
        noise_scale=1.0,
        delta=DELTA,
    )
    found = 0
    for seed in range(DATA_SETS):
        rng = np.random.default_rng([n, dim, seed])
        count = rng.binomial(n, 1 - CONTAMINATION)
        X = rng.standard_normal((count, dim))
        y = X @ truth + rng.standard_normal(count)
        hessian = X.T @ X + np.eye(dim)
        mode = np.linalg.solve(hessian, X.T @ y)
        found += broken(constants, hessian, mode, lambda theta, X=X, y=y: spectral_norm(X * (X @ theta - y)[:, None]))
    assert found <= DELTA * DATA_SETS


def test_other_scales_and_covariances(rng):
    """sigma, Sigma_z, the prior and a skewed second moment are where they belong."""
    A = rng.standard_normal((3, 3))
    moment, covariance = A @ A.T + np.eye(3), np.diag([0.5, 1.0, 2.0])
    truth = np.array([1.0, -2.0, 0.5])
    size = float(np.linalg.norm(truth))
    mean = theory.population_mean_constants(
        800, 3, contamination=0.1, truth_norm=size, covariance=covariance, row_covariance=moment, prior_covariance=0.01
    )
    regression = theory.population_regression_constants(
        800, contamination=0.1, truth_norm=size, second_moment=moment, noise_scale=0.5, prior_covariance=0.01
    )
    for _ in range(30):
        count = rng.binomial(800, 0.9)
        rows = rng.multivariate_normal(np.zeros(3), moment, size=count)
        precision = np.linalg.inv(covariance)
        hessian = count * precision + 100 * np.eye(3)
        mode = np.linalg.solve(hessian, precision @ (rows + truth).sum(axis=0))
        assert not broken(mean, hessian, mode, lambda _, rows=rows, P=precision: spectral_norm(rows @ P))
        y = rows @ truth + 0.5 * rng.standard_normal(count)
        hessian = rows.T @ rows / 0.25 + 100 * np.eye(3)
        mode = np.linalg.solve(hessian, rows.T @ y / 0.25)
        assert not broken(
            regression,
            hessian,
            mode,
            lambda theta, X=rows, y=y: spectral_norm(X * (X @ theta - y)[:, None] / 0.25),
        )
    assert theory.plan(mean, 0.8).steps > 1
    with pytest.raises(robula.exceptions.InputError, match="nothing is certain"):
        theory.population_mean_constants(3, 2, contamination=0.1, truth_norm=1.0)
    with pytest.raises(robula.exceptions.InputError, match="delta"):
        theory.population_mean_constants(300, 2, contamination=0.1, truth_norm=1.0, delta=1.5)


def test_the_fourth_moment_lemma_with_a_constant():
    """lem:gauss_fourth_moment at C_z4 = 5.16; and the bound that the constants use, on 4000 samples of 200."""
    assert pytest.approx(math.sqrt(math.e * math.sqrt(96))) == theory.C_Z4
    means = (np.random.default_rng(0).standard_normal((4000, 200)) ** 4).mean(axis=1)
    for deviation in (1.0, 3.0, 10.0, 100.0):
        assert (np.abs(means - 3.0) >= deviation).mean() <= theory.fourth_moment_tail(200, deviation)
    for delta in (0.3, 0.05, 0.01):
        assert (means > theory.gaussian_fourth_moment(200, delta)).mean() <= delta
    assert theory.gaussian_fourth_moment(200, 0.05, scale=2.0) == pytest.approx(
        16 * theory.gaussian_fourth_moment(200, 0.05)
    )
    # Far out in the tail the hypercontractive bound is the smaller one; inverting the lemma gives C_z4 squared.
    assert theory.gaussian_fourth_moment(10**6, 1e-12) == pytest.approx(
        3 + math.e * (math.log(1e12) - 1) ** 2 * math.sqrt(96 / 10**6)
    )
    deviation = theory.C_Z4**2 * math.log(math.e**2 / 0.01) ** 2 / math.sqrt(500)
    assert theory.fourth_moment_tail(500, deviation) == pytest.approx(0.01)


def test_the_fourth_norm_covers_what_samples_have(rng):
    for rows, dim in ((300, 2), (300, 40)):
        X = rng.standard_normal((rows, dim))
        directions = X / np.linalg.norm(X, axis=1, keepdims=True)
        for _ in range(20):
            directions = ((directions @ X.T) ** 3) @ X
            directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        assert ((directions @ X.T) ** 4).mean(axis=1).max() <= theory.gaussian_fourth_norm(rows, dim, 0.05)
