"""A NumPyro model, sampled robustly."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from robula._imports import import_extra
from robula._validation import show
from robula.exceptions import InputError
from robula.integrations.jax_rows import RowFunctions, RowsModel, RowsModelWithLaw, Values
from robula.integrations.jax_support import Float64, missing_in, refuse_missing, x64
from robula.integrations.laws_without_family import SIMULATIONS, EmpiricalLaw
from robula.integrations.masked_laws import MaskedLaw, has_mask, mask_of, without_mask
from robula.integrations.numpyro_laws import UnknownFamily, describe_distribution
from robula.integrations.numpyro_sites import RowSites, axis_names, counted_rows, per_row, row_sites
from robula.integrations.numpyro_start import initial_point, moved_names
from robula.integrations.site_laws import Described, FamilyLaw, SiteLaw, rows_first
from robula.models.fingerprint import hash_of_function


def from_numpyro(model: Callable[..., Any], *args: Any, **kwargs: Any) -> RowsModel:
    """Make a robula model of a NumPyro model and its data.

    Rows are the plate of the observed site(s), or the only axis of an observed site without a plate. Priors,
    transforms of constrained parameters and their Jacobians are NumPyro's own. ``posterior.variables`` and everything
    that goes through ArviZ have the model's names in constrained space; ``posterior.draws`` are unconstrained.

    Parameters
    ----------
    model : callable
        A NumPyro model.
    *args, **kwargs
        What the model is called with, the data included.

    Returns
    -------
    Model

    Raises
    ------
    InputError
        For what is not supported, with the reason: latent variables of each row, discrete latent variables,
        subsampling, nested plates around the observed site, ``numpyro.param``.

    Examples
    --------
    >>> import numpyro, numpyro.distributions as dist, robula  # doctest: +SKIP
    >>> def line(x, y):  # doctest: +SKIP
    ...     slope = numpyro.sample("slope", dist.Normal(0, 10))
    ...     noise = numpyro.sample("noise", dist.HalfNormal(5))
    ...     with numpyro.plate("rows", len(y)):
    ...         numpyro.sample("y", dist.Normal(slope * x, noise), obs=y)
    >>> posterior = robula.sample(robula.from_numpyro(line, x, y), contamination=0.1)  # doctest: +SKIP
    """
    import_extra("numpyro", "numpyro", "from_numpyro")
    jax = import_extra("jax", "numpyro", "from_numpyro")
    from numpyro import handlers

    if not callable(model):
        raise InputError(f"model={show(model)} is not a NumPyro model: pass the function, then its arguments.")
    with x64(jax):
        try:
            trace = handlers.trace(handlers.seed(model, jax.random.PRNGKey(0))).get_trace(*args, **kwargs)
        except Exception as error:
            hint = missing_in(args, kwargs) or "Check the data, and pass the model's arguments after the model."
            raise InputError(
                f"the NumPyro model failed when it was called ({type(error).__name__}: {error}). {hint}"
            ) from error
        rows = row_sites(trace)
    observed = {name: np.moveaxis(np.asarray(trace[name]["value"]), axis, 0) for name, axis in rows.axes.items()}
    refuse_missing("NumPyro", observed, counted_rows(trace, rows))
    made = _compiled(jax, model, args, kwargs, trace, rows, observed)
    options = dict(data=made.data, observed=observed, init=made.init, source=model, dims=axis_names(trace), coords={})
    options["reweigh"] = functools.partial(_reweighed, jax, model, rows)
    if made.laws is None:
        return RowsModel(made.functions, **options)
    return RowsModelWithLaw(made.functions, made.laws, made.simulation, **options)


def _reweighed(jax: Any, model: Callable[..., Any], rows: RowSites, weights: Any) -> Callable[..., Any]:
    """Return the NumPyro model with rows that count so often (n,); priors and factors stay as they are."""
    from numpyro.primitives import Messenger

    class Weigh(Messenger):  # type: ignore[misc]
        def process_message(self, msg: dict[str, Any]) -> None:
            if msg["type"] != "sample" or msg["name"] not in rows.frames:
                return
            frame = rows.frames[msg["name"]]
            counts = jax.numpy.asarray(weights).reshape(-1, *[1] * (0 if frame is None else -frame.dim - 1))
            msg["scale"] = counts if msg["scale"] is None else msg["scale"] * counts

    @functools.wraps(model)
    def weighted_model(*args: Any, **kwargs: Any) -> Any:
        with Weigh():
            return model(*args, **kwargs)

    return weighted_model


class _Made(NamedTuple):
    """A model's compiled functions and laws, the arrays that they are called with, and where to start."""

    functions: RowFunctions
    laws: list[SiteLaw] | None
    simulation: Callable[..., Any]
    data: Any
    init: dict[str, Any]


