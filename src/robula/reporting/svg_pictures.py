"""Small pictures as SVG text whose colours come from the page's style sheet, so that they follow dark mode."""

from __future__ import annotations

from html import escape

import numpy as np
from scipy.special import ndtri

from robula._intervals import HALF_WIDTH
from robula._types import FloatArray
from robula.reporting.quantities import Line

# Points that a line in a picture has at most: more cannot be seen.
_MOST_POINTS = 300


def number(value: float) -> str:
    """Return four significant digits, without trailing zeros."""
    text = f"{value:.4g}"
    return text.replace("e+0", "e").replace("e-0", "e-")


def rough(value: float) -> str:
    """Return two significant digits: enough for standard deviations moved, and for percents."""
    return f"{value:,.0f}" if abs(value) >= 9.95 else f"{value:.2g}" if abs(value) >= 0.005 else "0"


def intervals(line: Line) -> str:
    """Two bars on one scale of their own: robust above, plain below, and 0 where it is in sight."""
    ends = [line.low, line.high]
    if line.plain_low is not None and line.plain_high is not None:
        ends += [line.plain_low, line.plain_high]
    low, high = min(ends), max(ends)
    low, high = _apart(low, high)
    if 0 < low < 0.5 * (high - low):
        low = 0.0
    if 0 > high > -0.5 * (high - low):
        high = 0.0
    scale = Scale(low, high, 6.0, 154.0)
    parts = [f'<line class="zero" x1="{scale(0.0)}" x2="{scale(0.0)}" y1="2" y2="30"/>'] if low <= 0 <= high else []
    parts += _bar("robust", scale(line.low), scale(line.mean), scale(line.high), 10)
    if line.plain_low is not None and line.plain_mean is not None and line.plain_high is not None:
        parts += _bar("plain", scale(line.plain_low), scale(line.plain_mean), scale(line.plain_high), 22)
    return _picture(160, 32, parts, f"95 % intervals of {line.name}", "glyph")


def density(name: str, values: FloatArray, plain: tuple[float, float] | None) -> str:
    """Smoothed histogram of the draws (k,), and the plain normal (mean, deviation) where it is near."""
    low, high = np.quantile(values, [0.001, 0.999])
    if plain is not None:
        reach, ends = 1.5 * (high - low), (plain[0] - 3 * plain[1], plain[0] + 3 * plain[1])
        if ends[0] > low - reach and ends[1] < high + reach:
            low, high = min(low, ends[0]), max(high, ends[1])
        else:
            plain = None
    low, high = _apart(low, high)
    heights, edges = np.histogram(values, bins=60, range=(low, high), density=True)
    kernel = np.array([1.0, 4.0, 6.0, 4.0, 1.0]) / 16.0
    heights = np.convolve(heights, kernel, mode="same")
    middles = 0.5 * (edges[:-1] + edges[1:])
    top = float(heights.max()) or 1.0
    across, up = Scale(low, high, 8.0, 312.0), Scale(0.0, top * 1.05, 96.0, 8.0)
    outline = " ".join(f"{across(x)},{up(h)}" for x, h in zip(middles, heights, strict=True))
    parts = [f'<polygon class="robust-fill" points="{across(low)},96 {outline} {across(high)},96"/>']
    if plain is not None:
        grid = np.linspace(low, high, 120)
        bell = np.exp(-0.5 * ((grid - plain[0]) / plain[1]) ** 2)
        # Drawn to the same height: where it lies and how wide it is matter, not its peak.
        path = " ".join(f"{across(x)},{up(top * h)}" for x, h in zip(grid, bell, strict=True))
        parts.append(f'<polyline class="plain-line" points="{path}"/>')
    return _picture(320, 118, parts + _axis(low, high, across, 96), f"Posterior of {name}", "plot")


def trace(name: str, draws: FloatArray) -> str:
    """One line a chain, draws (chains, draws)."""
    low, high = float(draws.min()), float(draws.max())
    low, high = _apart(low, high)
    chains, length = draws.shape
    across, up = Scale(0.0, max(length - 1, 1), 8.0, 312.0), Scale(low, high, 96.0, 8.0)
    chosen = np.unique(np.linspace(0, length - 1, _MOST_POINTS).astype(int))
    parts = [
        f'<polyline class="chain chain-{chain % 4}" points="'
        + " ".join(f"{across(x)},{up(draws[chain, x])}" for x in chosen)
        + '"/>'
        for chain in range(chains)
    ]
    parts.append(
        f'<text class="tick" x="8" y="112">draw 1</text><text class="tick end" x="312" y="112">{length}</text>'
    )
    return _picture(320, 118, parts, f"Trace of {name}", "plot")


