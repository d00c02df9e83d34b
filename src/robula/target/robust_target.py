"""What is sampled: rows x robust mean gradient + gradient of the log prior, and a log density where there is one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import Literal, NamedTuple, get_args

import numpy as np

from robula._types import BoolArray, FloatArray
from robula.exceptions import InputError
from robula.models.model import Model
from robula.models.precision import inverse_factor
from robula.selectors.selection import Part, Selection, Selector
from robula.target.frozen_gradient import FrozenGradient, FrozenMeans, TranslatedMeans
from robula.target.selection_refresh import Schedule

# How many root-mean-square lengths a drift may have where the curvature has no global bound.
_GUARD = 10.0
# Eigenvalues of a correlation-like matrix below d times this are rounding: there is no information in that direction.
_NO_INFORMATION = 1e-14
LikelihoodRows = Literal["n", "clean", "weights"]
LIKELIHOOD_ROWS: tuple[str, ...] = get_args(LikelihoodRows)


def drift_limit(smoothness: float, dim: int) -> float:
    """Return ten times the largest root-mean-square length that the drift has under the posterior.

    In a posterior with density exp(-f) the mean of |grad f|^2 is the mean trace of the Hessian (integrate by parts),
    at most L d where L is the largest curvature. |grad f|^2 / L is at most a sum of d squared standard normals for a
    Gaussian posterior, so a length of 10 sqrt(L d) is reached with probability below exp(-40 d): the guard is silent
    in the bulk.
    """
    return _GUARD * math.sqrt(smoothness * dim)


def rows_stood_for(selection: Selection, rule: str, contamination: float) -> float:
    """Return how many rows the robust mean stands for.

    "n" is the paper's Algorithm 1; "clean" is (1 - epsilon) n, the size of the clean part if epsilon is exact;
    "weights" is the sum of the row weights, which needs no epsilon.
    """
    rows = len(selection.weights)
    if rule == "n":
        return float(rows)
    if rule == "clean":
        return (1.0 - contamination) * rows
    return float(selection.weights.sum())


class Chosen(NamedTuple):
    """The selections in use and what follows from them; made as a whole whenever rows are selected.

    Attributes
    ----------
    number : int
        Counts the times that rows were selected, from 1.
    selections : tuple of Selection
        One per chain, or a single one that all chains share.
    rows : ndarray, shape (c, 1) or (1, 1)
        How many rows each selection stands for.
    means : callable
        Positions (c, d) to mean gradients (c, d) under these selections.
    """

    number: int
    selections: tuple[Selection, ...]
    rows: FloatArray
    means: FrozenMeans


class GaussianLaw(NamedTuple):
    """A normal target: its mean (d,), and F (d, d) with F F' its covariance."""

    mean: FloatArray
    factor: FloatArray


