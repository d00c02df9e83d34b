"""Mean gradients under selections that stay: as cheap as plain ones, whatever made the selections.

A frozen selection is linear in the rows' gradients (docs/speed.md), so nothing has to be selected, sorted or decomposed
until the next one is made.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from robula._types import FloatArray
from robula.models.generalized_linear_model import GeneralizedLinearModel
from robula.models.linear_model import LinearModel
from robula.models.model import Model
from robula.selectors.selection import Selection

#: Maps positions (c, d) to mean gradients (c, d).
FrozenMeans = Callable[[FloatArray], FloatArray]

# Numbers kept for projected rows, 256 MiB: beyond it the parts' weights are applied in blocks instead.
_MOST_PROJECTED = 2**25


def frozen_mean(model: Model, selection: Selection, theta: FloatArray) -> FloatArray:
    """Mean gradient (..., d) under one selection, without forming the (n, d) matrix."""
    return selection.combine(model.weighted_gradient(theta[..., None, :], selection.part_weights))


class FrozenGradient:
    """Mean gradients of a batch of chains, each under its own frozen selection.

    The first call after a selection may spend as much as one Gram matrix on preparing the later ones.

    Parameters
    ----------
    model : Model
    selections : tuple of Selection
        One per chain, or a single one for any number of chains; chains that share one hold the same object.

    Attributes
    ----------
    calls : int
        After some of them preparing the later ones pays.
    """

    def __init__(self, model: Model, selections: tuple[Selection, ...]) -> None:
        self._model = model
        self._selections = selections
        self._groups = _chains_by_selection(selections)
        # A Gram matrix costs d / 2 passes over the rows per selection, a step one pass per chain and direction.
        affine = isinstance(model, LinearModel) and model.quadratic
        self._patience = model.dim * len(self._groups) / (2 * len(selections)) if affine else 0
        self.calls = 0
        self._means: FrozenMeans | None = None

    def __call__(self, theta: FloatArray) -> FloatArray:
        """Return the mean gradients (c, d) at theta (c, d)."""
        self.calls += 1
        if self._means is None:
            if self.calls <= self._patience:
                return _by_weights(self._model, self._groups, theta)
            self._means = self._prepare()
        return self._means(theta)

    def _prepare(self) -> FrozenMeans:
        model, groups = self._model, self._groups
        if isinstance(model, LinearModel) and model.quadratic:
            return _Affine(model, groups)
        if isinstance(model, GeneralizedLinearModel) and model.by_predictor and _worth_projecting(model, groups):
            return _Projected(model, groups)
        if all(_is_single(selection) for selection, _ in groups):
            return _single_part(model, self._selections)
        return lambda theta: _by_weights(model, groups, theta)


Groups = tuple[tuple[Selection, slice | np.ndarray], ...]


def _chains_by_selection(selections: tuple[Selection, ...]) -> Groups:
    """Each distinct selection with the chains that use it."""
    chains: dict[int, list[int]] = {}
    for chain, selection in enumerate(selections):
        chains.setdefault(id(selection), []).append(chain)
    if len(chains) == 1:
        return ((selections[0], slice(None)),)
    return tuple((selections[members[0]], np.array(members)) for members in chains.values())


def _is_single(selection: Selection) -> bool:
    return len(selection.parts) == 1 and selection.parts[0].basis is None


def _worth_projecting(model: GeneralizedLinearModel, groups: Groups) -> bool:
    several = any(not _is_single(selection) for selection, _ in groups)
    return several and model.in_memory and len(groups) * model.n_rows * model.dim <= _MOST_PROJECTED


def _by_weights(model: Model, groups: Groups, theta: FloatArray) -> FloatArray:
    """One weighted pass over the rows for each part: for any model."""
    means = np.empty_like(theta)
    for selection, chains in groups:
        means[chains] = frozen_mean(model, selection, theta[chains])
    return means


def _single_part(model: Model, selections: tuple[Selection, ...]) -> FrozenMeans:
    """One weight vector per chain: all chains in one weighted pass."""
    shared = all(selection is selections[0] for selection in selections)
    # A copy of the weights for every chain only where they differ.
    used = selections[:1] if shared else selections
    weights = np.stack([selection.parts[0].weights / selection.part_totals[0] for selection in used])
    return lambda theta: model.weighted_gradient(theta, weights)


class TranslatedMeans:
    """Gradients that are translated data, under an equivariant selection: one selection is exact for ever."""

    def __init__(self, model: Model, selection: Selection) -> None:
        self._model = model
        self.at_origin = frozen_mean(model, selection, np.zeros(model.dim))

    def __call__(self, theta: FloatArray) -> FloatArray:
        """Return the mean gradients (c, d), at the cost of one shift."""
        return self.at_origin + self._model.gradient_shift(theta)


class _Projected:
    """Regressions: each part's own rows, weighted and in the coordinates of its subspace.

    With Z_p = w_p X B_p / W_p the estimate is the sum over parts of B_p Z_p' score(X theta). The Z_p together have at
    most as many numbers as X, however many parts there are.
    """

    def __init__(self, model: GeneralizedLinearModel, groups: Groups) -> None:
        self._model = model
        self._projections = []
        for selection, chains in groups:
            # Rows of many parts first: where the parts are nested, each is then a slice.
            order = np.argsort(-np.count_nonzero(selection.part_weights, axis=0), kind="stable")
            ordered = np.take(model.design.T, order, axis=1)
            parts = []
            for part, total in zip(selection.parts, selection.part_totals.tolist(), strict=True):
                weights = model.counted(part.weights)[order]
                inside = np.flatnonzero(weights)
                nested = len(inside) == 0 or inside[-1] == len(inside) - 1
                rows = slice(len(inside)) if nested else inside
                block = ordered[:, rows] if part.basis is None else part.basis.T @ ordered[:, rows]
                parts.append((rows, (block * (weights[rows] / total)).T))
            self._projections.append((order, chains, parts, _joint_basis(selection).T))

    def __call__(self, theta: FloatArray) -> FloatArray:
        scores = self._model.predictor_gradient(theta)
        means = np.empty_like(theta)
        for order, chains, parts, basis_t in self._projections:
            own = scores[chains][:, order]
            means[chains] = np.concatenate([own[:, rows] @ block for rows, block in parts], axis=1) @ basis_t
        return means


class _Affine:
    """Linear regression: the score is affine in theta, so a frozen estimate is a - M theta, at a cost of d^2."""

    def __init__(self, model: LinearModel, groups: Groups) -> None:
        self._maps = []
        for selection, chains in groups:
            slope, constant = np.zeros((model.dim, model.dim)), np.zeros(model.dim)
            for places, block in model.blocks():
                responses = model.y[places]
                for part, total in zip(selection.parts, selection.part_totals.tolist(), strict=True):
                    weights = model.counted(part.weights)[places] * (model.noise_scale**-2 / total)
                    inside = np.flatnonzero(weights)
                    rows = _projected_rows(block, weights, part.basis, inside)
                    slope += _lead_back(part.basis, rows.T @ block[:, inside].T)
                    constant += _lead_back(part.basis, responses[inside] @ rows)
            self._maps.append((chains, constant, slope.T))

    def __call__(self, theta: FloatArray) -> FloatArray:
        means = np.empty_like(theta)
        for chains, constant, slope_t in self._maps:
            means[chains] = constant - theta[chains] @ slope_t
        return means


def _joint_basis(selection: Selection) -> FloatArray:
    """The parts' bases side by side, shape (d, d): it leads back from the parts' coordinates."""
    bases = [np.eye(selection.dim) if part.basis is None else part.basis for part in selection.parts]
    return np.concatenate(bases, axis=1)


def _projected_rows(
    design_t: FloatArray, weights: FloatArray, basis: FloatArray | None, places: np.ndarray
) -> FloatArray:
    """Weighted rows of a transposed design (d, n) at some places, in the coordinates of a basis, shape (m, r)."""
    rows: FloatArray = np.take(design_t, places, axis=1).T
    # Weighted after the projection, where there are fewer columns.
    projected: FloatArray = (rows if basis is None else rows @ basis) * weights[places, None]
    return projected


def _lead_back(basis: FloatArray | None, coordinates: FloatArray) -> FloatArray:
    return coordinates if basis is None else basis @ coordinates