# Compiled functions of the last models, by model, what it captures, and shapes of its data; the data are not kept.
_KNOWN: OrderedDict[Any, tuple[Any, ...]] = OrderedDict()
_KEPT = 16


def _compiled(
    jax: Any, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], trace: Any, rows: RowSites, observed: Any
) -> _Made:
    """Compile, or find what was compiled for the same model, capturing the same, and data of the same shapes.

    Arrays among the arguments are arguments of the compiled functions, unless the model does with them what JAX cannot
    trace (a plate as long as the largest group number); then they are constants, and nothing is found again.
    """
    leaves, structure = jax.tree_util.tree_flatten((args, kwargs))
    moving = [index for index, leaf in enumerate(leaves) if getattr(leaf, "ndim", 0) and leaf.dtype.kind in "biuf"]
    data = [np.asarray(leaves[index]) for index in moving]
    fixed = {index: leaf for index, leaf in enumerate(leaves) if index not in moving}
    shapes = tuple((leaf.shape, str(leaf.dtype)) for leaf in [*data, *observed.values()])
    captured = hash_of_function(model)
    key: Any = (model, captured, structure, tuple(fixed.items()), shapes, tuple(rows.axes.items()))
    try:
        hash(key)
    except TypeError:  # an argument that is neither an array nor a plain value
        key = None
    if captured is None:
        key = None
    if key in _KNOWN:
        _KNOWN.move_to_end(key)
        begin, functions, laws, simulation, moved = _KNOWN[key]
        start = begin(data, trace, rows)
    else:

        def arguments(data: Any) -> Any:
            filled = {**fixed, **dict(zip(moving, data, strict=True))}
            return jax.tree_util.tree_unflatten(structure, [filled[index] for index in range(len(filled))])

        def made(arguments: Any, data: Any) -> Any:
            begin = initial_point(jax, model, arguments)
            start = begin(data, trace, rows)
            moved = moved_names(jax, model, args, kwargs, start)
            build = _Builder(jax, model, arguments, rows, trace, moved)
            return begin, start, moved, build, build.functions(start, data, observed)

        try:
            begin, start, moved, build, functions = made(arguments, data)
        except InputError:
            raise
        except Exception:
            data, key = [], None
            begin, start, moved, build, functions = made(lambda data: (args, kwargs), data)
        laws, simulation = build.laws(functions, (np.zeros(functions.dim), data, observed))
        if key is not None:
            _KNOWN[key] = (begin, functions, laws, simulation, moved)
            while len(_KNOWN) > _KEPT:
                _KNOWN.popitem(last=False)
    return _Made(functions, laws, simulation, data, {moved[name]: value for name, value in start.items()})


