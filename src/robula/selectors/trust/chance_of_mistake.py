"""Mistakes happen anywhere: where the features foretell which rows deviate, the model lacks something there.

A slipped decimal does not choose its row by the row's features. A bend, a missing column or a wider spread does. Rows
that deviate where more of them do than at most places are no mistakes beyond the rate that all places share.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import fdtri

from robula._types import BoolArray, FloatArray
from robula.selectors.trust import trust_constants as constants
from robula.selectors.trust.scored_rows import ScoredRows

# Squared singular values below this share of the largest are rounding.
_RANK = 1e-12
# Fewer rows than this have no place.
_FEWEST = 2.0
# The share of deviating rows that all places have: a quarter of the rows are at places with less.
_COMMON = 0.25
_LEAST_SHARE = 1e-9
# This much of a row's residual is left by its own part in the fit.
_LEAST_LEFT = 0.05


class Places:
    """Where the rows of a model are, looked at once for all explanations.

    Attributes
    ----------
    columns : ndarray, shape (n, 2 r + 2)
        1, the bounded coordinates, their squares and the distance.
    usual : ndarray of bool, shape (n,)
        Rows that are asked where they are. A wrong cell puts a row elsewhere, a code is none of the model's business,
        and of far rows (one in a hundred is so far) the others say nothing.
    """

    def __init__(self, rows: ScoredRows) -> None:
        self._rows, inner = rows, rows.space.inner
        self.columns = np.column_stack([np.ones(rows.count), inner, inner**2, rows.space.distance])
        self.usual: BoolArray = (rows.bad_odds <= 0.0) & (rows.space.distance <= constants.SEEN)

    @cached_property
    def factor(self) -> FloatArray:
        """F (2 r + 2, k) that makes the columns of usual rows orthonormal, k their rank."""
        asked = self.columns[self.usual]
        squares, axes = np.linalg.eigh(asked.T @ asked)
        told = squares > _RANK * squares[-1]
        return np.asarray(axes[:, told] / np.sqrt(squares[told]))

    @cached_property
    def own_vote(self) -> FloatArray:
        """Leverage h (n,) of each row in a regression on the places, as h / (1 - h)."""
        leverage: FloatArray = np.minimum(((self.columns @ self.factor) ** 2).sum(axis=1), 1.0 - _LEAST_LEFT)
        return leverage / (1.0 - leverage)

    def excuse(self, weights: FloatArray, decisive: FloatArray) -> tuple[FloatArray, ChanceOfMistake | None]:
        """Weights (n,) with trust in rows that deviate where the features foretell it, and what says so.

        An exact law lacks nothing, and few rows cannot show a place.
        """
        if self._rows.exact_law or self._rows.maturity < 1.0:
            return weights, None
        deviating = 1.0 - weights
        mistakes = ChanceOfMistake.found(self, deviating, decisive)
        return weights if mistakes is None else 1.0 - deviating * mistakes(self, decisive, deviating), mistakes


@dataclass(frozen=True)
class ChanceOfMistake:
    """The chance that a row which deviates is a mistake, by where it is.

    Where the features foretell which rows deviate, those that do so unmistakably and the others are asked apart: what
    the model lacks nearby is no excuse for a row that is far out.

    Attributes
    ----------
    near, far : Foretold or None
        What the features foretell of each; None where they foretell nothing.
    """

    near: Foretold | None
    far: Foretold | None

    @classmethod
    def found(cls, places: Places, deviating: FloatArray, decisive: FloatArray) -> ChanceOfMistake | None:
        """From the probabilities (n,) that rows deviate and their log odds (n,); None if they deviate anywhere."""
        # All of them first: how far out a mistake is can depend on where it is, whether there is one does not.
        if _foretold(places, deviating) is None:
            return None
        beyond = decisive > constants.FAR_OUT
        near, far = (_foretold(places, np.where(band, deviating, 0.0)) for band in (~beyond, beyond))
        return None if near is None and far is None else cls(near, far)

    def __call__(self, places: Places, decisive: FloatArray, deviating: FloatArray | None = None) -> FloatArray:
        """Chances (b,) of rows, of which the log odds (b,) of deviating are known.

        ``deviating`` are the probabilities (b,) that rows deviate, if these are the rows that said what is foretold.
        """
        beyond = decisive > constants.FAR_OUT
        chances = np.ones(len(decisive))
        for band, foretold in ((~beyond, self.near), (beyond, self.far)):
            if foretold is not None:
                own = None if deviating is None else np.where(band, deviating, 0.0)
                chances = np.where(band & places.usual, foretold.chances(places, own), chances)
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
    kept : float
        What the slopes were shrunk by.
    """

    slopes: FloatArray
    common: float
    kept: float

    def chances(self, places: Places, deviating: FloatArray | None) -> FloatArray:
        """Chance (b,) that a deviating row is one of those that any place has.

        A row never votes for its own place: where the rows have a say in the slopes, each is predicted by the others.
        With many columns rows would excuse themselves (a rank of 80 among 292 rows: the weights of rows 80 noise widths
        off were up to .5).
        """
        shares: FloatArray = places.columns @ self.slopes
        if deviating is not None:
            shares = shares - self.kept * places.own_vote * (deviating - shares)
        return np.minimum(1.0, self.common / np.maximum(shares, _LEAST_SHARE))


def _foretold(places: Places, deviating: FloatArray) -> Foretold | None:
    """Regress the probabilities (n,) on the places; None where chance foretells as much.

    The slopes are shrunk by what chance would explain once in a thousand data sets: the rest is foretold. An F test
    with the degrees of freedom that permutations of the rows give it [boxwatson1962]: few rows deviate, and where a
    rare class or a long tail gives some rows much leverage, two of them there are no wonder.
    """
    seen = deviating[places.usual]
    if float(seen.sum()) < _FEWEST:
        return None
    asked, rank = places.columns[places.usual], places.factor.shape[1]
    freedom = len(seen) - rank
    if rank < 2 or freedom < 1:
        return None
    slopes = places.factor @ (places.factor.T @ (asked.T @ seen))
    mean, shares = float(seen.mean()), asked @ slopes
    unexplained, explained = float(((seen - shares) ** 2).sum()), float(((shares - mean) ** 2).sum())
    fewer = _freedom_left(seen - mean, ((asked @ places.factor) ** 2).sum(axis=1))
    quantile = float(fdtri(fewer * (rank - 1), fewer * freedom, 1.0 - constants.FORETOLD))
    by_chance = quantile * (rank - 1) * unexplained / freedom
    if explained <= by_chance:
        return None
    kept = 1.0 - by_chance / explained
    slopes = kept * slopes
    slopes[0] += (1.0 - kept) * mean
    return Foretold(slopes, max(float(np.quantile(asked @ slopes, _COMMON)), _LEAST_SHARE), kept)


def _freedom_left(centred: FloatArray, leverage: FloatArray) -> float:
    """Share of the degrees of freedom of an F test that centred responses (n,) and leverages (n,) leave.

    Permuted responses have an explained sum of squares whose variance is 1 + k sum (h - mean h)^2 / (2 r) times that of
    normal ones, k their excess kurtosis and r the degrees of freedom.
    """
    squares = centred**2
    if not squares.any():
        return 1.0
    kurtosis = float((squares**2).mean() / squares.mean() ** 2) - 3.0
    uneven = float(((leverage - leverage.mean()) ** 2).sum())
    return 1.0 / (1.0 + max(kurtosis, 0.0) * uneven / (2.0 * (float(leverage.sum()) - 1.0)))
