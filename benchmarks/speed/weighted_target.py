"""One and the same weighted posterior, drawn from by robula's kernel and by NUTS of NumPyro, BlackJAX and nutpie.

The row weights are found once and given to everyone. Warm-up and tuning count for all, compilation for none, in
processor time; what is compared is the smallest effective sample size over the parameters' means and squares.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

import robula
from benchmarks.anymodel.attacks import attack
from benchmarks.anymodel.models import make
from benchmarks.anymodel.run import Given
from benchmarks.speed.steps import CONTAMINATION, logistic_problem
from benchmarks.speed.timing import Row
from robula.models.posterior_mode import weighted_mode
from robula.result.convergence import effective_sample_sizes

CHAINS, WARM_UP = 4, 500
#: A log density ``theta (d,) -> scalar`` in JAX, or the model and its weights for who needs more than that.
Sampler = Callable[[Any, robula.models.Model, np.ndarray, int, int], np.ndarray]


def weighted_rows(quick: bool) -> Iterator[Row]:
    """Must-show of any model: linear d = 200 twenty times NumPyro, logistic no slower than the fastest NUTS."""
    draws = 200 if quick else 1000
    for dim in (20,) if quick else (200,):
        model = robula.simulate.linear_regression(1000, dim, CONTAMINATION, seed=1).model
        section = f"6. The same weighted rows, linear, n = 1250, d = {dim}, 4 chains of {draws}"
        yield from _compare(section, model, draws, {"NumPyro": _numpyro}, 20.0)
    for rows, dim in ((1000, 20),) if quick else ((1000, 20), (2000, 200)):
        model, _ = logistic_problem(rows, dim)
        section = f"6. The same weighted rows, logistic, n = {rows}, d = {dim}, 4 chains of {draws}"
        contenders = {"NumPyro": _numpyro, "BlackJAX": _blackjax}
        if find_spec("nutpie") is not None:
            contenders["nutpie"] = _nutpie
        yield from _compare(section, model, draws, contenders, 1.0)
    yield from _hierarchical(draws)


def _compare(
    section: str, model: robula.models.Model, draws: int, rivals: dict[str, Sampler], wanted: float
) -> Iterator[Row]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weights = robula.trust(model, CONTAMINATION).weights
        density = _log_density(model, weights)
        speeds = {}
        for name, run in {"robula": _ours, **rivals}.items():
            run(density, model, weights, draws, 0)  # compiled, and the caches warm
            began = time.process_time()
            samples = run(density, model, weights, draws, 1)
            seconds = time.process_time() - began
            smallest = min(float(effective_sample_sizes(values).min()) for values in (samples, _squares(samples)))
            speeds[name] = smallest / seconds
            case = f"{name}{'' if name == 'robula' else ' NUTS'}"
            yield Row(section, case, "processor seconds, warm-up included", seconds)
            yield Row(section, case, "smallest effective sample size", smallest)
            yield Row(section, case, "effective samples per processor second", speeds[name])
    fastest = max((name for name in speeds if name != "robula"), key=lambda name: speeds[name])
    yield Row(section, f"{fastest} NUTS / robula", "ratio of those", speeds[fastest] / speeds["robula"], 1.0 / wanted)


def _squares(samples: np.ndarray) -> np.ndarray:
    return (samples - samples.mean(axis=(0, 1))) ** 2


def _log_density(model: Any, weights: np.ndarray) -> Callable[[Any], Any]:
    """The weighted log posterior of a linear or logistic model with a normal prior, in JAX."""
    import jax

    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy
    X, y, w = jnp.asarray(model.design), jnp.asarray(model.y, dtype=float), jnp.asarray(weights)
    precision = 1.0 / float(model.prior.covariance.value)

    def density(theta: Any) -> Any:
        at = X @ theta
        if isinstance(model, robula.LogisticModel):
            # Labels are 0 and 1, or -1 and 1: what is above 0 is the second class.
            rows = jax.nn.log_sigmoid(jnp.where(y > 0, at, -at))
        else:
            rows = -0.5 * ((y - at) / model.noise_scale) ** 2
        return w @ rows - 0.5 * precision * (theta @ theta)

    return density


def _ours(density: Any, model: robula.models.Model, weights: np.ndarray, draws: int, seed: int) -> np.ndarray:
    selector = Given(weights, weighted_mode(model, weights, model.initial))
    posterior = robula.sample(
        model, contamination=0.0, selector=selector, draws=draws, chains=CHAINS, seed=seed, progress=False
    )
    return posterior.draws


def _numpyro(density: Any, model: robula.models.Model, weights: np.ndarray, draws: int, seed: int) -> np.ndarray:
    import jax
    from numpyro.infer import MCMC, NUTS

    made = _KNOWN.setdefault(
        ("NumPyro", id(density), draws),
        MCMC(
            NUTS(potential_fn=lambda theta: -density(theta)),
            num_warmup=WARM_UP,
            num_samples=draws,
            num_chains=1,
            progress_bar=False,
        ),
    )
    found = []
    for chain in range(CHAINS):
        made.run(jax.random.PRNGKey(CHAINS * seed + chain), init_params=jax.numpy.zeros(model.dim))
        found.append(np.asarray(made.get_samples()))
    return np.stack(found)


#: Compiled samplers by name and target, so that a second run does not compile.
_KNOWN: dict[Any, Any] = {}


def _blackjax(density: Any, model: robula.models.Model, weights: np.ndarray, draws: int, seed: int) -> np.ndarray:
    import blackjax
    import jax

    def chain(key: Any) -> Any:
        first, second = jax.random.split(key)
        tuning = blackjax.window_adaptation(blackjax.nuts, density)
        (state, parameters), _ = tuning.run(first, jax.numpy.zeros(model.dim), num_steps=WARM_UP)
        step = blackjax.nuts(density, **parameters).step

        def move(state: Any, key: Any) -> Any:
            state, _ = step(key, state)
            return state, state.position

        return jax.lax.scan(move, state, jax.random.split(second, draws))[1]

    run = _KNOWN.setdefault(("BlackJAX", id(density), draws), jax.jit(chain))
    return np.stack([np.asarray(run(jax.random.PRNGKey(CHAINS * seed + place))) for place in range(CHAINS)])


def _nutpie(density: Any, model: Any, weights: np.ndarray, draws: int, seed: int) -> np.ndarray:
    import nutpie
    import pymc as pm

    key = ("nutpie", id(density))
    if key not in _KNOWN:
        X, sign = np.asarray(model.design), np.where(np.asarray(model.y) > 0, 1.0, -1.0)
        with pm.Model() as made:
            theta = pm.Normal("theta", 0.0, float(model.prior.covariance.value) ** 0.5, shape=model.dim)
            at = sign * pm.math.dot(X, theta)
            pm.Potential("rows", (weights * -pm.math.log1pexp(-at)).sum())
        _KNOWN[key] = nutpie.compile_pymc_model(made)
    found = nutpie.sample(_KNOWN[key], draws=draws, tune=WARM_UP, chains=CHAINS, cores=1, seed=seed, progress_bar=False)
    return np.asarray(found.posterior["theta"])


def _hierarchical(draws: int) -> Iterator[Row]:
    """The whole robust run of a hierarchical model against NumPyro's NUTS on all rows; the first data set compiles."""
    import jax
    from numpyro.infer import MCMC, NUTS

    section = f"6. Hierarchical, n = 400, 29 parameters, 4 chains of {draws} after {WARM_UP}"
    problem = make("hierarchical", 400, 0)
    plain = MCMC(
        NUTS(problem.model),
        num_warmup=WARM_UP,
        num_samples=draws,
        num_chains=1,
        progress_bar=False,
        jit_model_args=True,  # other data of the same shape do not compile again
    )
    times: dict[str, list[float]] = {"robula.sample, selection included": [], "NumPyro NUTS on all rows": []}
    for seed in (1, 2):
        data, _ = attack(make("hierarchical", 400, seed), "gross", 0.1, seed)

        def robust(data: Any = data) -> None:
            model = robula.from_numpyro(problem.model, **data)
            robula.sample(model, contamination=0.2, draws=draws, burn_in=WARM_UP, chains=CHAINS, progress=False)

        def all_rows(data: Any = data) -> None:
            with jax.enable_x64(True):
                arrays = jax.tree_util.tree_map(jax.numpy.asarray, data)
                for chain in range(CHAINS):
                    plain.run(jax.random.PRNGKey(chain), **arrays)

        for name, run in zip(times, (robust, all_rows), strict=True):
            began = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                run()
            times[name].append(time.process_time() - began)
    for name, (_, second) in times.items():
        yield Row(section, name, "processor seconds", second)
    ours, theirs = times.values()
    yield Row(section, "robula / NUTS", "ratio of those", ours[1] / theirs[1], 2.5)