class _Builder:
    """Functions of (parameters, data, observed) made of a NumPyro model."""

    def __init__(self, jax: Any, model: Any, arguments: Any, rows: RowSites, trace: Any, moved: Any) -> None:
        self._jax, self._model, self._arguments, self._rows = jax, model, arguments, rows
        self._original = {ours: name for name, ours in moved.items()}
        self._names = list(moved)
        self._hidden = {name for name in rows.frames if has_mask(trace[name]["fn"])}
        self._deterministic = [
            name
            for name, site in trace.items()
            if site["type"] == "deterministic" and getattr(site["value"], "shape", ())[:1] != (rows.count,)
        ]

    def _sites(self, parameters: Values) -> dict[str, Any]:
        return {self._original[ours]: value for ours, value in parameters.items()}

    def _observed_sites(self, parameters: Values, data: Any) -> dict[str, Any]:
        from numpyro import handlers
        from numpyro.infer.util import constrain_fn

        args, kwargs = self._arguments(data)
        constrained = constrain_fn(self._model, args, kwargs, self._sites(parameters))
        replayed = handlers.substitute(handlers.seed(self._model, self._jax.random.PRNGKey(0)), data=constrained)
        return dict(handlers.trace(replayed).get_trace(*args, **kwargs))

    def _value(self, name: str, observed: Any) -> Any:
        return self._jax.numpy.moveaxis(observed[name], 0, self._rows.axes[name])

    def functions(self, start: dict[str, Any], data: Any, observed: Any) -> RowFunctions:
        from numpyro import handlers
        from numpyro.infer.util import constrain_fn, potential_energy

        moved = {name: ours for ours, name in self._original.items()}
        prior_model = handlers.block(self._model, hide=list(self._rows.frames))

        def log_likelihoods(parameters: Values, data: Any, observed: Any) -> Any:
            sites = self._observed_sites(parameters, data)
            return sum(
                per_row(self._jax, {**sites[name], "value": self._value(name, observed)}, frame)
                for name, frame in self._rows.frames.items()
            )

        def log_prior(parameters: Values, data: Any) -> Any:
            args, kwargs = self._arguments(data)
            return -potential_energy(prior_model, args, kwargs, self._sites(parameters))

        def constrain(parameters: Values, data: Any) -> Values:
            args, kwargs = self._arguments(data)
            values = constrain_fn(self._model, args, kwargs, self._sites(parameters), return_deterministic=True)
            return {name: values[name] for name in [*self._names, *self._deterministic]}

        return RowFunctions(
            self._jax,
            "NumPyro",
            log_likelihoods=log_likelihoods,
            log_prior=log_prior,
            constrain=constrain,
            init={moved[name]: value for name, value in start.items()},
            point=(data, observed),
        )

    def laws(self, functions: RowFunctions, point: tuple[Any, ...]) -> tuple[list[SiteLaw] | None, Callable[..., Any]]:
        """The law at each observed site, or None where one has none; and how to simulate responses."""
        jax, unravel = self._jax, functions.unravel

        def drawn(flat: Any, data: Any, observed: Any, seed: Any) -> Any:
            sites = self._observed_sites(unravel(flat), data)
            key = jax.random.PRNGKey(seed)
            return {
                name: jax.numpy.moveaxis(
                    jax.numpy.broadcast_to(
                        without_mask(sites[name]["fn"]).sample(jax.random.fold_in(key, place)),
                        self._value(name, observed).shape,
                    ),
                    self._rows.axes[name],
                    0,
                )
                for place, name in enumerate(self._rows.frames)
            }

        compiled = jax.jit(drawn)

        def simulation(flat: Any, data: Any, observed: Any, seed: int) -> dict[str, np.ndarray]:
            with x64(jax):
                return {name: np.asarray(value) for name, value in compiled(flat, data, observed, seed).items()}

        found: list[SiteLaw] = []
        for name in self._rows.frames:
            # A numpyro.factor of the rows is a likelihood without a response.
            law = None if name in self._rows.factors else self._law(name, functions, drawn, point)
            if law is None:
                return None, simulation
            found.append(self._masked(law, name, unravel) if name in self._hidden else law)
        return found, simulation

    def _masked(self, law: SiteLaw, name: str, unravel: Any) -> SiteLaw:
        def seen(flat: Any, data: Any, observed: Any) -> Any:
            distribution = self._observed_sites(unravel(flat), data)[name]["fn"]
            shown = mask_of(self._jax.numpy, distribution, self._value(name, observed).shape)
            return self._jax.numpy.moveaxis(shown, self._rows.axes[name], 0)

        return MaskedLaw(self._jax, law, seen)

    def _law(self, name: str, functions: RowFunctions, drawn: Any, point: tuple[Any, ...]) -> SiteLaw | None:
        jax, unravel, axis = self._jax, functions.unravel, self._rows.axes[name]

        def describe(flat: Any, data: Any, observed: Any) -> Described:
            site = self._observed_sites(unravel(flat), data)[name]
            found = describe_distribution(jax, site["fn"], self._value(name, observed))
            arrays = {key: jax.numpy.moveaxis(array, axis, 0) for key, array in found.arrays.items()}
            return Described(found.family, rows_first(arrays, found.family))

        try:
            return FamilyLaw(jax, describe, point)
        except UnknownFamily as unknown:
            family = str(unknown)

        def simulated(flat: Any, data: Any, observed: Any) -> Any:
            return jax.lax.map(lambda seed: drawn(flat, data, observed, seed)[name], jax.numpy.arange(SIMULATIONS))

        def transform(flat: Any, data: Any, observed: Any) -> Any:
            distribution = without_mask(self._observed_sites(unravel(flat), data)[name]["fn"])
            value = self._value(name, observed)
            upper = distribution.cdf(value)
            below = distribution.cdf(value - 1) if distribution.support.is_discrete else upper
            return jax.numpy.stack([below, upper])

        draws, cdf = Float64(jax, jax.jit(simulated)), Float64(jax, jax.jit(transform))
        with x64(jax):
            discrete = bool(self._observed_sites(unravel(point[0]), point[1])[name]["fn"].support.is_discrete)
        own = _works(lambda: cdf(*point)) and point[2][name].ndim == 1
        if not _works(lambda: draws(*point)):
            return None

        def slopes(flat: Any, data: Any, observed: Any, responses: Any) -> Any:
            kind = observed[name].dtype
            return functions.row_gradients(flat, data, {**observed, name: np.asarray(responses, dtype=kind)})

        def values(observed: Any) -> Any:
            return np.asarray(observed[name], dtype=np.float64)

        def ends(*inner: Any) -> Any:
            below, upper = cdf(*inner)
            return below, upper

        return EmpiricalLaw(values, draws, slopes, ends if own else None, discrete, family)


def _works(call: Callable[[], Any]) -> bool:
    """Whether a distribution can do what only some can."""
    try:
        return bool(np.isfinite(call()).all())
    except Exception:
        return False
