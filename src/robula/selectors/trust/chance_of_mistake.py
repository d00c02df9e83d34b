"""Mistakes happen anywhere: where the features foretell which rows deviate, the model lacks something there.

A slipped decimal does not choose its row by the row's features. A bend, a missing column or a wider spread does. Rows
that deviate where more of them do than at most places are no mistakes beyond the rate that all places share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import fdtri

from robula._types import BoolArray, FloatArray
from robula.selectors.trust import trust_constants as constants
from robula.selectors.trust.feature_space import FeatureSpace
from robula.selectors.trust.scored_rows import ScoredRows

# Singular values below this share of the largest are rounding.
_RANK = 1e-8
# Fewer rows than this have no place.
_FEWEST = 2.0
# The share of deviating rows that all places have: a quarter of the rows are at places with less.
_COMMON = 0.25
_LEAST_SHARE = 1e-9


def excused(rows: ScoredRows, weights: FloatArray, decisive: FloatArray) -> tuple[FloatArray, ChanceOfMistake | None]:
    """Weights (n,) with trust in rows that deviate where the features foretell it, and what says so.

    An exact law lacks nothing, and few rows cannot show a place.
    """
    if rows.exact_law or rows.maturity < 1.0:
        return weights, None
    mistakes = ChanceOfMistake.found(rows, 1.0 - weights, decisive)
    return weights if mistakes is None else 1.0 - (1.0 - weights) * mistakes(rows, decisive), mistakes


@dataclass(frozen=True)
class ChanceOfMistake:
    """The chance that a row which deviates is a mistake, by where it is.

    Rows that deviate unmistakably and the others are asked apart: what the model lacks nearby is no excuse for a row
    that is far out.

    Attributes
    ----------
    near, far : Foretold or None
        What the features foretell of each; None where they foretell nothing.
    """

    near: Foretold | None
    far: Foretold | None

    @classmethod
    def found(cls, rows: ScoredRows, deviating: FloatArray, decisive: FloatArray) -> ChanceOfMistake | None:
        """From the probabilities (n,) that rows deviate and their log odds (n,); None if they deviate anywhere."""
        beyond = decisive > constants.FAR_OUT
        near, far = (_foretold(rows, np.where(band, deviating, 0.0)) for band in (~beyond, beyond))
        return None if near is None and far is None else cls(near, far)

    def __call__(self, rows: ScoredRows, decisive: FloatArray) -> FloatArray:
        """Chances (b,) of rows, of which the log odds (b,) of deviating are known."""
        beyond = decisive > constants.FAR_OUT
        chances = np.ones(len(decisive))
        for band, foretold in ((~beyond, self.near), (beyond, self.far)):
            if foretold is not None:
                chances = np.where(band & _usual(rows), foretold.chances(rows.space), chances)
        return chances


@dataclass(frozen=True)
class Foretold:
    """Share of deviating rows at each place.

    Attributes
    ----------
    slopes : ndarray, shape (2 r + 2,)
        Of the share in the columns of a place.
    common : float
        The share that all places have.
    """

    slopes: FloatArray
    common: float

    def chances(self, space: FeatureSpace) -> FloatArray:
        """Chance (b,) that a deviating row is one of those that any place has."""
        shares: FloatArray = np.maximum(_columns(space) @ self.slopes, _LEAST_SHARE)
        return np.minimum(1.0, self.common / shares)


def _foretold(rows: ScoredRows, deviating: FloatArray) -> Foretold | None:
    """Regress the probabilities (n,) on the places; None where chance foretells as much.

    The slopes are shrunk by what chance would explain once in a thousand data sets (an F test): the rest is foretold.
    """
    usual = _usual(rows)
    columns, seen = _columns(rows.space), deviating[usual]
    if float(seen.sum()) < _FEWEST:
        return None
    left, sizes, right = np.linalg.svd(columns[usual], full_matrices=False)
    rank = int((sizes > _RANK * sizes[0]).sum())
    freedom = len(seen) - rank
    slopes = right[:rank].T @ ((left[:, :rank].T @ seen) / sizes[:rank])
    mean = float(seen.mean())
    unexplained = float(((seen - columns[usual] @ slopes) ** 2).sum())
    explained = float(((seen - mean) ** 2).sum()) - unexplained
    if rank < 2 or freedom < 1 or unexplained <= 0.0:
        return None
    by_chance = float(fdtri(rank - 1, freedom, 1.0 - constants.FORETOLD)) * unexplained / freedom
    kept = 1.0 - by_chance * (rank - 1) / max(explained, _LEAST_SHARE)
    if kept <= 0.0:
        return None
    slopes = kept * slopes
    slopes[0] += (1.0 - kept) * mean
    return Foretold(slopes, max(float(np.quantile(columns[usual] @ slopes, _COMMON)), _LEAST_SHARE))


def _columns(space: FeatureSpace) -> FloatArray:
    """A place (b, 2 r + 2): 1, the bounded coordinates, their squares and the distance."""
    inner = space.inner
    return np.column_stack([np.ones(len(inner)), inner, inner**2, space.distance])


def _usual(rows: ScoredRows) -> BoolArray:
    """Rows (b,) that are asked where they are.

    A wrong cell puts a row elsewhere, a code is none of the model's business, and of far rows (one in a hundred is so
    far) the others say nothing.
    """
    usual: BoolArray = (rows.bad_odds <= 0.0) & (rows.space.distance <= constants.SEEN)
    return usual
