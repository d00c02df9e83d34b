"""Other ways to read what the paper leaves open: they tell the paper's verdicts from those of our settings."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from robula.models.priors import NormalPrior
from robula.selectors.recursive import RecursiveMean


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
