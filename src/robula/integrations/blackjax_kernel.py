"""robula's kernels in BlackJAX's own inference loop, by host callback."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

import numpy as np

from robula._optional import import_extra
from robula._types import FloatArray
from robula._validation import check_contamination, check_name, check_positive, show
from robula.exceptions import InputError
from robula.kernels import resolve_kernel
from robula.kernels.kernel import Kernel, State
from robula.models.model import Model
from robula.run.sampler import sample
from robula.selectors import resolve_selector
from robula.selectors.selection import Selector
from robula.target.centre_search import find_centre
from robula.target.drift import LIKELIHOOD_ROWS, RobustDrift, drift_maker


class BlackJAXState(NamedTuple):
    """One chain: position (d,), and what the kernel carries from step to step."""

    position: Any
    memory: tuple[Any, ...]


class BlackJAXInfo(NamedTuple):
    """The drift (d,) that the step used."""

    drift: Any


def to_blackjax(
    model: Model,
    *,
    contamination: float,
    selector: str | Selector | None = None,
    kernel: str | Kernel | None = None,
    step_size: float | None = None,
    likelihood_rows: str | None = None,
) -> Any:
    """Return a BlackJAX ``SamplingAlgorithm`` that moves one chain of a robula model.

    It runs in ``blackjax.util.run_inference_algorithm`` and under ``jax.jit`` and ``jax.vmap``. The step itself is
    robula's, called on the host; rows are selected afresh at every step, so that a step depends on nothing but its
    state and key. Positions are robula's flat parameter vectors; ``model.initial`` is one to start from.

    Parameters
    ----------
    model : Model
    contamination : float
        Upper bound on the share of bad rows, in [0, 0.5).
    selector, kernel, likelihood_rows : optional
        As in :func:`robula.sample`; None is its default.
    step_size : float, optional
        None takes the kernel's own default, from the curvature of the rows trusted at a robust centre.

    Returns
    -------
    blackjax.base.SamplingAlgorithm
        ``init(position, rng_key=None)`` and ``step(rng_key, state)``.
    """
    jax = import_extra("jax", "blackjax", "to_blackjax")
    base = import_extra("blackjax.base", "blackjax", "to_blackjax")
    if not isinstance(model, Model):
        raise InputError(f"model={show(model)} is not a robula model.")
    contamination = check_contamination(contamination)
    rule = str(_default("likelihood_rows", likelihood_rows))
    check_name(rule, "likelihood_rows", LIKELIHOOD_ROWS)
    moving, size, drift = _moving_parts(
        model, contamination, _default("selector", selector), _default("kernel", kernel), rule, step_size
    )
    memory = moving.init([np.random.default_rng(0)], np.zeros((1, model.dim))).memory
    shapes = tuple(array.shape[1:] for array in memory)

    def specification(*wanted: tuple[int, ...]) -> tuple[Any, ...]:
        return tuple(jax.ShapeDtypeStruct(shape, jax.numpy.result_type(float)) for shape in wanted)

    def host_init(key: Any, position: Any) -> tuple[Any, ...]:
        state = moving.init([_generator(key)], _row(position))
        return tuple(_out(jax, array[0]) for array in state.memory)

    def host_step(key: Any, position: Any, *carried: Any) -> tuple[Any, ...]:
        state = State(_row(position), tuple(_row(array) for array in carried))
        moved, info = moving.step([_generator(key)], state, drift, size)
        return tuple(_out(jax, array[0]) for array in (moved.theta, info.drift, *moved.memory))

    def init(position: Any, rng_key: Any = None) -> BlackJAXState:
        position = jax.numpy.asarray(position, dtype=jax.numpy.result_type(float))
        if position.shape != (model.dim,):
            raise InputError(f"position has shape {position.shape}; this model has parameters of shape ({model.dim},).")
        key = _key_data(jax, jax.random.PRNGKey(0) if rng_key is None else rng_key)
        carried = jax.pure_callback(host_init, specification(*shapes), key, position, vmap_method="sequential")
        return BlackJAXState(position, tuple(carried))

    def step(rng_key: Any, state: BlackJAXState) -> tuple[BlackJAXState, BlackJAXInfo]:
        wanted = specification((model.dim,), (model.dim,), *shapes)
        key = _key_data(jax, rng_key)
        position, used, *carried = jax.pure_callback(
            host_step, wanted, key, state.position, *state.memory, vmap_method="sequential"
        )
        return BlackJAXState(position, tuple(carried)), BlackJAXInfo(used)

    return base.SamplingAlgorithm(init, step)


def _default(name: str, value: Any) -> Any:
    """Return the value, or the default that :func:`robula.sample` has for this argument."""
    return inspect.signature(sample).parameters[name].default if value is None else value


def _moving_parts(
    model: Model, contamination: float, selector: Any, kernel: Any, likelihood_rows: str, step_size: float | None
) -> tuple[Kernel, float, RobustDrift]:
    """Return kernel, step size and drift, as :func:`robula.sample` sets them up for ``refresh_every=1``."""
    chosen = resolve_selector(selector).prepared(model, contamination)
    centre = find_centre(model, chosen, contamination, likelihood_rows)
    adapted = resolve_kernel(kernel).adapt(centre, np.random.default_rng(0))
    if step_size is None:
        size = adapted.kernel.default_step_size(adapted.smoothness)
    else:
        size = check_positive(step_size, "step_size", "a step size")
    drift = drift_maker(
        model, chosen, contamination, likelihood_rows, 1, 0, centre, adapted.smoothness, adapted.scaling
    )(None)
    return adapted.kernel, size, drift


def _key_data(jax: Any, key: Any) -> Any:
    """Return the bits of a key, of the new typed or the old raw kind."""
    if jax.numpy.issubdtype(key.dtype, jax.dtypes.prng_key):
        return jax.random.key_data(key)
    return key


def _generator(key: Any) -> np.random.Generator:
    return np.random.default_rng(np.asarray(key, dtype=np.uint32).ravel())


def _row(array: Any) -> FloatArray:
    return np.asarray(array, dtype=np.float64)[None]


def _out(jax: Any, array: FloatArray) -> np.ndarray:
    return np.asarray(array, dtype=jax.numpy.result_type(float))
