"""Sample the posterior of rows that are read in blocks: a bounded number of passes, then draws on one machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from robula._types import FloatArray
from robula._validation import budget_of
from robula._version import __version__
from robula.exceptions import InputError
from robula.models.large_model import LargeModel, Weigher, mode_by_passes
from robula.models.linear_model import LinearModel
from robula.models.model import weighted_sum
from robula.models.posterior_mode import weighted_mode
from robula.models.precision import inverse_factor, weighted_precision
from robula.result.law_fit import law_record
from robula.result.posterior import Posterior
from robula.run.collector import widened
from robula.run.record import record_of_seed
from robula.selectors.selection import Selector
from robula.selectors.trust.conclusion import Trust
from robula.selectors.trust.streamed_trust import trust_by_passes
from robula.selectors.trust.trust_constants import MOST_BAD
from robula.selectors.trust.trust_selector import TrustSelector
from robula.tables.row_source import Sums

# Draws at which the normal approximation is compared with the posterior itself, in one pass.
_CHECKED = 32
#: Largest standard deviation of log posterior less log approximation with which the approximation is drawn from. For
#: two normal laws it is the distance of their means in posterior widths; 4000 draws know a mean to 0.016.
TOLERANCE = 0.05
# Steps of each chain before its first draw, where proposals are accepted or not: most are.
_BURN_IN = 20
_NEWTON_PASSES = 12


class _Target(NamedTuple):
    """The weighted posterior: its mode, a factor F with F F' the covariance there, and its log density, if needed."""

    mode: FloatArray
    factor: FloatArray
    rows: float
    log_density: Callable[[FloatArray], FloatArray] | None
    free: bool  #: whether the log density costs no pass


def sample_large(
    model: LargeModel,
    *,
    contamination: float | Literal["estimate"],
    selector: Selector,
    draws: int,
    chains: int,
    root: np.random.SeedSequence,
) -> Posterior:
    """Draw from the posterior of the trusted rows; the row weights are found and applied in passes.

    Linear and mean models need d x d sums only, and their draws are exact. Of other regressions, the normal
    approximation at the mode is compared with the posterior at 32 draws from it, in one pass; where they differ by
    more than ``TOLERANCE``, every draw is accepted or not by the posterior itself (independence Metropolis), in one
    more.
    """
    began = time.perf_counter()
    budget, estimate = budget_of(contamination, MOST_BAD)
    if estimate and not isinstance(selector, TrustSelector):
        raise InputError('contamination="estimate" needs selector="trust".')
    found: Trust | None = None
    weigher: Weigher = None
    sums: Sums = ()
    if isinstance(selector, TrustSelector) and budget > 0.0:
        weigher, found, sums = trust_by_passes(model, budget, selector.exact_law)
        begin = found.theta - found.shift
    else:
        begin = weighted_mode(model.sample, np.ones(model.sample.n_rows), model.sample.initial)
    target = _target(model, weigher, sums, begin)
    rngs = [np.random.default_rng(child) for child in root.spawn(chains)]
    kept, record, stats = _draw(target, rngs, draws)
    kept, doubt = widened(kept, *((None, None) if found is None else (found.widening, found.shift)))
    weights = np.ones(model.n_rows) if found is None else found.weights
    shape = (chains, draws)
    share = float(weights.mean())
    return Posterior(
        draws=kept,
        row_weights=weights,
        parameter_names=model.parameter_names,
        stats={"kept_share": np.full(shape, share), "guarded": np.zeros(shape, dtype=bool), **stats},
        settings={
            "model": type(model.sample).__name__,
            "rows": model.n_rows,
            "dim": model.dim,
            "contamination": found.share if found is not None and estimate else budget,
            "contamination_budget": budget,
            "contamination_estimate": None
            if found is None
            else {"share": found.share, "standard_error": found.standard_error},
            "selector": repr(selector),
            "rows_found": {} if found is None else found.record(),
            "row_doubt": doubt,
            "row_shift": None if found is None or doubt is None else found.shift.tolist(),
            "response_kind": model.sample.response_kind,
            **law_record(model.sample, kept.reshape(-1, model.dim).mean(axis=0), weights[model.places]),
            "likelihood_rows": "weights",
            "draws": draws,
            "chains": chains,
            "seed": record_of_seed(root),
            "by_passes": True,
            "passes": model.source.passes,
            "rows_in_memory": model.sample.n_rows,
            "interrupted": False,
            "seconds": round(time.perf_counter() - began, 3),
            "robula": __version__,
            **record,
        },
        citations=tuple(dict.fromkeys(("bhatia2019", *selector.citations))),
        variables=model.sample.variables(kept),
    )


