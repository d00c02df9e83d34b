"""Shared builders and statistical checks."""

from __future__ import annotations

import numpy as np

import robula


class FunctionTarget:
    """A kernel's target from a drift and, optionally, a log density, both of positions (c, d)."""

    gaussian = None

    def __init__(self, drift, log_density=None) -> None:
        self.drift, self._log_density = drift, log_density

    def log_density_and_drift(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._log_density(theta), self.drift(theta)


def normal_target(precision: float) -> FunctionTarget:
    """N(0, I / precision)."""
    return FunctionTarget(lambda theta: -precision * theta, lambda theta: -0.5 * precision * (theta**2).sum(axis=1))


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
        "poisson-exposure": robula.PoissonModel(
            X, counts, prior=prior, intercept=True, exposure=1.0 + rng.uniform(size=n)
        ),
        "negative_binomial": robula.models.NegativeBinomialModel(X, counts, prior=prior, intercept=True),
        "negative_binomial-exposure": robula.models.NegativeBinomialModel(
            X, counts, prior=prior, intercept=True, exposure=1.0 + rng.uniform(size=n), offset=0.1 * X[:, 1]
        ),
        "gamma": robula.models.GammaModel(X, np.exp(0.3 * y), prior=prior, intercept=True),
        "student_t": robula.models.StudentTModel(X, y, prior=prior, intercept=True),
        "multinomial": robula.models.MultinomialModel(
            X, np.digitize(y, [-0.7, 0.7]), prior=robula.NormalPrior(0.0, 2.0), intercept=True
        ),
        "jax": jax_linear(X, y, 0.7),
    }


def registered_models(n: int = 40) -> dict[str, robula.models.Model]:
    """The small models that are taken by name, and one of every other model in the registry, without knowing it.

    A model of which nothing is known here is a regression whose other arguments have defaults, and takes the responses
    1 and 2 in turn: counts, positive numbers, two classes.
    """
    found = {name: model for name, model in small_models(n=n).items() if name.split("-")[0] in robula.models.MODELS}
    rng = np.random.default_rng(1)
    for name, kind in robula.models.MODELS.items():
        if name not in found:
            X = rng.standard_normal((n, 2))
            found[name] = kind(X, 1.0 + np.arange(n) % 2, prior=robula.NormalPrior(0.0, 1.0), intercept=True)
    return found


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


def unknown_scale(X, y):
    """A linear regression whose noise scale is sampled with the coefficients."""
    return robula.LinearModel(X, y, noise_scale="estimate", prior=robula.NormalPrior(0.0, 100.0), intercept=True)
