"""The numbers of the excess rule, in one place: bins and gates first, then by the part that uses them."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from robula._types import FloatArray

#: Contamination assumed where none is given; it limits how many rows may be flagged and which flip rates are tried.
DEFAULT_BUDGET = 0.2

# Counts in bins of the standardised residual (excess_counts.py).
#: Bins of width 1/2 on [-4, 4] and two tails.
EDGES: FloatArray = np.concatenate([[-np.inf], np.arange(-4.0, 4.01, 0.5), [np.inf]])
BINS = len(EDGES) - 1
PROBABILITIES: FloatArray = np.diff(ndtr(EDGES))
#: Beyond this many standard deviations a row is dropped wherever anything is in excess: 7e-6 of clean rows are there.
FAR = 4.5
#: The centre, both halves and both flanks. Bad rows cannot fill them all in the model's proportions unless they look
#: like the model, and a group that is one-sided or too tight leaves one of them nearly empty.
REGIONS = ((-1.0, 1.0), (-1.5, 0.0), (0.0, 1.5), (-2.5, -0.5), (0.5, 2.5))
#: Neighbouring bins are tested alone, in pairs and in fours: an excess may be spread thin.
WINDOWS = (1, 2, 4)
#: With a clean share below this the gate is no longer needed.
MINORITY = 0.6
#: How often a response value must be repeated, and how many deviations beyond chance, to be looked at as a code.
FEWEST_REPEATS, REPEAT_GATE = 5, 4.0

# Fixed point of weighting and fitting (excess_regression.py, excess_mean.py).
#: Standard deviations beyond which a count is no longer chance; the second along the mean model's top direction, which
#: the data chose.
GATE, MEAN_DIRECTION_GATE = 3.7, 4.5
#: The same for a flagged group's mean or variance.
GROUP_TEST = 4.0
#: A flagged group in which fewer rows than this share can be clean is dropped. Correlated or heavy-tailed features flag
#: many good rows beside the bad ones, and dropping these would make the posterior too wide.
MAJORITY = 0.5
#: An excess that shrinks below this share of itself in the fit without it was chance.
CONFIRMED = 0.2
ALTERNATIONS, SWEEPS = 15, 2
#: Searches for an unknown noise scale, and the scales tried around the current one, a fifth of it to one and a half.
SCALE_SEARCHES, SCALE_REFINEMENTS = 6, 3
SCALE_FACTORS: FloatArray = np.exp(np.linspace(math.log(0.2), math.log(1.5), 41))

# The start (starting_point.py): Huber's constant, and how fast the window of residuals shrinks.
HUBER, SHRINK = 1.345, 1.5

# Groups of rows by their features (row_groups.py).
#: The largest eigenvalue may exceed the edge of a clean sample's spectrum by this factor.
EDGE_SLACK = 1.15
#: Rows this many quartile ranges beyond the median distance are far from all others.
FAR_RANGES = 6.0
FLAG_ROUNDS = 50
DIRECTIONS = 3
DIRECTION_LEVELS = (0.5, 0.8, 0.93)
#: Ranges of |z| in which rows may lean to one side, and the share of rows too close to the middle to have a side.
LEAN_RANGES = tuple((low, low + width) for width in (0.5, 1.0, 2.0) for low in np.arange(0.0, 3.1 - width, 0.5))
LEAN_LEVELS = (0.3,)
LIKENESS_LEVELS = (0.4, 0.6, 0.75, 0.85, 0.93)
#: Fewer removed rows than this, or than this share of all, say nothing about their features.
FEWEST_REMOVED, FEWEST_REMOVED_SHARE = 10.0, 0.01
#: Standard errors by which likeness must predict removal.
LIKENESS_EVIDENCE = 4.0
LIKENESS_RIDGE = 1e-3
#: A group is suspect when its share of clean rows is this much below that of all rows.
SUSPECT_MARGIN = 0.2

# Flipped labels (excess_logistic.py).
FLIP_STEPS = 50
#: Flip rates that are averaged over, one for all rows.
COMMON_RATES = (0.0, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3)
#: Rates whose modes are the starting points for rates by group; the budget does not limit where to start.
START_RATES = (0.0, 0.05, 0.1, 0.2, 0.3)
#: Prior probability that no label is flipped at random; without it, clean but noisy data lose their confidence.
NO_FLIPS = 0.5
DOUBT_LEVELS = (1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6)
#: At one half a label says nothing and its row has weight 0; beyond it would count as its opposite.
RATES_BY_DOUBT: FloatArray = np.array([0, 1, 2, 3, 5, 7.5, 10, 12.5, 15, 20, 25, 30, 35, 40, 45, 50]) / 100.0
#: Log-likelihood that a rate must gain to be above zero.
RATE_PRICE = 2.0
CLIMBS, CLIMB_STEPS = 20, 15
#: Log evidence by which rates by doubt must beat one rate for all: the larger of the first two (the second times n),
#: and the third times d. Real data, clean or with random flips, gained up to 8, and 0.013 a row where the model itself
#: is wrong; simulated clean data 17, and 0.27 a coefficient where there are many. Flips of the surest tenth of the
#: labels gain 0.03 to 0.19 a row.
LEAST_GAIN, GAIN_PER_ROW, GAIN_PER_COEFFICIENT = 15.0, 0.015, 0.25
