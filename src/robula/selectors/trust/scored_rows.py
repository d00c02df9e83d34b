"""A model as the rule sees it: normal scores of its rows, where they are, and modes of weighted rows."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from robula._types import BoolArray, FloatArray
from robula.models.law import ModelWithLaw
from robula.models.posterior_mode import weighted_mode
from robula.models.tail_scores import middle_scores
from robula.selectors.trust import trust_constants as constants
from robula.selectors.trust.doubt_of_scale import DoubtOfScale
from robula.selectors.trust.feature_space import FeatureSpace, feature_space
from robula.selectors.trust.response_law import ResponseLaw
from robula.selectors.trust.row_law import ANY_PLACE, ANY_SHAPE, AS_DECLARED

# The laws that are tried, the freest first.
FREEDOMS = (ANY_PLACE, ANY_SHAPE, AS_DECLARED)
_LOG_ROOT_TWO_PI = 0.9189385332046727
# A kept row's residual is smaller than its noise by its leverage; this much of it is always left.
_LEAST_LEFT, _MOST_LEVERAGE = 0.05, 1e100
_RIDGE = 1e-10
# A response that so many rows share at the end of its range is a limit of what could be recorded.
_SHARE_AT_LIMIT, _FEWEST_AT_LIMIT = 0.02, 5
# A jump of so many spreads of the response makes what is behind it codes; this share of those at it may be beyond it.
_GAP, _MOST_BEYOND = 0.1, 0.25


class Scores(NamedTuple):
    """Normal scores of the rows at one theta.

    Attributes
    ----------
    point : ndarray, shape (n,)
        One number per row, the middle of its interval in probability.
    lower, upper : ndarray, shape (n,)
        Equal where the row's score is known exactly.
    scale : ndarray, shape (n,)
        What the scores were divided by: the doubt about theta at each row, in units of its noise.
    interval : ndarray of bool, shape (n,)
        Rows known to an interval only: counts, and responses at the limit of their range.
    base : float
        Sum over rows of log p(row) less that of its score: what turns log densities of scores into those of rows.
    ordinary : ndarray, shape (n,)
        Log density of the score, or mass of its interval, if the row's response is like that of any row: for rows with
        a cell that stands apart; -inf for others.
    """

    point: FloatArray
    lower: FloatArray
    upper: FloatArray
    scale: FloatArray
    interval: BoolArray
    base: float
    ordinary: FloatArray


class ScoredRows:
    """The rows of a model with a law.

    Attributes
    ----------
    count, dim : int
    space : FeatureSpace
    bad_odds : ndarray, shape (n,)
        Log odds of each row to be bad by what is known besides its score: a cell that stands apart, a limit.
    discrete : bool
        Whether the law is of counts, which chance repeats.
    exact_law : bool
        Whether the law of clean rows is taken at its word, so that what disagrees with it is bad; otherwise it is only
        nearly right.
    freedoms : tuple of int
        How far the law of clean rows may differ from the declared one; not at all where the user says that it is exact.
    coarsening : float
        What a row's evidence counts, min(1, n0 / n).
    maturity : float
        min(1, n / n1): how far a small deviation of the law could be mistaken for bad rows; few rows cannot show it.
    """

    def __init__(
        self,
        model: ModelWithLaw,
        exact_law: bool | None = None,
        space: FeatureSpace | None = None,
        count: int | None = None,
    ) -> None:
        self.model = model
        self.count, self.dim = model.n_rows, model.dim
        self.exact_law = model.noise == "declared" if exact_law is None else exact_law
        self._told, self.freedoms = exact_law, (AS_DECLARED,) if exact_law else FREEDOMS
        rows = constants.ROWS_OF_AN_EXACT_LAW if self.exact_law else constants.ROWS_OF_A_NEAR_LAW
        self.coarsening = min(1.0, rows / (count or self.count))
        few = rows if self.exact_law else constants.FEW_ROWS
        self.maturity = min(1.0, (count or self.count) / few)
        # The fourth power: with the first the giants among 47 stars (starsCYG) pull the line again.
        self._few = max(0.0, 1.0 - (count or self.count) / constants.FEW_ROWS) ** 4
        self.space = feature_space(model.covariates, model.cell_odds()) if space is None else space
        self._leverage: FloatArray | None = None
        self.discrete = bool(np.less(*model.scores(model.initial)).all())
        self._at_lower, self._at_upper = self._limits()
        # A row at a limit is known to be at or beyond it, and that is no error; a code for "missing" is one.
        self.bad_odds = self.space.apart - constants.GROSS_ODDS * (self._at_lower | self._at_upper)
        if codes := self.response_codes:
            self.bad_odds = self.bad_odds + constants.MOST_FOR_APART * np.isin(np.asarray(model.response), codes)

    def take(self, rows: np.ndarray) -> ScoredRows:
        """Return some of the rows, with the whole data's coordinates and coarsening."""
        taken = self.model.take(rows)
        assert isinstance(taken, ModelWithLaw)
        part = ScoredRows(taken, self._told, self.space.take(rows), self.count)
        part._at_lower, part._at_upper = self._at_lower[rows], self._at_upper[rows]
        part.bad_odds = self.bad_odds[rows]
        part._response_density = self._response_density[rows]
        part.coarsening = min(1.0, self.coarsening * self.count / len(rows))
        return part

    @property
    def response_codes(self) -> tuple[float, ...]:
        """Values that stand for "missing" among the responses."""
        return self.model.response_codes

    @cached_property
    def _response_density(self) -> FloatArray:
        """Log density (n,) of the responses of rows with a cell that stands apart, whatever their features."""
        y, apart = self.model.response, self.space.apart > 0.0
        if y is None or not apart.any():
            return np.full(self.count, -np.inf)
        return np.where(apart, ResponseLaw(y).log_density(y, own=True), -np.inf)

    def _limits(self) -> tuple[BoolArray, BoolArray]:
        """Rows whose response is the smallest or the largest of all, shared by many: known to be there or beyond.

        Many rows share a value of a discrete law anyway. Of a row with a cell that is wrong (20 to 1) what the others
        predict is no reason to believe that its response was cut.
        """
        nowhere = np.zeros(self.count, dtype=np.bool_)
        y = self.model.response
        if y is None or len(np.unique(y)) < 10 or self.discrete:
            return nowhere, nowhere
        usual = (self.space.apart <= constants.PRICE) & ~np.isin(y, self.response_codes)
        upper, lower = _limit(y), _limit(-y)
        return (
            nowhere if lower is None else (y == -lower) & usual,
            nowhere if upper is None else (y == upper) & usual,
        )

    def scores(self, theta: FloatArray, leverage: FloatArray, weights: FloatArray) -> Scores:
        """Scores at theta, the mode of the rows so weighted (n,), given their leverages (n,).

        Each row is predicted by the others: a row of weight w and leverage h is 1 / (1 - w h) times as far from their
        fit as from its own, and their doubt adds h / (1 - w h) to its variance.
        """
        lower, upper = self.model.scores(theta)
        interval = lower < upper
        # Log of by how much a row's density is that of its score.
        unit = np.zeros(self.count)
        # Far out the ends of a count's interval are the same to rounding; it is a mass all the same.
        if not (interval.all() or self.discrete):
            unit = np.where(interval, 0.0, self.model.log_likelihood(theta) + 0.5 * upper**2 + _LOG_ROOT_TWO_PI)
        counted = self.model.counted(weights)
        left = np.maximum(1.0 - counted * leverage, _LEAST_LEFT)
        scale = np.sqrt(left * (left + leverage))
        if self.model.noise == "estimated":
            # The estimated scale has used up what the coefficients took.
            used = float(counted @ leverage) / max(float(counted.sum()), 1.0)
            scale = scale / np.sqrt(max(1.0 - used, _LEAST_LEFT))
        lower, upper = lower / scale, upper / scale
        if self.model.noise == "estimated" and self._few > 0.0:
            doubt = DoubtOfScale(counted, leverage, self._few)
            unit += np.where(interval, 0.0, doubt.log_slope(upper))
            lower, upper, scale = doubt.normal_scores(lower), doubt.normal_scores(upper), scale * doubt.shrinks(upper)
        # The density of a row is its prediction by the others, whose spread has their doubt about theta in it.
        unit -= 0.5 * np.where(interval, 0.0, np.log1p(leverage / left))
        lower = np.where(self._at_lower, -np.inf, lower)
        upper = np.where(self._at_upper, np.inf, upper)
        interval = lower < upper
        point = upper
        if interval.any():
            point = np.where(interval, middle_scores(lower, upper), upper)
        return Scores(point, lower, upper, scale, interval, float(unit.sum()), self._response_density - unit)

    def mode(self, weights: FloatArray, theta: FloatArray, steps: int = 2) -> FloatArray:
        """Mode (d,) of the rows so weighted, or so many steps towards it."""
        return weighted_mode(self.model, weights, theta, steps)

    def leverage_of_all(self, theta: FloatArray) -> FloatArray:
        """Leverage (n,) of each row in the fit of all rows, at the theta that was asked for first: a beginning."""
        if self._leverage is None:
            self._leverage = self.leverage(np.ones(self.count), theta)
        return self._leverage

    def leverage(self, weights: FloatArray, theta: FloatArray) -> FloatArray:
        """Leverage (n,) of each row in the fit of the rows so weighted."""
        # Hyperparameters are held: rows do not depend on them, and the joint prior need not be concave in them.
        inner = ~self.model.hyperparameters
        features = self.model.features(theta)[:, inner]
        prior = self.model.prior.precision(theta)[np.ix_(inner, inner)]
        information: FloatArray = (features.T * self.model.counted(weights)) @ features + prior
        # Where no row counts and the prior is flat there is no fit; what follows is to stay finite.
        with np.errstate(over="ignore"):
            result: FloatArray = ((features @ _inverse_root(information)) ** 2).sum(axis=1)
        return np.minimum(result, _MOST_LEVERAGE)