class RobustTarget:
    """The robust posterior, for a batch of chains.

    There is always a drift. Where the row weights do not depend on theta it is the gradient of
    sum_i w_i log p(row_i | theta) * rows / sum_i w_i + log prior, and ``has_density`` is True.

    Parameters
    ----------
    model : Model
    selector : Selector
        Prepared for the model.
    contamination : float
    likelihood_rows : {"n", "clean", "weights"}
    schedule : Schedule
        When rows are selected anew; not asked where one selection is exact for ever.
    limit : float, optional
        A longer drift keeps its direction and is cut to this length. For models whose curvature has no global bound:
        far from the centre their drift can throw a chain to infinity in one step. It is set so high (see
        :func:`drift_limit`) that it never acts in the bulk of the posterior.
    scaling : ndarray, shape (d, d), optional
        The length is measured in the coordinates phi of theta = scaling @ phi, where a kernel moves in such.

    Attributes
    ----------
    chosen : Chosen
        The selections last used.
    selections_made : int
        How many selections were made so far.
    guarded : ndarray of bool, shape (c,)
        Which chains' drift was cut in the last call.
    has_density : bool
    """

    chosen: Chosen

    def __init__(
        self,
        model: Model,
        selector: Selector,
        contamination: float,
        likelihood_rows: str,
        schedule: Schedule,
        limit: float | None = None,
        scaling: FloatArray | None = None,
    ) -> None:
        self._model, self._selector = model, selector
        self._contamination, self._rule = contamination, likelihood_rows
        self._limit, self._scaling = limit, scaling
        self.selections_made = self._times = 0
        self.guarded: BoolArray = np.zeros(1, dtype=bool)
        self._translated: TranslatedMeans | None = None
        self._schedule: Schedule | None = None
        if model.gradients_translate and selector.translation_equivariant:
            selection = selector.select_rows(model, np.zeros(model.dim), contamination)
            self._translated = TranslatedMeans(model, selection)
            self._choose((selection,), 1, self._translated)
        elif not selector.depends_on_theta:
            selection = selector.select_rows(model, model.initial, contamination)
            self._choose((selection,), 1, FrozenGradient(model, (selection,)))
            if self.has_density:
                self._sum_rows()
        else:
            self._schedule = schedule

    def _choose(self, selections: tuple[Selection, ...], made: int, means: FrozenMeans) -> None:
        self.selections_made += made
        self._times += 1
        rows = [[rows_stood_for(selection, self._rule, self._contamination)] for selection in selections]
        self.chosen = Chosen(self._times, selections, np.array(rows), means)

    def _sum_rows(self) -> None:
        """Take few rows with the likelihood of all of them where there are such, and weights of sum 1 (n,)."""
        weights = self._weights / self._weights.sum()
        fewer = self._model.compressed(weights)
        self._summed = fewer or (self._model, weights)
        if fewer is not None:
            self.chosen = self.chosen._replace(means=partial(fewer[0].weighted_gradient, weights=fewer[1]))

    def drift(self, theta: FloatArray) -> FloatArray:
        """Return the drift (c, d) at theta (c, d), with new selections where they are due."""
        means = None if self._schedule is None else self._selected_means(theta, self._schedule)
        return self._drift_of(theta, self.chosen.means(theta) if means is None else means)

    def _selected_means(self, theta: FloatArray, schedule: Schedule) -> FloatArray | None:
        """Select rows if they are due; returns the selectors' own estimates where every chain has one."""
        anchors = schedule.anchors(theta)
        if anchors is None:
            return None
        made = {
            anchor: _contiguous(self._selector.select_rows(self._model, theta[anchor], self._contamination))
            for anchor in sorted(set(anchors))
        }
        selections = tuple(made[anchor] for anchor in anchors)
        self._choose(selections, len(made), FrozenGradient(self._model, selections))
        estimates = [selection.estimate for selection in selections]
        own = anchors == list(range(len(theta))) and all(estimate is not None for estimate in estimates)
        # A selector's own estimate is of rows that count once each.
        own = own and self._model.row_weights is None
        return np.array(estimates) if own else None

    def _drift_of(self, theta: FloatArray, means: FloatArray) -> FloatArray:
        # alg:rula: n times the robust mean, plus the prior; signs are of the log posterior.
        drift: FloatArray = self.chosen.rows * means + self._model.prior.gradient(theta)
        if self._limit is None:
            self.guarded = np.zeros(len(theta), dtype=bool)
            return drift
        measured = drift if self._scaling is None else drift @ self._scaling
        length = np.linalg.norm(measured, axis=1, keepdims=True)
        self.guarded = length[:, 0] > self._limit
        cut: FloatArray = drift * np.minimum(1.0, self._limit / np.maximum(length, 1e-300))
        return cut

    @property
    def has_density(self) -> bool:
        """Whether the row weights are the same at every theta, so that the drift is the gradient of a log density."""
        if self._translated is not None:
            return True
        if self._schedule is not None:
            return False
        (selection,) = self.chosen.selections
        return len(selection.parts) == 1 and selection.parts[0].basis is None

    def log_density(self, theta: FloatArray) -> FloatArray:
        """Return the log density, up to a constant, shape (c,), at theta (c, d)."""
        return self.log_density_and_drift(theta)[0]

    def log_density_and_drift(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the log density, up to a constant, shape (c,), and the drift (c, d), at theta (c, d)."""
        if not self.has_density:
            raise InputError(
                f"the row weights of {self._selector!r} change with theta, so this target has a drift but no log "
                "density."
            )
        if self._translated is not None:
            # The shift is linear in theta and symmetric: half of it is that of the mean value on the way from 0.
            means = self._translated(theta)
            values = 0.5 * (theta * (self._translated.at_origin + means)).sum(axis=-1)
        else:
            model, weights = self._summed
            values, means = model.weighted_log_likelihood_and_gradient(theta, weights)
        density: FloatArray = self.chosen.rows[0, 0] * values + self._model.prior.log_density(theta)
        return density, self._drift_of(theta, means)

    @property
    def _weights(self) -> FloatArray:
        return self.chosen.selections[0].parts[0].weights

    @property
    def row_counts(self) -> FloatArray:
        """How often each row counts (n,) in the log density, where there is one."""
        counts: FloatArray = self._weights * (self.chosen.rows[0, 0] / self._weights.sum())
        return counts

    @cached_property
    def gaussian(self) -> GaussianLaw | None:
        """The target as a normal distribution, where it is one."""
        model = self._model
        if not (self.has_density and model.posterior_is_normal):
            return None
        origin = np.zeros(model.dim)
        per_row = self.chosen.rows[0, 0] / self._weights.sum()
        precision = per_row * model.curvature(origin, self._weights) + model.prior.precision(origin)
        scale = np.sqrt(np.maximum(np.diag(precision), 1e-300))
        relative = precision / np.outer(scale, scale)
        if not np.linalg.eigvalsh(relative)[0] > _NO_INFORMATION * model.dim:
            raise InputError(
                "the trusted rows do not determine every parameter and the prior is flat: the posterior is improper. "
                "Pass prior=robula.NormalPrior(...), or lower contamination."
            )
        factor = inverse_factor(relative) / scale[:, None]
        mean = origin
        for _ in range(2):  # the second step takes up the rounding of the first
            mean = mean + factor @ (factor.T @ self.log_density_and_drift(mean[None])[1][0])
        return GaussianLaw(mean, factor)

    def state(self) -> dict[str, np.ndarray]:
        """Return all that changes from call to call, as arrays by name: what a checkpoint needs."""
        means = None if self._times == 0 else self.chosen.means
        calls = means.calls if isinstance(means, FrozenGradient) else 0
        state = {"counts": np.array([self.selections_made, self._times, calls]), "guarded": self.guarded}
        if self._schedule is None or self._times == 0:
            return state | ({} if self._schedule is None else self._schedule.state())
        distinct = list({id(selection): selection for selection in self.chosen.selections}.values())
        places = {id(selection): index for index, selection in enumerate(distinct)}
        state["selection_of_chain"] = np.array([places[id(selection)] for selection in self.chosen.selections])
        for index, selection in enumerate(distinct):
            state[f"scales{index}"] = np.array(selection.full_trust)
            for number, part in enumerate(selection.parts):
                state[f"weights{index}_{number}"] = part.weights
                if part.basis is not None:
                    state[f"basis{index}_{number}"] = part.basis
        return state | self._schedule.state()

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from a state; the selections' rules for new rows are not part of it, a run does not need them."""
        made, times, calls = state["counts"].tolist()
        self.guarded = state["guarded"]
        if self._schedule is not None:
            self._schedule.restore(state)
        if self._schedule is not None and times:
            chains = state["selection_of_chain"].tolist()
            distinct = [_stored_selection(state, index, self._model.dim) for index in range(max(chains) + 1)]
            selections = tuple(distinct[index] for index in chains)
            self._choose(selections, 0, FrozenGradient(self._model, selections))
        self.selections_made, self._times = made, times
        if times:
            self.chosen = self.chosen._replace(number=times)
            if isinstance(self.chosen.means, FrozenGradient):
                self.chosen.means.calls = calls

    def follower(self) -> FollowingTarget:
        """Return a target of as many chains that uses, at each call, the selections that this one used last."""
        return FollowingTarget(self)


def _contiguous(selection: Selection) -> Selection:
    """Return the selection with its arrays laid out as a checkpoint would give them back: products round by layout."""
    if all(part.basis is None or part.basis.flags.c_contiguous for part in selection.parts):
        return selection
    parts = (Part(part.weights, None if part.basis is None else part.basis.copy(order="C")) for part in selection.parts)
    return replace(selection, parts=tuple(parts))


def _stored_selection(state: Mapping[str, np.ndarray], index: int, dim: int) -> Selection:
    """Return one selection of a stored state."""
    scales = tuple(state[f"scales{index}"].tolist())
    parts = tuple(
        Part(state[f"weights{index}_{number}"], state.get(f"basis{index}_{number}")) for number in range(len(scales))
    )
    return Selection(parts, dim, scales=scales)


class FollowingTarget:
    """The drift under the selections that another target holds at that moment; it keeps nothing of its own."""

    def __init__(self, leader: RobustTarget) -> None:
        self._leader = leader

    def drift(self, theta: FloatArray) -> FloatArray:
        """Return the drift (c, d) at theta (c, d)."""
        return self._leader._drift_of(theta, self._leader.chosen.means(theta))

    def log_density_and_drift(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the leader's log density and drift, at theta (c, d)."""
        return self._leader.log_density_and_drift(theta)

    @property
    def gaussian(self) -> GaussianLaw | None:
        """The leader's."""
        return self._leader.gaussian
