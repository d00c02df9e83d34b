"""One self-contained HTML page from a posterior: the answer first, then why and how sure."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robula._files import write_text
from robula._threads import few_threads_for_small_data
from robula._types import FloatArray
from robula._validation import show
from robula.exceptions import InputError
from robula.models.gaussian_posterior import GaussianPosterior
from robula.models.model import Model
from robula.models.posterior_mode import laplace
from robula.reporting import report_sections as sections
from robula.reporting.findings import bad_rows, findings, odd_columns
from robula.reporting.quantities import lines, quantities
from robula.result.posterior import Posterior
from robula.result.thresholds import DISTRUSTED

if TYPE_CHECKING:
    import pandas as pd

# Nothing may be fetched, whatever the data say.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
_SENSITIVITY_COLUMNS = ("contamination", "parameter", "mean", "low", "high")


@few_threads_for_small_data
def report(
    posterior: Posterior,
    path: str | os.PathLike[str],
    *,
    model: Model | None = None,
    data: pd.DataFrame | None = None,
    plain: GaussianPosterior | None = None,
    residuals: Mapping[str, FloatArray] | None = None,
    sensitivity: pd.DataFrame | None = None,
    title: str = "Robust posterior",
    command: str | None = None,
    notes: Sequence[str] = (),
) -> Path:
    """Write one HTML file about a run: no network, readable on a phone, in dark mode and on paper.

    Parameters
    ----------
    posterior : Posterior
    path : path
        The file to write; its folder must exist.
    model : Model, optional
        The model that was sampled; adds the comparison with the answer that trusts every row.
    data : DataFrame, optional
        The rows, in the order the model had them; they are shown where distrusted, with the columns that make them
        odd.
    plain : GaussianPosterior, optional
        The answer that trusts every row, in the units of the posterior, where it is known already.
    residuals : dict of ndarray, shape (n,), optional
        Distances of each row by name, such as prediction errors over the noise scale; large ones are named as odd.
    sensitivity : DataFrame, optional
        Columns contamination, parameter, mean, low, high: the answer for other assumed shares of bad rows.
    title : str, optional
    command : str, optional
        What to type to repeat the run.
    notes : sequence of str, optional
        Sentences about how the data were prepared.

    Returns
    -------
    Path
        The file written.
    """
    if not isinstance(posterior, Posterior):
        raise InputError(f"posterior={show(posterior)} is not a robula posterior; pass the result of robula.sample.")
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(f"cannot write {str(target)!r}: the folder {str(target.parent)!r} does not exist.")
    weights = posterior.row_weights
    if data is not None and len(data) != len(weights):
        raise InputError(f"data has {len(data)} rows, but the posterior is of {len(weights)}; pass the same rows.")
    if sensitivity is not None and not set(_SENSITIVITY_COLUMNS) <= set(sensitivity.columns):
        raise InputError(f"sensitivity needs the columns {', '.join(_SENSITIVITY_COLUMNS)}.")
    shown = quantities(posterior)
    plain = _plain(posterior, model, plain)
    ordered = lines(shown, plain)
    rows = np.flatnonzero(weights < DISTRUSTED)
    reasons = odd_columns(data, residuals or {}, weights >= DISTRUSTED, rows)
    # Many rows can share the weight 0: the oddest of them first.
    oddness = [max((abs(reason.distance) for reason in reasons[int(row)]), default=0.0) for row in rows]
    rows = rows[np.lexsort((-np.array(oddness), weights[rows]))]
    labels: Sequence[Any] = list(range(len(weights))) if data is None else list(data.index)
    body = [
        f"<header><h1>{escape(title)}</h1><p class='quiet'>{_run_line(posterior)}</p></header>",
        sections.answer(posterior, ordered),
        sections.comparison(ordered, plain is not None),
        sections.distrusted(posterior, data, rows, reasons, labels),
        sections.pictures(shown, ordered, plain),
        sections.sensitivity(sensitivity, ordered, posterior.settings.get("contamination"))
        if sensitivity is not None
        else "",
        sections.diagnostics(findings(posterior, shown)),
        sections.settings(posterior, command, notes),
        sections.citation(posterior),
    ]
    write_text(target, _page(title, "".join(body)))
    return target


def _plain(posterior: Posterior, model: Model | None, plain: GaussianPosterior | None) -> GaussianPosterior | None:
    dim = posterior.draws.shape[-1]
    if plain is not None:
        if np.shape(plain.mean) != (dim,) or np.shape(plain.covariance) != (dim, dim):
            raise InputError(f"plain has a mean of shape {np.shape(plain.mean)}; the posterior has {dim} parameters.")
        return plain
    if model is None or model.variables(posterior.draws[:1, :1]):
        # A model with variables of its own is shown in their space, where a normal in unconstrained space is none.
        return None
    if model.dim != dim:
        raise InputError(f"model has {model.dim} parameters, but the posterior has {dim}; pass the model it is of.")
    return laplace(model)


def _run_line(posterior: Posterior) -> str:
    chains, draws, dim = posterior.draws.shape
    words = [f"{len(posterior.row_weights):,} rows", f"{dim} parameters", f"{chains} chains of {draws:,} draws"]
    assumed = bad_rows(posterior)
    return escape(", ".join(words) + (f"; {assumed}." if assumed else "."))


def _page(title: str, body: str) -> str:
    folder = files("robula.reporting")
    style, script = (folder.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>\n{style}</style></head>\n<body>{body}\n<script>\n{script}</script>"
        "</body></html>\n"
    )