def weight_histogram(weights: FloatArray) -> str:
    """How many rows count how much."""
    counts, edges = np.histogram(weights, bins=20, range=(0.0, 1.0))
    across, up = Scale(0.0, 1.0, 8.0, 632.0), Scale(0.0, float(np.sqrt(counts.max())), 90.0, 22.0)
    parts = []
    for count, left, right in zip(counts, edges[:-1], edges[1:], strict=True):
        x, height = across(left) + 1, 90.0 - up(np.sqrt(count))
        kind = "distrusted" if right <= 0.5 + 1e-9 else "trusted"
        width = round(across(right) - across(left) - 2, 2)
        parts.append(f'<rect class="{kind}" x="{x}" y="{up(np.sqrt(count))}" width="{width}" height="{height:.2f}"/>')
        if count:
            parts.append(
                f'<text class="tick mid" x="{x + width / 2:.1f}" y="{up(np.sqrt(count)) - 3:.1f}">{count}</text>'
            )
    return _picture(640, 112, parts + _axis(0.0, 1.0, across, 90), "Row weights", "plot wide")


def path(
    name: str, levels: FloatArray, mean: FloatArray, low: FloatArray, high: FloatArray, declared: float | None
) -> str:
    """A quantity against the assumed level, with its interval; the declared level is marked."""
    bottom, top = float(low.min()), float(high.max())
    bottom, top = _apart(bottom, top)
    across, up = Scale(float(levels.min()), max(float(levels.max()), 1e-9), 52.0, 304.0), Scale(bottom, top, 96.0, 10.0)
    band = [f"{across(x)},{up(y)}" for x, y in zip(levels, high, strict=True)]
    band += [f"{across(x)},{up(y)}" for x, y in zip(levels[::-1], low[::-1], strict=True)]
    line = " ".join(f"{across(x)},{up(y)}" for x, y in zip(levels, mean, strict=True))
    parts = [
        f'<polygon class="robust-fill" points="{" ".join(band)}"/>',
        f'<polyline class="robust-line" points="{line}"/>',
    ]
    if declared is not None and levels.min() <= declared <= levels.max():
        parts.append(f'<line class="zero" x1="{across(declared)}" x2="{across(declared)}" y1="8" y2="96"/>')
    parts += [
        f'<circle class="robust-dot" cx="{across(x)}" cy="{up(y)}" r="2.5"/>' for x, y in zip(levels, mean, strict=True)
    ]
    parts += [f'<text class="tick mid" x="{across(x)}" y="112">{number(100 * x)} %</text>' for x in levels]
    parts += [f'<text class="tick end" x="46" y="{up(y) + 4}">{y:.3g}</text>' for y in (bottom, top)]
    return _picture(320, 118, parts, f"{name} against the assumed share of bad rows", "plot")