def _inverse_root(information: FloatArray) -> FloatArray:
    """F (d, d) with F F' the inverse; of the eigenvalues' sizes where a prior is not concave."""
    information = information + np.diag(_RIDGE * np.abs(np.diag(information)) + 1e-300)
    try:
        return np.asarray(np.linalg.inv(np.linalg.cholesky(information)).T)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(information)
    if values[-1] <= 0.0:
        raise np.linalg.LinAlgError("no information")
    root: FloatArray = vectors / np.sqrt(np.maximum(np.abs(values), _RIDGE * values[-1]))
    return root


def _limit(y: FloatArray) -> float | None:
    """The value at the upper end of a response (n,) that many rows share: a limit of what could be recorded.

    A gap makes the end a code, such as 999, and a limit may come before it; a few wrong rows may be beyond a limit.
    """
    values, counts = np.unique(y, return_counts=True)
    spread = float(np.quantile(y, 0.9) - np.quantile(y, 0.1))
    codes = np.flatnonzero(np.diff(values) > _GAP * spread)
    most = len(y) // 2
    end = len(values)
    for code in codes[::-1]:
        if counts[code + 1 :].sum() < most:
            end = int(code) + 1
    shared = np.flatnonzero(counts[:end] >= max(_SHARE_AT_LIMIT * len(y), _FEWEST_AT_LIMIT))
    if not len(shared):
        return None
    last = int(shared[-1])
    beyond = int(counts[last + 1 : end].sum())
    return float(values[last]) if beyond <= _MOST_BEYOND * counts[last] else None
