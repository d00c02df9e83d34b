"""What a fit of a table can be told, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from robula._types import BoolArray, FloatArray
from robula._validation import check_count
from robula.exceptions import InputError
from robula.models.gaussian_posterior import GaussianPosterior
from robula.models.model import Model
from robula.result.posterior import Posterior
from robula.tables.encoding import Encoding

# More than these are slips of the pen: the steps alone would take days, or the draws more than most machines' memory.
_MOST_DRAWS, _MOST_BURN_IN, _MOST_CHAINS, _MOST_KEPT = 10**7, 10**7, 10**4, 5 * 10**7


@dataclass(frozen=True)
class Options:
    """What a fit can be told, beside the table and its columns."""

    contamination: Any = 0.1
    noise_scale: float | None = None
    exposure: str | None = None
    row_weights: str | None = None
    missing: tuple[str, ...] = ()
    drop_missing: bool = False
    drop_rows: str | None = None
    draws: int = 1000
    burn_in: int = 300
    chains: int = 4
    seed: int = 0
    sensitivity: bool = True
    checkpoint: Path | None = None
    sampler: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse absurd numbers before anything is done."""
        check_count(self.draws, "--draws", 1, _MOST_DRAWS)
        check_count(self.burn_in, "--burn-in", 0, _MOST_BURN_IN)
        check_count(self.chains, "--chains", 1, _MOST_CHAINS)
        if self.draws * self.chains > _MOST_KEPT:
            raise InputError(
                f"--draws {self.draws} in --chains {self.chains} are {self.draws * self.chains:.3g} draws; at most "
                f"{_MOST_KEPT:.0e} are kept. Some thousands are enough for means and intervals."
            )

    def for_estimator(self) -> dict[str, Any]:
        """Return the parameters of the scikit-learn estimators."""
        return {
            "contamination": self.contamination,
            "draws": self.draws,
            "burn_in": self.burn_in,
            "chains": self.chains,
            "random_state": self.seed,
            **self.sampler,
        }

    def for_sampler(self) -> dict[str, Any]:
        """Return the arguments of :func:`robula.sample`."""
        options = self.for_estimator()
        seed = options.pop("random_state")
        return {**options, "seed": seed, "progress": False}


@dataclass(frozen=True)
class TableFit:
    """A fit and what its report needs.

    Attributes
    ----------
    used : ndarray of bool
        Which rows of the table were not left out.
    plain : GaussianPosterior or None
        The answer that trusts every row.
    residuals : dict of ndarray
        Prediction errors of the rows used, as normal scores.
    facts : dict
        What a prediction needs beside the posterior.
    fitted : Model
        The model in the units of the file: the posterior is its posterior.
    """

    model: str
    target: str | None
    encoding: Encoding
    posterior: Posterior
    used: BoolArray
    plain: GaussianPosterior | None
    residuals: dict[str, FloatArray]
    sensitivity: pd.DataFrame | None
    facts: dict[str, Any]
    notes: list[str]
    fitted: Model
