"""The sites of a NumPyro model: which are its rows, what they are worth, and what is not supported."""

from __future__ import annotations

from typing import Any

import numpy as np

from robula.exceptions import InputError
from robula.integrations.jax_support import dependent_rows_reason, row_local_reason
from robula.tables.wrong_values import code_hint


class RowSites:
    """The observed sites that make up the rows.

    Attributes
    ----------
    frames : dict
        For each such site, its row plate, or None where it has no plate.
    axes : dict
        For each such site, the axis of its values along which rows run.
    count : int
    factors : frozenset of str
        Those that are ``numpyro.factor``: a log-likelihood of each row, which says no law of a response.
    """

    def __init__(self, frames: dict[str, Any], axes: dict[str, int], count: int, factors: frozenset[str]) -> None:
        self.frames, self.axes, self.count, self.factors = frames, axes, count, factors


def row_sites(trace: dict[str, Any]) -> RowSites:
    """Find the observed sites with one entry per row, or refuse a model that robula cannot sample."""
    for name, site in trace.items():
        if hasattr(site.get("value"), "iloc"):
            raise InputError(f"{name!r} of the NumPyro model is a pandas column; JAX needs an array: .to_numpy().")
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
        for name, site in observed.items():
            if np.size(site["value"]) > 1:
                raise InputError(dependent_rows_reason("NumPyro", name, np.size(site["value"])))
        raise InputError(
            "the NumPyro model has no observed site with one entry per row; pass the data to the model, as in "
            "from_numpyro(model, x, y=y)."
        )
    plates = {frame.name if frame else None for frame in frames.values()}
    if len(plates) > 1 or len(set(counts.values())) > 1:
        listed = ", ".join(f"{name!r} has {count}" for name, count in counts.items())
        raise InputError(f"the observed sites do not share their rows ({listed}); put them into one numpyro.plate.")
    axes = {
        name: 0 if frame is None else len(observed[name]["fn"].batch_shape) + frame.dim
        for name, frame in frames.items()
    }
    factors = frozenset(name for name in frames if np.size(observed[name]["value"]) == 0)
    found = RowSites(frames, axes, next(iter(counts.values())), factors)
    _refuse_unsupported(trace, found)
    return found


def counted_rows(trace: dict[str, Any], rows: RowSites) -> dict[str, Any]:
    """Rows that a mask leaves, by site, where there is one: what it hides may be missing."""
    found = {}
    for name in rows.frames:
        distribution = trace[name]["fn"]
        if type(distribution).__name__ == "MaskedDistribution":
            mask = np.asarray(distribution._mask)
            found[name] = mask if mask.ndim <= 1 else mask.reshape(len(mask), -1).any(axis=1)
    return found


def axis_names(trace: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """Names of the axes of latent variables: their plates', and NumPyro's own way for the others."""
    found = {}
    for name, site in trace.items():
        if site["type"] != "sample" or site["is_observed"] or not site["cond_indep_stack"]:
            continue
        batch, event = site["fn"].batch_shape, site["fn"].event_shape
        names = [f"{name}_dim_{axis}" for axis in range(len(batch) + len(event))]
        for frame in site["cond_indep_stack"]:
            names[len(batch) + frame.dim] = frame.name
        found[name] = tuple(names)
    return found


def _refuse_unsupported(trace: dict[str, Any], rows: RowSites) -> None:
    """Refuse what cannot be sampled robustly, with the reason and the way out."""
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


def per_row(jax: Any, site: dict[str, Any], frame: Any) -> Any:
    """Log-likelihood of one observed site by row, shape (n,)."""
    values = site["fn"].log_prob(site["value"])
    if site["scale"] is not None:
        values = values * site["scale"]
    if frame is None:
        return values
    moved = jax.numpy.moveaxis(values, frame.dim, 0)
    return moved.reshape(moved.shape[0], -1).sum(axis=1)


def no_start(jax: Any, trace: Any, rows: RowSites) -> InputError:
    """Return the error where no initial point has a finite density: in which rows, and whether they hold a code."""
    values = sum(per_row(jax, trace[name], frame) for name, frame in rows.frames.items())
    bad = np.flatnonzero(~np.isfinite(np.asarray(values)))
    where = f"; its log-likelihood is not finite in {len(bad)} row(s), first {bad[:5].tolist()}" if len(bad) else ""
    observed = [np.asarray(trace[name]["value"]) for name in rows.frames]
    hints = [code_hint(column[bad].astype(np.float64)) for column in observed if column.ndim == 1]
    return InputError(
        f"the NumPyro model has no initial point with a finite density{where}. Check the data and the priors' "
        f"support.{''.join(hints)}"
    )
