"""Kernels on whole posteriors: exact moments on a badly conditioned regression, and simulation-based calibration."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.calibration import MODELS, p_values, ranks

import robula
from robula.result.convergence import effective_sample_sizes
from robula.target.centre_search import robust_centre

pytestmark = pytest.mark.no_cover


def ill_conditioned(condition: float, n: int = 400, dim: int = 6) -> robula.LinearModel:
    """A regression whose Fisher information has the given condition number, in correlated columns."""
    rng = np.random.default_rng(5)
    X = np.linalg.qr(rng.standard_normal((n, dim)))[0] * np.sqrt(n)
    rotation = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    X = X * np.geomspace(1.0, condition, dim) ** -0.5 @ rotation.T
    return robula.LinearModel(X, X @ np.ones(dim) + rng.standard_normal(n), noise_scale=1.0)


@pytest.mark.parametrize("inner", [robula.kernels.LeimkuhlerMatthews(), robula.kernels.BAOAB()], ids=repr)
def test_preconditioned_kernels_have_the_exact_moments_of_a_badly_conditioned_posterior(inner):
    """At the default step the error is Monte Carlo error; ULA's spread in the same test is wrong."""
    model = ill_conditioned(1000.0)
    exact = model.gaussian_posterior()
    settings = {"contamination": 0.0, "selector": "mean", "draws": 4000, "burn_in": 100, "seed": 1}
    posterior = robula.sample(model, kernel=robula.kernels.Preconditioned(inner), **settings)
    gap = robula.metrics.clean_posterior_gap(posterior, exact)
    assert gap.bias < 4 * gap.bias_mcse < 0.1
    assert abs(gap.spread - 1.0) < 5 * gap.spread_mcse < 0.1
    assert posterior.summary()["ess_bulk"].min() > 2000
    ula = robula.sample(model, kernel="ula", **settings)
    assert ula.summary()["ess_bulk"].min() < 100
    crude = robula.sample(model, kernel=robula.kernels.Preconditioned(robula.kernels.ULA()), **settings)
    crude_gap = robula.metrics.clean_posterior_gap(crude, exact)
    assert crude_gap.spread == pytest.approx(np.sqrt(2.0), abs=5 * crude_gap.spread_mcse)


def test_preconditioning_does_not_depend_on_the_units_of_the_columns():
    model = ill_conditioned(10.0)
    scales = np.array([1e-3, 1.0, 1e3, 5.0, 0.2, 1e2])
    other = robula.LinearModel(model.design * scales, model.y, noise_scale=1.0)
    settings = {"contamination": 0.1, "kernel": "preconditioned_lm", "selector": "mean", "draws": 2000, "seed": 2}
    one, two = robula.sample(model, **settings), robula.sample(other, **settings)
    np.testing.assert_allclose(two.covariance * np.outer(scales, scales), one.covariance, rtol=0.2, atol=0.002)
    assert two.settings["relaxation_steps"] == pytest.approx(one.settings["relaxation_steps"])


def test_the_curvature_nearby_bounds_the_step_of_an_uneven_model():
    """A logistic posterior with few rows is stiffer beside its centre; the step follows, up to the model's bound."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    y = (X[:, 0] > 0).astype(int)
    model = robula.LogisticModel(X, y, prior=robula.NormalPrior(0.0, 25.0))
    centre = robust_centre(model, robula.SampleMean(), 0.0, "n", model.initial)
    scaling = centre.eigenvectors / np.sqrt(centre.eigenvalues)
    bound = np.linalg.eigvalsh(scaling.T @ centre.curvature.bound(centre.theta) @ scaling)[-1]
    largest = centre.largest_curvature_nearby(rng, scaling)
    assert 1.2 < largest <= bound
    posterior = robula.sample(model, contamination=0.0, selector="mean", kernel="preconditioned_lm", draws=200)
    assert 1.0 / bound <= posterior.settings["step_size"] < 1.0 / 1.2


def test_poisson_far_start_under_preconditioning():
    """The guard measures the drift in the kernel's own coordinates and brings the chains home."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 3))
    y = rng.poisson(np.exp(0.5 + X @ [0.5, -0.3, 0.8]))
    model = robula.PoissonModel(X, y, prior=robula.NormalPrior(0.0, 10.0), intercept=True)
    settings = {"contamination": 0.0, "selector": "mean", "kernel": "preconditioned_lm", "draws": 1000, "seed": 1}
    far = robula.sample(model, start=np.full(4, 5.0), burn_in=1000, **settings)
    near = robula.sample(model, burn_in=300, **settings)
    assert not far.stats["guarded"].any()
    np.testing.assert_allclose(far.mean, near.mean, atol=0.02)
    np.testing.assert_allclose(np.diag(far.covariance), np.diag(near.covariance), rtol=0.3)


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        *(
            pytest.param(name, kernel, marks=marks)
            for name, marks in (("linear", ()), ("logistic", pytest.mark.slow))
            for kernel in ("preconditioned_lm", "preconditioned_baoab")
        ),
        *((name, "auto") for name in MODELS),
    ],
)
def test_simulation_based_calibration(name, kernel):
    """A correct sampler fails a test of three parameters with probability 3e-4; the seeds are fixed.

    Fifty replications, five to a bin: the chi-square law still holds. docs/calibration.md has a thousand.
    """
    assert p_values(ranks(name, kernel, 50)).min() > 1e-4


