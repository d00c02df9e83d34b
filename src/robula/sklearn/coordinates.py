"""The coordinates a regression is sampled in: robustly standardised, so that one step size suits every column."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.preprocessing import RobustScaler

from robula._types import FloatArray
from robula.models.gaussian_posterior import GaussianPosterior
from robula.tables.row_source import Block


class Coordinates(NamedTuple):
    """Affine maps between the user's units and the sampler's.

    Attributes
    ----------
    centre, scale : ndarray, shape (p,)
        The sampler sees the columns (X - centre) / scale.
    response_centre, response_scale : float
        And the linear predictor (eta - response_centre) / response_scale.
    intercept : bool
        Whether parameter 0 is an intercept.
    lines : int
        How many linear predictors a row has, each with coefficients of its own, one after the other.
    """

    centre: FloatArray
    scale: FloatArray
    response_centre: float
    response_scale: float
    intercept: bool
    lines: int = 1

    @property
    def coefficients(self) -> int:
        """How many coefficients there are."""
        return self.lines * (len(self.scale) + self.intercept)

    def columns(self, X: FloatArray) -> FloatArray:
        """Columns in the sampler's units, shape (n, p)."""
        return (X - self.centre) / self.scale

    def codes(self, codes: tuple[tuple[float, ...], ...]) -> tuple[tuple[float, ...], ...]:
        """Values of each column that stand for "missing", in the sampler's units; none of the intercept's column."""
        found = [
            tuple(((np.array(of_column) - centre) / scale).tolist())
            for of_column, centre, scale in zip(codes, self.centre, self.scale, strict=True)
        ]
        return ((), *found) if self.intercept else tuple(found)

    def responses(self, y: FloatArray) -> FloatArray:
        """Responses in the sampler's units, shape (n,)."""
        if self.response_scale == 1.0 and not self.response_centre:
            return y
        return (y - self.response_centre) / self.response_scale

    def matrix(self) -> FloatArray:
        """Linear part of the map from the sampler's parameters to the user's, shape (d, d)."""
        matrix: FloatArray = np.kron(np.eye(self.lines), self._line_matrix()).astype(np.float64)
        return matrix

    def _line_matrix(self) -> FloatArray:
        slopes = np.diag(self.response_scale / self.scale)
        if not self.intercept:
            return slopes
        dim = len(self.scale) + 1
        matrix = np.zeros((dim, dim))
        matrix[0, 0] = self.response_scale
        # The intercept takes up what moving the columns' origin back costs.
        matrix[0, 1:] = -self.response_scale * self.centre / self.scale
        matrix[1:, 1:] = slopes
        return matrix

    def shift(self) -> FloatArray:
        """Constant part of that map, shape (d,)."""
        shift = np.zeros(len(self.scale) + self.intercept)
        if self.intercept:
            shift[0] = self.response_centre
        return np.tile(shift, self.lines)

    def prior_shape(self) -> FloatArray:
        """Covariance of a prior that treats all classes alike, with variances of 1, shape (d, d); 1 for one line.

        Lines of K classes with independent normal coefficients, less the first one's, have a correlation of 1/2.
        """
        if self.lines == 1:
            return np.array(1.0)
        among = 0.5 * (np.eye(self.lines) + 1.0)
        return np.kron(among, np.eye(len(self.scale) + self.intercept)).astype(np.float64)

    def to_user(self, theta: FloatArray) -> FloatArray:
        """Parameters (..., d) in the user's units."""
        result: FloatArray = theta @ self.matrix().T + self.shift()
        return result

    def draws_to_user(self, theta: FloatArray) -> FloatArray:
        """Draws (..., d) in the user's units; a parameter behind the coefficients is the log of a response's scale."""
        coefficients = self.to_user(theta[..., : self.coefficients])
        logs = theta[..., self.coefficients :] + np.log(self.response_scale)
        return np.concatenate([coefficients, logs], axis=-1)

    def posterior_to_user(self, found: GaussianPosterior) -> GaussianPosterior:
        """A normal posterior in the user's units; a log scale becomes the scale itself (the delta method)."""
        mean = self.draws_to_user(found.mean)
        matrix = np.eye(len(mean))
        count = self.coefficients
        matrix[:count, :count] = self.matrix()
        mean[count:] = np.exp(mean[count:])
        matrix[count:, count:] = np.diag(mean[count:])
        return GaussianPosterior(mean, matrix @ found.covariance @ matrix.T)


def robust_coordinates(X: FloatArray, intercept: bool) -> Coordinates:
    """Median and interquartile range of each column (scikit-learn's RobustScaler).

    Without an intercept columns are only scaled: moving their origin would change the model. A column whose middle
    half is a single value (a rare category, many zeros) is scaled by the median size of its other values, one that
    never varies by its own size.
    """
    scaler = RobustScaler(with_centering=intercept, unit_variance=True).fit(X)
    scale = np.array(scaler.scale_, dtype=np.float64)
    middle = np.median(X, axis=0)
    for column in np.flatnonzero(np.subtract(*np.percentile(X, [75, 25], axis=0)) <= 0):
        away = np.abs(X[:, column] - middle[column])
        scale[column] = np.median(away[away > 0]) if (away > 0).any() else max(1.0, abs(float(middle[column])))
    centre = np.array(scaler.center_, dtype=np.float64) if intercept else np.zeros(X.shape[1])
    return Coordinates(centre, scale, 0.0, 1.0, intercept)


def with_response(coordinates: Coordinates, y: FloatArray) -> Coordinates:
    """Add the median and interquartile range of a response y (n,) whose linear predictor is in its own units."""
    response = robust_coordinates(y[:, None], coordinates.intercept)
    return coordinates._replace(response_centre=float(response.centre[0]), response_scale=float(response.scale[0]))


def identity_coordinates(columns: int, intercept: bool, lines: int = 1) -> Coordinates:
    """The user's own units."""
    return Coordinates(np.zeros(columns), np.ones(columns), 0.0, 1.0, intercept, lines)


def in_coordinates(coordinates: Coordinates, block: Block) -> Block:
    """Return a block of rows in the sampler's coordinates."""
    y = None if block.y is None else coordinates.responses(block.y.astype(np.float64))
    return block._replace(X=coordinates.columns(block.X), y=y)
