"""A model given as one JAX function that returns the log-likelihoods of all rows at once, as the PPLs write them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any, Self

import numpy as np

from robula._types import BoolArray, FloatArray
from robula.exceptions import InputError
from robula.integrations.jax_functions import JaxPrior, PriorFunctions
from robula.integrations.jax_support import (
    ARVIZ_NAMES,
    Float64,
    call_second_derivative,
    flatten_init,
    hessian_of,
    jacobian_of,
    parameter_names,
    row_local_reason,
    x64,
)
from robula.integrations.law_of_rows import LawOfRows
from robula.integrations.nuts_kernel import NUTS, Movement, has_numpyro
from robula.integrations.site_laws import SiteLaw
from robula.models.law import ModelWithLaw
from robula.models.model import Model, unique_names
from robula.models.posterior_mode import weighted_mode

#: Unconstrained parameters by name, or constrained variables by name.
Values = Mapping[str, Any]
# Draws that are mapped to constrained space at a time.
_DRAWS_AT_A_TIME = 512

_KEPT = 0.75
_ROUNDS = 10
# A latent variable as long as the data in which so many of its effects on rows are zero belongs to rows, not to all.
_LOCAL = 0.3


class RowFunctions:
    """What is compiled of a PPL's model; data are arguments, so that models of data of one shape share it.

    Parameters
    ----------
    language : str
        Which PPL it came from, for messages.
    log_likelihoods : callable
        ``(parameters, data, observed)`` to the log-likelihood of each row, shape (n,); parameters are unconstrained.
    log_prior : callable
        ``(parameters, data)`` to the log prior with the log Jacobian of the constraining transform.
    constrain : callable
        ``(parameters, data)`` to the variables the user named, in their own space.
    init : dict
        Unconstrained parameters, for their names and shapes.
    """

    def __init__(
        self,
        jax: Any,
        language: str,
        *,
        log_likelihoods: Callable[..., Any],
        log_prior: Callable[..., Any],
        constrain: Callable[..., Values],
        init: Values,
        point: tuple[Any, Any],
    ) -> None:
        start, self.unravel, self.shapes = flatten_init(jax, dict(init))
        self.language, self.dim, self.jax = language, len(start), jax
        unravel = self.unravel

        def rows(flat: Any, data: Any, observed: Any) -> Any:
            return log_likelihoods(unravel(flat), data, observed)

        def weighted_sum(flat: Any, data: Any, observed: Any, weights: Any) -> Any:
            # A row of weight 0 counts nothing, even where it is impossible.
            return weights @ jax.numpy.where(weights > 0, rows(flat, data, observed), 0.0)

        def prior(flat: Any, data: Any) -> Any:
            return log_prior(unravel(flat), data)

        def variables(flat: Any, data: Any) -> Any:
            return jax.vmap(lambda one: dict(constrain(unravel(one), data)))(flat)

        def log_density(flat: Any, data: Any, observed: Any, weights: Any) -> Any:
            return weighted_sum(flat, data, observed, weights) + prior(flat, data)

        with x64(jax):
            # What cannot be traced with the data as arguments must fail here and now.
            jax.eval_shape(lambda *inner: (rows(*inner), prior(*inner[:2])), start, *point)
            jax.eval_shape(variables, start[None], point[0])
        self.log_density = log_density
        self.rows = Float64(jax, jax.jit(rows))
        self.row_gradients = Float64(jax, jax.jit(jacobian_of(jax, rows, (start, *point))))
        self.weighted = Float64(jax, jax.jit(jax.vmap(jax.grad(weighted_sum), in_axes=(0, None, None, 0))))
        self.hessian = Float64(jax, jax.jit(hessian_of(jax, weighted_sum)))
        self.joint = jax.jit(
            lambda *inner: (*jax.value_and_grad(log_density)(*inner), hessian_of(jax, log_density)(*inner))
        )
        self.variables = jax.jit(variables)
        self.prior = PriorFunctions(jax, prior)
        self.movement = Movement(jax, log_density)


class RowsModel(Model):
    """A PPL's model in unconstrained space; :class:`RowsModelWithLaw` where the law of its rows is known.

    Per-row gradients come from forward mode (d passes over all rows), their weighted sum from one reverse pass.

    Parameters
    ----------
    functions : RowFunctions
    data : pytree of arrays
        Arguments of the compiled functions.
    observed : dict
        The observed values by the names the user gave them, rows along the first axis.
    init : dict
        Unconstrained parameters to start from.
    source : object
        The user's own model.
    reweigh : callable
        Row weights (n,) to the user's own model with rows that count so.
    dims, coords : dict
        ArviZ's, for the variables that have them.
    """

    def __init__(
        self,
        functions: RowFunctions,
        *,
        data: Any,
        observed: Mapping[str, Any],
        init: Values,
        source: Any,
        reweigh: Callable[[FloatArray], Any],
        dims: Mapping[str, tuple[str, ...]],
        coords: Mapping[str, Sequence[Any]],
    ) -> None:
        self._functions, self._data, self.source, self.reweigh = functions, data, source, reweigh
        self._observed = {name: np.asarray(value) for name, value in observed.items()}
        self._places: np.ndarray | None = None
        self._init = flatten_init(functions.jax, dict(init))[0]
        self.dim = functions.dim
        self.parameter_names = parameter_names(functions.shapes)
        self.prior = JaxPrior(functions.prior, self.dim, (data,))
        self.n_rows = len(functions.rows(self._init, data, self._observed))
        self.variable_dims, self.variable_coords = dict(dims), dict(coords)
        self._check()

    @property
    def _point(self) -> tuple[Any, ...]:
        return self._data, self._observed

    @property
    def _recorded(self) -> Sequence[Any]:
        rows = len(next(iter(self._observed.values())))
        leaves = self._functions.jax.tree_util.tree_leaves(self._data)
        return [leaf for leaf in leaves if np.shape(leaf)[:1] == (rows,) and np.asarray(leaf).dtype.kind == "f"]

    def take(self, rows: np.ndarray) -> Self:
        """Return the model of these rows only. All rows are still computed: a PPL's model cannot be cut."""
        part, places = copy(self), np.asarray(rows)
        part._places = places if self._places is None else self._places[places]
        part.n_rows = len(places)
        part.__dict__["initial"] = self.initial
        return part

    def _taken(self, values: FloatArray) -> FloatArray:
        """Rows (n, ...) of this model out of all that the functions compute."""
        return values if self._places is None else values[self._places]

    def _all(self, weights: FloatArray) -> FloatArray:
        """Weights (..., n) as those of all rows that the functions compute."""
        if self._places is None:
            return weights
        rows = len(next(iter(self._observed.values())))
        whole = np.zeros((*weights.shape[:-1], rows))
        np.add.at(whole.T, self._places, weights.T)
        return whole

    def _check(self) -> None:
        """Run everything once at the start: what cannot be sampled must fail before the work."""
        language = self._functions.language
        if self.n_rows < 2:
            raise InputError(f"the {language} model has {self.n_rows} row(s); 2 rows or more are needed.")
        values, gradients = self.log_likelihood(self._init), self.gradients(self._init)
        bad = np.flatnonzero(~(np.isfinite(values) & np.isfinite(gradients).all(axis=1)))
        if len(bad):
            raise InputError(
                f"the {language} model's log-likelihood or its gradient is not finite at its initial point in "
                f"{len(bad)} row(s), first {bad[:5].tolist()}; check those rows and the priors' support."
            )
        if not np.isfinite(self.prior.gradient(self._init)).all():
            raise InputError(f"the {language} model's prior has no finite gradient at its initial point.")
        # A second point, lest a derivative be zero at the first by chance.
        beside = self.gradients(self._init + 0.1 * np.cos(np.arange(self.dim)))
        touched = (gradients != 0) | (np.nan_to_num(beside) != 0)
        self._refuse_row_local(touched)
        self._apart: BoolArray = ~touched.any(axis=0)

    def _refuse_row_local(self, touched: BoolArray) -> None:
        offset, rows = 0, self.n_rows
        for name, shape in self._functions.shapes:
            size = math.prod(shape)
            for axis in [axis for axis, length in enumerate(shape) if length in (rows - 1, rows)]:
                own = touched[:, offset : offset + size].reshape(rows, *shape)
                others = tuple(place + 1 for place in range(len(shape)) if place != axis)
                reach = own.any(axis=others)
                # Zero for good, row by row: a variable of one row, or of it and all later ones (a random walk).
                if reach.any() and float((~reach).mean()) > _LOCAL:
                    raise InputError(row_local_reason(self._functions.language, name))
            offset += size

    @property
    def hyperparameters(self) -> BoolArray:
        """Parameters (d,) that rows depend on only through others, such as the scale of group effects."""
        return self._apart

    @cached_property
    def initial(self) -> FloatArray:
        """A robust start in unconstrained space, found from the PPL's own initial point, shape (d,)."""
        return trimmed_start(self, self._init)

    @property
    def observed_data(self) -> dict[str, np.ndarray]:
        """The observed values by name."""
        return {name: self._taken(values) for name, values in self._observed.items()}

    def own_kernel(self, counts: FloatArray, burn_in: int) -> NUTS | None:
        """NumPyro's NUTS on the posterior in which row i counts ``counts[i]`` times; None without it or burn-in."""
        if not has_numpyro() or not burn_in:
            return None
        return NUTS(self._functions.movement, (*self._point, self._all(counts)), burn_in)

    def variables(self, draws: FloatArray) -> dict[str, FloatArray]:
        """Return draws (chains, draws, d) under the model's names, in constrained space."""
        flat = draws.reshape(-1, self.dim)
        parts = []
        with x64(self._functions.jax):
            for first in range(0, len(flat), _DRAWS_AT_A_TIME):
                mapped = self._functions.variables(flat[first : first + _DRAWS_AT_A_TIME], self._data)
                parts.append({name: np.asarray(value, dtype=np.float64) for name, value in mapped.items()})
        names = list(parts[0])
        return {
            unique: np.concatenate([part[name] for part in parts]).reshape(draws.shape[:-1] + parts[0][name].shape[1:])
            for name, unique in zip(names, unique_names(names, taken=ARVIZ_NAMES), strict=True)
        }

    def log_likelihood(self, theta: FloatArray) -> FloatArray:
        """Log-likelihood of each row, shape (..., n)."""
        return self._each(self._functions.rows, theta, (self.n_rows,))

    def gradients(self, theta: FloatArray) -> FloatArray:
        """Gradient of each row's log-likelihood, shape (..., n, d)."""
        return self._each(self._functions.row_gradients, theta, (self.n_rows, self.dim))

    def weighted_gradient(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Weighted sum of the rows' gradients, one reverse pass, shape (..., d)."""
        theta, weights = self.check_theta(theta), self._all(weights)
        batch = np.broadcast_shapes(theta.shape[:-1], weights.shape[:-1])
        thetas = np.broadcast_to(theta, (*batch, self.dim)).reshape(-1, self.dim)
        rows = np.broadcast_to(weights, (*batch, weights.shape[-1])).reshape(-1, weights.shape[-1])
        return self._functions.weighted(thetas, *self._point, rows).reshape((*batch, self.dim))

    def curvature(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Negative Hessian of the weighted log-likelihood at one theta (d,), shape (d, d)."""
        arguments = (self.check_theta(theta), *self._point, self._all(weights))
        hessian = call_second_derivative(self._functions.hessian, "the log-likelihood", *arguments)
        return -0.5 * (hessian + hessian.T)

    def posterior_derivatives(self, theta: FloatArray, weights: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Log posterior of weighted rows at theta (d,), its gradient and negative Hessian in one call."""
        with x64(self._functions.jax):
            value, slope, hessian = self._functions.joint(theta, *self._point, self._all(weights))
            curved = np.asarray(hessian)
        return float(value), np.asarray(slope), -0.5 * (curved + curved.T)

    def _each(self, function: Float64, theta: FloatArray, shape: tuple[int, ...]) -> FloatArray:
        theta = self.check_theta(theta)
        results = [self._taken(function(flat, *self._point)) for flat in theta.reshape(-1, self.dim)]
        return np.stack(results).reshape(theta.shape[:-1] + shape)


class RowsModelWithLaw(RowsModel, LawOfRows):
    """A PPL's model whose observed sites say how their rows are distributed.

    Parameters
    ----------
    laws : sequence of SiteLaw
        One for each observed site.
    simulation : callable
        ``(theta, data, observed, seed) -> dict``: simulated responses of every observed site.
    functions, **options
        As for :class:`RowsModel`.
    """

    def __init__(
        self,
        functions: RowFunctions,
        laws: Sequence[SiteLaw],
        simulation: Callable[..., dict[str, FloatArray]],
        **options: Any,
    ) -> None:
        super().__init__(functions, **options)
        self._set_laws(laws, simulation)

    def _with_observed(self, observed: Mapping[str, FloatArray]) -> Self:
        other = copy(self)
        own = {name: values.copy() for name, values in self._observed.items()}
        for name, values in observed.items():
            if self._places is None:
                own[name] = np.asarray(values, dtype=own[name].dtype)
            else:
                own[name][self._places] = values
        other._observed = own
        other.__dict__["initial"] = self.initial
        return other


def trimmed_start(model: Model, start: FloatArray) -> FloatArray:
    """Mode of the posterior of the three quarters of the rows that fit best, found by concentration steps.

    A PPL's own initial point is far out in the prior, where the curvature of a model with a scale parameter is not even
    positive and no step size follows from it. The mode of the best-fitting rows has too small a scale, and from there
    the log posterior is concave on the way to the mode. Where the steps lead nowhere, ``start`` (d,) is returned.
    """
    theta, kept = start, np.zeros(model.n_rows, dtype=bool)
    # What a mask hides is impossible for no theta, and would fit best.
    seen = ~model.hidden if isinstance(model, ModelWithLaw) else np.ones(model.n_rows, dtype=bool)
    count = max(int(np.ceil(_KEPT * seen.sum())), 1)
    for _ in range(_ROUNDS):
        best = np.zeros(model.n_rows, dtype=bool)
        fit = np.where(seen, model.log_likelihood(theta), -np.inf)
        best[np.argsort(-fit, kind="stable")[:count]] = True
        if (best == kept).all():
            break
        kept = best
        theta = weighted_mode(model, kept.astype(np.float64), theta)
        with np.errstate(over="ignore", invalid="ignore"):
            if not (np.isfinite(theta).all() and np.isfinite(model.gradients(theta)).all()):
                return start
    return theta
