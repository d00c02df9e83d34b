"""The only module that knows ArviZ, both 0.x (InferenceData) and 1.x (DataTree)."""

from __future__ import annotations

import os
import warnings
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from robula.exceptions import InputError
from robula.models.model import COEFFICIENTS, Model
from robula.result.posterior import Posterior

if TYPE_CHECKING:
    import pandas as pd


def to_arviz(posterior: Posterior, model: Model | None = None, *, log_likelihood: bool = False) -> Any:
    """Return the draws, their statistics and the row weights in ArviZ's container.

    Groups: ``posterior`` (the model's own variables, or ``theta`` with the coordinate ``parameter``),
    ``sample_stats``, and ``constant_data`` with ``row_weights``; with a model, ``observed_data``; with
    ``log_likelihood=True``, that of every row at every draw, unweighted.
    """
    az = _arviz()
    groups, coords, dims = _groups(posterior)
    if model is not None:
        posterior.require_model(model, "to_arviz")
        observed = model.observed_data
        if observed:
            groups["observed_data"] = observed
        dims |= {
            name: ["row", *(f"{name}_dim_{axis}" for axis in range(1, values.ndim))]
            for name, values in observed.items()
        }
    if log_likelihood:
        if model is None:
            raise InputError("log_likelihood=True needs the model: to_arviz(model=..., log_likelihood=True).")
        # ArviZ knows dimensions by variable name, alike in all groups: only data of one number a row share their name.
        single = len(observed) == 1 and all(values.ndim == 1 for values in observed.values())
        name = next(iter(observed)) if single else "rows"
        groups["log_likelihood"] = {name: np.stack([model.log_likelihood(chain) for chain in posterior.draws])}
        dims[name] = ["row"]
    if _is_1x(az):
        return az.from_dict(groups, coords=coords, dims=dims)
    return az.from_dict(**groups, coords=coords, dims=dims)


def _groups(posterior: Posterior) -> tuple[dict[str, dict[str, Any]], dict[str, Any], dict[str, list[str]]]:
    """Variables by group, labels of their axes, and names of the axes after chain and draw."""
    groups: dict[str, dict[str, Any]] = {
        "posterior": dict(posterior.variables) or {"theta": posterior.draws},
        "sample_stats": dict(posterior.stats),
        "constant_data": {"row_weights": posterior.row_weights},
    }
    coords: dict[str, Any] = {"row": np.arange(len(posterior.row_weights))}
    dims: dict[str, list[str]] = {"row_weights": ["row"]}
    known = posterior.settings.get("dims") or {}
    dims |= {
        name: list(axes)
        for name, axes in known.items()
        if name in posterior.variables
        and posterior.variables[name].ndim == len(axes) + 2
        and not {"chain", "draw", "row", "parameter"} & set(axes)
    }
    used = {axis for axes in dims.values() for axis in axes}
    coords |= {name: labels for name, labels in (posterior.settings.get("coords") or {}).items() if name in used}
    if known == {name: list(axes) for name, axes in COEFFICIENTS.items()}:
        (name, (axis,)) = next(iter(COEFFICIENTS.items()))
        coords[axis] = list(posterior.parameter_names[: posterior.variables[name].shape[-1]])
    if not posterior.variables:
        coords["parameter"] = list(posterior.parameter_names)
        dims["theta"] = ["parameter"]
    return groups, coords, dims


def summary(posterior: Posterior) -> pd.DataFrame:
    """ArviZ's summary table, one line a parameter; columns under their own names, as in the report."""
    table: pd.DataFrame = _arviz().summary(to_arviz(posterior))
    (variable,) = COEFFICIENTS if posterior.variables else ("theta",)
    named = [name for name in posterior.parameter_names if not name.isdigit()]
    renamed = table.rename(index={f"{variable}[{name}]": name for name in named})
    return renamed if renamed.index.is_unique else table


def write_netcdf(posterior: Posterior, path: str | os.PathLike[str]) -> None:
    """Write what :func:`to_arviz` holds as netCDF; by xarray alone, as importing ArviZ takes longer than all of it."""
    import xarray

    groups, coords, dims = _groups(posterior)
    mode: Literal["w", "a"] = "w"
    for group, variables in groups.items():
        drawn = [] if group == "constant_data" else ["chain", "draw"]
        data = {}
        for name, values in variables.items():
            others = [f"{name}_dim_{axis}" for axis in range(np.ndim(values) - len(drawn))]
            data[name] = ([*drawn, *dims.get(name, others)], values)
        dataset = xarray.Dataset(data)
        labels = {axis: coords.get(str(axis), np.arange(size)) for axis, size in dataset.sizes.items()}
        encoding = {name: {"zlib": True} for name in data}
        dataset.assign_coords(labels).to_netcdf(
            os.fspath(path), mode, group=group, engine=_backends()[0], encoding=encoding
        )
        mode = "a"


def has_netcdf() -> bool:
    """Whether ArviZ can write netCDF here; 0.x brings a backend, 1.x does not."""
    return bool(_backends())


def _backends() -> list[Literal["h5netcdf", "netcdf4"]]:
    backends: tuple[Literal["h5netcdf", "netcdf4"], ...] = ("h5netcdf", "netcdf4")
    return [name for name in backends if find_spec("netCDF4" if name == "netcdf4" else name) is not None]


def _arviz() -> Any:
    with warnings.catch_warnings():
        # ArviZ 0.23 announces its own 1.0 at import; a user of robula cannot act on it.
        warnings.simplefilter("ignore", FutureWarning)
        import arviz
    return arviz


def _is_1x(az: Any) -> bool:
    return int(az.__version__.split(".")[0]) >= 1
