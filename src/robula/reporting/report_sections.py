"""The parts of the page, each a function from figures to HTML; every text from outside goes through ``escape``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from robula._types import FloatArray, IntArray
from robula._version import __version__
from robula.diagnosis.flipping_rows import Hinge
from robula.diagnosis.rows_to_check import MATTERS, OddRows, code_words
from robula.models.gaussian_posterior import GaussianPosterior
from robula.reporting import svg_pictures as svg
from robula.reporting.findings import Finding, Reason, reasons
from robula.reporting.quantities import Line, Quantities
from robula.reporting.svg_pictures import number, rough
from robula.result.posterior import Posterior
from robula.result.thresholds import DISTRUSTED

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS, MOST_COLUMNS, MOST_PLOTS, MOST_LINES = 200, 12, 8, 200
#: A coefficient that moves by more than this many standard deviations is worth a sentence.
WORTH_SAYING = 1.0
#: A conclusion that hangs on this many rows, or this share of them, is worth a sentence in the first lines.
FEW, FEW_SHARE = 8, 0.005


def answer(
    posterior: Posterior,
    ordered: Sequence[Line],
    judged: Sequence[Finding],
    hinges: Sequence[tuple[Hinge, Hinge]],
    odd: OddRows | None,
    labels: Sequence[Any],
) -> str:
    """Return the first lines: which rows, what they did, what it hangs on, and whether it can be used."""
    weights = posterior.row_weights
    low = int((weights < DISTRUSTED).sum())
    sentences = [
        f"<p><strong>{low:,} of {len(weights):,} rows</strong> {'are' if low > 1 else 'is'} distrusted: "
        f"{'they count' if low > 1 else 'it counts'} less than half.</p>"
        if low
        else f"<p><strong>None of the {len(weights):,} rows</strong> is distrusted.</p>"
    ]
    # A coefficient where one moves; only then a noise scale, which bad rows always blow up.
    most = ordered[0]
    if not (most.moved or 0.0) > WORTH_SAYING:
        most = max(ordered, key=lambda line: line.moved or 0.0)
    if most.moved is not None and most.plain_mean is not None:
        if most.moved > WORTH_SAYING:
            count = sum((line.moved or 0.0) > WORTH_SAYING for line in ordered)
            sentences.append(
                f"<p>Compared with trusting every row, <strong>{escape(most.name)}</strong> changes most: "
                f"{number(most.mean)} [{number(most.low)}, {number(most.high)}] instead of {number(most.plain_mean)}, "
                f"{rough(most.moved)} standard deviations away"
                + (", with the opposite sign" if most.changes_sign else "")
                + f". {count} of {len(ordered)} quantities move by more than one.</p>"
            )
        else:
            sentences.append(
                "<p>Trusting every row would give nearly the same answer: no quantity moves by more than one standard "
                "deviation.</p>"
            )
    if count := len(posterior.contested):
        sentences.append(
            f"<p><strong>{count:,} row{'s' if count > 1 else ''}</strong> may be mistakes, or show what the model "
            "lacks. The data do not tell which, so they are kept, and the answer hangs on it: see below.</p>"
        )
    if odd is not None:
        sentences += [f"<p>{escape(words)}</p>" for words in _odd_words(odd, labels)]
    # What a refit did not confirm is no headline; the table below has it, as such.
    fewest = min((interval for interval, _ in hinges if interval.confirmed), key=_rows_of, default=None)
    if fewest is not None and _rows_of(fewest) <= max(FEW, FEW_SHARE * fewest.n_rows):
        sentences.append(f"<p>{escape(fewest.words(labels))}</p>")
    verdicts = [finding for finding in judged if finding.verdict]
    sentences += [
        f"<p><span class='grade {finding.grade}'>{escape(finding.title)}.</span> {escape(finding.text)}</p>"
        for finding in verdicts
    ]
    return f'<div class="answer">{"".join(sentences)}</div>'


def _rows_of(hinge: Hinge) -> int:
    return len(hinge.rows) if hinge.rows is not None else hinge.n_rows


def _odd_words(odd: OddRows, labels: Sequence[Any]) -> list[str]:
    """Codes, and the odd rows that were kept, where they matter."""
    told = code_words(odd)
    kept, matter = odd.kept, odd.matter
    if matter is not None and matter.in_sds > MATTERS:
        first = int(kept[0])
        several = f"{len(kept):,} rows that were kept are odd, first" if len(kept) > 1 else "An odd row was kept,"
        # What they do is part of the verdict, which follows.
        told.append(f"{several} row {labels[first]}: {odd.cells.reason(first)}.")
    return told


def comparison(ordered: Sequence[Line], plain: bool) -> str:
    """Return the table of quantities, robust beside plain."""
    head = ["<th class='text' scope='col'>quantity</th>", "<th scope='col'><span class='key'>robust</span></th>"]
    if plain:
        head += [
            "<th scope='col'><span class='key plain'>all rows trusted</span></th>",
            "<th scope='col'>moved by</th>",
        ]
    head.append("<th scope='col'>95 % intervals</th>")
    rows = []
    for line in ordered[:MOST_LINES]:
        cells = [
            f"<th class='text' scope='row'>{escape(line.name)}</th>",
            _estimate("robust", line.mean, line.low, line.high),
        ]
        if plain and line.plain_mean is not None and line.plain_low is not None and line.plain_high is not None:
            flag = "<small class='flag'>sign changes</small>" if line.changes_sign else ""
            cells.append(_estimate("all rows trusted", line.plain_mean, line.plain_low, line.plain_high))
            cells.append(f"<td data-label='moved by'>{rough(line.moved or 0.0)}&nbsp;sd{flag}</td>")
        cells.append(f"<td class='glyph'>{svg.intervals(line)}</td>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    note = (
        "Means with 95 % intervals, those that move most first. <em>Moved by</em> is the distance of the two "
        "means in standard deviations of the robust posterior."
        if plain
        else "Means with 95 % intervals."
    )
    more = f" The first {MOST_LINES} of {len(ordered)} are shown." if len(ordered) > MOST_LINES else ""
    return (
        f"<p class='note'>{note}{more}</p><div class='scroll'><table class='cards compare' "
        "aria-label='The answer'><thead><tr>"
        f"{''.join(head)}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def rows(
    posterior: Posterior,
    data: pd.DataFrame | None,
    odd: OddRows | None,
    residuals: Mapping[str, FloatArray],
    labels: Sequence[Any],
    response: str | None,
) -> str:
    """Return the histogram of weights and the sortable table of rows that are distrusted or odd."""
    weights = posterior.row_weights
    parts = [
        "<p>A row's weight is how much it counted, from 0 (not at all) to 1 (fully). A low weight, or an odd cell, is "
        "a reason to look at the row, not a verdict.</p>",
        f"<figure>{svg.weight_histogram(weights)}<figcaption>Number of rows by weight (heights are square roots)."
        "</figcaption></figure>",
    ]
    low, contested = weights < DISTRUSTED, np.isin(np.arange(len(weights)), posterior.contested)
    order = np.argsort(weights, kind="stable") if odd is None else odd.order
    suspicious = low if odd is None else low | odd.odd
    listed = np.concatenate([order[suspicious[order]], order[(contested & ~suspicious)[order]]])
    if not len(listed):
        return "".join([*parts, "<p>No row counts less than half, and none is odd.</p>"])
    places = [] if data is None else _columns_to_show(data, odd, listed[:MOST_ROWS], response)
    columns = [] if data is None else [str(data.columns[place]) for place in places]
    heads = [("row", ""), ("weight", "")]
    known = odd.influence if odd is not None else None
    if data is not None:
        heads.append(("what is odd", "text"))
    if known is not None:
        heads.append(("influence", ""))
    heads += [
        (column, "" if data is not None and _numeric(data, place) else "text")
        for place, column in zip(places, columns, strict=True)
    ]
    head = "".join(
        f"<th class='{kind}' scope='col'><button type='button'>{escape(name)}</button></th>" for name, kind in heads
    )
    strength = None if known is None else known.strength
    lines = []
    for row in listed[:MOST_ROWS]:
        cells = [_label_cell(labels[row]), f'<td data-value="{weights[row]:.6g}">{weights[row]:.3f}</td>']
        if data is not None:
            told = reasons(None if odd is None else odd.cells, residuals, int(row))
            if contested[row]:
                told.append(Reason("one of the group that may be bad", 0.0))
            cells.append(f"<td class='text odd'>{_chips(told)}</td>")
        if strength is not None:
            cells.append(f'<td data-value="{strength[row]:.6g}">{rough(strength[row])}&nbsp;sd</td>')
        if data is not None:
            cells += [_data_cell(data.iat[row, place], _numeric(data, place)) for place in places]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    parts.append(
        "<div class='scroll tall' tabindex='0' role='region' aria-label='Rows to look at'>"
        "<table class='sortable' aria-label='Rows to look at' "
        f"id='listed'><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )
    kept, group = int((suspicious & ~low).sum()), int((contested & ~suspicious).sum())
    count = int(low.sum())
    also = f" and {kept:,} odd one{'s that were' if kept > 1 else ' that was'} kept" if kept else ""
    also += f", then {group:,} of the group that may be bad" if group else ""
    notes = [
        f"{f'{count:,}' if count else 'No'} distrusted row{'s' if count > 1 else ''}{also}, the most suspicious first."
    ]
    notes.append("Press a heading to sort.")
    if data is not None:
        notes.append("Numbers in red: how many standard deviations off.")
    if known is not None:
        notes.append("<em>Influence</em>: by how many standard deviations the row moves what it moves most.")
    if data is not None and len(data.columns) > MOST_COLUMNS:
        notes.append(f"{MOST_COLUMNS} of {len(data.columns)} columns are shown, those with odd cells before others.")
    if len(listed) > MOST_ROWS:
        notes.append(f"The first {MOST_ROWS} are shown; rows.csv of robula fit has all.")
    return "".join([*parts, f"<p class='note'>{' '.join(notes)}</p>"])


def _columns_to_show(data: pd.DataFrame, odd: OddRows | None, listed: IntArray, response: str | None) -> list[int]:
    """Places of the columns there is room for: the response first, and those with odd cells before others."""
    names = [str(name) for name in data.columns]
    often = dict.fromkeys(names, 0)
    if odd is not None:
        cells = np.abs(odd.cells.scores[listed]) >= odd.cells.limit
        often |= dict(zip(odd.cells.names, cells.sum(axis=0).tolist(), strict=True))
    if response in often:
        often[response] = len(listed) + 1
    chosen = sorted(range(len(names)), key=lambda place: (-often[names[place]], place))[:MOST_COLUMNS]
    return sorted(chosen, key=lambda place: (names[place] != response, place))


def pictures(shown: Quantities, ordered: Sequence[Line], plain: GaussianPosterior | None) -> str:
    """Return density and trace of the quantities that move most."""
    figures = []
    for line in ordered[:MOST_PLOTS]:
        normal = None
        if plain is not None:
            normal = (float(plain.mean[line.place]), float(np.sqrt(plain.covariance[line.place, line.place])))
        values = shown.draws[..., line.place]
        figures.append(
            f"<figure><h4>{escape(line.name)}</h4>{svg.density(line.name, values.ravel(), normal)}"
            f"{svg.trace(line.name, values)}</figure>"
        )
    legend = "<p class='note'><span class='key'>robust draws</span>"
    if plain is not None:
        legend += " &nbsp; <span class='key plain'>all rows trusted</span> (drawn to the same height, where near)"
    more = f". The first {MOST_PLOTS} of {len(ordered)} quantities." if len(ordered) > MOST_PLOTS else ""
    return (
        f"<h3>Posterior and traces</h3>{legend}{more}</p><div class='plots'>{''.join(figures)}</div>"
        "<p class='note'>Traces, below each posterior, should look like the same grass for every chain.</p>"
    )


def sensitivity(table: pd.DataFrame, ordered: Sequence[Line], declared: Any) -> str:
    """Return how the answer moves with the assumed share of bad rows."""
    figures = []
    level = float(declared) if isinstance(declared, float | int) else None
    for line in ordered[:MOST_PLOTS]:
        part = table[table["parameter"] == line.name].sort_values("contamination")
        if len(part) < 2:
            continue
        levels, mean, low, high = (
            part[name].to_numpy(dtype=np.float64) for name in ("contamination", "mean", "low", "high")
        )
        picture = svg.path(line.name, levels, mean, low, high, level)
        figures.append(f"<figure><h4>{escape(line.name)}</h4>{picture}</figure>")
    if not figures:
        return ""
    return (
        "<h3>If another share of bad rows were assumed</h3><p class='note'>Mean and 95 % interval against the assumed "
        "share of bad rows; the dashed line is the one used here. An answer that stays put does not hang on it.</p>"
        f"<div class='plots'>{''.join(figures)}</div>"
    )


def diagnostics(found: Sequence[Finding]) -> str:
    """Return the checks of the run in plain words."""
    items = "".join(
        f"<li><span class='grade {finding.grade}'>{finding.grade}</span><strong>{escape(finding.title)}.</strong> "
        f"{escape(finding.text)}</li>"
        for finding in found
    )
    return f"<ul class='findings'>{items}</ul>"


def settings(posterior: Posterior, command: str | None, notes: Sequence[str]) -> str:
    """Return how the run was made and how to repeat it."""
    rows = "".join(
        f"<tr><th class='text' scope='row'>{escape(str(name))}</th>"
        f"<td class='text'>{escape(_plain_value(value))}</td></tr>"
        for name, value in posterior.settings.items()
    )
    parts = [f"<p>{escape(note)}</p>" for note in notes]
    if command:
        parts.append(f"<p>To repeat it:</p><pre>{escape(command)}</pre>")
    parts.append(
        "<details><summary>All settings of the run</summary><table aria-label='All settings of the run'>"
        f"<tbody>{rows}</tbody></table></details>"
    )
    return "".join(parts)


def citation(posterior: Posterior) -> str:
    """Return what to cite."""
    keys = ", ".join(posterior.citations) or "bhatia2019"
    return (
        "<p>Please cite the paper and the software:</p><pre>"
        "Bhatia, K., Ma, Y.-A., Dragan, A. D., Bartlett, P. L., Jordan, M. I. (2019). Bayesian Robustness: A "
        "Nonasymptotic Viewpoint. arXiv:1907.11826.\n"
        f"robula {escape(__version__)}: robust Langevin sampling (Rob-ULA).</pre>"
        f"<p class='note'>Methods used in this run, by their keys in robula's docs/refs.bib: {escape(keys)}.</p>"
    )


def _estimate(label: str, mean: float, low: float, high: float) -> str:
    return f"<td data-label='{label}'>{number(mean)}<small>[{number(low)}, {number(high)}]</small></td>"


def _numeric(data: pd.DataFrame, index: int) -> bool:
    return data.dtypes.iloc[index].kind in "iuf"


def _label_cell(label: Any) -> str:
    if isinstance(label, int | np.integer):
        return f'<td data-value="{label}">{label}</td>'
    return f"<td>{escape(str(label))}</td>"


def _data_cell(value: Any, numeric: bool) -> str:
    if not numeric:
        text = str(value)
        return f"<td class='text'>{escape(text if len(text) <= 80 else text[:77] + '...')}</td>"
    number_value = float(value)
    if not np.isfinite(number_value):
        return '<td data-value=""></td>'
    return f'<td data-value="{number_value:.17g}">{escape(f"{value:.6g}")}</td>'


def _chips(told: Sequence[Reason]) -> str:
    if not told:
        return "<span class='quiet'>no single column, but the combination</span>"
    far = [f" <b>{reason.distance:+.3g}</b>" if reason.distance else "" for reason in told]
    return "".join(
        f"<span class='reason'>{escape(reason.words)}{how}</span>" for reason, how in zip(told, far, strict=True)
    )


def _plain_value(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)
