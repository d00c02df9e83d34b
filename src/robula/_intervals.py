"""The level of every interval that is shown."""

from __future__ import annotations

from scipy.special import ndtri

#: Intervals hold this share of what is possible; the rest is cut off in equal parts at both ends.
LEVEL = 0.95
#: Its ends as quantiles, and half its width for a normal distribution in standard deviations.
TAILS = ((1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0)
HALF_WIDTH = float(ndtri(TAILS[1]))
