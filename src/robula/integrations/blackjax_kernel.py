"""robula's kernels in BlackJAX's own inference loop, by host callback."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robula._imports import import_extra
from robula._types import FloatArray
from robula._validation import check_contamination, check_name, check_positive
from robula.exceptions import InputError
from robula.kernels.kernel import Kernel, State
from robula.models.model import Model, require_model
from robula.run.assembly import assemble
from robula.selectors.selection import Selector
from robula.target.robust_target import LIKELIHOOD_ROWS, LikelihoodRows


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
    selector: str | Selector = "trust",
    kernel: str | Kernel = "auto",
    step_size: float | None = None,
    likelihood_rows: LikelihoodRows = "weights",
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
        As in :func:`robula.sample`.
    step_size : float, optional
        None takes the kernel's own default, from the curvature of the rows trusted at a robust centre. Nothing adapts.

    Returns
    -------
    blackjax.base.SamplingAlgorithm
        ``init(position, rng_key=None)`` and ``step(rng_key, state)``.
    """
    jax = import_extra("jax", "blackjax", "to_blackjax")
    base = import_extra("blackjax.base", "blackjax", "to_blackjax")
    require_model(model)
    contamination = check_contamination(contamination)
    check_name(likelihood_rows, "likelihood_rows", LIKELIHOOD_ROWS)
    if step_size is not None:
        step_size = check_positive(step_size, "step_size", "a step size")
    # A kernel's step must depend on its state and key alone: rows are selected afresh, and nothing adapts.
    parts = assemble(
        model,
        contamination=contamination,
        selector=selector,
        kernel=kernel,
        likelihood_rows=likelihood_rows,
        refresh_every=1,
        burn_in=0,
        guard=True,
        step_given=step_size is not None,
        looking=np.random.default_rng(0),
    )
    moving, target = parts.adapted.kernel, parts.make_target()
    size = parts.default_step_size if step_size is None else step_size

    def begin(rng: np.random.Generator, position: FloatArray) -> State:
        return moving.settled(moving.init([rng], position, target))

    memory = begin(np.random.default_rng(0), np.zeros((1, model.dim))).memory
    shapes = tuple(array.shape[1:] for array in memory)

    def specification(*wanted: tuple[int, ...]) -> tuple[Any, ...]:
        return tuple(jax.ShapeDtypeStruct(shape, jax.numpy.result_type(float)) for shape in wanted)

    def host_init(key: Any, position: Any) -> tuple[Any, ...]:
        state = begin(_generator(key), _row(position))
        return tuple(_out(jax, array[0]) for array in state.memory)

    def host_step(key: Any, position: Any, *carried: Any) -> tuple[Any, ...]:
        state = State(_row(position), tuple(_row(array) for array in carried))
        moved, info = moving.step([_generator(key)], state, target, size)
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