def test_exact_draws_are_those_of_the_weighted_posterior_in_any_units():
    problem = robula.simulate.linear_regression(n_clean=300, dim=5, contamination=0.1, seed=4)
    scales = np.array([1e-4, 1.0, 1e4, 3.0, 0.1])
    model = robula.LinearModel(problem.model.design * scales, problem.model.y + 1e3, noise_scale=1.0, intercept=True)
    posterior = robula.sample(model, contamination=0.1, kernel="exact", draws=2000, seed=1)
    exact = model.gaussian_posterior(posterior.row_weights)
    away = (posterior.flat_draws - exact.mean).T
    # The doubt about rows was put into the draws by a linear map; without it they are those of the weighted rows.
    white = np.linalg.solve(
        np.linalg.cholesky(exact.covariance), np.linalg.solve(robula.trust(model, 0.1).widening, away)
    )
    assert np.abs(white.mean(axis=1)).max() < 5 / np.sqrt(white.shape[1])
    # Entries of the sample covariance of 8,000 independent standard normals: at most sqrt(2 / N) each.
    assert np.abs(np.cov(white) - np.eye(6)).max() < 5 * np.sqrt(2 / white.shape[1])
    assert posterior.summary()["ess_bulk"].min() > 6000
    # Negative control: the posterior of all rows is another one.
    plain = model.gaussian_posterior()
    assert np.abs(np.linalg.solve(np.linalg.cholesky(exact.covariance), plain.mean - exact.mean)).max() > 1.0


def skewed_logistic() -> tuple[robula.LogisticModel, np.ndarray]:
    """Few rows and a wide prior: a posterior that is far from normal."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((25, 2))
    y = (X[:, 0] + 0.5 * rng.standard_normal(25) > 0).astype(int)
    return robula.LogisticModel(X, y, prior=robula.NormalPrior(0.0, 25.0)), X


def test_adjusted_draws_have_the_moments_of_a_skewed_posterior():
    """Against integration on a grid; Euler's scheme at its default step fails the same test."""
    model, _ = skewed_logistic()
    axes = np.linspace(-6, 22, 281), np.linspace(-14, 14, 281)
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    log_density = model.log_likelihood(grid).sum(axis=1) + model.prior.log_density(grid)
    weights = np.exp(log_density - log_density.max())
    weights /= weights.sum()
    mean = weights @ grid
    variances = weights @ (grid - mean) ** 2

    def errors(kernel: str | robula.kernels.Kernel) -> np.ndarray:
        """Errors of means and variances in their Monte Carlo errors."""
        settings = {"contamination": 0.0, "selector": "mean", "draws": 4000, "burn_in": 300, "seed": 3}
        posterior = robula.sample(model, kernel=kernel, **settings)
        squares = (posterior.draws - mean) ** 2
        found = []
        for draws, exact in ((posterior.draws, mean), (squares, variances)):
            error = draws.std(axis=(0, 1)) / np.sqrt(effective_sample_sizes(draws))
            found.append((draws.mean(axis=(0, 1)) - exact) / error)
        return np.abs(np.concatenate(found))

    assert errors("hmc").max() < 4.5
    assert errors(robula.kernels.Preconditioned(robula.kernels.ULA())).max() > 6.0


def test_calibration_catches_eulers_spread():
    assert p_values(ranks("linear", robula.kernels.Preconditioned(robula.kernels.ULA()), 180)).min() < 1e-4
