"""NumPyro's NUTS as a kernel: on the weighted posterior of a model made of JAX functions, all chains in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np

from robula._types import FloatArray
from robula.integrations.jax_support import x64
from robula.kernels.kernel import Info, Kernel, Noise, State, Target

# Up to so many parameters the mass matrix is dense: correlated coefficients then cost no more than independent ones.
_DENSE_MASS = 100
_ACCEPT = 0.9


def has_numpyro() -> bool:
    """Whether NumPyro can be imported."""
    return find_spec("numpyro") is not None


class Movement:
    """NUTS for one log density ``(flat, *arguments)``, compiled once for each length of warm-up."""

    def __init__(self, jax: Any, log_density: Callable[..., Any]) -> None:
        self.jax, self._log_density = jax, log_density
        self._prepared = lru_cache(4)(self._prepare)

    def begin(self, warmup: int, theta: FloatArray, keys: Any, arguments: tuple[Any, ...]) -> Any:
        """State of chains at theta (c, d): a tree of arrays with a chain along the first axis."""
        with x64(self.jax):
            return self._prepared(warmup)[0](theta, self.jax.numpy.asarray(keys), arguments)

    def move(self, warmup: int, leaves: Sequence[Any], theta: FloatArray, arguments: tuple[Any, ...]) -> Any:
        """State after one trajectory of each chain; ``leaves`` are those of the state before, ``theta`` its place."""
        tree = self.jax.tree_util
        _, step, known = self._prepared(warmup)
        with x64(self.jax):
            if not known:
                # NumPyro's step knows its adaptation only after a beginning; a resumed run has had none here.
                known.append(
                    tree.tree_structure(self.begin(warmup, theta, np.zeros((len(theta), 2), np.uint32), arguments))
                )
            return step(tree.tree_unflatten(known[0], leaves), arguments)

    def _prepare(self, warmup: int) -> tuple[Any, Any, list[Any]]:
        from numpyro.infer.hmc import hmc

        jax, log_density = self.jax, self._log_density
        begin, move = hmc(potential_fn_gen=lambda *arguments: lambda flat: -log_density(flat, *arguments), algo="NUTS")

        def init(theta: Any, keys: Any, arguments: tuple[Any, ...]) -> Any:
            def one(flat: Any, key: Any) -> Any:
                return begin(
                    flat,
                    warmup,
                    dense_mass=flat.shape[0] <= _DENSE_MASS,
                    target_accept_prob=_ACCEPT,
                    model_args=arguments,
                    rng_key=key,
                )

            return jax.vmap(one)(jax.numpy.asarray(theta), keys)

        def step(state: Any, arguments: tuple[Any, ...]) -> Any:
            return jax.vmap(lambda one: move(one, arguments))(state)

        return jax.jit(init), jax.jit(step), []


class NUTS(Kernel):
    """The no-U-turn sampler of NumPyro, with its own adaptation of step size and mass matrix in burn-in.

    Made by a model for one set of row weights (``kernel="auto"``).

    Parameters
    ----------
    movement : Movement
    arguments : tuple
        What the log density is called with after theta.
    warmup : int
        Steps in which it adapts.
    """

    citations: ClassVar[tuple[str, ...]] = ("hoffman2014", "phan2019")
    needs_density: ClassVar[bool] = True
    step_rule = f"adapted in burn-in to accept {_ACCEPT:g} of the proposals"

    def __init__(self, movement: Movement, arguments: tuple[Any, ...], warmup: int) -> None:
        jax = movement.jax
        self._movement, self._warmup = movement, warmup
        with x64(jax):
            self._arguments = jax.tree_util.tree_map(jax.numpy.asarray, arguments)

    def init(self, rngs: Sequence[Noise], theta: FloatArray, target: Target) -> State:
        """Return the state of chains at theta (c, d): NumPyro's own, as arrays with a chain along the first axis."""
        # The bits of a normal draw are as good a key as any, and the only randomness that a kernel is given.
        keys = np.stack([np.frombuffer(rng.standard_normal(1).tobytes(), dtype=np.uint32) for rng in rngs])
        state = self._movement.begin(self._warmup, theta, keys, self._arguments)
        return State(theta, tuple(self._movement.jax.tree_util.tree_leaves(state)))

    def step(self, rngs: Sequence[Noise], state: State, target: Target, step_size: float) -> tuple[State, Info]:
        """Move all chains by one trajectory."""
        moved = self._movement.move(self._warmup, state.memory, state.theta, self._arguments)
        info = Info(-np.asarray(moved.z_grad), np.array(moved.accept_prob), np.array(moved.adapt_state.step_size))
        return State(np.array(moved.z), tuple(self._movement.jax.tree_util.tree_leaves(moved))), info

    def relaxation_steps(self, step_size: float, precision: float) -> float | None:
        """None: a trajectory is as long as it needs to be, and the effective sample size tells."""
        return None

    def __repr__(self) -> str:
        return "NUTS() of NumPyro"