def _target(model: LargeModel, weigher: Weigher, sums: Sums, start: FloatArray) -> _Target:
    sample, prior = model.sample, model.prior
    if isinstance(sample, LinearModel):
        compact, weights = model.compressed(sums)
        mode = weighted_mode(compact, weights, start, 100)
        precision = weighted_precision(compact, weights, mode)

        def from_sums(thetas: FloatArray) -> FloatArray:
            total: FloatArray = weighted_sum(compact.log_likelihood(thetas), weights) + prior.log_density(thetas)
            return total

        density, rows = from_sums, float(weights.sum())
    else:
        mode, precision, rows = mode_by_passes(model, weigher, start, _NEWTON_PASSES)

        def by_a_pass(thetas: FloatArray) -> FloatArray:
            return model.log_likelihoods(thetas, weigher) + prior.log_density(thetas)

        density = by_a_pass
    try:
        factor = inverse_factor(precision)
    except np.linalg.LinAlgError:
        raise InputError(
            "the trusted rows do not determine every parameter; pass prior=robula.NormalPrior(...)."
        ) from None
    exact = sample.posterior_is_normal
    return _Target(mode, factor, rows, None if exact else density, isinstance(sample, LinearModel))


def _draw(
    target: _Target, rngs: list[np.random.Generator], draws: int
) -> tuple[FloatArray, dict[str, Any], dict[str, np.ndarray]]:
    """Draws (chains, draws, d), how they were made and what that costs in accuracy, and statistics."""
    dim, chains = len(target.mode), len(rngs)
    noise = np.stack([rng.standard_normal((_BURN_IN + draws, dim)) for rng in rngs])
    log_uniform = np.log(np.stack([rng.uniform(size=_BURN_IN + draws) for rng in rngs]))
    proposals = target.mode + noise @ target.factor.T
    if target.log_density is None:
        record = {"kernel": "exact: the posterior is normal", "kernel_from": "auto", "adjusted": True}
        return proposals[:, _BURN_IN:], {**record, "gaussian_error": 0.0, "acceptance": None}, {}
    log_normal = -0.5 * (noise**2).sum(axis=2)
    error = None
    if not target.free:
        some = np.linspace(0, chains * (_BURN_IN + draws) - 1, _CHECKED).round().astype(int)
        ratio = target.log_density(proposals.reshape(-1, dim)[some]) - log_normal.ravel()[some]
        error = float(np.std(ratio, ddof=1))
        if error <= TOLERANCE:
            words = f"normal approximation at the mode, checked at {_CHECKED} draws"
            record = {"kernel": words, "kernel_from": "auto", "adjusted": False}
            return proposals[:, _BURN_IN:], {**record, "gaussian_error": error, "acceptance": None}, {}
    ratio = target.log_density(proposals.reshape(-1, dim)).reshape(log_normal.shape) - log_normal
    kept, acceptance = _independence_metropolis(proposals, ratio, log_uniform)
    record = {"kernel": "independence Metropolis from the normal approximation", "kernel_from": "auto"}
    chance = acceptance[:, _BURN_IN:]
    return (
        kept[:, _BURN_IN:],
        {**record, "adjusted": True, "gaussian_error": error, "acceptance": float(chance.mean())},
        {"acceptance": chance},
    )


def _independence_metropolis(
    proposals: FloatArray, ratio: FloatArray, log_uniform: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Chains (c, k, d) of proposals accepted with probability min(1, ratio of importance ratios), and these (c, k)."""
    kept, acceptance = proposals.copy(), np.ones(ratio.shape)
    for chain in range(len(proposals)):
        at = 0
        for step in range(1, proposals.shape[1]):
            gain = ratio[chain, step] - ratio[chain, at]
            acceptance[chain, step] = np.exp(min(gain, 0.0))
            if log_uniform[chain, step] < gain:
                at = step
            kept[chain, step] = proposals[chain, at]
    return kept, acceptance