def normal_plot(scores: FloatArray) -> str:
    """Ordered scores (m,) against the quantiles of N(0, 1), with the band that 19 in 20 of them should keep to."""
    count = len(scores)
    # All of the tails, and as many of the middle as can be seen.
    chosen = np.unique(np.concatenate([np.geomspace(1, count, 80), count + 1 - np.geomspace(1, count, 80)]).astype(int))
    shares = (np.arange(1, count + 1) - 0.5)[chosen - 1] / count
    quantiles = ndtri(shares)
    half = HALF_WIDTH * np.sqrt(shares * (1.0 - shares) / count) / np.exp(-0.5 * quantiles**2) * np.sqrt(2.0 * np.pi)
    reach = min(max(float(np.abs(scores).max()), float(np.abs(quantiles).max()), 2.5), 6.0) * 1.04
    across, up = Scale(-reach, reach, 34.0, 312.0), Scale(-reach, reach, 246.0, 8.0)
    low, high = np.clip(quantiles - half, -reach, reach), np.clip(quantiles + half, -reach, reach)
    band = [f"{across(x)},{up(y)}" for x, y in zip(quantiles, high, strict=True)]
    band += [f"{across(x)},{up(y)}" for x, y in zip(quantiles[::-1], low[::-1], strict=True)]
    parts = [
        f'<polygon class="robust-fill" points="{" ".join(band)}"/>',
        f'<line class="zero" x1="{across(-reach)}" y1="{up(-reach)}" x2="{across(reach)}" y2="{up(reach)}"/>',
    ]
    for x, y, bottom, top in zip(quantiles, np.clip(scores[chosen - 1], -reach, reach), low, high, strict=True):
        kind = "robust-dot" if bottom <= y <= top else "distrusted"
        parts.append(f'<circle class="{kind}" cx="{across(x)}" cy="{up(y)}" r="2"/>')
    ticks = [tick for tick in (-6, -4, -2, 0, 2, 4, 6) if abs(tick) < reach]
    parts += [f'<text class="tick mid" x="{across(tick)}" y="262">{tick}</text>' for tick in ticks]
    parts += [f'<text class="tick end" x="28" y="{up(tick) + 4}">{tick}</text>' for tick in ticks]
    return _picture(320, 268, parts, "Scores of the trusted rows against those of the law", "plot square")


def reliability(groups: FloatArray) -> str:
    """Observed against predicted share of a label, groups (g, 3) of rows with their standard errors."""
    across, up = Scale(0.0, 1.0, 34.0, 312.0), Scale(0.0, 1.0, 246.0, 8.0)
    parts = [f'<line class="zero" x1="{across(0)}" y1="{up(0)}" x2="{across(1)}" y2="{up(1)}"/>']
    for predicted, observed, error in groups:
        ends = np.clip([predicted - HALF_WIDTH * error, predicted + HALF_WIDTH * error], 0.0, 1.0)
        kind = "robust-dot" if ends[0] <= observed <= ends[1] else "distrusted"
        parts.append(
            f'<line class="robust-bar" x1="{across(predicted)}" x2="{across(predicted)}" y1="{up(ends[0])}" '
            f'y2="{up(ends[1])}"/><circle class="{kind}" cx="{across(predicted)}" cy="{up(observed)}" r="4"/>'
        )
    parts += [f'<text class="tick mid" x="{across(tick)}" y="262">{tick:g}</text>' for tick in (0, 0.5, 1)]
    parts += [f'<text class="tick end" x="28" y="{up(tick) + 4}">{tick:g}</text>' for tick in (0, 0.5, 1)]
    return _picture(320, 268, parts, "Observed against predicted share of the label", "plot square")


def _picture(width: int, height: int, parts: list[str], label: str, kind: str) -> str:
    return (
        f'<svg class="{kind}" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label)}">'
        + "".join(parts)
        + "</svg>"
    )


def _bar(kind: str, low: float, middle: float, high: float, y: int) -> list[str]:
    return [
        f'<line class="{kind}-bar" x1="{low}" x2="{high}" y1="{y}" y2="{y}"/>',
        f'<circle class="{kind}-dot" cx="{middle}" cy="{y}" r="3.5"/>',
    ]


def _axis(low: float, high: float, across: Scale, y: int) -> list[str]:
    parts = [f'<line class="axis" x1="8" x2="{across(high)}" y1="{y}" y2="{y}"/>']
    for value, side in ((low, ""), (0.5 * (low + high), " mid"), (high, " end")):
        parts.append(f'<text class="tick{side}" x="{across(value)}" y="{y + 16}">{escape(number(float(value)))}</text>')
    return parts


def _apart(low: float, high: float) -> tuple[float, float]:
    """Return two ends that a picture can tell apart, also where all values are the same up to rounding."""
    least = 1e-9 * max(abs(low), abs(high), 1e-300)
    if high - low > least:
        return float(low), float(high)
    room = max(1e-6 * max(abs(low), abs(high)), 1e-12)
    return float(low - room), float(high + room)


class Scale:
    """Linear map from data to picture, rounded to hundredths."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self._low, self._start = low, start
        self._ratio = (end - start) / (high - low) if high > low else 0.0

    def __call__(self, value: float) -> float:
        """Return the place of a value in the picture."""
        return round(float(self._start + (value - self._low) * self._ratio), 2)
