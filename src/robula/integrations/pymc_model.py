"""A PyMC model, sampled robustly."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from robula._imports import import_extra
from robula._validation import show
from robula.exceptions import InputError
from robula.integrations.jax_rows import RowFunctions, RowsModel, RowsModelWithLaw, Values
from robula.integrations.jax_support import dependent_rows_reason, refuse_missing, x64
from robula.integrations.laws_without_family import SIMULATIONS, EmpiricalLaw
from robula.integrations.pymc_laws import describe_variable
from robula.integrations.row_families import FAMILIES
from robula.integrations.site_laws import Described, FamilyLaw, SiteLaw, rows_first


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
    if not isinstance(model, pymc.Model):
        raise InputError(f"model={show(model)} is not a pymc.Model; pass the object of `with pm.Model() as model:`.")
    _refuse_unsupported(model)
    observed = {variable.name: _value(model.rvs_to_values[variable]) for variable in model.observed_RVs}
    refuse_missing("PyMC", {name: value for name, value in observed.items() if value.ndim}, {})
    initial = model.initial_point()
    init = {variable.name: initial[variable.name] for variable in model.value_vars}
    graph = _Graph(pymc, model)
    data = [np.asarray(variable.get_value()) for variable in graph.shared]
    # A variable or potential added later, or another whole number (it may be a length), makes another graph.
    parts = (*model.value_vars, *model.basic_RVs, *model.potentials, *model.deterministics)
    key = (parts, graph.numbers, tuple((array.shape, str(array.dtype)) for array in [*data, *observed.values()]))
    # Kept with the model: new data in its pm.Data containers do not compile anew, and all goes when it goes.
    known = vars(model).get(_KNOWN, {})
    if key not in known:
        try:
            known = {key: _compiled(jax, graph, init, (data, observed))}
        except InputError:
            raise
        except Exception:
            # What PyTensor cannot trace with its data as arguments has them as constants, and is not kept.
            graph = _Graph(pymc, model, constants=True)
            data = []
            known = {key: _compiled(jax, graph, init, (data, observed))}
        else:
            vars(model)[_KNOWN] = known
    functions, laws, simulation = known[key]
    latent = {variable.name for variable in [*model.free_RVs, *model.deterministics]}
    dims = {name: tuple(axes) for name, axes in model.named_vars_to_dims.items() if name in latent and all(axes)}
    used = {axis for axes in dims.values() for axis in axes}
    coords = {name: _labels(values) for name, values in model.coords.items() if values is not None and name in used}
    options = dict(data=data, observed=observed, init=init, source=model, dims=dims, coords=coords)
    options["reweigh"] = functools.partial(_reweighed, pymc, model)
    if laws is None:
        return RowsModel(functions, **options)
    return RowsModelWithLaw(functions, laws, simulation, **options)


def _reweighed(pymc: Any, model: Any, weights: np.ndarray) -> Any:
    """Return a copy of the PyMC model with rows that count so often (n,): a potential adds what they lack or exceed."""
    from pymc.model.fgraph import clone_model

    copied = clone_model(model)
    with copied:
        total = 0.0
        for variable in copied.observed_RVs:
            term = pymc.logp(variable, copied.rvs_to_values[variable])
            total = total + ((weights - 1.0).reshape(-1, *[1] * (term.ndim - 1)) * term).sum()
        pymc.Potential("row_weights", total)
    return copied


_KNOWN = "_robula_functions"


class _Graph:
    """The graphs of a PyMC model as functions of parameters, data and observed values.

    Attributes
    ----------
    shared : list
        Data containers that the graphs depend on, single real numbers among them.
    numbers : tuple
        Values of the containers that hold one whole number, which are constants: JAX cannot trace a length.
    """

    def __init__(self, pymc: Any, model: Any, constants: bool = False) -> None:
        from pytensor.compile.sharedvalue import SharedVariable

        try:
            from pytensor.graph.traversal import ancestors
        except ImportError:  # before PyTensor 2.35
            from pytensor.graph.basic import ancestors  # type: ignore[no-redef]

        self.pymc, self.model = pymc, model
        self.names = [variable.name for variable in model.value_vars]
        values = {variable.name: model.rvs_to_values[variable] for variable in model.observed_RVs}
        self.terms = model.logp(vars=model.observed_RVs, sum=False)
        self.prior = model.logp(vars=[*model.free_RVs, *model.potentials])
        transformed = set(self.names) - {variable.name for variable in model.free_RVs}
        self.wanted = [variable for variable in model.unobserved_value_vars if variable.name not in transformed]
        described = {
            name: describe_variable(variable, values[name])
            for name, variable in zip(values, model.observed_RVs, strict=True)
        }
        self.described = {
            name: None
            if found is None
            else (found[0], dict(zip(found[1], model.replace_rvs_by_values(list(found[1].values())), strict=True)))
            for name, found in described.items()
        }
        above = list(ancestors([*self.terms, self.prior, *self.wanted]))
        own = set(values.values())
        # Random generators are shared variables too, without axes.
        shared: list[Any] = [variable for variable in above if isinstance(variable, SharedVariable)]
        containers = [variable for variable in shared if hasattr(variable, "ndim") and variable not in own]
        lengths = [v for v in containers if not v.ndim and v.dtype.startswith(("int", "uint", "bool"))]
        self.numbers = tuple(variable.get_value().item() for variable in lengths)
        self.shared = [] if constants else [variable for variable in containers if variable not in lengths]
        self._inputs = {variable: variable.type() for variable in self.shared}
        self._observed = {} if constants else {value: value.type() for value in values.values()}

    def function(self, outputs: list[Any]) -> Callable[[Values, Any, Any], list[Any]]:
        """Return the outputs as a function of (parameters, data, observed) in JAX."""
        from pymc.sampling.jax import get_jaxified_graph
        from pytensor.graph.replace import clone_replace

        replaced = clone_replace(outputs, replace={**self._inputs, **self._observed})
        inputs = [*self.model.value_vars, *self._inputs.values(), *self._observed.values()]
        made = get_jaxified_graph(inputs=inputs, outputs=replaced)
        names = self.names
        # By name: JAX hands dicts over in the order of their keys.
        seen = [variable.name for variable in self.model.observed_RVs] if self._observed else []

        def called(parameters: Values, data: Any, observed: Any) -> list[Any]:
            found = made(*(parameters[name] for name in names), *data, *(observed[name] for name in seen))
            return list(found)

        return called


def _compiled(jax: Any, graph: _Graph, init: Values, point: tuple[Any, Any]) -> tuple[Any, Any, Any]:
    likelihood, prior = graph.function(graph.terms), graph.function([graph.prior])
    everything = graph.function(graph.wanted)
    data, observed = point
    # PyTensor's functions need arrays of JAX, where NumPy's cannot be updated in place.
    init = {name: jax.numpy.asarray(value) for name, value in init.items()}
    shapes = [np.shape(values) for values in likelihood(init, data, observed)]
    for name, shape in zip(observed, shapes, strict=True):
        if not shape and observed[name].size > 1:
            raise InputError(dependent_rows_reason("PyMC", name, observed[name].size))
    if any(not shape for shape in shapes) or len({shape[0] for shape in shapes}) != 1:
        listed = ", ".join(f"{name!r} {shape}" for name, shape in zip(observed, shapes, strict=True))
        raise InputError(
            f"the observed variables have log-likelihoods of shapes {listed}; they must share their rows (first axis)."
        )
    rows = shapes[0][0]
    # The variables in the user's own space, deterministic ones too, but none of those that are as long as the data.
    computed = {variable.name for variable in graph.model.deterministics}
    sizes = [np.shape(value) for value in everything(init, data, observed)]
    kept = [
        index
        for index, variable in enumerate(graph.wanted)
        if variable.name not in computed or sizes[index][:1] != (rows,)
    ]

    def log_likelihoods(parameters: Values, data: Any, observed: Any) -> Any:
        values = likelihood(parameters, data, observed)
        return sum(value.reshape(rows, math.prod(value.shape[1:])).sum(axis=1) for value in values)

    def log_prior(parameters: Values, data: Any) -> Any:
        return prior(parameters, data, point[1])[0]

    def constrain(parameters: Values, data: Any) -> Values:
        values = everything(parameters, data, point[1])
        return {graph.wanted[index].name: values[index] for index in kept}

    functions = RowFunctions(
        jax,
        "PyMC",
        log_likelihoods=log_likelihoods,
        log_prior=log_prior,
        constrain=constrain,
        init=init,
        point=point,
    )
    simulation = _simulation(graph, functions)
    laws: list[SiteLaw] = []
    for name in observed:
        law = _law(jax, graph, functions, simulation, name, (np.zeros(functions.dim), *point))
        if law is None:
            return functions, None, simulation
        laws.append(law)
    return functions, laws, simulation


def _law(
    jax: Any, graph: _Graph, functions: RowFunctions, simulation: Any, name: str, point: tuple[Any, ...]
) -> SiteLaw | None:
    found, unravel = graph.described[name], functions.unravel
    if found is not None:
        family, symbols = found
        arrays = graph.function(list(symbols.values()))

        def describe(flat: Any, data: Any, observed: Any) -> Described:
            values = dict(zip(symbols, arrays(unravel(flat), data, observed), strict=True))
            jnp, shape = jax.numpy, jax.numpy.shape(values["y"])
            if family in FAMILIES:
                values = {key: jnp.broadcast_to(value, shape) for key, value in values.items()}
            elif family == "labels":
                values["0"] = jnp.broadcast_to(values["0"], (*shape, values["0"].shape[-1]))
            else:
                values["0"] = jnp.broadcast_to(values["0"], shape)
                values["1"] = jnp.broadcast_to(values["1"], (*shape, shape[-1]))
            return Described(family, rows_first(values, family))

        return FamilyLaw(jax, describe, point)
    variable = next(one for one in graph.model.observed_RVs if one.name == name)
    discrete = variable.dtype.startswith(("int", "uint", "bool"))

    def draws(flat: Any, data: Any, observed: Any) -> Any:
        return np.stack([simulation(flat, data, observed, seed)[name] for seed in range(SIMULATIONS)]).astype(float)

    def slopes(flat: Any, data: Any, observed: Any, responses: Any) -> Any:
        kind = observed[name].dtype
        return functions.row_gradients(flat, data, {**observed, name: np.asarray(responses, dtype=kind)})

    def values(observed: Any) -> Any:
        return np.asarray(observed[name], dtype=np.float64)

    return EmpiricalLaw(values, draws, slopes, None, discrete, type(variable.owner.op).__name__)


def _simulation(graph: _Graph, functions: RowFunctions) -> Callable[..., dict[str, np.ndarray]]:
    """Responses drawn by PyMC itself, given the free variables; compiled when first asked for."""

    @functools.cache
    def compiled() -> Any:
        tools = graph.pymc.pytensorf
        compiler = getattr(tools, "compile", None) or tools.compile_pymc
        return compiler(graph.model.free_RVs, graph.model.observed_RVs, on_unused_input="ignore")

    def simulation(flat: Any, data: Any, observed: Any, seed: int) -> dict[str, np.ndarray]:
        with x64(functions.jax):
            values = functions.variables(np.asarray(flat)[None], data)
        function = compiled()
        for place, rng in enumerate(
            one for one in function.get_shared() if type(one.type).__name__ == "RandomGeneratorType"
        ):
            rng.set_value(np.random.default_rng([seed, place]))
        free = [
            np.asarray(values[variable.name][0], dtype=getattr(variable, "dtype", np.float64))
            for variable in graph.model.free_RVs
        ]
        return dict(zip(observed, function(*free), strict=True))

    return simulation


def _labels(values: Any) -> list[Any]:
    """Coordinates as what JSON can hold."""
    return [
        value if isinstance(value, bool | int | float | str) else str(value) for value in np.asarray(values).tolist()
    ]


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
        # A Cholesky factor with standard deviations (LKJCholeskyCov) is a variable without a number type of its own.
        if str(getattr(variable, "dtype", "")).startswith(("int", "uint", "bool")):
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
