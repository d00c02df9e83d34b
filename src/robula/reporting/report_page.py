"""One self-contained HTML page from a posterior: the answer first, then why and how sure."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robula._files import file_path, write_text
from robula._option_words import as_options
from robula._threads import few_threads_for_small_data
from robula._types import FloatArray
from robula._validation import show
from robula.diagnosis.flipping_rows import Hinge
from robula.diagnosis.prediction_errors import prediction_errors
from robula.diagnosis.row_influence import Influence, influence
from robula.diagnosis.rows_to_check import OddRows, odd_rows, require_odd_rows
from robula.exceptions import InputError
from robula.models.gaussian_posterior import GaussianPosterior
from robula.models.law import ModelWithLaw
from robula.models.model import Model
from robula.models.posterior_mode import laplace
from robula.reporting import doubt_sections as doubt
from robula.reporting import report_sections as sections
from robula.reporting.findings import bad_rows, findings
from robula.reporting.quantities import Line, lines, quantities
from robula.result.law_fit import law_doubts, law_fit
from robula.result.posterior import Posterior

if TYPE_CHECKING:
    import pandas as pd

# Nothing may be fetched, whatever the data say.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
# Rows times squared parameters from which on the rows that a conclusion hangs on are not looked for: each takes
# seconds. robula.influence finds them.
_MOST_WORK = 2 * 10**7
_SENSITIVITY_COLUMNS = ("contamination", "parameter", "mean", "low", "high")


@few_threads_for_small_data
def report(
    posterior: Posterior,
    path: str | os.PathLike[str],
    *,
    model: Model | None = None,
    data: pd.DataFrame | None = None,
    response: str | None = None,
    odd: OddRows | None = None,
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
        The model that was sampled; adds the comparison with the answer that trusts every row, what the answer hangs on,
        and how the rows fit the law.
    data : DataFrame, optional
        The rows, in the order the model had them; they are shown where distrusted or odd, with why.
    response : str, optional
        The column of ``data`` that the model is of; by default the one with the model's responses in it.
    odd : OddRows, optional
        The rows to look at, with their influence, where they are known already (:func:`robula.odd_rows`).
    plain : GaussianPosterior, optional
        The answer that trusts every row, in the units of the posterior, where it is known already.
    residuals : dict of ndarray, shape (n,), optional
        Distances of each row by name, such as prediction errors over the noise scale; large ones are named as odd.
    sensitivity : DataFrame, optional
        Columns contamination, parameter, mean, low, high: the answer for other assumed shares of bad rows.
    title : str, optional
    command : str, optional
        What to type to repeat the run; advice is then about the options of ``robula fit``.
    notes : sequence of str, optional
        Sentences about how the data were prepared.

    Returns
    -------
    Path
        The file written.
    """
    if not isinstance(posterior, Posterior):
        raise InputError(f"posterior={show(posterior)} is not a robula posterior; pass the result of robula.sample.")
    if not (model is None or isinstance(model, Model)):
        raise InputError(f"model={show(model)} is not a robula model of rows in memory; leave it out.")
    target = file_path(path)
    if not target.parent.is_dir():
        raise InputError(f"cannot write {str(target)!r}: the folder {str(target.parent)!r} does not exist.")
    weights = posterior.row_weights
    _refuse_wrong_helpers(posterior, data, odd, plain, residuals, sensitivity)
    shown = quantities(posterior)
    plain = _plain(posterior, model, plain)
    ordered = lines(shown, plain)
    found = odd.influence if odd is not None else _influence(posterior, model)
    if data is not None and response is None:
        response = _response(data, model)
    if odd is None and data is not None:
        odd = odd_rows(posterior, data, response=response, influence=found)
    distances = dict(residuals or _prediction_errors(posterior, model, response))
    labels: Sequence[Any] = list(range(len(weights))) if data is None else list(data.index)
    hinges = _hinges(found, model, ordered)
    judged = findings(posterior, shown, odd)
    fit = law_fit(model, posterior.mean, weights) if isinstance(model, ModelWithLaw) else None
    doubts = [*(posterior.settings.get("rows_found") or {}).get("law", ()), *law_doubts(posterior.settings)]
    if command is not None:  # who repeats the run by a command knows its options
        judged = [finding._replace(text=as_options(finding.text)) for finding in judged]
        doubts = [as_options(words) for words in doubts]
    parts = [
        ("answer", "The answer", sections.comparison(ordered, plain is not None)),
        (
            "hangs",
            "What it hangs on",
            doubt.hangs_on(found, hinges, odd, labels)
            + (
                sections.sensitivity(sensitivity, ordered, posterior.settings.get("contamination"))
                if sensitivity is not None
                else ""
            ),
        ),
        ("rows", "Rows to look at", sections.rows(posterior, data, odd, distances, labels, response)),
        ("fit", "Does the law fit?", doubt.law(fit, doubts)),
        (
            "chains",
            "Can the numbers be trusted?",
            sections.diagnostics(judged) + sections.pictures(shown, ordered, plain),
        ),
        ("made", "How it was made", sections.settings(posterior, command, notes)),
        ("cite", "How to cite", sections.citation(posterior)),
    ]
    present = [(name, heading, content) for name, heading, content in parts if content]
    links = "".join(f"<li><a href='#{name}'>{heading}</a></li>" for name, heading, _ in present)
    body = [
        f"<header><h1>{escape(title)}</h1><p class='quiet'>{_run_line(posterior)}</p></header><main>",
        sections.answer(posterior, ordered, judged, hinges, odd, labels),
        f"<nav aria-label='Sections'><ul>{links}</ul></nav>",
        *(
            f"<section aria-labelledby='{name}'><h2 id='{name}'>{heading}</h2>{content}</section>"
            for name, heading, content in present
        ),
        "</main>",
    ]
    write_text(target, _page(title, "".join(body)))
    return target


