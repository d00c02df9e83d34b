"""Shared builders and statistical checks."""

from __future__ import annotations

import numpy as np

import robula

#: The paper's Algorithm 1, as keywords of robula.sample.
PAPER = {"selector": "recursive", "kernel": "ula", "likelihood_rows": "n", "refresh_every": 1}


def small_models(seed: int = 0, n: int = 40) -> dict[str, robula.models.Model]:
    """One of each model, on the same small design with an intercept where there is one."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    y = X @ [0.5, -1.0, 0.3] + rng.standard_normal(n)
    labels = (rng.uniform(size=n) < 1 / (1 + np.exp(-y))).astype(int)
    counts = rng.poisson(np.exp(0.3 * X[:, 0] + 0.2))
    A = rng.standard_normal((3, 3))
    full = A @ A.T + np.eye(3)
    prior = robula.NormalPrior([0.1, -0.2, 0.3, 0.4], np.diag([1.0, 2.0, 0.5, 3.0]))
    return {
        "mean": robula.MeanModel(X, prior=robula.NormalPrior(0.0, 2.0)),
        "mean-diagonal": robula.MeanModel(X, covariance=[1.0, 4.0, 0.25]),
        "mean-full": robula.MeanModel(X, covariance=full, prior=robula.NormalPrior([1.0, 2.0, 3.0], full)),
        "linear": robula.LinearModel(X, y, noise_scale=0.7),
        "linear-intercept": robula.LinearModel(X, y, noise_scale=0.7, prior=prior, intercept=True),
        "linear-unknown-scale": robula.LinearModel(X, y, noise_scale="estimate", prior=prior, intercept=True),
        "logistic": robula.LogisticModel(X, labels, prior=robula.NormalPrior(0.0, [1.0, 2.0, 3.0])),
        "poisson": robula.PoissonModel(X, counts, prior=prior, intercept=True),
        "jax": jax_linear(X, y, 0.7),
    }


def jax_linear(X: np.ndarray, y: np.ndarray, noise_scale: float, **options: object) -> robula.models.Model:
    """The linear regression of ``robula.LinearModel(X, y, noise_scale=...)`` with a N(0, 1) prior, through from_jax."""
    import jax.numpy as jnp

    def log_likelihood(parameters: dict, row: dict) -> object:
        predicted = row["x"][:-1] @ parameters["beta"] + row["x"][-1] * parameters["last"]
        standardized = (row["y"] - predicted) / noise_scale
        return -0.5 * standardized**2 - jnp.log(noise_scale) - 0.5 * jnp.log(2 * jnp.pi)

    def log_prior(parameters: dict) -> object:
        return -0.5 * (jnp.sum(parameters["beta"] ** 2) + parameters["last"] ** 2)

    init = {"beta": np.zeros(X.shape[1] - 1), "last": 0.0}
    options = {"chunk_size": 16, **options}
    return robula.from_jax(log_likelihood, {"x": X, "y": y}, log_prior=log_prior, init=init, **options)


def assert_variance(values: np.ndarray, expected: float, sigmas: float = 5.0) -> None:
    """Check the variance of independent normal values against its known law.

    The sample variance of N normals has relative standard error sqrt(2 / N); at 5 sigmas a correct sampler fails with
    probability 6e-7 per check.
    """
    error = values.var() / expected - 1.0
    assert abs(error) < sigmas * np.sqrt(2.0 / values.size), f"variance off by {error:+.3%}"
