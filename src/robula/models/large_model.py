"""A model of rows that are read in blocks: some rows in memory, and sums over all of them by passes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, cast

import numpy as np

from robula._types import ArrayInput, FloatArray
from robula._validation import check_count, show
from robula.exceptions import InputError
from robula.models.law import ModelWithLaw
from robula.models.linear_model import LinearModel
from robula.models.mean_model import MeanModel
from robula.models.model import Model, weighted_sum
from robula.models.multinomial_model import MultinomialModel
from robula.models.priors import Prior
from robula.models.regression import Regression
from robula.tables.row_source import ArraySource, Block, RowSource, Sums, add, is_dask, source_of

#: Most rows that are read into memory: to search for bad rows in, and to check the data as any model does.
SAMPLE_ROWS = 50_000
#: Rows of numbers or vectors that are judged all at once; of more, a sample is. One row in a hundred, but no fewer than
#: the second number, says what the bad rows look like: evidence counts few rows (trust_constants), and searching more
#: takes longer than all passes together. Labels say so little that more of them are searched, but weights and theta of
#: 100,000 rows with flips at random are the same to three digits after a search in half of ``SAMPLE_ROWS`` as in all.
_JUDGED_AT_ONCE, _FEWEST, _ONE_IN, _LABELS = 20_000, 10_000, 100, 25_000
# Numbers of a block that are looked at at a time, 2 MiB: what is computed of them then stays in the processor's cache.
_AT_A_TIME = 2**18
# Numbers that the linear predictors of many thetas may take at a time.
_MOST_PREDICTORS = 2**21

#: Row weights (b,) of a block, or None where every row counts in full; it travels to where the rows are.
Weigher = Callable[[ModelWithLaw], FloatArray] | None


class LargeModel:
    """A regression or mean whose rows need not fit in memory, for :func:`robula.sample` and :func:`robula.trust`.

    Parameters
    ----------
    kind : class
        ``MeanModel``, or any regression of numbers, counts or two classes (not ``MultinomialModel``).
    X : Dask array or frame, numpy.memmap, array, or RowSource
        Shape (n, p). Blocks of rows are read again in every pass.
    y : the same kind, optional
        Shape (n,); not for ``MeanModel``.
    seed : int, optional
        Of the sample of rows that is read into memory.
    **options
        Of the model: ``noise_scale``, ``prior``, ``intercept``, ``covariance``.

    Attributes
    ----------
    sample : Model
        The model of 10 000 to 50 000 rows (all, where there are fewer), drawn without replacement, in memory.
    places : ndarray
        Which rows these are.
    n_rows, dim, prior, parameter_names
        As of any model.

    Examples
    --------
    >>> import numpy as np, robula
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = robula.LargeModel(robula.LinearModel, X, X @ [1.0, 2.0], noise_scale=1.0)
    >>> model.n_rows, model.in_memory
    (500, True)
    """

    def __init__(
        self, kind: type[Model], X: ArrayInput, y: ArrayInput = None, *, seed: int = 0, **options: Any
    ) -> None:
        if not (isinstance(kind, type) and issubclass(kind, Regression | MeanModel)) or kind is MultinomialModel:
            raise InputError(
                f"kind={show(kind)} cannot be fitted by passes; allowed are MeanModel and regressions of numbers, "
                "counts and two classes."
            )
        of_rows = {"offset", "exposure", "row_weights"} & set(options)
        if of_rows:
            raise InputError(f"{sorted(of_rows)[0]} cannot be given for rows that are read in blocks.")
        regression = issubclass(kind, Regression)
        if y is not None and not regression:
            raise InputError(f"{kind.__name__} has no response: leave y out.")
        source = source_of(X, y).look()
        if source.rows < 2:
            raise InputError(f"there are {source.rows} rows; 2 or more are needed.")
        self.classes: tuple[Any, ...] = ()
        if regression and kind.response_kind == "label":
            self.classes = _two(source.labels)
            source = source.shaped(partial(with_coded_labels, self.classes))
        labels = regression and kind.response_kind == "label"
        places = sample_places(source.rows, check_count(seed, "seed", 0), labels)
        rows = source.take(places)
        features: Any = rows.X
        if source.names is not None:
            import pandas as pd  # a third of a second, for named columns only

            features = pd.DataFrame(rows.X, columns=list(source.names))
        if regression and rows.y is None:
            raise InputError(f"{kind.__name__} needs y, one response a row.")
        make: Any = kind
        self._set(source, make(features, *([rows.y] if regression else []), **options), places)

    @staticmethod
    def can_be(model: Model) -> bool:
        """Whether a model is a regression of rows, and of nothing else that has an entry for each row."""
        if not isinstance(model, Regression) or isinstance(model, MultinomialModel):
            return False
        return model.offset is None and model.row_weights is None

    @staticmethod
    def is_judged_by_passes(model: Model) -> bool:
        """Whether a model has so many rows, in memory or not, that bad ones are looked for in a sample of them."""
        if not (LargeModel.can_be(model) and isinstance(model, Regression)):
            return False
        return model.n_rows > (SAMPLE_ROWS if model.response_kind == "label" else min(_JUDGED_AT_ONCE, SAMPLE_ROWS))

    @classmethod
    def of(cls, model: Regression, seed: int = 0) -> LargeModel:
        """Return a model, of a memory map say, as one that is fitted in passes."""
        source = ArraySource(model.rows_as_given, model.y).look()
        places = _some_places(source.rows, seed, _sample_size(source.rows, model.response_kind == "label"))
        return cls.with_sample(source, model.take(places), places)

    @classmethod
    def with_sample(cls, source: RowSource, sample: ModelWithLaw, places: np.ndarray) -> LargeModel:
        """Return the model of all rows of a source, from the model of those at some places."""
        large = object.__new__(cls)
        large.classes = ()
        large._set(source.look(), sample, places)
        return large

    def _set(self, source: RowSource, sample: ModelWithLaw, places: np.ndarray) -> None:
        self.source, self.n_rows = source, source.rows
        self.sample, self.places = sample, places
        self._empty = sample.take(np.arange(2))

    @property
    def in_memory(self) -> bool:
        """Whether the sample is all rows, in their order: then nothing needs a pass."""
        return len(self.places) == self.n_rows

    @property
    def dim(self) -> int:
        """Number of parameters d."""
        return self.sample.dim

    @property
    def prior(self) -> Prior:
        """The prior."""
        return self.sample.prior

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return self.sample.parameter_names

    def sum(self, function: Callable[[ModelWithLaw], Sums]) -> Sums:
        """One pass: the sum of what a function returns for the models of all rows, a part of them at a time."""
        return self.source.sum(partial(_of_block, self._empty, function))

    def newton_sums(self, theta: FloatArray, weigher: Weigher) -> tuple[float, float, FloatArray, FloatArray]:
        """One pass: sum of weights, log-likelihood, gradient (d,) and curvature (d, d) of the weighted rows."""
        return cast(tuple[float, float, FloatArray, FloatArray], self.sum(partial(_newton_sums, theta, weigher)))

    def log_likelihoods(self, thetas: FloatArray, weigher: Weigher) -> FloatArray:
        """One pass: log-likelihood (k,) of the weighted rows at many thetas (k, d)."""
        return cast(FloatArray, self.sum(partial(_log_likelihoods, thetas, weigher))[0])

    def compressed(self, sums: Sums = ()) -> tuple[ModelWithLaw, FloatArray]:
        """Return d + 1 rows and their weights with the very likelihood of all weighted rows; linear models only.

        See :meth:`LinearModel.of_root`; here R comes from Z'WZ, a sum over blocks. ``sums`` are those of
        :meth:`weights`; without them every row counts in full, which takes one pass.
        """
        total, gram = sums or self.sum(partial(_gram_sums, None))
        values, vectors = np.linalg.eigh(gram)
        root = (vectors * np.sqrt(np.maximum(values, 0.0))).T
        return cast(LinearModel, self._empty).of_root(root, total)

    def weights(self, weigher: Callable[[ModelWithLaw], FloatArray]) -> tuple[FloatArray, Sums]:
        """One pass: the weights (n,) of all rows, and of a linear model the sums that :meth:`compressed` needs."""
        found = list(self.source.map(partial(_weights_of_block, self._empty, weigher)))
        weights = np.concatenate([block[0] for block in found]).astype(np.float64)
        return weights, add([block[1] for block in found])


def _two(labels: tuple[Any, ...]) -> tuple[Any, Any]:
    for known in ((0, 1), (-1, 1)):
        if labels and set(labels) <= set(known):
            return known
    if len(labels) != 2:
        # Where there are too many to be labels, none are known.
        among = f" ({show(labels)} are among them)" if labels else ""
        raise InputError(f"y has other than two distinct labels{among}; exactly two are needed, such as 0 and 1.")
    return labels[0], labels[1]


def with_coded_labels(classes: tuple[Any, ...], block: Block) -> Block:
    """Return a block with labels of two classes as 0 and 1."""
    if block.y is None:
        raise InputError("a model of labels needs y.")
    positive = block.y == classes[1]
    if not (positive | (block.y == classes[0])).all():
        raise InputError(f"y has other labels than {classes[0]!r} and {classes[1]!r}.")
    return block._replace(y=positive.astype(np.float64))


def sample_places(rows: int, seed: int, labels: bool) -> np.ndarray:
    """Sorted places of the rows that are read into memory: all of them where they are few."""
    return _some_places(rows, seed, rows if rows <= SAMPLE_ROWS else _sample_size(rows, labels))


def _sample_size(rows: int, labels: bool) -> int:
    return min(_LABELS if labels else max(rows // _ONE_IN, _FEWEST), SAMPLE_ROWS)


def _some_places(rows: int, seed: int, wanted: int) -> np.ndarray:
    """Sorted places of a random sample without replacement; of n numbers only where n is small."""
    if rows <= wanted:
        return np.arange(rows)
    rng = np.random.default_rng([seed, rows])
    if rows <= 20 * wanted:
        return np.sort(rng.permutation(rows)[:wanted])
    found = np.unique(rng.integers(0, rows, size=wanted + wanted // 4))
    return np.sort(rng.permutation(found)[:wanted])


def _models(empty: Any, block: Block) -> Iterator[Any]:
    """Models of a block's rows, so many at a time that what is computed of them takes little memory and time."""
    step = max(1, _AT_A_TIME // max(block.X.shape[1], 1))
    for first in range(0, len(block.X), step):
        part = slice(first, first + step)
        if isinstance(empty, MeanModel):
            yield empty.with_response(block.X[part])
        else:
            yield empty.with_rows(block.X[part], cast(np.ndarray, block.y)[part])


def _of_block(empty: Any, function: Callable[[Any], Sums], block: Block) -> Sums:
    return add(function(model) for model in _models(empty, block))


def _weights_of_block(
    empty: Any, weigher: Callable[[ModelWithLaw], FloatArray], block: Block
) -> tuple[np.ndarray, Sums]:
    """Weights as they travel, 4 bytes a row, the only thing of a fit that grows with the rows; and Gram sums."""
    weights, sums = np.zeros(len(block.X), dtype=np.float32), []
    first = 0
    for model in _models(empty, block):
        found = weigher(model)
        weights[first : first + len(found)] = found
        first += len(found)
        if isinstance(model, LinearModel):
            sums.append(_gram_sums(found, model))
    return weights, add(sums)


def _weights(model: ModelWithLaw, weigher: Weigher) -> FloatArray:
    return np.ones(model.n_rows) if weigher is None else weigher(model)


def _newton_sums(theta: FloatArray, weigher: Weigher, model: ModelWithLaw) -> Sums:
    weights = _weights(model, weigher)
    value = float(weighted_sum(model.log_likelihood(theta), weights))
    return float(weights.sum()), value, model.weighted_gradient(theta, weights), model.curvature(theta, weights)


def _log_likelihoods(thetas: FloatArray, weigher: Weigher, model: ModelWithLaw) -> Sums:
    weights = _weights(model, weigher)
    step = max(1, _MOST_PREDICTORS // model.n_rows)
    parts = [weighted_sum(model.log_likelihood(thetas[k : k + step]), weights) for k in range(0, len(thetas), step)]
    return (np.concatenate(parts),)


def _gram_sums(weights: FloatArray | None, model: LinearModel) -> Sums:
    both = np.column_stack([model.design, model.y])
    if weights is None:
        return float(model.n_rows), both.T @ both
    return float(weights.sum()), both.T @ (both * weights[:, None])


def mode_by_passes(
    model: LargeModel, weigher: Weigher, start: FloatArray, passes: int
) -> tuple[FloatArray, FloatArray, float]:
    """Newton's method, one pass a step: the mode (d,), the precision (d, d) there and the sum of weights.

    Steps are halved where they go downhill; it ends within 1e-3 posterior widths of the mode.
    """
    theta, best, step = start, -math.inf, np.zeros_like(start)
    precision, total = np.eye(len(start)), 0.0
    for _ in range(passes):
        tried = theta + step
        with np.errstate(over="ignore", invalid="ignore"):
            total, value, gradient, curvature = model.newton_sums(tried, weigher)
            value += float(model.prior.log_density(tried))
        if not value >= best - 1e-9 * abs(best):
            step = 0.5 * step
            continue
        theta, best = tried, value
        precision = curvature + model.prior.precision(theta)
        step = np.asarray(np.linalg.solve(precision, gradient + model.prior.gradient(theta)), dtype=np.float64)
        if float(step @ precision @ step) < 1e-6:
            break
    return theta + step, precision, total


def read_in_blocks(X: Any) -> bool:
    """Whether rows are too many to be read whole: in Dask, a source, or a large memory map."""
    return is_dask(X) or isinstance(X, RowSource) or (isinstance(X, np.memmap) and len(X) > SAMPLE_ROWS)
