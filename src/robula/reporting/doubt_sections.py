"""The parts of the page about doubt: the rows an answer hangs on, and whether the law fits those that are trusted."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from robula.diagnosis.flipping_rows import Hinge
from robula.diagnosis.row_influence import Influence
from robula.diagnosis.rows_to_check import OddRows
from robula.reporting import svg_pictures as svg
from robula.reporting.svg_pictures import number, rough
from robula.result.law_fit import LawFit

MOST_INFLUENTIAL = 10
# Rows that are named of those that a conclusion hangs on.
_NAMED = 8
_UNTIL_0, _UNTIL_TURNED, _NAMES = "until 0 is possible", "until the sign turns", "rows until 0"


def hangs_on(
    found: Influence | None, hinges: Sequence[tuple[Hinge, Hinge]], odd: OddRows | None, labels: Sequence[Any]
) -> str:
    """Return the rows that conclusions hang on, and those that move the answer most."""
    if found is None:
        return ""
    parts = []
    if hinges:
        lines = "".join(
            f"<tr><th class='text' scope='row'>{escape(interval.quantity)}</th>"
            f"<td data-label='now'>{escape(interval.before.text)}</td>{_hinge_cell(interval, _UNTIL_0)}"
            f"{_hinge_cell(sign, _UNTIL_TURNED)}"
            f"<td class='text' data-label='{_NAMES}'>{escape(_named(interval, labels))}</td></tr>"
            for interval, sign in hinges
        )
        parts.append(
            "<p>How few rows would have to go for a conclusion to turn, the others counting as they do. Rows are not "
            "wrong because much hangs on them, but these are the ones to check.</p><div class='scroll' tabindex='0' "
            "role='region' aria-label='Rows that conclusions hang on'><table class='cards' "
            "aria-label='Rows that conclusions hang on'><thead><tr><th class='text' scope='col'>quantity</th>"
            f"<th scope='col'>now</th><th scope='col'>{_UNTIL_0}</th><th scope='col'>{_UNTIL_TURNED}</th>"
            f"<th class='text' scope='col'>{_NAMES}</th></tr></thead>"
            f"<tbody>{lines}</tbody></table></div>"
        )
    parts.append(_most_influential(found, odd, labels))
    return "".join(parts)


def _hinge_cell(hinge: Hinge, label: str) -> str:
    if hinge.rows is None:
        return f"<td class='quiet' data-label='{label}'>no few rows</td>"
    count = len(hinge.rows)
    share = 100.0 * count / max(hinge.n_rows, 1)
    doubt = "" if hinge.confirmed else " (not confirmed)"
    return (
        f"<td data-label='{label}'>{count:,} row{'s' if count > 1 else ''}<small>{rough(share)} %{doubt}</small></td>"
    )


def _named(hinge: Hinge, labels: Sequence[Any]) -> str:
    if hinge.rows is None:
        return ""
    named = ", ".join(str(labels[row]) for row in hinge.rows[:_NAMED])
    return named + (", ..." if len(hinge.rows) > _NAMED else "")


def _most_influential(found: Influence, odd: OddRows | None, labels: Sequence[Any]) -> str:
    strength, place = found.strength, found.moved_most
    rows = np.argsort(-strength, kind="stable")[:MOST_INFLUENTIAL]
    told = ["" if odd is None else odd.cells.reason(int(row)) for row in rows]
    why = [f"<td class='text'>{escape(reason)}</td>" if any(told) else "" for reason in told]
    head = "<th class='text' scope='col'>what is odd</th>" if any(told) else ""
    lines = "".join(
        f"<tr><th scope='row'>{escape(str(labels[row]))}</th><td>{found.row_weights[row]:.3f}</td>"
        f"<td class='text'>{escape(found.names[place[row]])}</td><td>{rough(strength[row])}&nbsp;sd</td>"
        f"<td>{number(float(found.removal[row, place[row]]))}</td>"
        f"{reason}</tr>"
        for row, reason in zip(rows, why, strict=True)
    )
    return (
        "<h3>Rows that move the answer most</h3><div class='scroll' tabindex='0' role='region' "
        "aria-label='Rows that move the answer most'><table aria-label='Rows that move the answer most'>"
        "<thead><tr><th scope='col'>row</th>"
        "<th scope='col'>weight</th><th class='text' "
        "scope='col'>moves most</th><th scope='col'>by</th><th scope='col'>change if it went</th>"
        f"{head}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def law(fit: LawFit | None, doubts: Sequence[str]) -> str:
    """Return how the trusted rows fit the declared law, what is off, and what to try."""
    if fit is None:
        return ""
    words = "".join(f"<li>{escape(word)}</li>" for word in doubts)
    off = (
        f"<p>The law of the rows is not quite the declared one. What is off, and what to try:</p><ul>{words}</ul>"
        if words
        else "<p>Nothing speaks against the declared law of the rows that are trusted.</p>"
    )
    if len(fit.groups):
        return (
            f"{off}<figure>{svg.reliability(fit.groups)}<figcaption>Groups of trusted rows: observed share of the "
            "label against the predicted one, with the bars that 19 in 20 should keep to; red where one does not."
            "</figcaption></figure>"
        )
    lines = "".join(
        f"<tr><th scope='row'>{100 * each.level:.0f} %</th><td>{100 * each.found:.1f} %</td><td class='text'>"
        f"{'right' if not each.off else 'too wide' if each.too_wide else 'too narrow'}</td></tr>"
        for each in fit.coverage
    )
    return (
        f"{off}<div class='side'><figure>{svg.normal_plot(fit.scores)}<figcaption>Scores of the trusted rows (upright) "
        "against N(0, 1): on the line where the law is right, red outside of the band that chance allows.</figcaption>"
        "</figure><div><table aria-label='Predictive intervals'>"
        "<thead><tr><th scope='col'>predictive interval</th><th scope='col'>holds</th>"
        f"<th class='text' scope='col'>it is</th></tr></thead><tbody>{lines}</tbody></table><p class='note'>Share of "
        "the trusted rows inside the interval that would have been predicted without them.</p></div></div>"
    )
