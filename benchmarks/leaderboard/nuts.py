"""NumPyro's NUTS, compiled once for a model and a data size and reused for every data set of that size.

A run starts at the highest mode of the method's own posterior that several starts lead to, in coordinates in which its
curvature there is the identity. That favours the methods (a user's run may end in a worse mode) and lets NUTS take few
leapfrog steps.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from numpyro.infer.hmc import hmc
from numpyro.infer.util import initialize_model
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize

from benchmarks.leaderboard.numpyro_models import MODELS

jax.config.update("jax_enable_x64", True)


class Run(NamedTuple):
    """Draws of theta (chains, draws, d), of the model's other parameters, and the share of divergent transitions."""

    theta: np.ndarray
    others: dict[str, np.ndarray]
    divergent: float


class Rows(NamedTuple):
    """A data set; ``keep`` marks the rows that count."""

    X: np.ndarray
    y: np.ndarray
    keep: np.ndarray


class Compiled(NamedTuple):
    """Functions of one model at one size."""

    template: dict[str, Any]
    gradient: Any
    hessian: Any
    sample: Any


class Mode(NamedTuple):
    """A mode of the posterior, a root of the covariance there, the other parameters and the variances of all of them."""

    potential: float
    centre: np.ndarray
    root: np.ndarray
    position: dict[str, Any]
    variances: np.ndarray


def run_nuts(
    model: str, rows: Rows, starts: list[np.ndarray], size: int, seed: int, draws: int, warmup: int, chains: int = 4
) -> Run:
    """Sample a model of :mod:`numpyro_models`.

    Parameters
    ----------
    starts : list of ndarray, shape (d,)
        Where to look for the mode.
    size : int
        Rows to pad to.
    """
    rows = _pad(rows, size)
    dim = rows.X.shape[1]
    compiled = _compile(model, size, dim, draws, warmup, chains)
    best = min((_climb(compiled, rows, start) for start in starts), key=lambda mode: mode.potential)
    if not np.isfinite(best.potential):
        raise RuntimeError(f"no start leads to a mode of {model}'s posterior")
    keys = jax.random.split(jax.random.PRNGKey(seed), chains)
    data = _arguments(rows, best.centre, best.root)
    z, others, divergent = compiled.sample(keys, best.position, best.variances, data)
    theta = best.centre + np.asarray(z) @ best.root.T
    return Run(theta, {name: np.asarray(value) for name, value in others.items()}, float(np.mean(divergent)))


def _pad(rows: Rows, size: int) -> Rows:
    missing = size - len(rows.y)
    return Rows(
        np.pad(rows.X, ((0, missing), (0, 0))),
        np.pad(rows.y, (0, missing)),
        np.pad(rows.keep.astype(float), (0, missing)),
    )


def _arguments(rows: Rows, centre: np.ndarray, root: np.ndarray) -> dict[str, np.ndarray]:
    return {
        "design": rows.X @ root,
        "offset": rows.X @ centre,
        "y": rows.y,
        "keep": rows.keep,
        "centre": centre,
        "root": root,
    }


def _climb(compiled: Compiled, rows: Rows, start: np.ndarray) -> Mode:
    """Climb from a start to a mode of the method's posterior."""
    X, y = rows.X[rows.keep > 0], rows.y[rows.keep > 0]
    downweighted = np.minimum(1.0, 2.0 / np.maximum(np.abs(y - X @ start), 1e-12))
    centre, root = start, _inverse_root((X.T * downweighted) @ X + np.eye(len(start)))
    position = compiled.template
    for _ in range(2):  # the second climb is in the first mode's own coordinates
        data = _arguments(rows, centre, root)
        begin, unravel = ravel_pytree(position)

        def objective(values: np.ndarray, data: dict[str, np.ndarray] = data, unravel: Any = unravel) -> Any:
            value, gradient = compiled.gradient(values, data)
            if not (np.isfinite(value) and np.isfinite(gradient).all()):
                return 1e100, np.zeros(len(values))
            return float(value), np.asarray(gradient)

        found = minimize(objective, np.asarray(begin), jac=True, method="L-BFGS-B", options={"maxiter": 400})
        position = unravel(jnp.asarray(found.x))
        hessian = np.asarray(compiled.hessian(found.x, data))
        if not np.isfinite(hessian).all():  # a start that leads nowhere; another one is chosen
            return Mode(np.inf, centre, root, position, np.ones(len(found.x)))
        first = len(found.x) - len(start)  # z is the last site in alphabetical order
        centre = centre + root @ found.x[first:]
        root = root @ _inverse_root(hessian[first:, first:])
        position = {**position, "z": jnp.zeros(len(centre))}
    variances = np.concatenate([1.0 / np.maximum(np.diag(hessian)[:first], 1e-2), np.ones(len(start))])
    return Mode(float(found.fun), centre, root, position, variances)


def _inverse_root(matrix: np.ndarray) -> np.ndarray:
    """A with A A' = the inverse of a matrix that is positive definite up to rounding."""
    values = np.linalg.eigvalsh(matrix)
    lift = max(1e-10 * values[-1] - values[0], 0.0)
    lower = cholesky(matrix + lift * np.eye(len(matrix)), lower=True)
    return solve_triangular(lower, np.eye(len(matrix)), lower=True).T


@cache
def _compile(model: str, size: int, dim: int, draws: int, warmup: int, chains: int) -> Compiled:
    example = _arguments(
        Rows(np.zeros((size, dim)), np.linspace(0.0, 1.0, size), np.ones(size)), np.zeros(dim), np.eye(dim)
    )
    info = initialize_model(
        jax.random.PRNGKey(0), MODELS[model], model_kwargs=example, dynamic_args=True, validate_grad=False
    )
    template = {name: jnp.zeros_like(value) for name, value in info.param_info.z.items()}

    _, unravel = ravel_pytree(template)

    def potential(values, data):
        return info.potential_fn(**data)(unravel(values))

    def chain(key, position, variances, data):
        key, noise = jax.random.split(key)
        begin = {**position, "z": jax.random.normal(noise, (dim,))}
        init_kernel, sample_kernel = hmc(potential_fn_gen=info.potential_fn, algo="NUTS")
        state = init_kernel(
            begin,
            warmup,
            step_size=0.5,
            inverse_mass_matrix=variances,
            adapt_mass_matrix=False,
            max_tree_depth=8,
            model_kwargs=data,
            rng_key=key,
        )
        state = jax.lax.fori_loop(0, warmup, lambda _, now: sample_kernel(now, model_kwargs=data), state)

        def step(state, _):
            state = sample_kernel(state, model_kwargs=data)
            sites = info.postprocess_fn(**data)(state.z)
            return state, (sites.pop("z"), sites, state.diverging)

        return jax.lax.scan(step, state, None, length=draws)[1]

    # One chain after the other: chains side by side would wait for the longest trajectory, and gain nothing on one core.
    def sample(keys, position, variances, data):
        return jax.lax.map(lambda key: chain(key, position, variances, data), keys)

    gradient, hessian = jax.value_and_grad(potential), jax.hessian(potential)
    return Compiled(template, jax.jit(gradient), jax.jit(hessian), jax.jit(sample))
