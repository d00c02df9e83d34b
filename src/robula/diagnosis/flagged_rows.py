"""Rows to inspect, by the share of good ones that may be among them instead of a share of bad ones in the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robula._threads import few_threads_for_small_data
from robula._types import FloatArray, IntArray
from robula._validation import check_share, show
from robula.exceptions import InputError
from robula.result.posterior import Posterior
from robula.selectors.trust.row_doubt import SURE

#: Share of good rows among those flagged where the law of the rows was found to be off, whatever their weights say: 24
#: tables with errors put into them (benchmarks/realdata/flagged_tables.py), .070 with a standard error of .035.
#: Where nothing is off it was .007, with .005 expected. Of 19 tables kept apart the average is right, .030, and its
#: parts are not: .025 and .049 (benchmarks/results/flagged_tables.md).
GOOD_WHERE_LAW_IS_OFF = 0.07


@dataclass(frozen=True, eq=False)
class Flagged:
    """Rows to inspect.

    Attributes
    ----------
    rows : ndarray of int
        The least trusted first.
    expected_good : float
        Expected share of good rows among them; 0 where there are none.
    fdr : float
        The most that was allowed.
    n_rows : int
    law_off : bool
        Whether the law of the rows was found to be off; more good rows are expected then.
    """

    rows: IntArray
    expected_good: float
    fdr: float
    n_rows: int
    law_off: bool = False

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def text(self) -> str:
        """One sentence."""
        if not len(self.rows):
            return f"No row of {self.n_rows:,} is flagged."
        kept = "" if self.expected_good <= self.fdr else ", which cannot be promised where the law of the rows is off"
        return (
            f"{len(self.rows):,} of {self.n_rows:,} rows are flagged; about {100 * self.expected_good:.2g} % of them "
            f"are expected to be good (at most {100 * self.fdr:.3g} % was asked for{kept})."
        )

    def __repr__(self) -> str:
        return f"Flagged: {self.text}"


@few_threads_for_small_data
def flag(posterior: Posterior, fdr: float = 0.1) -> Flagged:
    """Flag rows to inspect, with a limited share of good ones expected among them.

    With the default selector a row's weight is its probability of being clean, and the mean of these over a set of rows
    is the share of good ones expected in it. Rows are flagged whose own is at most ``fdr``. That is
    so if the law of the rows is right. Where something was found to be off in it (``robula.trust(...).law``), 7 % more
    of the flagged rows are expected to be good, as was measured, and rows must be the surer to be flagged.

    Parameters
    ----------
    posterior : Posterior
        Of ``selector="trust"``: the weights of other selectors are no probabilities.
    fdr : float, optional
        Largest expected share of good rows among those flagged, in (0, 1).

    Returns
    -------
    Flagged

    Examples
    --------
    >>> import robula
    >>> problem = robula.simulate.linear_regression(n_clean=200, dim=2, contamination=0.1, seed=1)
    >>> posterior = robula.sample(problem.model, contamination=0.2, progress=False)
    >>> flagged = robula.flag(posterior, fdr=0.1)
    >>> bool(problem.outlier_mask[flagged.rows].mean() > 0.8)
    True
    """
    if not isinstance(posterior, Posterior):
        raise InputError(f"posterior={show(posterior)} is not a robula posterior; pass the result of robula.sample.")
    fdr = check_share(fdr, "fdr", "the largest share of good rows among those flagged")
    if not posterior.weights_are_probabilities:
        raise InputError(
            f"the row weights of {posterior.settings.get('selector', 'this selector')} are no probabilities, so no "
            'share of good rows follows from them; use selector="trust", the default.'
        )
    clean = posterior.row_weights
    off = bool((posterior.settings.get("rows_found") or {}).get("law"))
    rows = flagged_by_probability(clean, fdr, off)
    expected = float(chance_good(clean[rows], off).mean()) if len(rows) else 0.0
    return Flagged(rows, expected, fdr, len(clean), off)


def chance_good(clean: FloatArray, law_off: bool) -> FloatArray:
    """Probability (n,) of rows to be good: to be clean, and that a law which is off has misjudged them."""
    return 1.0 - (1.0 - clean) * (1.0 - GOOD_WHERE_LAW_IS_OFF) if law_off else clean


def flagged_by_probability(clean: FloatArray, fdr: float, law_off: bool = False) -> IntArray:
    """Rows that are good with a probability of at most ``fdr``, or bad for sure by their law, the least trusted first.

    A larger set could have that as its mean; where the law is only nearly right, the rows that it adds are too often
    good ones (benchmarks/results/rows_to_check.md), and hardly a bad one is among them.
    """
    order = np.argsort(clean, kind="stable")
    return order[: int(((chance_good(clean, law_off) <= fdr) | (clean < SURE)).sum())]
