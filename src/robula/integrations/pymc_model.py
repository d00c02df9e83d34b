"""A PyMC model, sampled robustly."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from robula._optional import import_extra
from robula._validation import show
from robula.exceptions import InputError
from robula.integrations.jax_rows import RowsModel, Values


def from_pymc(model: Any) -> RowsModel:
    """Make a robula model of a PyMC 5 model.

    Rows are the first axis of the observed variable(s). Priors, transforms of constrained variables and their
    Jacobians are PyMC's own, compiled to JAX by PyTensor. ``posterior.variables`` and everything that goes through
    ArviZ have the model's names in constrained space; ``posterior.draws`` are unconstrained.

    Parameters
    ----------
    model : pymc.Model

    Returns
    -------
    Model

    Raises
    ------
    InputError
        For what is not supported, with the reason: latent variables of each row (imputed values among them), discrete
        variables, potentials that are not a single number.

    Notes
    -----
    PyMC's JAX backend switches JAX to float64 for the whole process when it is first used; robula leaves it so, because
    PyMC's own JAX samplers rely on it.

    Examples
    --------
    >>> import pymc as pm, robula  # doctest: +SKIP
    >>> with pm.Model() as line:  # doctest: +SKIP
    ...     slope, noise = pm.Normal("slope", 0, 10), pm.HalfNormal("noise", 5)
    ...     pm.Normal("y", slope * x, noise, observed=y)
    >>> posterior = robula.sample(robula.from_pymc(line), contamination=0.1)  # doctest: +SKIP
    """
    pymc = import_extra("pymc", "pymc", "from_pymc")
    jax = import_extra("jax", "pymc", "from_pymc")
    from pymc.sampling.jax import get_jaxified_graph

    if not isinstance(model, pymc.Model):
        raise InputError(f"model={show(model)} is not a pymc.Model; pass the object of `with pm.Model() as model:`.")
    _refuse_unsupported(model)
    inputs = model.value_vars
    names = [variable.name for variable in inputs]
    initial = model.initial_point()
    terms = model.logp(vars=model.observed_RVs, sum=False)
    likelihood = get_jaxified_graph(inputs=inputs, outputs=terms)
    prior = get_jaxified_graph(inputs=inputs, outputs=[model.logp(vars=[*model.free_RVs, *model.potentials])])
    shapes = [np.shape(values) for values in likelihood(*(initial[name] for name in names))]
    if any(not shape for shape in shapes) or len({shape[0] for shape in shapes}) != 1:
        listed = ", ".join(f"{rv.name!r} {shape}" for rv, shape in zip(model.observed_RVs, shapes, strict=True))
        raise InputError(
            f"the observed variables have log-likelihoods of shapes {listed}; they must share their rows (first axis)."
        )
    rows = shapes[0][0]
    # The variables in the user's own space, deterministic ones too, but none of those that are as long as the data.
    transformed = set(names) - {variable.name for variable in model.free_RVs}
    wanted = [variable for variable in model.unobserved_value_vars if variable.name not in transformed]
    everything = get_jaxified_graph(inputs=inputs, outputs=wanted)
    sizes = [np.shape(value) for value in everything(*(initial[name] for name in names))]
    computed = {variable.name for variable in model.deterministics}
    kept = [
        index for index, variable in enumerate(wanted) if variable.name not in computed or sizes[index][:1] != (rows,)
    ]

    def ordered(parameters: Values) -> list[Any]:
        return [parameters[name] for name in names]

    def log_likelihoods(parameters: Values) -> Any:
        values = likelihood(*ordered(parameters))
        return sum(value.reshape(rows, math.prod(value.shape[1:])).sum(axis=1) for value in values)

    def log_prior(parameters: Values) -> Any:
        return prior(*ordered(parameters))[0]

    def constrain(parameters: Values) -> Values:
        values = everything(*ordered(parameters))
        return {wanted[index].name: values[index] for index in kept}

    return RowsModel(
        jax,
        "PyMC",
        log_likelihoods=log_likelihoods,
        log_prior=log_prior,
        constrain=constrain,
        init={name: initial[name] for name in names},
        observed={variable.name: _value(model.rvs_to_values[variable]) for variable in model.observed_RVs},
    )


def _value(variable: Any) -> np.ndarray:
    """Return the data of an observed variable: a constant, or a pm.Data container, perhaps inside a cast."""
    return np.asarray(variable.eval())


def _refuse_unsupported(model: Any) -> None:
    if not model.observed_RVs:
        raise InputError("the PyMC model has no observed variable; pass observed= to the variable of the data.")
    for variable in model.free_RVs:
        if variable.name.endswith("_unobserved"):
            raise InputError(
                f"the PyMC model imputes missing values ({variable.name!r}), a latent variable of its own for a row; "
                "drop the rows with missing values."
            )
        if variable.dtype.startswith(("int", "uint", "bool")):
            raise InputError(
                f"the variable {variable.name!r} is discrete, and Langevin sampling needs gradients; sum it out of the "
                "likelihood (pm.Mixture does)."
            )
    for potential in model.potentials:
        if potential.ndim:
            raise InputError(
                f"the potential {potential.name!r} is not a single number, so it is not clear whether it belongs to "
                "the rows; write the rows' part as an observed variable (pm.CustomDist takes a log-likelihood)."
            )
