"""The result of a run: draws, row weights, statistics, settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from robula._types import FloatArray, IntArray
from robula._validation import check_count
from robula.exceptions import InputError
from robula.result.thresholds import DISTRUSTED

if TYPE_CHECKING:
    import pandas as pd

    from robula.models.model import Model

# Settings of a run that hang on the units of its model.
_OF_THE_RUN = ("setup", "step_size", "step_size_from", "smoothness", "strong_convexity", "start")


@dataclass(frozen=True, eq=False)
class Posterior:
    """Draws from the robust posterior and what is known about them.

    Attributes
    ----------
    draws : ndarray, shape (chains, draws, d)
    row_weights : ndarray, shape (n,)
        In [0, 1]: how much each row counted, averaged over the run. Low means distrusted.
    parameter_names : tuple of str
    stats : dict of ndarray, shape (chains, draws)
        Per kept draw: ``drift_norm``, ``kept_share`` (mean row weight), ``guarded`` (the drift guard cut the step),
        ``step_size``, and ``acceptance`` where moves are proposed.
    settings : dict
        Everything the run was made with: arguments, step size, curvature, versions.
    citations : tuple of str
        BibTeX keys (docs/refs.bib) of the methods used.
    variables : dict of ndarray, shape (chains, draws, ...)
        The draws under the names and shapes of the model's own parameters, where it has them (``from_jax``).
    half_row_weights : ndarray, shape (groups, 2, n)
        Row weights in the first and in the second half of the run, for each chain, or once where all chains share their
        selections; :func:`robula.diagnose` compares them.
    """

    draws: FloatArray
    row_weights: FloatArray
    parameter_names: tuple[str, ...]
    stats: Mapping[str, np.ndarray] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    citations: tuple[str, ...] = ()
    variables: Mapping[str, np.ndarray] = field(default_factory=dict)
    half_row_weights: FloatArray = field(default_factory=lambda: np.zeros((0, 2, 0)))

    @property
    def setup(self) -> Mapping[str, Any] | None:
        """All that defines the run, as data that JSON can hold (:class:`robula.run.setup.Setup`); None if unknown."""
        return self.settings.get("setup")

    @property
    def why_no_run(self) -> str:
        """Why a posterior without a setup cannot be repeated or judged by its run, and what to do: half a sentence."""
        if "in_standardized_columns" in self.settings:
            return (
                "it was sampled in standardised columns, and its draws are in other units than that run: pass a "
                "posterior of robula.sample(model, ...)"
            )
        return "it holds no setup of a run: pass a posterior of robula.sample(model, ...)"

    def require_model(self, model: Any, caller: str) -> None:
        """Refuse a model next to this posterior that is not the one its draws are parameters of.

        Parameters
        ----------
        caller : str
            Name of the function that asks.
        """
        from robula.models.fingerprint import ModelIdentity, identity
        from robula.models.large_model import LargeModel
        from robula.models.model import Model

        if isinstance(model, LargeModel):
            raise InputError(
                f"{caller} looks at single rows in memory, and a LargeModel is read in blocks: make the model of some "
                "of the rows, and sample that."
            )
        if not isinstance(model, Model):
            raise InputError(
                f"{caller} needs the model, and the posterior that robula.sample drew from it, in this order."
            )
        shapes = {"rows": (model.n_rows, len(self.row_weights)), "parameters": (model.dim, self.draws.shape[-1])}
        differing = [f"{mine} {name} against {own}" for name, (mine, own) in shapes.items() if mine != own]
        known = self.settings.get("model_of_draws") if self.setup is None else self.setup["model"]
        if not differing and known is not None:
            stored = dict(known)
            own = ModelIdentity(**{**stored, "parameter_names": tuple(stored["parameter_names"])})
            differing = identity(model).differences(own)
        if differing:
            raise InputError(
                f"{caller} needs the model that this posterior was drawn from; model against posterior: "
                f"{'; '.join(differing)}; pass the model that belongs to it."
            )

    def in_user_units(
        self, to_user: Callable[[FloatArray], FloatArray], model: Model | None = None, standardized: bool = True
    ) -> Posterior:
        """Return the posterior of a run in standardised columns with its draws in the user's units, by an affine map.

        Step sizes, curvatures and the setup of the run stay in ``settings["in_standardized_columns"]``: beside a model
        in other units they would mislead. ``model`` is the one in the user's units, if there is one; no other is then
        accepted beside the draws.
        """
        from robula.models.fingerprint import identity

        inside = {name: value for name, value in self.settings.items() if name in _OF_THE_RUN}
        settings = {name: value for name, value in self.settings.items() if name not in _OF_THE_RUN}
        settings |= {"standardized": standardized, "in_standardized_columns": inside}
        if model is not None:
            settings["model_of_draws"] = identity(model)._asdict()
        if self.row_shift.any():
            settings["row_shift"] = (to_user(self.row_shift) - to_user(np.zeros_like(self.row_shift))).tolist()
        return replace(self, draws=to_user(self.draws), settings=settings)

    @property
    def row_doubt(self) -> FloatArray:
        """Share (d,) of each parameter's width that is due to not knowing for sure which rows are bad.

        0 where every row is either trusted or not, and where the selector has no doubt to tell.
        """
        known = self.settings.get("row_doubt")
        return np.zeros(self.draws.shape[-1]) if known is None else np.asarray(known, dtype=np.float64)

    @property
    def row_shift(self) -> FloatArray:
        """What that doubt added to every draw (d,): explanations of the data lie elsewhere in the mean."""
        known = self.settings.get("row_shift")
        return np.zeros(self.draws.shape[-1]) if known is None else np.asarray(known, dtype=np.float64)

    @property
    def contested(self) -> IntArray:
        """Rows of a group that was kept though it may be bad: mistakes, or what the model lacks (docs/method.md)."""
        return np.asarray((self.settings.get("rows_found") or {}).get("contested", []), dtype=np.intp)

    @property
    def weights_are_probabilities(self) -> bool:
        """Whether each row's weight is its probability of being clean; selectors that look at gradients know none."""
        found = self.settings.get("rows_found") or {}
        return "explanations" in found or bool((self.row_weights == 1.0).all())

    @property
    def flat_draws(self) -> FloatArray:
        """Draws of all chains as one list, shape (chains * draws, d)."""
        return self.draws.reshape(-1, self.draws.shape[-1])

    @cached_property
    def mean(self) -> FloatArray:
        """Posterior mean, shape (d,)."""
        mean: FloatArray = self.flat_draws.mean(axis=0)
        return mean

    @cached_property
    def covariance(self) -> FloatArray:
        """Posterior covariance, shape (d, d)."""
        if len(self.flat_draws) < 2:
            raise InputError("the covariance needs two draws or more; this posterior has one.")
        return np.atleast_2d(np.cov(self.flat_draws, rowvar=False))

    def expectation(self, h: Callable[[FloatArray], Any]) -> Any:
        """Average of ``h(theta)`` over the draws (the paper's q-hat); h takes one theta of shape (d,)."""
        return np.mean([h(theta) for theta in self.flat_draws], axis=0)

    def distrusted(self, count: int = 10) -> IntArray:
        """Return the positions of the ``count`` rows that counted least, the least first; ties in row order."""
        count = check_count(count, "count", 0)
        return np.argsort(self.row_weights, kind="stable")[:count]

    def summary(self) -> pd.DataFrame:
        """One line a parameter: mean, sd, interval, Monte Carlo error, effective sample size, R-hat (ArviZ)."""
        from robula.result.arviz_conversion import summary

        return summary(self)

    def to_arviz(self, model: Model | None = None, *, log_likelihood: bool = False) -> Any:
        """Return ArviZ's own container: InferenceData (0.x) or DataTree (1.x).

        Parameters
        ----------
        model : Model, optional
            The model that was sampled; adds its data.
        log_likelihood : bool, optional
            Add the log-likelihood of every row at every draw, unweighted: chains x draws x rows numbers. What
            leave-one-out then means when rows have weights is in docs/integrations.md.
        """
        from robula.result.arviz_conversion import to_arviz

        return to_arviz(self, model, log_likelihood=log_likelihood)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file that :func:`robula.load` reads: arrays and a JSON manifest, no pickle."""
        from robula.result.storage import save

        save(self, path)

    def __repr__(self) -> str:
        chains, draws, dim = self.draws.shape
        rows = len(self.row_weights)
        settings = self.settings
        lines = [
            f"Posterior of {dim} parameter(s) from {rows} rows: {chains} chain(s) of {draws} draws",
        ]
        if "contamination" in settings:
            lines.append(
                f"  selector {settings['selector']}, contamination {settings['contamination']:g}, "
                f"kernel {settings['kernel']}, likelihood_rows {settings['likelihood_rows']!r}"
            )
        if "step_size" in settings:
            lines.append(
                f"  step size {settings['step_size']:.3g} ({settings['step_size_from']}); "
                f"largest curvature of the trusted rows {settings['smoothness']:.3g}"
            )
            inflation = settings.get("variance_inflation")
            if settings.get("step_bias"):
                bias = settings["step_bias"]
                lines.append(
                    f"  step size bias, measured: mean {bias['shift']:.3f} +- {bias['shift_mcse']:.3f} widths, "
                    f"spread times {bias['spread']:.3f} +- {bias['spread_mcse']:.3f}"
                )
            elif settings.get("adjusted"):
                lines.append("  step size bias: none; draws are independent, or Metropolis-adjusted")
            elif inflation == 1.0:
                lines.append("  step size bias: none on a Gaussian posterior; robula.step_bias measures it on this one")
            elif inflation is not None:
                lines.append(
                    f"  step size bias: the variance of the stiffest direction is {inflation:.2f} times too large "
                    "(a smaller step_size lowers this)"
                )
            relaxation = settings.get("relaxation_steps")
            if relaxation is not None:
                steps = settings["burn_in"] + settings["draws"] * settings["thin"]
                lines.append(
                    f"  the slowest direction forgets its start in about {relaxation:.0f} step(s); a chain made {steps}"
                    + ("" if steps > 20 * relaxation else ": too few. Standardise the columns, or run longer")
                )
        if rows:
            low = int((self.row_weights < DISTRUSTED).sum())
            lines.append(f"  mean row weight {self.row_weights.mean():.2f}; {low} row(s) below {DISTRUSTED:g}")
        return "\n".join(lines)
