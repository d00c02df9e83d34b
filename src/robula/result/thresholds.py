"""Every limit by which a finished run is judged, once; run, diagnosis and reporting read them here.

They stand in this room, not in ``diagnosis``, because sampling itself warns by them and may not import what comes after
it.
"""

from __future__ import annotations

#: Vehtari et al. (2021) ask for an R-hat of at most 1.01 before a result is published; above 1.05 the chains differ so
#: much that even a look is misleading.
GOOD_R_HAT, BAD_R_HAT = 1.01, 1.05
#: And for 100 effective draws a chain of four; below a quarter of that even a standard error is unsure.
ENOUGH_DRAWS, TOO_FEW_DRAWS = 400.0, 100.0
#: With fewer draws a chain neither can be computed.
FEWEST_DRAWS = 4
#: A row that counts less than this is called distrusted.
DISTRUSTED = 0.5
#: Mean change of a row's weight between chains or halves of the run. 0.05: one row in twenty has changed sides.
STEADY_WEIGHTS = 0.05
#: Share of the draws whose drift may be cut.
GUARDED_SHARE = 0.01
#: Largest bias of the step, in posterior widths, that can be left alone, and the variance inflation that amounts to it.
STEP_BIAS, VARIANCE_INFLATION = 0.1, 1.2

#: An estimated share of bad rows from which a model that does not fit is as likely a reason: of two populations, the
#: smaller one would be a quarter of all.
MANY_BAD_ROWS = 0.25
#: Posterior widths, as 2000 rows would have them, by which rows that may be bad may move a parameter before the answer
#: is theirs: of the 40 regressions of benchmarks/realdata as they come, told 0.1, the largest is 16; with 20 of 244
#: responses exchanged with a feature it is 37.
CONTESTED_SHIFT, CONTESTED_ROWS = 20.0, 2000
#: Part of the declared limit from which on it counts as spent: a law that is off uses all that it is given.
SPENT = 0.95
#: Share of labels called wrong from which on they should be looked at: wrong labels and a model without an interaction
#: or a curve that is there look alike.
WRONG_LABELS = 0.01
#: Standard errors, and standard deviations of whether one row is inside, by which the coverage of a predictive interval
#: may be off. Of clean data fewer than one run in 100 is said to be off at any of the three levels; and what fewer than
#: (3 / 0.04)^2 = 5,600 rows could not show, such as 52 % inside of a 50 % interval, is let be.
COVERAGE_ERRORS, COVERAGE_LEEWAY = 3.0, 0.04
