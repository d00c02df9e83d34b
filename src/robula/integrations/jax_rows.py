"""A model given as one JAX function that returns the log-likelihoods of all rows at once, as the PPLs write them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize

from robula._types import FloatArray
from robula.exceptions import InputError
from robula.integrations.jax_model import JaxPrior
from robula.integrations.jax_support import (
    ARVIZ_NAMES,
    Float64,
    call_second_derivative,
    flatten_init,
    hessian_of,
    parameter_names,
    x64,
)
from robula.models.model import Model, unique_names

#: Unconstrained parameters by name, or constrained variables by name.
Values = Mapping[str, Any]
# Draws that are mapped to constrained space at a time.
_DRAWS_AT_A_TIME = 512

_KEPT = 0.75
_ROUNDS = 10


class RowsModel(Model):
    """A PPL's model in unconstrained space.

    Per-row gradients come from forward mode (d passes over all rows), their weighted sum from one reverse pass.

    Parameters
    ----------
    language : str
        Which PPL it came from, for messages.
    log_likelihoods : callable
        Unconstrained parameters to the log-likelihood of each row, shape (n,).
    log_prior : callable
        Unconstrained parameters to the log prior with the log Jacobian of the constraining transform.
    constrain : callable
        Unconstrained parameters to the variables the user named, in their own space.
    init : dict
        Unconstrained parameters to start from.
    observed : dict
        The observed values by the names the user gave them.
    """

    def __init__(
        self,
        jax: Any,
        language: str,
        *,
        log_likelihoods: Callable[[Values], Any],
        log_prior: Callable[[Values], Any],
        constrain: Callable[[Values], Values],
        init: Values,
        observed: Mapping[str, Any],
    ) -> None:
        self._init, unravel, self._shapes = flatten_init(jax, dict(init))
        self.dim = len(self._init)
        self.parameter_names = parameter_names(self._shapes)
        self.prior = JaxPrior(jax, log_prior, unravel, self.dim)

        def rows(flat: Any) -> Any:
            return log_likelihoods(unravel(flat))

        def variables(flat: Any) -> Any:
            return jax.vmap(lambda one: dict(constrain(unravel(one))))(flat)

        self._jax = jax
        self._observed = {name: np.asarray(value) for name, value in observed.items()}
        self._variables = jax.jit(variables)
        self._compile(rows)
        self._check(language)
        self._initial = trimmed_start(self, self._init)

    def _compile(self, rows: Callable[[Any], Any]) -> None:
        """Set up what is computed of the rows' log-likelihoods, a function of the flat parameters to shape (n,)."""
        jax = self._jax

        def weighted_sum(flat: Any, weights: Any) -> Any:
            return weights @ rows(flat)

        self._function = rows
        self._rows = Float64(jax, jax.jit(rows))
        self._row_gradients = Float64(jax, jax.jit(jax.jacfwd(rows)))
        self._weighted = Float64(jax, jax.jit(jax.vmap(jax.grad(weighted_sum))))
        self._hessian = Float64(jax, jax.jit(hessian_of(jax, weighted_sum)))
        self.n_rows = len(self._rows(self._init))
        try:
            self._row_gradients(self._init)
        except TypeError:
            # A custom derivative with a reverse rule only, such as an ODE solver's.
            self._row_gradients = Float64(jax, jax.jit(jax.jacrev(rows)))

    def take(self, rows: np.ndarray) -> Self:
        """Return the model of these rows only. All rows are still computed: a PPL's model cannot be cut."""
        part, function, places = copy(self), self._function, np.asarray(rows)
        part._observed = {name: values[places] for name, values in self._observed.items()}
        part._compile(lambda flat: function(flat)[places])
        return part

    def _check(self, language: str) -> None:
        """Run everything once at the start: what cannot be sampled must fail before the work."""
        if self.n_rows < 2:
            raise InputError(f"the {language} model has {self.n_rows} row(s); 2 rows or more are needed.")
        values, gradients = self._rows(self._init), self._row_gradients(self._init)
        bad = np.flatnonzero(~(np.isfinite(values) & np.isfinite(gradients).all(axis=1)))
        if len(bad):
            raise InputError(
                f"the {language} model's log-likelihood or its gradient is not finite at its initial point in "
                f"{len(bad)} row(s), first {bad[:5].tolist()}; check those rows and the priors' support."
            )
        if not np.isfinite(self.prior.gradient(self._init)).all():
            raise InputError(f"the {language} model's prior has no finite gradient at its initial point.")
        self._refuse_row_local(gradients, language)

    def _refuse_row_local(self, gradients: FloatArray, language: str) -> None:
        offset = 0
        for name, shape in self._shapes:
            size = math.prod(shape)
            if shape and shape[0] == self.n_rows:
                own = gradients[:, offset : offset + size].reshape(self.n_rows, self.n_rows, -1)
                reach = np.abs(own).max(axis=2)
                if reach.any() and not (reach - np.diag(np.diag(reach))).any():
                    raise InputError(row_local_reason(language, name))
            offset += size

    @property
    def initial(self) -> FloatArray:
        """A robust start in unconstrained space, found from the PPL's own initial point, shape (d,)."""
        return self._initial

    @property
    def observed_data(self) -> dict[str, np.ndarray]:
        """The observed values by name."""
        return self._observed

    def variables(self, draws: FloatArray) -> dict[str, FloatArray]:
        """Return draws (chains, draws, d) under the model's names, in constrained space."""
        flat = draws.reshape(-1, self.dim)
        parts = []
        with x64(self._jax):
            for first in range(0, len(flat), _DRAWS_AT_A_TIME):
                mapped = self._variables(flat[first : first + _DRAWS_AT_A_TIME])
                parts.append({name: np.asarray(value, dtype=np.float64) for name, value in mapped.items()})
        names = list(parts[0])
        return {
            unique: np.concatenate([part[name] for part in parts]).reshape(draws.shape[:-1] + parts[0][name].shape[1:])
            for name, unique in zip(names, unique_names(names, taken=ARVIZ_NAMES), strict=True)
        }

    def log_likelihood(self, theta: FloatArray) -> FloatArray:
        """Log-likelihood of each row, shape (..., n)."""
        return self._each(self._rows, theta, (self.n_rows,))

    def gradients(self, theta: FloatArray) -> FloatArray:
        """Gradient of each row's log-likelihood, shape (..., n, d)."""
        return self._each(self._row_gradients, theta, (self.n_rows, self.dim))

    def weighted_gradient(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Weighted sum of the rows' gradients, one reverse pass, shape (..., d)."""
        theta = self.check_theta(theta)
        batch = np.broadcast_shapes(theta.shape[:-1], weights.shape[:-1])
        thetas = np.broadcast_to(theta, (*batch, self.dim)).reshape(-1, self.dim)
        rows = np.broadcast_to(weights, (*batch, self.n_rows)).reshape(-1, self.n_rows)
        return self._weighted(thetas, rows).reshape((*batch, self.dim))

    def curvature(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Negative Hessian of the weighted log-likelihood at one theta (d,), shape (d, d)."""
        hessian = call_second_derivative(self._hessian, "the log-likelihood", self.check_theta(theta), weights)
        return -0.5 * (hessian + hessian.T)

    def _each(self, function: Float64, theta: FloatArray, shape: tuple[int, ...]) -> FloatArray:
        theta = self.check_theta(theta)
        results = [function(flat) for flat in theta.reshape(-1, self.dim)]
        return np.stack(results).reshape(theta.shape[:-1] + shape)


def row_local_reason(language: str, name: str) -> str:
    """Say why a latent variable of its own for every row cannot be had."""
    return (
        f"the {language} model has a latent variable of its own for every row, {name!r}. robula decides by a row's "
        "pull on the common parameters whether to trust it, and a row that is explained by its own variable has none. "
        f"Integrate {name!r} out (a marginal likelihood), or drop it."
    )


def trimmed_start(model: Model, start: FloatArray) -> FloatArray:
    """Mode of the posterior of the three quarters of the rows that fit best, found by concentration steps.

    A PPL's own initial point is far out in the prior, where the curvature of a model with a scale parameter is not even
    positive and no step size follows from it. The mode of the best-fitting rows has too small a scale, and from there
    the log posterior is concave on the way to the mode. Where the steps lead nowhere, ``start`` (d,) is returned.
    """
    theta, kept = start, np.zeros(model.n_rows, dtype=bool)
    count = max(int(np.ceil(_KEPT * model.n_rows)), 1)
    for _ in range(_ROUNDS):
        best = np.zeros(model.n_rows, dtype=bool)
        best[np.argsort(-model.log_likelihood(theta), kind="stable")[:count]] = True
        if (best == kept).all():
            break
        kept = best
        moved = _mode(model, kept.astype(np.float64), theta)
        if moved is None:
            return start
        theta = moved
    return theta


def _mode(model: Model, weights: FloatArray, start: FloatArray) -> FloatArray | None:
    def objective(theta: FloatArray) -> tuple[float, FloatArray]:
        value = weights @ model.log_likelihood(theta) + model.prior.log_density(theta)
        gradient = model.weighted_gradient(theta, weights) + model.prior.gradient(theta)
        return (-float(value), -gradient) if np.isfinite(value) else (1e300, np.zeros_like(theta))

    with np.errstate(over="ignore", invalid="ignore"):
        found = np.asarray(minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 200}).x)
        good = np.isfinite(found).all() and np.isfinite(model.gradients(found)).all()
    return found if good else None
