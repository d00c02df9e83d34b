"""What the paper leaves open: what we chose, and other ways to read it.

The other readings tell the paper's verdicts from those of our settings.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from robula.models.priors import NormalPrior
from robula.selectors.recursive import RecursiveMean

COMMON = {
    "prior": "N(0, I) (the paper says so for section 6.2 only)",
    "step size": "1 / L with L the largest curvature of the posterior of the rows trusted at the start or at a robust "
    "centre, whichever is smaller; for ULA all rows. The theorem asks for at most 1 / L.",
    "start": "theta_0 ~ N(0, I / L), as in the theorem",
    "epsilon": "a share of all rows: n_c = 1000 and epsilon = 0.2 mean 250 bad rows",
    "contamination given to Rob-ULA": "the true epsilon",
    "posterior": "n times the robust mean, as Algorithm 1 is written",
    "chains": "one, of the stated number of draws, without thinning",
}

BY_FIGURE: dict[str, dict[str, str]] = {
    "figure1": COMMON,
    "figure2": {**COMMON, "held-out set": "1000 clean points"},
    "figure3": {**COMMON, "chi-square": "1 degree of freedom per coordinate", "noise": "standard deviation 1, known"},
    "figure4": {
        "prior": "N(0, I), as the paper says, intercept included",
        "intercept": "a column of ones",
        "data": "Astro: both files of the LIBSVM page together; the paper's 70 / 30 split at random",
        "scaling": "to [-1, 1] by the training part's ranges; test values may fall outside; constant columns become 0",
        "log-likelihood of a point": "at the posterior mean (the posterior predictive is in the table)",
        "tuning": "by the mean log-likelihood of a random 20 % of the training part: epsilon in {0.002, 0.005, 0.01, "
        "0.02, 0.05, 0.1, 0.2} at the step size 1 / L with L the curvature at the robust centre, then the step size in "
        "{1/4, 1/2, 1} / L; of the steps within one standard error of the best, the largest",
        "start": "around a robust centre: from 0, the slow directions of Phishing would need a hundred thousand steps",
        "convergence": "steps are doubled until the R-hat of the linear predictors of 100 test points is below 1.1 or "
        "the budget is spent; R-hat is in the table, and above 1.2 no claim is judged",
    },
}
BY_FIGURE["figure5"] = {
    **BY_FIGURE["figure4"],
    "flips": "that share of the training labels, at random; the test part is clean, the validation rows are not",
    "contamination given to Rob-ULA": "tuned as above; the share of flipped labels is among the other readings",
}


@dataclass(frozen=True)
class Reading:
    """One way to run Rob-ULA.

    Attributes
    ----------
    label : str
        For the page.
    selector : RecursiveMean
    single_share : bool
        Truncate to a (1 - epsilon) share of the rows instead of (1 - epsilon)^2.
    prior_variance : float
        Of the normal prior around 0.
    lengthen : int
        Multiple of the paper's burn-in and number of draws.
    tuned : bool
        For logistic regression: tune epsilon, or give Rob-ULA the share of flipped labels (0.1 without flips).
    """

    label: str
    selector: RecursiveMean = field(default_factory=RecursiveMean)
    single_share: bool = False
    prior_variance: float = 1.0
    lengthen: int = 1
    tuned: bool = True

    def told(self, contamination: float) -> float:
        """Return what the selector is told: it keeps a (1 - told)^2 share."""
        return 1.0 - math.sqrt(1.0 - contamination) if self.single_share else contamination

    @property
    def prior(self) -> NormalPrior:
        """The prior of this reading."""
        return NormalPrior(0.0, self.prior_variance)


#: The paper to the letter, with our choices (choices.py) where it is silent.
LETTER = "letter"
READINGS: dict[str, Reading] = {
    LETTER: Reading("as printed"),
    "single-share": Reading("(1 - epsilon) share kept", single_share=True),
    "all-rows": Reading("recursion on all rows", RecursiveMean(variant="all_rows")),
    "lai2016": Reading("lai2016 (all rows, medians)", RecursiveMean(variant="lai2016")),
    "wide-prior": Reading("prior N(0, 100 I)", prior_variance=100.0),
    "long-run": Reading("4 times the steps", lengthen=4),
    "untuned": Reading("epsilon not tuned", tuned=False),
}