def _refuse_wrong_helpers(
    posterior: Posterior, data: object, odd: object, plain: object, residuals: object, sensitivity: object
) -> None:
    """Refuse what is not of the kind that is shown, or of other rows than the posterior."""
    import pandas as pd

    rows = len(posterior.row_weights)
    for name, table in (("data", data), ("sensitivity", sensitivity)):
        if not (table is None or isinstance(table, pd.DataFrame)):
            raise InputError(f"{name}={show(table)} is not a DataFrame; pass one, with the names of its columns.")
    if isinstance(data, pd.DataFrame) and len(data) != rows:
        raise InputError(f"data has {len(data)} rows, but the posterior is of {rows}; pass the same rows.")
    if isinstance(sensitivity, pd.DataFrame) and not set(_SENSITIVITY_COLUMNS) <= set(sensitivity.columns):
        raise InputError(f"sensitivity needs the columns {', '.join(_SENSITIVITY_COLUMNS)}.")
    if odd is not None:
        require_odd_rows(odd, posterior)
    if not (plain is None or isinstance(plain, GaussianPosterior)):
        raise InputError(f"plain={show(plain)} is not a normal posterior, such as model.gaussian_posterior() returns.")
    if not (residuals is None or isinstance(residuals, Mapping)):
        raise InputError(f"residuals={show(residuals)} is not a dict of one array for each name.")
    for name, values in (residuals or {}).items():
        if np.shape(values) != (rows,):
            raise InputError(
                f"residuals[{name!r}] has shape {np.shape(values)}; pass one number for each of {rows} rows."
            )


def _influence(posterior: Posterior, model: Model | None) -> Influence | None:
    """What every row does to the answer; None without a model, or with too few draws to tell."""
    if model is None or len(posterior.flat_draws) <= 2 * (model.dim + 1):
        return None
    return influence(model, posterior)


def _response(data: pd.DataFrame, model: Model | None) -> str | None:
    """The column that holds the model's responses."""
    known = model.response if isinstance(model, ModelWithLaw) else None
    if known is None:
        return None
    for place, name in enumerate(data.columns):
        column = data.iloc[:, place]
        if column.dtype.kind in "iufb" and np.array_equal(column.to_numpy(dtype=np.float64), known):
            return str(name)
    return None


def _prediction_errors(posterior: Posterior, model: Model | None, response: str | None) -> dict[str, FloatArray]:
    """Those at the posterior mean, by the name they have on the page."""
    if model is None or posterior.draws.shape[-1] != model.dim:
        return {}
    errors = prediction_errors(model, posterior.mean)
    of = "" if response is None else f" of {response}"
    return {} if errors is None else {f"prediction error{of}": errors}


def _hinges(found: Influence | None, model: Model | None, ordered: Sequence[Line]) -> list[tuple[Hinge, Hinge]]:
    """For quantities whose interval excludes 0: the rows that this, and that the sign, hangs on."""
    if found is None or model is None or model.n_rows * model.dim**2 > _MOST_WORK:
        return []
    lines = [line for line in ordered if line.name in found.names and line.name != "intercept"]
    clear = [line for line in lines if line.low > 0 or line.high < 0][: sections.MOST_PLOTS]
    return [(found.hangs_on(line.name, "interval"), found.hangs_on(line.name, "sign")) for line in clear]


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
    found = laplace(model)
    robust = None if found is None else laplace(model, posterior.row_weights)
    if found is None or robust is None or posterior.settings.get("likelihood_rows") != "weights":
        # Where the rows stand for more rows than they are, the draws are of no weighted posterior.
        return found
    return found.seen_as(
        robust, posterior.mean - posterior.row_shift, posterior.flat_draws.std(axis=0) * (1.0 - posterior.row_doubt)
    )


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
