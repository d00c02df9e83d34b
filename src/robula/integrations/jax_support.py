"""JAX in float64, twice differentiable with bounded memory; trees of data and parameters checked, flattened, named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from robula._imports import import_extra
from robula._types import FloatArray
from robula._validation import show
from robula.exceptions import InputError
from robula.models.model import unique_names

# Columns of the Hessian that are computed at a time.
_HESSIAN_COLUMNS = 8

#: Names that ArviZ needs for itself, or that the export adds.
ARVIZ_NAMES = ("chain", "draw", "row", "parameter", "row_weights")


class Float64:
    """A compiled function that is traced and run in float64, and returns NumPy arrays."""

    def __init__(self, jax: Any, function: Callable[..., Any]) -> None:
        self._jax, self._function = jax, function

    def __call__(self, *arguments: Any) -> FloatArray:
        """Call the function and return its result as a NumPy array."""
        with x64(self._jax):
            return np.asarray(self._function(*arguments), dtype=np.float64)


def hessian_of(jax: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """Hessian in the first argument, a few columns at a time, each one reverse pass over the gradient.

    Reverse over reverse needs no forward mode, which custom derivatives (an ODE solver's) often lack, and memory does
    not grow with the number of columns.
    """

    def hessian(flat: Any, *arguments: Any) -> Any:
        def column(vector: Any) -> Any:
            return jax.grad(lambda x: jax.grad(function)(x, *arguments) @ vector)(flat)

        return jax.lax.map(column, jax.numpy.eye(flat.shape[0]), batch_size=_HESSIAN_COLUMNS)

    return hessian


def jacobian_of(jax: Any, function: Callable[..., Any], point: tuple[Any, ...]) -> Callable[..., Any]:
    """Jacobian in the first argument, in forward mode: d passes; in reverse mode where there is no forward one.

    A custom derivative may have a reverse rule only, such as an ODE solver's; ``point`` are arguments to try it with.
    """
    forward: Callable[..., Any] = jax.jacfwd(function)
    try:
        with x64(jax):
            jax.eval_shape(forward, *point)
    except TypeError:
        reverse: Callable[..., Any] = jax.jacrev(function)
        return reverse
    return forward


def call_second_derivative(function: Float64, name: str, *arguments: Any) -> FloatArray:
    """Call a second derivative; say whose function it is if it has none."""
    try:
        return function(*arguments)
    except Exception as error:
        raise InputError(
            f"{name} could not be differentiated twice ({type(error).__name__}: {error}); the "
            "curvature is needed for start and step size. Write it with functions that JAX differentiates twice."
        ) from error


def x64(jax: Any) -> Any:
    """Return a context in which JAX computes in float64, without touching the user's global setting."""
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    return import_extra("jax.experimental", "jax", "from_jax").enable_x64(True)


def check_data(jax: Any, data: Any) -> tuple[list[np.ndarray], int]:
    """Return the arrays in ``data``, floats as float64, and their common number of rows."""
    leaves = [np.asarray(leaf) for leaf in jax.tree_util.tree_leaves(data)]
    if not leaves:
        raise InputError("data has no arrays; pass an array, or a dict or tuple of arrays with one entry per row.")
    shapes = [leaf.shape for leaf in leaves]
    if any(not shape for shape in shapes) or len({shape[0] for shape in shapes}) != 1:
        raise InputError(
            f"the arrays in data have shapes {show(shapes)}; all must have the same number of rows (first axis)."
        )
    rows = shapes[0][0]
    if rows < 2:
        raise InputError(f"data has {rows} row(s); 2 rows or more are needed.")
    for index, leaf in enumerate(leaves):
        if leaf.dtype.kind not in "biuf":
            raise InputError(f"array {index} in data has dtype {leaf.dtype}; only real numbers are allowed.")
        if leaf.dtype.kind == "f" and not np.isfinite(leaf).all():
            bad = np.unique(np.argwhere(~np.isfinite(leaf))[:, 0])
            raise InputError(
                f"array {index} in data has missing or infinite values in {len(bad)} row(s), first {bad[:5].tolist()}; "
                "drop or impute these rows before fitting."
            )
    return [leaf.astype(np.float64) if leaf.dtype.kind == "f" else leaf for leaf in leaves], rows


def flatten_init(jax: Any, init: Any) -> tuple[FloatArray, Callable[[Any], Any], list[tuple[str, tuple[int, ...]]]]:
    """Return the flat init, its inverse, and the name and shape of every leaf."""
    from jax.flatten_util import ravel_pytree

    with_paths = jax.tree_util.tree_flatten_with_path(init)[0]
    if not with_paths:
        raise InputError("init has no arrays; pass the parameters' structure, such as {'slope': 0.0}.")
    try:
        arrays = [np.asarray(leaf, dtype=np.float64) for _, leaf in with_paths]
    except (TypeError, ValueError) as error:
        raise InputError(f"init={show(init)} holds something that is not a number ({error}).") from error
    if not all(np.isfinite(array).all() for array in arrays) or not sum(array.size for array in arrays):
        raise InputError("init must hold at least one number, all finite.")
    structure = jax.tree_util.tree_structure(init)
    with x64(jax):
        flat, unravel = ravel_pytree(jax.tree_util.tree_unflatten(structure, arrays))
        initial = np.array(flat, dtype=np.float64)
    names = unique_names([_leaf_name(path) for path, _ in with_paths], taken=ARVIZ_NAMES)
    return initial, unravel, [(name, array.shape) for name, array in zip(names, arrays, strict=True)]


def _leaf_name(path: tuple[Any, ...]) -> str:
    words = [str(getattr(key, "key", getattr(key, "idx", getattr(key, "name", key)))) for key in path]
    return ".".join(words) or "theta"


def parameter_names(shapes: list[tuple[str, tuple[int, ...]]]) -> tuple[str, ...]:
    """Return one name per number, such as "layer[0,1]", for leaves of the given names and shapes."""
    names: list[str] = []
    for name, shape in shapes:
        names += [name + (f"[{','.join(map(str, index))}]" if shape else "") for index in np.ndindex(*shape)]
    return tuple(names)


def refuse_missing(language: str, observed: Mapping[str, Any], counted: Mapping[str, Any]) -> None:
    """Refuse observed values that are not numbers, by row; ``counted`` are the rows that a mask leaves, by name."""
    for name, value in observed.items():
        array = np.asarray(value)
        if array.dtype.kind != "f":
            continue
        bad = ~np.isfinite(array.reshape(len(array), -1)).all(axis=1)
        if name in counted:
            bad &= np.broadcast_to(counted[name], bad.shape)
        if bad.any():
            raise InputError(
                f"the {language} model's observed {name!r} has missing or infinite values in {int(bad.sum())} row(s), "
                f"first {np.flatnonzero(bad)[:5].tolist()}; drop or impute these rows before fitting."
            )


def row_local_reason(language: str, name: str) -> str:
    """Say why a latent variable of its own for every row cannot be had."""
    return (
        f"the {language} model has a latent variable of its own for every row, {name!r}. robula decides by a row's "
        "pull on the common parameters whether to trust it, and a row that is explained by its own variable has none. "
        f"Integrate {name!r} out (a marginal likelihood), or drop it."
    )


def dependent_rows_reason(language: str, name: str, numbers: int) -> str:
    """Say why numbers that depend on one another, as a Gaussian process has them, cannot be had."""
    return (
        f"the observed {name!r} of the {language} model is one observation of {numbers} numbers, with one "
        "log-likelihood for all of them: they depend on one another, and robula trusts or distrusts rows that are "
        "independent given the parameters. Give each row a term of its own (for a Gaussian process, its values as "
        "latent variables at few inducing points and independent noise around them)."
    )


def missing_in(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Say which argument has missing or infinite numbers, or nothing."""
    named = [*((f"argument {place}", value) for place, value in enumerate(args, 1)), *kwargs.items()]
    for name, value in named:
        if getattr(getattr(value, "dtype", None), "kind", "") == "f":
            missing = int((~np.isfinite(np.asarray(value))).sum())
            if missing:
                return f"{name} has {missing} missing or infinite values: drop or impute these rows before fitting."
    return ""
