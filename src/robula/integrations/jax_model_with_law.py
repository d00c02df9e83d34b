"""``from_jax``, and the model it makes where the law of a row is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, Self

import numpy as np

from robula._imports import import_extra
from robula._types import FloatArray
from robula._validation import show
from robula.exceptions import InputError
from robula.integrations.cdf_law import CdfLaw
from robula.integrations.jax_model import JaxModel
from robula.integrations.jax_support import x64
from robula.integrations.law_of_rows import LawOfRows
from robula.integrations.row_responses import RowResponses
from robula.models.priors import NormalPrior


def from_jax(
    log_likelihood: Callable[[Any, Any], Any],
    data: Any,
    *,
    log_prior: Callable[[Any], Any] | NormalPrior | None = None,
    init: Any,
    chunk_size: int | None = None,
    cdf: Callable[[Any, Any], Any] | None = None,
    simulate: Callable[[Any, Any, Any], Any] | None = None,
    response: str = "y",
) -> JaxModel:
    """Make a model of a per-row log-likelihood; gradients come from automatic differentiation.

    Parameters
    ----------
    log_likelihood : callable
        ``log_likelihood(parameters, row) -> scalar``, in JAX, for one row of ``data``.
    data : pytree of arrays, or DataFrame
        Every leaf has the rows along its first axis; ``row`` is the same pytree without that axis. A DataFrame counts
        as the dict of its columns.
    log_prior : callable, NormalPrior or None
        ``log_prior(parameters) -> scalar`` (up to a constant), a normal prior on the flattened parameters, or None
        for flat.
    init : pytree of arrays
        Gives the structure and shapes of the parameters; chains start around it.
    chunk_size : int, optional
        Rows differentiated at a time: memory is bounded by it, whatever the number of rows.
    cdf : callable, optional
        ``cdf(parameters, row)``: P(Y <= y) of the row's response, or for a discrete one the pair P(Y < y), P(Y <= y).
        With it (or ``simulate``) the model knows the law of its rows, which is what the default selector asks for.
        Far out, where it is 0 or 1 to rounding, ``log_likelihood`` as a function of the response takes its place.
    simulate : callable, optional
        ``simulate(key, parameters, row)``: a response drawn for the row, with a JAX random key; where there is no cdf,
        400 of them stand in for it.
    response : str, optional
        Which entry of ``data``, then a dict or a DataFrame, is the response.

    Returns
    -------
    JaxModel
        Computes in float64, whatever JAX's own default is.

    Examples
    --------
    >>> import jax.numpy as jnp, numpy as np, robula  # doctest: +SKIP
    >>> def log_likelihood(params, row):  # doctest: +SKIP
    ...     return -0.5 * (row["y"] - params["slope"] * row["x"]) ** 2
    >>> model = robula.from_jax(  # doctest: +SKIP
    ...     log_likelihood, {"x": x, "y": y}, log_prior=robula.NormalPrior(0.0, 1.0), init={"slope": 0.0}
    ... )
    """
    options: dict[str, Any] = dict(log_prior=log_prior, init=init, chunk_size=chunk_size)
    if cdf is None and simulate is None:
        return JaxModel(log_likelihood, data, **options)
    for name, function in (("cdf", cdf), ("simulate", simulate)):
        if function is not None and not callable(function):
            raise InputError(f"{name}={show(function)} is not a function.")
    return JaxModelWithLaw(log_likelihood, data, cdf=cdf, simulate=simulate, response=response, **options)


class JaxModelWithLaw(JaxModel, LawOfRows):
    """A model made by :func:`from_jax` with ``cdf`` or ``simulate``; see there."""

    def __init__(
        self,
        log_likelihood: Callable[[Any, Any], Any],
        data: Any,
        *,
        cdf: Callable[[Any, Any], Any] | None,
        simulate: Callable[[Any, Any, Any], Any] | None,
        response: str,
        **options: Any,
    ) -> None:
        super().__init__(log_likelihood, data, **options)
        if not (isinstance(self._chunks, dict) and response in self._chunks and self._chunks[response].ndim == 2):
            raise InputError(
                f"cdf and simulate need to know the response: pass data as a dict or DataFrame with one number a row "
                f"under {response!r}, or name another entry with response=."
            )
        self._response = response
        rows = RowResponses(self._unravel, response, log_likelihood, cdf, simulate)
        law = None if cdf is None else CdfLaw(rows)
        simulation = law.simulation if law is not None and simulate is None else rows.simulation
        self._set_laws([law or rows.empirical(self._functions.gradients)], simulation)

    @property
    def _point(self) -> tuple[Any, ...]:
        return self._chunks, self.observed_data

    def _rows_of(self, chunked: Any) -> np.ndarray:
        leaf = np.asarray(chunked)
        return leaf.reshape((-1, *leaf.shape[2:]))[: self.n_rows]

    @property
    def observed_data(self) -> dict[str, np.ndarray]:
        """The responses by name."""
        return {self._response: self._rows_of(self._chunks[self._response])}

    @property
    def _recorded(self) -> Sequence[Any]:
        jax = import_extra("jax", "jax", "from_jax")
        leaves = [self._rows_of(leaf) for leaf in jax.tree_util.tree_leaves(self._chunks)]
        return [leaf for leaf in leaves if leaf.dtype.kind == "f"]

    def _taken(self, values: FloatArray) -> FloatArray:
        return values[: self.n_rows]

    def take(self, rows: np.ndarray) -> Self:
        """Return the model of these rows only, with the functions compiled already."""
        part = super().take(rows)
        part._forget()
        part._look_behind_masks()
        return part

    def _with_observed(self, observed: Mapping[str, FloatArray]) -> Self:
        jax = import_extra("jax", "jax", "from_jax")
        other = copy(self)
        leaf = self._chunks[self._response]
        values = np.asarray(observed[self._response], dtype=leaf.dtype)
        padded = np.concatenate([values, np.repeat(values[-1:], self._padding)]) if self._padding else values
        with x64(jax):
            other._chunks = {**self._chunks, self._response: jax.numpy.asarray(padded.reshape(leaf.shape))}
        return other
