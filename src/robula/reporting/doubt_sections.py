"""The parts of the page about doubt: the rows an answer hangs on, and how the rows fit the law."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from robula.diagnosis.flipping_rows import Hinge
from robula.diagnosis.row_influence import Influence
from robula.diagnosis.rows_to_check import OddRows
from robula.reporting import svg_pictures as svg
from robula.reporting.law_fit import LawFit
from robula.reporting.svg_pictures import number

MOST_INFLUENTIAL = 10
# Rows that are named of those that a conclusion hangs on.
_NAMED = 8


def hangs_on(
    found: Influence | None, hinges: Sequence[tuple[Hinge, Hinge]], odd: OddRows | None, labels: Sequence[Any]
) -> str:
    """Return the rows that conclusions hang on, and those that move the answer most."""
    if found is None:
        return ""
    parts = []
    if hinges:
        lines = "".join(
            f"<tr><th class='text' scope='row'>{escape(interval.quantity)}</th><td>{escape(interval.before.text)}</td>"
            f"{_hinge_cell(interval)}{_hinge_cell(sign)}<td class='text'>{escape(_named(interval, labels))}</td></tr>"
            for interval, sign in hinges
        )
        parts.append(
            "<p>How few rows would have to go for a conclusion to turn, the others counting as they do. Few are no "
            "fault of theirs: look whether they are right.</p><div class='scroll' tabindex='0' role='region' "
            "aria-label='Rows that conclusions hang on'><table aria-label='Rows that conclusions hang on'>"
            "<thead><tr><th class='text' scope='col'>quantity</th>"
            "<th scope='col'>now</th><th scope='col'>until 0 is possible</th><th scope='col'>until the sign turns</th>"
            "<th class='text' scope='col'>rows, the first of them</th></tr></thead>"
            f"<tbody>{lines}</tbody></table></div>"
        )
    parts.append(_most_influential(found, odd, labels))
    return "".join(parts)


def _hinge_cell(hinge: Hinge) -> str:
    if hinge.rows is None:
        return "<td class='quiet'>no few rows</td>"
    share = 100.0 * len(hinge.rows) / max(hinge.n_rows, 1)
    doubt = "" if hinge.confirmed else " (not confirmed)"
    return f"<td>{len(hinge.rows):,} rows<small>{number(share)} %{doubt}</small></td>"


def _named(hinge: Hinge, labels: Sequence[Any]) -> str:
    if hinge.rows is None:
        return ""
    named = ", ".join(str(labels[row]) for row in hinge.rows[:_NAMED])
    return named + (", ..." if len(hinge.rows) > _NAMED else "")


def _most_influential(found: Influence, odd: OddRows | None, labels: Sequence[Any]) -> str:
    strength, place = found.strength, found.moved_most
    rows = np.argsort(-strength, kind="stable")[:MOST_INFLUENTIAL]
    lines = "".join(
        f"<tr><th scope='row'>{escape(str(labels[row]))}</th><td>{found.row_weights[row]:.3f}</td>"
        f"<td class='text'>{escape(found.names[place[row]])}</td><td>{number(strength[row])} sd</td>"
        f"<td>{number(float(found.removal[row, place[row]]))}</td>"
        f"<td class='text'>{escape('' if odd is None else odd.cells.reason(int(row)))}</td></tr>"
        for row in rows
    )
    return (
        "<h3>Rows that move the answer most</h3><div class='scroll' tabindex='0' role='region' "
        "aria-label='Rows that move the answer most'><table aria-label='Rows that move the answer most'>"
        "<thead><tr><th scope='col'>row</th>"
        "<th scope='col'>weight</th><th class='text' "
        "scope='col'>moves most</th><th scope='col'>by</th><th scope='col'>change if it went</th><th class='text' "
        f"scope='col'>what is odd</th></tr></thead><tbody>{lines}</tbody></table></div>"
    )


def law(fit: LawFit | None) -> str:
    """Return how the trusted rows fit the declared law, what is off, and what to try."""
    if fit is None:
        return ""
    words = "".join(f"<li>{escape(word)}</li>" for word in fit.words)
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
        f"{'right' if not each.off else 'too wide' if each.found > each.level else 'too narrow'}</td></tr>"
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
