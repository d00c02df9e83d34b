"""A NumPyro model, sampled robustly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from robula._optional import import_extra
from robula._validation import show
from robula.exceptions import InputError
from robula.integrations.jax_rows import RowsModel, Values, row_local_reason
from robula.integrations.jax_support import x64


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
    from numpyro.infer import init_to_median
    from numpyro.infer.util import constrain_fn, initialize_model, potential_energy

    if not callable(model):
        raise InputError(f"model={show(model)} is not a NumPyro model: pass the function, then its arguments.")
    key = jax.random.PRNGKey(0)
    with x64(jax):
        try:
            trace = handlers.trace(handlers.seed(model, key)).get_trace(*args, **kwargs)
        except Exception as error:
            raise InputError(
                f"the NumPyro model failed when it was called ({type(error).__name__}: {error}); pass its arguments "
                "after it: from_numpyro(model, *args, **kwargs)."
            ) from error
        rows = _row_sites(trace)
        _refuse_unsupported(trace, rows)
        info = initialize_model(
            key,
            model,
            init_strategy=init_to_median(num_samples=15),
            model_args=args,
            model_kwargs=kwargs,
            dynamic_args=False,
        )
        init = info.param_info.z
        start = constrain_fn(model, args, kwargs, init)
    # A parameter that NumPyro transforms is known to the sampler under another name than the user's.
    moved = {name: name if _same(init[name], start[name]) else f"{name}_unconstrained__" for name in init}
    original = {ours: name for name, ours in moved.items()}
    deterministic = [
        name
        for name, site in trace.items()
        if site["type"] == "deterministic" and getattr(site["value"], "shape", ())[:1] != (rows.count,)
    ]
    prior_model = handlers.block(model, hide=list(rows.frames))

    def sites(parameters: Values) -> dict[str, Any]:
        return {original[ours]: value for ours, value in parameters.items()}

    def log_likelihoods(parameters: Values) -> Any:
        constrained = constrain_fn(model, args, kwargs, sites(parameters))
        replayed = handlers.substitute(handlers.seed(model, key), data=constrained)
        observed = handlers.trace(replayed).get_trace(*args, **kwargs)
        return sum(_per_row(jax, observed[name], frame) for name, frame in rows.frames.items())

    def log_prior(parameters: Values) -> Any:
        return -potential_energy(prior_model, args, kwargs, sites(parameters))

    def constrain(parameters: Values) -> Values:
        values = constrain_fn(model, args, kwargs, sites(parameters), return_deterministic=True)
        return {name: values[name] for name in [*init, *deterministic]}

    return RowsModel(
        jax,
        "NumPyro",
        log_likelihoods=log_likelihoods,
        log_prior=log_prior,
        constrain=constrain,
        init={moved[name]: value for name, value in init.items()},
        observed={name: trace[name]["value"] for name in rows.frames},
    )


class _RowSites:
    """The observed sites that make up the rows.

    Attributes
    ----------
    frames : dict
        For each such site, its row plate, or None where it has no plate.
    count : int
    """

    def __init__(self, frames: dict[str, Any], count: int) -> None:
        self.frames, self.count = frames, count


def _row_sites(trace: dict[str, Any]) -> _RowSites:
    observed = {name: site for name, site in trace.items() if site["type"] == "sample" and site["is_observed"]}
    frames: dict[str, Any] = {}
    counts: dict[str, int] = {}
    for name, site in observed.items():
        stack = site["cond_indep_stack"]
        if len(stack) > 1:
            names = ", ".join(repr(frame.name) for frame in stack)
            raise InputError(
                f"the observed site {name!r} is inside several plates ({names}), so it is not clear what a row is. "
                "Put what belongs to one row into the event with .to_event(...), and keep the plate of the rows."
            )
        shape = site["fn"].log_prob(site["value"]).shape
        if stack:
            frames[name], counts[name] = stack[0], stack[0].size
        elif len(shape) == 1:
            frames[name], counts[name] = None, shape[0]
        elif len(shape) > 1:
            raise InputError(
                f"the observed site {name!r} has a log-likelihood of shape {shape}; put the rows into a numpyro.plate "
                "and the rest into the event with .to_event(...)."
            )
        # A scalar (numpyro.factor, an observed summary) is no row: it stays with the prior.
    if not frames:
        raise InputError(
            "the NumPyro model has no observed site with one entry per row; pass the data to the model, as in "
            "from_numpyro(model, x, y=y)."
        )
    plates = {frame.name if frame else None for frame in frames.values()}
    if len(plates) > 1 or len(set(counts.values())) > 1:
        listed = ", ".join(f"{name!r} has {count}" for name, count in counts.items())
        raise InputError(f"the observed sites do not share their rows ({listed}); put them into one numpyro.plate.")
    return _RowSites(frames, next(iter(counts.values())))


def _refuse_unsupported(trace: dict[str, Any], rows: _RowSites) -> None:
    plates = {frame.name for frame in rows.frames.values() if frame}
    for name, site in trace.items():
        if site["type"] == "plate" and site["args"][1] not in (None, site["args"][0]):
            raise InputError(f"the plate {name!r} is subsampled; robula needs all rows at every step.")
        if site["type"] == "param":
            raise InputError(f"the NumPyro model has numpyro.param {name!r}; give it a prior with numpyro.sample.")
        if site["type"] != "sample" or site["is_observed"]:
            continue
        if any(frame.name in plates for frame in site["cond_indep_stack"]):
            raise InputError(row_local_reason("NumPyro", name))
        if site["fn"].support is not None and site["fn"].support.is_discrete:
            raise InputError(
                f"the latent variable {name!r} is discrete, and Langevin sampling needs gradients; sum it out of the "
                "likelihood (numpyro.distributions.Mixture does)."
            )


def _per_row(jax: Any, site: dict[str, Any], frame: Any) -> Any:
    """Log-likelihood of one observed site by row, shape (n,)."""
    values = site["fn"].log_prob(site["value"])
    if site["scale"] is not None:
        values = values * site["scale"]
    if frame is None:
        return values
    moved = jax.numpy.moveaxis(values, frame.dim, 0)
    return moved.reshape(moved.shape[0], -1).sum(axis=1)


def _same(unconstrained: Any, constrained: Any) -> bool:
    return bool(unconstrained.shape == constrained.shape and (unconstrained == constrained).all())
